"""The Spark benchmarks run on little data; no time is asserted."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.spark_coordinator import t12
from benchmarks.spark_data import made
from benchmarks.spark_paths import t8
from benchmarks.spark_place import Ground
from benchmarks.spark_rounds import plain, rounds_of


@pytest.mark.spark
@pytest.mark.thorough(target="pipelines")
@pytest.mark.timeout(180)
def test_both_ways_make_the_same_rows_and_the_coordinator_is_measured(
    spark: SparkSession, tmp_path: Path
) -> None:
    data = made(spark, tmp_path / "data", 1)
    at = Ground(spark=spark, scratch=tmp_path / "now", data=tmp_path / "data", pairs=1)
    plain(at, ("csv", data.csv), ("parquet", data.parquet))
    rounds_of(at, data, {})()
    one, other = (spark.read.parquet(str(at.scratch / name)) for name in ("plain", "out"))
    assert one.count() > 0
    assert sorted(one.columns) == sorted(other.columns)
    assert one.exceptAll(other.select(one.columns)).isEmpty()
    assert one.count() == other.count()
    told = [result.title for result in t8(at, megabytes=1)]
    assert len(told) == len(set(told)) == 6
    assert [result.target for result in t12(at, splits=3000)] == ["T12", "T12"]
