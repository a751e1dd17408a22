"""Where a row stands in its source: the column ``_at``, which is read for dead letters only.

    ord      the split's number; NULL where Spark reads whole files by itself
    file     the file then
    offset   what the source counts by: Kafka's offset, or the byte that a piece of a file begins at
    row      the row's number, from 0, in its split; where Spark reads, from any number on in a file

A reader that counts for itself puts ``_row`` or ``_offset`` beside its columns; the rows of others
are counted as they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.pipelines.connectors import AT, CODE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

#: Columns of a reader's batches that are taken into ``_at``.
ROW: Final = "_row"
OFFSET: Final = "_offset"
PLACE: Final = "struct<ord: bigint, file: string, offset: bigint, row: bigint>"


def with_place(schema: StructType) -> StructType:
    """Return a schema with the column ``_at`` besides."""
    from pyspark.sql.types import DataType, StructType

    return StructType(list(schema.fields)).add(AT, DataType.fromDDL(PLACE))


def with_places(
    batches: Iterable[pa.RecordBatch], ord: int, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Return a split's batches, in the columns ``names``, each row with its place."""
    import pyarrow as pa

    before = 0
    for batch in batches:
        count = batch.num_rows
        none, given = pa.nulls(count, pa.int64()), batch.schema.names
        offsets = batch.column(OFFSET) if OFFSET in given else none
        rows = none if OFFSET in given else pa.array(range(before, before + count), pa.int64())
        rows = batch.column(ROW) if ROW in given else rows
        before += count
        at = pa.StructArray.from_arrays(
            [pa.array([ord] * count, pa.int64()), pa.nulls(count, pa.string()), offsets, rows],
            names=["ord", "file", "offset", "row"],
        )
        columns = [*(batch.column(name) for name in names), at]
        yield pa.RecordBatch.from_arrays(columns, names=[*names, AT])


def placed_by_spark(frame: DataFrame) -> DataFrame:
    """Give the rows of files that Spark reads their places."""
    from pyspark.sql import functions as f

    about = frame.metadataColumn("_metadata")
    at = f.struct(
        f.lit(None).cast("bigint").alias("ord"),
        about["file_path"].alias("file"),
        about["file_block_start"].alias("offset"),
        f.monotonically_increasing_id().alias("row"),
    )
    return frame.withColumn(AT, at)


def in_order(rows: DataFrame, splits: Sequence[SplitDescriptor]) -> DataFrame:
    """Return rows that have places without them, a partition for each of these splits of files.

    Spark itself reads the largest file first, and small ones together.
    """
    from pyspark.sql import functions as f

    listed = [(at, each.ord, each.descriptor.get("path")) for at, each in enumerate(splits)]
    turns = rows.sparkSession.createDataFrame(listed, "_turn int, _ord bigint, _path string")
    at = f.col(AT)
    same = (at["ord"] == turns["_ord"]) | (
        at["ord"].isNull() & (path_of(at["file"]) == turns["_path"])
    )
    found = rows.join(f.broadcast(turns), same, "left").repartitionById(
        len(splits), f.coalesce("_turn", f.lit(0))
    )
    in_turn = found.sortWithinPartitions(at["offset"], at["row"])
    return in_turn.drop("_turn", "_ord", "_path", AT, CODE)


def path_of(uri: Column) -> Column:
    """Return the path of a file on a disk, as splits have it, of the URI that Spark tells."""
    from pyspark.sql import functions as f

    decoded = f.url_decode(f.replace(uri, f.lit("+"), f.lit("%2B")))
    return f.regexp_replace(decoded, "^file:/+", "/")
