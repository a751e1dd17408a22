"""Finds files and cuts them into splits.

A file is a split of its own unless it is more than twice as large as the node's ``split.size`` and
can be cut: into byte ranges (CSV and JSON lines, uncompressed, no line breaks inside values), row
groups (Parquet) or stripes (ORC). A watched directory is listed again each time; a file counts as
seen by its path. What lies there under a name that begins with ``.`` or ``_`` is not looked at, so
a file is best written aside and renamed; nor is what another pipeline has not committed.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.connectors import Discovery, SourceProblem
from conductor_workers.pipelines.sources.committed import committed, fixed_part
from conductor_workers.pipelines.sources.compression import is_compressed
from conductor_workers.pipelines.storage.local import LocalStorage

#: A file that is only a little too large is read whole: Spark reads whole files faster.
_WORTH_CUTTING: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file as it was when it was found."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CutRule:
    """How files are cut: ``by`` is ``file``, ``bytes``, ``row_groups`` or ``stripes``."""

    by: str = "file"
    size: int = 64 << 20


def files_of(patterns: tuple[str, ...]) -> list[Found]:
    """List the files that match, each once, by path."""
    paths: set[str] = set()
    for pattern in patterns:
        paths.update(_matching(pattern))
    found = []
    for path in sorted(paths):
        try:
            state = os.stat(path)  # noqa: PTH116 - one call for all figures
        except FileNotFoundError:
            continue
        found.append(Found(path=path, size=state.st_size, mtime_ns=state.st_mtime_ns))
    return found


def straight(path: str) -> str:
    """Return a path without ``..`` and empty steps: Spark leaves them out, too, but goes back over
    the name of a link where the system goes back from what it leads to.
    """
    if ".." in path.split("/"):
        return os.path.realpath(path)
    return re.sub("^/+", "/", os.path.normpath(path)) if path else path


def unchanged(split: SplitDescriptor) -> None:
    """Raise ``SOURCE_CHANGED`` unless the file is the one that was discovered."""
    path = str(split.descriptor["path"])
    try:
        state = os.stat(path)  # noqa: PTH116
    except FileNotFoundError as error:
        raise SourceProblem("SOURCE_CHANGED", f"The file {path} has vanished.") from error
    known = (split.descriptor["size"], split.descriptor["mtime_ns"])
    if known != (state.st_size, state.st_mtime_ns):
        raise SourceProblem(
            "SOURCE_CHANGED",
            f"The file {path} has changed since it was found: it had {known[0]} bytes, and has "
            f"{state.st_size}.",
        )


@dataclass(slots=True)
class FileEnumerator:
    """Lists, in the order of paths; what is found later comes after what was found before."""

    patterns: tuple[str, ...]
    format: str
    rule: CutRule
    watch: bool
    seen: set[str] = field(default_factory=set)
    """Paths of what was found: thousands of files, so no part of the snapshot."""
    cutting: str = ""
    """The file that comes first, if it is still there: ``parts`` of its splits were returned."""
    parts: int = 0

    def discover(self, *, first_ord: int, limit: int) -> Discovery:
        """See ``SplitEnumerator``. Raises ``SOURCE_CHANGED`` for files that cannot be read, and
        ``SOURCE_UNAVAILABLE``.
        """
        found: list[SplitDescriptor] = []
        for file in self._coming():
            faults.reach("F13")
            if file.path != self.cutting:
                self.cutting, self.parts = file.path, 0
            pieces = list(_cut(file, self.format, self.rule))
            for piece in pieces[self.parts :]:
                if len(found) == limit:
                    return Discovery(found=tuple(found), complete=False)
                found.append(_numbered(piece, first_ord + len(found)))
                self.parts += 1
            self._passed(file)
        return Discovery(found=tuple(found), complete=not self.watch)

    def recall(self, found: Iterable[SplitDescriptor]) -> None:
        """See ``Recalling``."""
        paths = (straight(str(split.descriptor["path"])) for split in found)
        self.seen = {path for path in paths if path != self.cutting}

    def snapshot(self) -> Mapping[str, Any]:
        """See ``SplitEnumerator``."""
        return {"patterns": list(self.patterns), "cutting": self.cutting, "parts": self.parts}

    def close(self) -> None:
        """Nothing is open."""

    def _coming(self) -> Iterator[Found]:
        if not self.watch and not self.seen:
            _refuse_absent(self.patterns)
        new = (file for file in files_of(self.patterns) if file.path not in self.seen)
        return iter(sorted(new, key=self._place))

    def _place(self, file: Found) -> tuple[bool, int, str]:
        return file.path != self.cutting, file.mtime_ns if self.watch else 0, file.path

    def _passed(self, file: Found) -> None:
        self.cutting, self.parts = "", 0
        self.seen.add(file.path)


def extended(patterns: Iterable[str], snapshot: Mapping[str, Any]) -> bool:
    """Say whether there are patterns that an enumerator with that snapshot did not go by."""
    return not set(patterns) <= set(snapshot.get("patterns", ()))


def file_enumerator(
    restored: Mapping[str, Any],
    patterns: tuple[str, ...],
    data_format: str,
    rule: CutRule,
    *,
    watch: bool,
) -> FileEnumerator:
    """Start, or go on from a snapshot."""
    return FileEnumerator(
        patterns=patterns,
        format=data_format,
        rule=rule,
        watch=watch,
        cutting=straight(str(restored.get("cutting", ""))),
        parts=int(restored.get("parts", 0)),
    )


def _cut(file: Found, data_format: str, rule: CutRule) -> Iterator[SplitDescriptor]:
    whole = {"path": file.path, "size": file.size, "mtime_ns": file.mtime_ns}
    large = file.size > rule.size * _WORTH_CUTTING
    if not large or rule.by == "file" or is_compressed(file.path):
        yield SplitDescriptor(ord=0, descriptor=whole, bytes=file.size)
    elif rule.by == "bytes" and data_format in ("csv", "json"):
        for start in range(0, file.size, rule.size):
            length = min(rule.size, file.size - start)
            yield SplitDescriptor(
                ord=0, descriptor={**whole, "start": start, "length": length}, bytes=length
            )
    elif data_format in ("parquet", "orc"):
        for first, sizes in grouped(_unit_sizes(file.path, data_format), rule.size):
            yield SplitDescriptor(
                ord=0,
                descriptor={**whole, "first": first, "count": len(sizes)},
                bytes=sum(size for size, _ in sizes),
                rows=sum(rows for _, rows in sizes),
            )
    else:
        yield SplitDescriptor(ord=0, descriptor=whole, bytes=file.size)


def _unit_sizes(path: str, data_format: str) -> list[tuple[int, int]]:
    """Return bytes and rows of each row group or stripe."""
    try:
        if data_format == "parquet":
            import pyarrow.parquet as pq

            meta = pq.read_metadata(path)
            groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
            return [(_compressed(each), each.num_rows) for each in groups]
        from pyarrow import orc

        file = orc.ORCFile(path)
        each_bytes = file.content_length // max(1, file.nstripes)
        return [(each_bytes, file.nrows // max(1, file.nstripes))] * file.nstripes
    except (OSError, ValueError) as error:
        raise SourceProblem(
            "SOURCE_CHANGED", f"The file {path} is no readable {data_format} file: {error}"
        ) from error


def _compressed(group: Any) -> int:  # noqa: ANN401 - pyarrow has no types
    return sum(group.column(i).total_compressed_size for i in range(group.num_columns))


def grouped(units: list[tuple[int, int]], size: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Gather units (bytes, rows) of a file up to the size: the first one's number, and them all."""
    first, gathered, total = 0, list[tuple[int, int]](), 0
    for number, unit in enumerate(units):
        if gathered and total + unit[0] > size:
            yield first, gathered
            first, gathered, total = number, [], 0
        gathered.append(unit)
        total += unit[0]
    if gathered:
        yield first, gathered


