"""How many files a round writes, so that each has about the size that its sink asks for.

A round's expected bytes come from its splits and from what earlier epochs made of theirs. A file is
smaller than asked for where that keeps all cores at work, down to an eighth of it: a round that
gives less is one file. Rows are brought together without moving them when as many tasks as cores
are left; otherwise they move, so that what came before is still computed by all cores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass
from conductor_workers.pipelines.connectors import Outlook
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SOME: Final = 2
TARGET_BYTES: Final = 128 << 20
"""What a file should have where its sink says nothing."""
_LEAST_SHARE: Final = 8
"""A file is at least this part of the size, unless there is not so much."""
_TASKS_A_CORE: Final = 2
"""Several, so that no core waits long for the last task of another."""
_MOST: Final = 1.5
"""A file may be so many times the size before another one is begun: no crumbs."""
_VALUE_BYTES: Final = MappingProxyType({"csv": 10, "json": 20})
_PACKED_VALUE_BYTES: Final = 6
"""What a value is taken to need before any was written."""


@dataclass(slots=True)
class RowBytes:
    """What a row takes in a sink's files: learned from what was written, guessed before."""

    format: str = "parquet"
    learned: float = 0.0

    def learn(self, *, rows: int, size: int) -> None:
        """Take a stage's figures."""
        if rows and size:
            self.learned = size / rows

    def rows_in(self, target: int, frame: DataFrame) -> int:
        """Return how many rows a file of that size may have at most."""
        value = _VALUE_BYTES.get(self.format, _PACKED_VALUE_BYTES)
        each = self.learned or value * len(frame.columns)
        return max(1, int(_MOST * target / each))


def expected_bytes(
    splits: Mapping[str, Sequence[SplitDescriptor]], counters: Mapping[str, Any], sink: str
) -> int:
    """Return what a round may put into a sink: its splits' bytes, by what those of earlier epochs
    became; 0 when a split does not tell its size, or there is but one.
    """
    sizes = [split.bytes for each in splits.values() for split in each]
    if len(sizes) < _SOME or not all(sizes):
        return 0
    read, written = counters.get("bytes_read", 0), counters.get("bytes_written", {}).get(sink, 0)
    return max(1, int(sum(sizes) * (written / read if read and written else 1)))


def files_wanted(outlook: Outlook, target: int) -> int:
    """Return how many files a round should make."""
    to_size = math.ceil(outlook.bytes / target)
    at_most = math.ceil(_LEAST_SHARE * outlook.bytes / target)
    busy = min(_TASKS_A_CORE * outlook.cores, at_most)
    if busy > outlook.cores:
        busy -= busy % outlook.cores
    return max(1, to_size, busy)


def in_files(
    frame: DataFrame, outlook: Outlook, target: int, partition_by: tuple[str, ...] = ()
) -> DataFrame:
    """Return the rows in as many partitions as files are wanted; the rows of a folder together."""
    wanted = files_wanted(outlook, target)
    if partition_by and wanted > 1:
        return frame.repartition(wanted, *(quoted(name) for name in partition_by))
    if wanted >= outlook.cores and wanted > 1:
        return frame.coalesce(wanted)
    return frame.repartition(wanted)
