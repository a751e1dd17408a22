"""Columns that a file has in the names of its folders, as ``partition_by`` of a sink writes them:
``day=2026-11-30``. Who declares such a column gets it from there, where the file has none.

Folders above what a pattern names do not count, as with Spark, but for those that it names last:
who reads ``/lake/day=2026-11-30/*`` means that day's rows of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.places import beside_splits
from conductor_workers.pipelines.sources.committed import fixed_part
from conductor_workers.pipelines.sources.taken_apart import all_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What Spark and Hive call a folder whose column is NULL.
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """What the names of folders say of columns of files, as text: by path, and by column."""

    values: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)

    def of(self, split: SplitDescriptor) -> tuple[str, ...]:
        """Return the columns that are told of a split's file."""
        return tuple(self.values.get(str(split.descriptor["path"]), ()))

    def groups(
        self, splits: Sequence[SplitDescriptor]
    ) -> dict[tuple[str, ...], list[SplitDescriptor]]:
        """Group splits by the columns that are told of them."""
        found: dict[tuple[str, ...], list[SplitDescriptor]] = {}
        for split in splits:
            found.setdefault(self.of(split), []).append(split)
        return found

    def beside(
        self, rows: DataFrame, splits: Sequence[SplitDescriptor], columns: Sequence[str]
    ) -> DataFrame:
        """Give rows of splits, which have places, these columns."""
        if not columns:
            return rows
        told = [self.values[str(split.descriptor["path"])] for split in splits]
        values = [tuple(each[name] for name in columns) for each in told]
        return beside_splits(rows, splits, all_text(columns), values)


def folders_of(
    splits: Sequence[SplitDescriptor], names: Iterable[str], bases: Iterable[str]
) -> Folders:
    """Look at the folders of files for columns of these names; ``bases`` are those that patterns
    name, as paths of splits begin with them.
    """
    wanted = {name.lower(): name for name in names}
    longest = sorted(set(bases), key=len, reverse=True)
    found: dict[str, Mapping[str, str | None]] = {}
    for path in {str(split.descriptor["path"]) for split in splits}:
        if values := _values(_steps(path, longest), wanted):
            found[path] = values
    return Folders(values=found)


def bases_of(patterns: Iterable[str]) -> list[str]:
    """Return the folders below which patterns find files: they themselves, if they are folders."""
    return [base for each in patterns for base in (each, fixed_part(each))]


def _steps(path: str, bases: Iterable[str]) -> Sequence[str]:
    """Return the folders of a path that count."""
    base = next((each for each in bases if path.startswith(f"{each}/")), "")
    above, below = base.split("/"), path.removeprefix(base).split("/")[:-1]
    last = next((at for at in range(len(above), 0, -1) if "=" not in above[at - 1]), 0)
    return [*above[last:], *below]


def _values(steps: Iterable[str], wanted: Mapping[str, str]) -> Mapping[str, str | None]:
    pairs = [step.split("=", 1) for step in steps if "=" in step]
    found = {
        wanted[name]: None if value == _NULL else unquote(value)
        for name, value in ((unquote(name).lower(), value) for name, value in pairs)
        if name in wanted
    }
    return dict(sorted(found.items()))
