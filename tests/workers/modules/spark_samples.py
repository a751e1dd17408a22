"""Functions that a test's SPARK_PYTHON tasks call."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from conductor_py.model.json import JsonObject


def numbers(spark: SparkSession, arguments: JsonObject) -> DataFrame:
    """A frame of so many rows."""
    count = arguments["count"]
    assert isinstance(count, int)
    return spark.range(count).withColumnRenamed("id", "n")


def total(spark: SparkSession, arguments: JsonObject) -> JsonObject:
    """A mapping."""
    [row] = numbers(spark, arguments).groupBy().sum("n").collect()
    return {"total": row[0]}


def nothing(spark: SparkSession, arguments: JsonObject) -> None:
    """None."""


def unspeakable(spark: SparkSession, arguments: JsonObject) -> object:
    """What JSON cannot say."""
    return {"session": spark}
