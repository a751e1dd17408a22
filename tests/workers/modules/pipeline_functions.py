"""Functions that the tests' jobs name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def doubled(inputs: Mapping[str, DataFrame], arguments: Mapping[str, Any]) -> DataFrame:
    """The numbers, multiplied."""
    (frame,) = inputs.values()
    return frame.selectExpr("id", f"number * {arguments['by']} AS number")


def drawn(inputs: Mapping[str, DataFrame], arguments: Mapping[str, Any]) -> DataFrame:
    """Add a number that nobody can tell."""
    del arguments
    (frame,) = inputs.values()
    return frame.withColumn("drawn", f.rand())


def counted(inputs: Mapping[str, DataFrame], arguments: Mapping[str, Any]) -> DataFrame:
    """How many rows there are: of each round, if rounds were shown to it."""
    del arguments
    (frame,) = inputs.values()
    return frame.groupBy().count()
