"""Rows that a job keeps in its work directory under one name: state, exchanges and lookups.

On local and mounted disks Spark writes and reads them. A store that Spark has no client for is
reached through ours: tasks put Parquet objects there, and the index, written last, names those that
a successful job reported. ``by`` keeps the rows of each value of a whole-number column apart.

    <name>/_objects.json
    <name>/<by>=<value>/part-<partition>-<attempt>-<number>-<once>.parquet
"""

from __future__ import annotations

import io
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass
from conductor_workers.pipelines.reading import frame_of
from conductor_workers.pipelines.shapes import arrow_schema
from conductor_workers.pipelines.sinks.object_writer import ObjectWriter, prepared
from conductor_workers.pipelines.sources.groups import GroupReader
from conductor_workers.pipelines.storage import ObjectLost, Storage
from conductor_workers.pipelines.storage.local import LocalStorage
from conductor_workers.pipelines.storage.s3 import S3Storage
from conductor_workers.pipelines.workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_INDEX: Final = "_objects.json"
_OBJECT_BYTES: Final = 32 << 20
_TASK_BYTES: Final = 64 << 20
"""What one task reads, of objects that are smaller."""


def write_rows(workplace: Workplace, name: str, frame: DataFrame, *, by: str = "") -> None:
    """Keep rows under a new name, durably: a record may name them next. Runs one Spark job."""
    storage = workplace.storage
    if isinstance(storage, S3Storage):
        _put_objects(storage, name, frame, by)
        return
    writer = frame.write.partitionBy(by) if by else frame.write
    if isinstance(storage, LocalStorage):
        storage.prepare(name)
    writer.parquet(workplace.path(name))
    if isinstance(storage, LocalStorage):
        storage.settle(name)  # Spark leaves its files to the cache of the system


def read_rows(
    spark: SparkSession, workplace: Workplace, names: Iterable[str], schema: StructType
) -> DataFrame:
    """Return all rows that are kept under these names. Raises ``ObjectLost``."""
    if isinstance(workplace.storage, S3Storage):
        found = [each for name in names for each in _indexed(workplace.storage, name)]
        return _objects(spark, workplace.storage, found, schema)
    return _files(spark, [workplace.path(name) for name in names], schema)


def read_values(
    spark: SparkSession,
    workplace: Workplace,
    names: Sequence[str],
    schema: StructType,
    *,
    by: str,
    values: Sequence[int],
) -> DataFrame:
    """Return those of them that have one of these values. Raises ``ObjectLost``."""
    if isinstance(workplace.storage, S3Storage):
        of_value = re.compile(rf"/{by}=(?:{'|'.join(map(str, values))})/")
        found = [
            each
            for name in names
            for each in _indexed(workplace.storage, name)
            if of_value.search(each.name)
        ]
        return _objects(spark, workplace.storage, found, schema)
    folders = [f"{name}/{by}={value}" for value in values for name in names]
    there = [workplace.path(folder) for folder in folders if workplace.exists(folder)]
    return _files(spark, there, schema)


@dataclass(frozen=True, slots=True)
class _Object:
    """One of a name's objects."""

    name: str
    bytes: int


def _files(spark: SparkSession, paths: list[str], schema: StructType) -> DataFrame:
    if not paths:
        return spark.createDataFrame([], schema)
    # Without this the folder's name would be taken for one more column.
    options = {"recursiveFileLookup": "true"}
    return spark.read.options(**options).schema(schema).parquet(*paths)


def _put_objects(storage: S3Storage, name: str, frame: DataFrame, by: str) -> None:
    writer = ObjectWriter(
        storage=storage,
        format="parquet",
        header="",
        hidden=False,
        folder=name,
        stem="part",
        once=uuid.uuid4().hex[:8],
        target_bytes=_OBJECT_BYTES,
    )
    rows = prepared(frame, "parquet", {}, (by,) if by else ())
    reported = rows.mapInArrow(writer, ObjectWriter.REPORT).collect()
    objects = sorted((json.loads(row["object"]) for row in reported), key=lambda one: one["name"])
    storage.create(f"{name}/{_INDEX}", json.dumps(objects).encode())


def _indexed(storage: Storage, name: str) -> list[_Object]:
    try:
        objects = json.loads(storage.read(f"{name}/{_INDEX}"))
    except FileNotFoundError as error:
        raise ObjectLost(f"The rows {name} of the work directory are gone.") from error
    return [_Object(str(each["name"]), int(each["bytes"])) for each in objects]


def _objects(
    spark: SparkSession, storage: S3Storage, found: Sequence[_Object], schema: StructType
) -> DataFrame:
    portions = [
        SplitDescriptor(ord=at, descriptor={"objects": names})
        for at, names in enumerate(_portions(found))
    ]
    reader = _ObjectReader(storage=storage, schema=arrow_schema(schema))
    return frame_of(spark, reader, portions, schema)


def _portions(found: Iterable[_Object]) -> Iterator[list[str]]:
    held: list[str] = []
    size = 0
    for each in found:
        if held and size + each.bytes > _TASK_BYTES:
            yield held
            held, size = [], 0
        held.append(each.name)
        size += each.bytes
    if held:
        yield held


@dataclass(frozen=True, slots=True, kw_only=True)
class _ObjectReader:
    """``SplitReader`` of whole objects."""

    storage: S3Storage
    schema: pa.Schema

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        groups = GroupReader(format="parquet", schema=self.schema, files=self)
        for name in split.descriptor["objects"]:
            yield from groups.read(SplitDescriptor(ord=split.ord, descriptor={"path": name}))

    def open(self, split: SplitDescriptor) -> io.BytesIO:
        name = str(split.descriptor["path"])
        try:
            return io.BytesIO(self.storage.read(name))
        except FileNotFoundError as error:
            raise ObjectLost(f"The object {name} of the work directory is gone.") from error

    def place(self, split: SplitDescriptor) -> io.BytesIO:
        return self.open(split)
