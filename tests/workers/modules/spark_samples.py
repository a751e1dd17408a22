"""Functions that a test's SPARK_PYTHON tasks call."""

from __future__ import annotations

import threading

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from conductor_py.model.json import JsonObject


def numbers(spark: SparkSession, arguments: JsonObject) -> DataFrame:
    """A frame of so many rows."""
    count = arguments["count"]
    assert isinstance(count, int)
    return spark.range(count).withColumnRenamed("id", "n")


def parities(spark: SparkSession, _arguments: JsonObject) -> DataFrame:
    """A frame of ten rows of two kinds."""
    return spark.range(10).selectExpr("id", "if(id % 2 = 0, 'even', 'odd') AS parity")


def lines(spark: SparkSession, arguments: JsonObject) -> JsonObject:
    """What a file holds that SQL names."""
    rows = spark.sql(f"SELECT value FROM text.`{arguments['path']}`").collect()
    return {"lines": [row["value"] for row in rows]}


def total(spark: SparkSession, arguments: JsonObject) -> JsonObject:
    """A mapping."""
    [row] = numbers(spark, arguments).groupBy().sum("n").collect()
    return {"total": row[0]}


def _twice(number: int) -> int:
    return 2 * number


def doubled(spark: SparkSession, arguments: JsonObject) -> JsonObject:
    """What a function of this module made in Spark's own Python processes."""
    twice = udf(_twice, "bigint")
    return {"doubled": [row[0] for row in numbers(spark, arguments).select(twice("n")).collect()]}


def at_the_end(spark: SparkSession, arguments: JsonObject) -> DataFrame:
    """A frame that is made only when this worker polls no more."""
    from tests.waiting import until

    def polls_no_more() -> bool:
        return not any(t.name.startswith("conductor-poll-") for t in threading.enumerate())

    until(polls_no_more, 300)
    return numbers(spark, arguments)


def nothing(spark: SparkSession, arguments: JsonObject) -> None:
    """None."""


def unspeakable(spark: SparkSession, arguments: JsonObject) -> object:
    """What JSON cannot say."""
    return {"session": spark}
