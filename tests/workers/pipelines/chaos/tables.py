"""The table of numbers that jobs of kill tests write."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession


def numbers_in(spark: SparkSession, place: Path) -> DataFrame:
    """The rows of the table below that place."""
    with closing(sqlite3.connect(place / "table.db")) as connection:
        rows = connection.execute("SELECT id, number, text FROM numbers").fetchall()
    return spark.createDataFrame(rows, "id bigint, number bigint, text string")
