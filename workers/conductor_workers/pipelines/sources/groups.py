"""Reads row groups of Parquet and stripes of ORC in a task."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass
from conductor_workers.pipelines.connectors import SourceProblem
from conductor_workers.pipelines.sources.drift import (
    EXTRA,
    LENIENT,
    DriftRule,
    captured,
    spelt,
    spelt_within,
)
from conductor_workers.pipelines.sources.pieces import ROWS, Files, LocalFiles
from conductor_workers.pipelines.storage import StoreAway

if TYPE_CHECKING:
    import pyarrow as pa


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
                named = table.rename_columns(spelt(table.column_names, self.schema.names, path))
                yield from self._shaped(named).to_batches(max_chunksize=ROWS)
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

            # Nanoseconds, which are the default, end in 2262.
            with pq.ParquetFile(place, coerce_int96_timestamp_unit="us") as file:
                there = file.schema_arrow
                self.drift.check_types(there, self.schema, path)
                count = int(split.descriptor.get("count", file.num_row_groups))
                wanted = there.names
                if not self.drift.captures:
                    known = spelt(there.names, self.schema.names, path)
                    pairs = zip(there.names, known, strict=True)
                    wanted = [name for name, meant in pairs if meant in self.schema.names]
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
            else _cast(table[field.name], field.type)
            if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in self.schema
        ]
        if not columns:  # the rows count all the same: all that is wanted is in names of folders
            return table.select([])
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _extra(self, table: pa.Table) -> pa.Array:
        import pyarrow as pa

        names = [name for name in table.column_names if name not in self.schema.names]
        found = {name: table[name].to_pylist() for name in names}
        return pa.array(list(captured(found, table.num_rows)), pa.string())


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Give a column a type that it can be read as: Spark drops parts of a microsecond, too."""
    import pyarrow as pa

    named = spelt_within(column.type, wanted)
    if not named.equals(column.type):
        # A cast goes by names, and makes NULL of a field that has another one.
        column = pa.chunked_array([each.view(named) for each in column.chunks], type=named)
    return column.cast(wanted, safe=False)


def read_by_spark(there: pa.Schema, names: Sequence[str]) -> bool:
    """Say whether Spark has types for these columns of a Parquet file: it reads neither nanoseconds
    nor floats of 16 bits.
    """
    wanted = {name.lower() for name in names}
    return not any(_beyond_spark(each.type) for each in there if each.name.lower() in wanted)


def _beyond_spark(kind: pa.DataType) -> bool:
    from pyarrow import types

    if types.is_nested(kind):
        return any(_beyond_spark(kind.field(at).type) for at in range(kind.num_fields))
    return bool(types.is_float16(kind) or (types.is_timestamp(kind) and kind.unit == "ns"))
