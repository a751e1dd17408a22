"""The data of the Spark benchmarks: made once from row numbers, kept between runs, never in the
repository.

A ``.made`` file beside the data names what was made; another size or form is made anew.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 24
COLUMNS = "id bigint, who int, amount double, at bigint, words string"
_FORM = 1
_ROW = (
    "id",
    "cast(pmod(xxhash64(id), 1000000) as int) as who",
    "pmod(xxhash64(id, 7), 100000000) / 100.0D as amount",
    "1700000000 + id as at",
    "concat_ws(' ', hex(xxhash64(id, 1)), hex(xxhash64(id, 2))) as words",
)
#: Bytes that a row takes in the files of that format, about.
_ROW_BYTES = {"csv": 73, "parquet": 47}


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Folders of equal rows in two formats, ``megabytes`` each."""

    csv: Path
    parquet: Path
    megabytes: int


def default_folder() -> Path:
    """Return where data is kept when nothing else is said."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "conductor-py-bench"


def made(spark: SparkSession, folder: Path, megabytes: int) -> Data:
    """Return data of that size in each format; make it when it is not there."""
    places = {name: folder / f"{name}-{megabytes}" for name in _ROW_BYTES}
    for data_format, place in places.items():
        mark = place.with_suffix(".made")
        if mark.exists() and mark.read_text() == str(_FORM):
            continue
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        rows = megabytes * 1_000_000 // _ROW_BYTES[data_format]
        frame = spark.range(0, rows, 1, FILES).selectExpr(*_ROW)
        frame.write.format(data_format).options(header="true").save(str(place))
        mark.write_text(str(_FORM))
    return Data(csv=places["csv"], parquet=places["parquet"], megabytes=megabytes)


def size_of(folder: Path) -> int:
    """Return the bytes of the files that readers see."""
    return sum(path.stat().st_size for path in folder.rglob("part-*"))
