"""Reads a piece of a file in a task: a byte range of lines, row groups, or stripes.

A line belongs to the range that its first byte is in, so the ranges of a file have every line
exactly once wherever the cuts fall. Values of lines are left as text: the round gives them their
types and finds those that do not fit.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass
from conductor_workers.pipelines.connectors import RAW, SourceProblem
from conductor_workers.pipelines.csv_form import names_in
from conductor_workers.pipelines.places import ROW
from conductor_workers.pipelines.sources.compression import decompressed, is_compressed
from conductor_workers.pipelines.sources.drift import EXTRA, LENIENT, DriftRule, captured, in_json
from conductor_workers.pipelines.sources.listing import unchanged
from conductor_workers.pipelines.storage import StoreAway

if TYPE_CHECKING:
    import pyarrow as pa

_SCAN_BYTES: Final = 1 << 16
_NEWLINE: Final = b"\n"
_BOM: Final = b"\xef\xbb\xbf"
_ROWS: Final = 20_000


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
class LineReader:
    """CSV or JSON lines; ``columns`` are the columns wanted, in order, each as text."""

    format: str
    columns: tuple[str, ...]
    header: bool = False
    separator: str = ","
    quote: str = '"'
    null_text: str = ""
    numbered: bool = False
    """Whether the batches have the rows' numbers in the split, from 0, in ``_row``."""
    drift: DriftRule = LENIENT
    files: Files = LocalFiles()

    @property
    def made(self) -> tuple[str, ...]:
        """The columns of the batches but for ``_row``."""
        return (*self.columns, *((EXTRA,) if self.drift.captures else ()), RAW)

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``; the batches have ``columns``, ``_extra`` if it is captured, and
        ``_raw``, all text.
        """
        path = str(split.descriptor["path"])
        start = int(split.descriptor.get("start", 0))
        length = int(split.descriptor.get("length", split.descriptor["size"]))
        with self.files.open(split) as stored, decompressed(stored, path) as file:
            names = self._names(file)
            if is_compressed(path):  # never cut
                file.seek(0)
                content = file.read()
            else:
                content = _lines_of(file, start, length)
        if start == 0:
            content = content.removeprefix(_BOM)
            if self.format == "csv" and self.header:
                content = content.partition(_NEWLINE)[2]
        if not content.strip():
            return
        if self.format == "json":
            yield from self._json(content, path)
            return
        self.drift.check(names, self.columns, path)
        yield from self._csv(content, names)

    def _names(self, file: BinaryIO) -> tuple[str, ...]:
        if self.format != "csv" or not self.header:
            return self.columns
        return header_of(file.readline(), {"sep": self.separator, "quote": self.quote})

    def _csv(self, content: bytes, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import csv

        odd: dict[int, str] = {}

        def remember(row: Any) -> str:  # noqa: ANN401 - pyarrow has no types
            odd[row.number - 1] = row.text or ""
            return "skip"

        table = csv.read_csv(
            io.BytesIO(content),
            read_options=csv.ReadOptions(column_names=list(names), use_threads=False),
            parse_options=csv.ParseOptions(
                delimiter=self.separator,
                quote_char=self.quote or False,
                invalid_row_handler=remember,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[self.null_text],
            ),
        )
        none = pa.nulls(table.num_rows, pa.string())
        columns = [table[name] if name in names else none for name in self.columns]
        if self.drift.captures:
            extra = {n: table[n].to_pylist() for n in names if n not in self.columns}
            columns.append(pa.array(list(captured(extra, table.num_rows)), pa.string()))
        whole = [n for n in range(table.num_rows + len(odd)) if n not in odd] if odd else None
        yield from self._batches([*columns, none], whole or range(table.num_rows))
        if odd:
            nothing = pa.nulls(len(odd), pa.string())
            texts = pa.array(list(odd.values()), pa.string())
            yield from self._batches([*([nothing] * len(columns)), texts], list(odd))

    def _json(self, content: bytes, path: str) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        lines = [line for line in content.split(_NEWLINE) if line.strip()]
        for at in range(0, len(lines), _ROWS):
            rows = [self._fields(line, path) for line in lines[at : at + _ROWS]]
            columns = [pa.array(list(column), pa.string()) for column in zip(*rows, strict=True)]
            yield from self._batches(columns, range(at, at + len(rows)))

    def _fields(self, line: bytes, path: str) -> list[str | None]:
        import json

        try:
            document = json.loads(line)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            nothing = [None] * (len(self.made) - 1)
            return [*nothing, line.decode("utf-8", "replace").rstrip("\r")]
        self.drift.check(document, self.columns, f"{path}, a row of it,")
        found = [as_text(document.get(name)) for name in self.columns]
        if self.drift.captures:
            extra = {name: each for name, each in document.items() if name not in self.columns}
            found.append(in_json(extra) if extra else None)
        return [*found, None]

    def _batches(self, columns: list[Any], numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = [*self.made]
        if self.numbered:
            columns, names = [*columns, pa.array(numbers, pa.int64())], [*names, ROW]
        yield from pa.table(columns, names=names).to_batches(max_chunksize=_ROWS)


class _Heard:
    """A file as decoders use it, which remembers what its store has said when a read failed."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.said: OSError | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            self.said = error
            raise

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def flush(self) -> None:
        """Nothing is written."""

    def close(self) -> None:
        self.closed = True
        self._file.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReader:
    """Row groups of Parquet or stripes of ORC, in the columns and types of ``schema``."""

    format: str
    schema: pa.Schema
    drift: DriftRule = LENIENT
    files: Files = LocalFiles()

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``."""
        path = str(split.descriptor["path"])
        heard: _Heard | None = None
        try:
            place = self.files.place(split)
            heard = None if isinstance(place, str) else _Heard(place)
            for table in self._tables(heard or place, split):
                yield from self._shaped(table).to_batches(max_chunksize=_ROWS)
        except (OSError, ValueError) as error:
            # Decoders make one of their own of what a store has said.
            said = error if heard is None or heard.said is None else heard.said
            if isinstance(said, StoreAway):
                raise said from None
            raise SourceProblem(
                "SOURCE_CHANGED", f"The file {path} cannot be read as it was found: {said}"
            ) from said

    def _tables(self, place: str | BinaryIO | _Heard, split: SplitDescriptor) -> Iterator[pa.Table]:
        import pyarrow as pa

        path = str(split.descriptor["path"])
        first = int(split.descriptor.get("first", 0))
        if self.format == "parquet":
            import pyarrow.parquet as pq

            with pq.ParquetFile(place) as file:
                there = file.schema_arrow
                self.drift.check_types(there, self.schema, path)
                count = int(split.descriptor.get("count", file.num_row_groups))
                wanted = there.names
                if not self.drift.captures:
                    wanted = [name for name in self.schema.names if name in there.names]
                for number in range(first, first + count):
                    yield file.read_row_group(number, columns=wanted)
            return
        from pyarrow import orc

        stripes = orc.ORCFile(place)
        self.drift.check_types(stripes.schema, self.schema, path)
        count = int(split.descriptor.get("count", stripes.nstripes))
        for number in range(first, first + count):
            yield pa.Table.from_batches([stripes.read_stripe(number)])

    def _shaped(self, table: pa.Table) -> pa.Table:
        import pyarrow as pa

        columns = [
            self._extra(table)
            if field.name == EXTRA and self.drift.captures
            else table[field.name].cast(field.type)
            if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in self.schema
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _extra(self, table: pa.Table) -> pa.Array:
        import pyarrow as pa

        names = [name for name in table.column_names if name not in self.schema.names]
        found = {name: table[name].to_pylist() for name in names}
        return pa.array(list(captured(found, table.num_rows)), pa.string())


def header_of(line: bytes, options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the column names that a first line gives."""
    text = line.removeprefix(_BOM).decode("utf-8", "replace").rstrip("\r\n")
    return names_in(text, options)


def _lines_of(file: BinaryIO, start: int, length: int) -> bytes:
    """Return the lines whose first byte is in the range, the last one whole."""
    begin, end = start, start + length
    if start:
        begin = _after_newline(file, start - 1)
    if begin >= end:
        return b""
    finish = _after_newline(file, end - 1)
    file.seek(begin)
    return file.read(finish - begin)


def _after_newline(file: BinaryIO, position: int) -> int:
    """Return where the line that comes after the first newline from there on begins."""
    file.seek(position)
    while chunk := file.read(_SCAN_BYTES):
        at = chunk.find(_NEWLINE)
        if at >= 0:
            return position + at + 1
        position += len(chunk)
    return position


def as_text(value: object) -> str | None:
    """Return a value of JSON as text that can be given its declared type."""
    import json

    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
