"""The types that the keys of a join are hashed in, so that equal keys of both inputs come together.

An int and a bigint of one value have different hashes: both inputs are hashed in the type that
Spark compares them in. An input that is kept in an earlier stage than the other is hashed as it is,
and the other must fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from conductor_py.pipelines import spec
from conductor_py.records import dataclass
from conductor_workers.pipelines.exchanges import Exchange, exchange_keys
from conductor_workers.pipelines.transforms import TransformRefused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

_Types = tuple["DataType", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    """The types of an input's keys, and those that they were hashed in until now."""

    types: _Types
    hashed: _Types | None = None


def joint_types(
    node: spec.Transform,
    spark: SparkSession,
    kept: Mapping[str, Exchange],
    frames: Mapping[str, DataFrame],
) -> _Types:
    """Return what the keys of a join are hashed in; none for other transforms.

    ``kept`` is what the record has of exchanges, ``frames`` what a round adds to them.

    Raises:
        TransformRefused: such keys are never equal, or are kept by another type already.
    """
    if node.kind != "join":
        return ()
    inputs = [
        _input(node, name, kept.get(key), frames.get(key))
        for name in ("left", "right")
        if (key := f"{node.id}/{name}") in kept or key in frames
    ]
    types = _compared(node, spark, inputs)
    for each in inputs:
        for at, (wanted, hashed) in enumerate(zip(types, each.hashed or types, strict=True)):
            if wanted.jsonValue() != hashed.jsonValue():
                raise TransformRefused(
                    f"{node.id}.on[{at}]: rows are kept by {hashed.simpleString()} already, and "
                    f"compared as {wanted.simpleString()}; cast one of the two columns before the "
                    "join, and begin the job anew."
                )
    return types


def _input(
    node: spec.Transform, name: str, exchange: Exchange | None, frame: DataFrame | None
) -> _Input:
    keys = exchange_keys(node, name)
    if exchange is None:
        return _Input(types=_types_of(cast("DataFrame", frame).schema, keys))
    from pyspark.sql.types import StructType

    schema = StructType.fromJson(cast("dict[str, Any]", exchange["schema"]))
    types = _types_of(schema if frame is None else frame.schema, keys)
    if "hashed" not in exchange:
        return _Input(types=types, hashed=_types_of(schema, keys))
    return _Input(types=types, hashed=tuple(_read_type(each) for each in exchange["hashed"]))


def _compared(node: spec.Transform, spark: SparkSession, inputs: list[_Input]) -> _Types:
    """Return the types that Spark compares keys in; their own where one input is known."""
    if len(inputs) < 2:
        return inputs[0].types if inputs else ()
    left, right = inputs
    return tuple(
        _common(spark, one, other, f"{node.id}.on[{at}]")
        for at, (one, other) in enumerate(zip(left.types, right.types, strict=True))
    )


def _common(spark: SparkSession, one: DataType, other: DataType, where: str) -> DataType:
    """Ask Spark's analyzer: the session's settings have a say in it."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import StructType

    if one == other:
        return one
    rows = spark.createDataFrame([], StructType().add("one", one).add("other", other))
    try:
        compared = rows.where(rows["one"] == rows["other"])
    except AnalysisException as error:
        raise TransformRefused(
            f"{where}: a {one.simpleString()} is never equal to a {other.simpleString()}; cast one "
            "of the two columns before the join."
        ) from error
    plan: Any = compared._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark's way to its plan
    return _read_type(json.loads(plan.condition().left().dataType().json()))


def _types_of(schema: StructType, keys: tuple[str, ...]) -> _Types:
    """Return the types of columns, as Spark finds them: whatever their capitals."""
    by_name = {each.name.lower(): each.dataType for each in reversed(schema.fields)}
    by_name |= {each.name: each.dataType for each in schema}
    return tuple(by_name.get(key, by_name[key.lower()]) for key in keys)


def _read_type(written: object) -> DataType:
    from pyspark.sql.types import StructType

    field = {"name": "key", "type": written, "nullable": True, "metadata": {}}
    return StructType.fromJson({"fields": [field]})["key"].dataType
