"""What the first line of a CSV file calls its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, TypeAlias

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass
from conductor_workers.pipelines import csv_form
from conductor_workers.pipelines.connectors import SourceProblem
from conductor_workers.pipelines.sources.drift import LENIENT, DriftRule, spelt

#: Tells the values of a file's first line.
Head: TypeAlias = Callable[[SplitDescriptor], Sequence[str | None]]
_HEADS_AT_ONCE: Final = 8
#: What the name of a column begins with that nobody asked for; no other is named so.
_UNASKED: Final = "\0"


def names_in(line: bytes, options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of a first line."""
    return csv_form.names_in(line.decode("utf-8", "replace"), options)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumns:
    """The columns of a file of text as it calls them, in its order; ``folders`` are those declared
    that it has not, and the names of its folders have.
    """

    names: tuple[str, ...]
    wanted: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    @property
    def read_as(self) -> tuple[str, ...]:
        """What they are called while they are read, at least one: those that nobody asked for go by
        number, since their names may be anybody's.
        """
        first = {name: at for at, name in reversed(list(enumerate(self.names)))}
        known = frozenset(self.wanted)
        return tuple(
            name if name in known and first[name] == at else f"{_UNASKED}{at}"
            for at, name in enumerate(self.names or (_UNASKED,))
        )

    @property
    def called(self) -> dict[str, str]:
        """What the file calls the columns that go by number."""
        pairs = zip(self.read_as, self.names, strict=False)
        return {as_read: name for as_read, name in pairs if as_read != name}


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLines:
    """How the first line of a file tells its columns; ``folders`` are columns in the names of its
    folders.
    """

    options: Mapping[str, str]
    wanted: tuple[str, ...]
    folders: tuple[str, ...] = ()
    header: bool = False
    drift: DriftRule = LENIENT

    @property
    def own(self) -> FileColumns:
        """The columns of a file of which no line tells anything."""
        names = tuple(name for name in self.wanted if name not in self.folders)
        return FileColumns(names=names, wanted=self.wanted, folders=self.folders)

    def of(self, values: Sequence[str | None], path: str) -> FileColumns:
        """Return the columns of a file with these values in its first line; with none it is empty.

        Raises ``SCHEMA_CHANGED``.
        """
        if not values:
            return self.own
        if self.header:
            return self._named(
                columns_of(values, self.options, self.wanted, path, self.folders), path
            )
        if len(values) == len(self.wanted):
            return FileColumns(names=self.wanted, wanted=self.wanted)
        numbered = tuple(f"_c{at}" for at in range(len(values)))
        return replace(self.own, names=self.own.names or numbered)

    def grouped(
        self, splits: Sequence[SplitDescriptor], head: Head
    ) -> dict[FileColumns, list[SplitDescriptor]]:
        """Group splits by the columns of their files, of which ``head`` tells the first line."""
        if not (self.header or self.folders):
            return {self.own: list(splits)}
        of_files = {str(each.descriptor["path"]): each for each in splits}
        with ThreadPoolExecutor(_HEADS_AT_ONCE) as pool:
            heads = dict(zip(of_files, pool.map(head, of_files.values()), strict=True))
        found: dict[FileColumns, list[SplitDescriptor]] = {}
        for split in splits:
            path = str(split.descriptor["path"])
            found.setdefault(self.of(heads[path], path), []).append(split)
        return found

    def _named(self, names: tuple[str, ...], path: str) -> FileColumns:
        folders = tuple(name for name in self.folders if name not in names)
        own = [name for name in self.wanted if name not in folders]
        self.drift.check(names, own, path)
        return FileColumns(names=names, wanted=self.wanted, folders=folders)


def columns_of(
    names: Sequence[str | None],
    options: Mapping[str, str],
    wanted: Sequence[str],
    path: str,
    folders: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the columns that a first line names; those ``wanted`` are spelt as they are there.

    What has no name, or one that is there twice, gets what Spark calls it when it looks for the
    columns itself. Raises ``SCHEMA_CHANGED`` where it names none that the ``folders`` have not.
    """
    given = ["" if name in (None, options.get("nullValue")) else str(name) for name in names]
    found = spelt(given, wanted, path)
    times = Counter(name.lower() for name in found)
    called = tuple(
        f"_c{at}" if not name else f"{name}{at}" if times[name.lower()] > 1 else name
        for at, name in enumerate(found)
    )
    own = set(wanted).difference(folders)
    if called and own and not set(called) & set(wanted):
        raise SourceProblem(
            "SCHEMA_CHANGED",
            f"The file {path} has none of the columns {', '.join(wanted)}: its first line names "
            f"{', '.join(called)}. Look at options.sep and options.header.",
        )
    return called
