"""The rows of a source's splits: as Spark reads them by itself, or by a ``SplitReader`` in its
tasks, one partition each split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.connectors import (
    NativeSource,
    Ordering,
    Placing,
    Source,
    SplitReader,
)
from conductor_workers.pipelines.places import with_place, with_places

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def rows_of(
    spark: SparkSession,
    source: Source,
    splits: Sequence[SplitDescriptor],
    schema: StructType,
    *,
    placed: bool = False,
    ordered: bool = False,
) -> DataFrame:
    """Return the rows of a source's splits: Spark's own way of reading when there is one.

    ``placed``: with the column ``_at``, if the source can tell; ``ordered``: as ``Ordering`` says.
    """
    from pyspark.sql.types import StructType

    if not splits:
        return spark.createDataFrame([], schema)
    frame = None
    if placed and isinstance(source, Placing):
        frame = source.placed(spark, splits, schema)
    elif ordered and isinstance(source, Ordering):
        frame = source.ordered(spark, splits, schema)
    elif isinstance(source, NativeSource):
        frame = source.frame(spark, splits, schema)
    if frame is not None:
        return frame
    columns = StructType(schema.fields)
    return frame_of(spark, source.reader(schema), splits, columns, placed=placed)


def frame_of(
    spark: SparkSession,
    reader: SplitReader,
    splits: Sequence[SplitDescriptor],
    schema: StructType,
    *,
    placed: bool = False,
) -> DataFrame:
    """Return the rows that the reader finds in these splits, with these columns; ``placed``: and
    with the column ``_at``.
    """
    columns = with_place(schema) if placed else schema
    if not splits:
        return spark.createDataFrame([], columns)
    listed, names = tuple(splits), tuple(schema.names)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                faults.reach("F3")
                split = listed[number]
                found = reader.read(split)
                yield from with_places(found, split.ord, names) if placed else found

    numbers = spark.range(0, len(listed), 1, numPartitions=len(listed))
    return numbers.mapInArrow(read, columns)
