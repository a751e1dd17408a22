"""A worker's JVM does not grow with the tasks it has done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from conductor_py.model.json import JsonObject
from conductor_workers.paths import ANYWHERE
from conductor_workers.progress import monitored
from conductor_workers.tasks.sql import run_sql
from tests.workers.attempts import FakeAttempt, claim

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="pipelines")]

_WARM = 70
_TASKS = 80
_MAY_GROW_MB = 24
_MAY_BEGIN_THREADS = 70


def _used(spark: SparkSession) -> Iterator[float]:
    """Megabytes that the JVM cannot free, and its threads."""
    jvm = spark._jvm
    assert jvm is not None
    beans = jvm.java.lang.management.ManagementFactory
    for _ in range(2):
        jvm.System.gc()
    yield beans.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1e6
    yield beans.getThreadMXBean().getThreadCount()


def test_after_eighty_tasks_more_the_jvm_has_neither_more_memory_nor_more_threads(
    spark: SparkSession,
) -> None:
    def run(number: int) -> None:
        given: JsonObject = {
            "sql": "SELECT id % 3 AS k, count(*) FROM range(9) GROUP BY 1",
            "collect": 1,
        }
        attempt = FakeAttempt(given, claim(number, task=f"small-{number}"))
        with monitored(spark.sparkContext, attempt):
            run_sql(spark, attempt, paths=ANYWHERE)

    for number in range(_WARM):
        run(number)
    memory, threads = _used(spark)
    for number in range(_TASKS):
        run(_WARM + number)
    memory_after, threads_after = _used(spark)
    assert memory_after - memory < _MAY_GROW_MB
    assert threads_after - threads < _MAY_BEGIN_THREADS