def _refuse_absent(patterns: Iterable[str]) -> None:
    """Raise ``SOURCE_UNAVAILABLE`` for a path that names one thing, which is not there."""
    for pattern in patterns:
        if not glob.has_magic(pattern) and not os.path.lexists(pattern):
            raise SourceProblem("SOURCE_UNAVAILABLE", f"{pattern} is not there.", retryable=True)


def _numbered(split: SplitDescriptor, number: int) -> SplitDescriptor:
    return SplitDescriptor(
        ord=number, descriptor=split.descriptor, bytes=split.bytes, rows=split.rows
    )


def _matching(pattern: str) -> Iterator[str]:
    # What goes back may go back over a link: where it leads, no name of a link is left.
    way = os.path.realpath if ".." in pattern.split("/") else straight
    base = Path(way(pattern if Path(pattern).is_dir() else fixed_part(pattern)) or "/")
    matched: list[str] = []
    for path in glob.glob(pattern, recursive=True):  # noqa: PTH207 - a pattern may be absolute
        found = way(path)
        matched.extend(_below(found) if Path(found).is_dir() else (found,))
    # From the top: who has committed a file may be told above the folder that a pattern names.
    top = Path(base.anchor)
    names = (str((base / os.path.relpath(path, base)).relative_to(top)) for path in matched)
    below = str(base.relative_to(top))
    for name in committed(names, lambda root: LocalStorage(top / root), base=below):
        yield str(top / name)


def _below(directory: str) -> Iterator[str]:
    for folder, _, names in os.walk(directory):
        yield from (str(Path(folder) / name) for name in names)
