"""The files that Spark writes for a task, before anybody sees them: written, listed, made durable.

A place is written once, by one job. What begins with ``.`` or ``_`` in it is Spark's own and no
data.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from conductor_py.records import dataclass
from conductor_workers.manifest import DataFile, sync_directory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """How rows become files; ``options`` are Spark's."""

    format: str
    options: Mapping[str, str]
    partition_by: tuple[str, ...] = ()

    def write(self, frame: DataFrame, place: Path) -> None:
        """Write a frame's rows into a directory that is not there yet; runs one Spark job."""
        writer = frame.write.format(self.format).options(**dict(self.options)).mode("error")
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.save(address(place))


def address(place: Path) -> str:
    """Return a local path as Spark takes it: nothing in it is escaped."""
    return f"file://{place}"


def data_files(place: Path) -> tuple[DataFile, ...]:
    """List the data files below a directory, in the order of their names."""
    found = (path for path in sorted(place.rglob("*")) if not path.name.startswith((".", "_")))
    return tuple(
        DataFile(path=str(path.relative_to(place)), bytes=path.stat().st_size)
        for path in found
        if path.is_file()
    )


def sync_file(path: Path) -> None:
    """Make what is in a file survive a crash of the machine."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_files(place: Path, names: Iterable[str]) -> None:
    """Make these files, and that they are there, survive a crash of the machine."""
    folders = {place}
    for name in names:
        path = place / name
        sync_file(path)
        folders.update(folder for folder in path.parents if folder.is_relative_to(place))
    for folder in sorted(folders):
        sync_directory(folder)
