"""Where a row stands in its source: the column ``_at``, which is read for dead letters only.

    ord      the split's number; NULL where Spark reads whole files by itself
    file     the file then
    offset   what the source counts by: Kafka's offset, or the byte that a piece of a file begins at
    row      the row's number, from 0, in its split; where Spark reads, from any number on in a file

A reader that counts for itself puts ``_row`` or ``_offset`` beside its columns; the rows of others
are counted as they come.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.pipelines.connectors import AT, CODE
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

#: Columns of a reader's batches that are taken into ``_at``.
ROW: Final = "_row"
OFFSET: Final = "_offset"
PLACE: Final = "struct<ord: bigint, file: string, offset: bigint, row: bigint>"
#: Beside columns of any name.
_KEY: Final = "\0key"
_KNOWN: Final = "\0known"
_TURN: Final = "\0turn"
_PREFIX: Final = re.compile("^file:/+")
#: How Spark begins the URI of a file on a disk, here and there.
_SCHEMES: Final = ("file:", "file://")
#: What a split says that is a part of a file.
_CUT: Final = frozenset({"start", "first"})


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


def placed_by_spark(frame: DataFrame, *, counted: bool = True) -> DataFrame:
    """Give the rows of files that Spark reads their places; unless ``counted``, their files only:
    what is counted is taken for chance by Spark.
    """
    from pyspark.sql import functions as f

    about = frame.metadataColumn("_metadata")
    at = f.struct(
        f.lit(None).cast("bigint").alias("ord"),
        about["file_path"].alias("file"),
        about["file_block_start"].alias("offset"),
        (f.monotonically_increasing_id() if counted else f.lit(None).cast("bigint")).alias("row"),
    )
    return frame.withColumn(AT, at)


def together(frames: Sequence[DataFrame], *, placed: bool) -> DataFrame:
    """Return the rows of all frames, with their places or without."""
    rows = functools.reduce(
        lambda left, right: left.unionByName(right, allowMissingColumns=True), frames
    )
    return rows if placed else rows.drop(AT, CODE)


def in_order(rows: DataFrame, splits: Sequence[SplitDescriptor]) -> DataFrame:
    """Return rows that have places without them, a partition for each of these splits of files.

    Spark itself reads the largest file first, and small ones together.
    """
    from pyspark.sql import functions as f

    turned = beside_splits(
        rows, splits, f"{quoted(_TURN)} int", [(at,) for at in range(len(splits))]
    )
    at = "offset", "row"
    in_turn = turned.repartitionById(len(splits), f.col(quoted(_TURN))).sortWithinPartitions(
        *(f"{AT}.{name}" for name in at)
    )
    return in_turn.drop(_TURN, AT, CODE)


def beside_splits(
    rows: DataFrame,
    splits: Sequence[SplitDescriptor],
    columns: str,
    values: Sequence[tuple[object, ...]],
) -> DataFrame:
    """Give rows that have places what is known of the splits of files that they come from: these
    columns, with a tuple of values for each split. A row that comes from none of them fails.
    """
    from pyspark.sql import functions as f

    # To take each row's file apart costs more than to read the row.
    written = {_path(uri): _PREFIX.sub("/", uri) for uri in rows.inputFiles()}
    # A checkpoint of an earlier version may name a file twice; either split has its rows.
    known = {
        key: (key, *told, True)
        for split, told in zip(splits, values, strict=True)
        for key in _written_keys(split, written)
    }
    table = rows.sparkSession.createDataFrame(
        list(known.values()), f"{quoted(_KEY)} string, {columns}, {quoted(_KNOWN)} boolean"
    )
    at = f.col(AT)
    keyed = rows.withColumn(_KEY, f.coalesce(at["ord"].cast("string"), at["file"]))
    # Hashed: what compares each row with each split takes hours for some thousand files.
    found = keyed.join(f.broadcast(table), _KEY, "left")
    # What raises an error outright is taken for chance by Spark. No URL ends like this.
    told = f.concat(f.lit("No split is known of the row at "), f.col(quoted(_KEY)), f.lit("%"))
    why = f.url_decode(told)
    given = [name for name in table.columns if name not in (_KEY, _KNOWN)]
    types = {each.name: each.dataType for each in table.schema}
    sure = {
        name: f.when(f.col(quoted(_KNOWN)), f.col(quoted(name))).otherwise(why.cast(types[name]))
        for name in given
    }
    return found.withColumns(sure).drop(_KEY, _KNOWN)


def keys_of(split: SplitDescriptor) -> tuple[str, ...]:
    """Return what ``place_key`` may be for rows of a split: its number, and the file that it is the
    whole of, as Spark reads it.
    """
    about = split.descriptor
    if _CUT & about.keys() or "path" not in about:
        return (str(split.ord),)
    # Spark takes steps like ``..`` out of a path.
    return str(split.ord), "/" + os.path.abspath(about["path"]).lstrip("/")  # noqa: PTH100


def _written_keys(split: SplitDescriptor, written: Mapping[str, str]) -> list[str]:
    """Return the number of a split, and the URIs by which Spark may call its file."""
    number, *paths = keys_of(split)
    names = [written[path] for path in paths if path in written]
    return [number, *(f"{scheme}{name}" for name in names for scheme in _SCHEMES)]


def _path(uri: str) -> str:
    """See ``path_of``."""
    return _PREFIX.sub("/", unquote(uri))


def place_key(ord: Column, file: Column) -> Column:
    """Return one text for the split of a row of files: one of its ``keys_of``."""
    from pyspark.sql import functions as f

    return f.coalesce(ord.cast("string"), path_of(file))


def path_of(uri: Column) -> Column:
    """Return the path of a file on a disk, as splits have it, of the URI that Spark tells."""
    from pyspark.sql import functions as f

    decoded = f.url_decode(f.replace(uri, f.lit("+"), f.lit("%2B")))
    return f.regexp_replace(decoded, "^file:/+", "/")
