"""Reads the lines of a piece of a file in a task: those of a byte range, or of the whole.

A line belongs to the range that its first byte is in, so the ranges of a file have every line
exactly once wherever the cuts fall. What is in a line Spark takes apart, or ``plain_rows`` where
all readers agree on it: a file that is cut has the rows of one that is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass
from conductor_workers.pipelines.sources.compression import decompressed, is_compressed
from conductor_workers.pipelines.sources.listing import unchanged

if TYPE_CHECKING:
    import pyarrow as pa

#: The column of a reader of lines.
LINE: Final = "_line"
ROWS: Final = 20_000
"""Rows of a batch."""
_SCAN_BYTES: Final = 1 << 16
_NEWLINE: Final = b"\n"
_BOM: Final = b"\xef\xbb\xbf"
_END: Final = re.compile(rb"\r\n|\r|\n")
#: What a line is that Spark passes over.
_BLANKS: Final = {"csv": bytes(range(33)), "json": b" \t"}


class Files(Protocol):
    """Where the files of splits are; travels to tasks. Raises ``SOURCE_CHANGED`` for a file that is
    not as it was found.
    """

    def open(self, split: SplitDescriptor) -> BinaryIO:
        """Open a split's file."""

    def place(self, split: SplitDescriptor) -> str | BinaryIO:
        """Return a split's file as pyarrow reads it best."""


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Files of local and mounted disks."""

    def open(self, split: SplitDescriptor) -> BinaryIO:
        """See ``Files``."""
        return Path(self.place(split)).open("rb")

    def place(self, split: SplitDescriptor) -> str:
        """See ``Files``."""
        unchanged(split)
        return str(split.descriptor["path"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The lines of files of a format, but for blank ones and a header."""

    format: str
    header: bool = False
    files: Files = LocalFiles()

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``; the batches have the column ``_line``."""
        import pyarrow as pa

        lines = self.of(split)
        for at in range(0, len(lines), ROWS):
            batch = lines[at : at + ROWS]
            yield pa.RecordBatch.from_arrays([as_texts(batch)], names=[LINE])

    def of(self, split: SplitDescriptor) -> list[bytes]:
        """Return them as they are stored, without their ends."""
        return self.shown(self.content(split))

    def shown(self, content: bytes) -> list[bytes]:
        """Return the lines of a content that are not blank."""
        blanks = _BLANKS[self.format]
        return [line for line in content.splitlines() if line.strip(blanks)]

    def content(self, split: SplitDescriptor) -> bytes:
        """Return all that is stored of a split's lines, but for a header."""
        path = str(split.descriptor["path"])
        start = int(split.descriptor.get("start", 0))
        length = int(split.descriptor.get("length", split.descriptor["size"]))
        with self.files.open(split) as stored, decompressed(stored, path) as file:
            begin = _head_of(file)[1] if self.header else 0
            file.seek(0)
            # What is compressed is never cut.
            at, content = (0, file.read()) if is_compressed(path) else _range(file, start, length)
        content = content[max(0, begin - at) :]
        return content.removeprefix(_BOM) if at == 0 and not begin else content

    def head(self, split: SplitDescriptor) -> bytes:
        """Return the first line of a split's file that is not blank."""
        path = str(split.descriptor["path"])
        with self.files.open(split) as stored, decompressed(stored, path) as file:
            return _head_of(file)[0]


def as_text(line: bytes) -> str:
    """Return a line as Spark reads it: what is no UTF-8 is marked, and costs no row."""
    return line.decode("utf-8", "replace")


def as_texts(lines: Sequence[bytes]) -> pa.Array:
    """Return lines as Spark reads them, a column of text."""
    import pyarrow as pa

    try:
        return pa.array(lines, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([as_text(line) for line in lines], pa.string())


def _head_of(file: BinaryIO) -> tuple[bytes, int]:
    """Return the first line that is not blank, and where the next one begins."""
    parts, at, held = list[bytes](), 0, b""
    while read := file.read(_SCAN_BYTES):
        chunk, begin = held + read, 0
        held = b"\r" if chunk.endswith(b"\r") else b""  # a newline may follow
        chunk = chunk.removesuffix(held)
        for end in _END.finditer(chunk):
            parts.append(chunk[begin : end.start()])
            begin = end.end()
            if line := _shown(b"".join(parts)):
                return line, at + begin
            parts = []
        parts.append(chunk[begin:])
        at += len(chunk)
    return _shown(b"".join(parts)), at + len(held)


def _shown(line: bytes) -> bytes:
    line = line.removeprefix(_BOM)
    return line if line.strip(_BLANKS["csv"]) else b""


def _range(file: BinaryIO, start: int, length: int) -> tuple[int, bytes]:
    """Return the lines whose first byte is in the range, the last one whole, and where they
    begin.
    """
    begin, end = start, start + length
    if start:
        begin = _after_newline(file, start - 1)
    if begin >= end:
        return begin, b""
    finish = _after_newline(file, end - 1)
    file.seek(begin)
    return begin, file.read(finish - begin)


def _after_newline(file: BinaryIO, position: int) -> int:
    """Return where the line that comes after the first newline from there on begins."""
    file.seek(position)
    while chunk := file.read(_SCAN_BYTES):
        at = chunk.find(_NEWLINE)
        if at >= 0:
            return position + at + 1
        position += len(chunk)
    return position
