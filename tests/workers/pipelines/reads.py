"""What a session's pipelines have read, told by Spark and not by the code under test.

Spark counts the rows that come out of each leaf of each query's plan. A split that Python reads is
one row of a ``Range`` there; a file that Spark reads itself is as many rows as it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from tests.waiting import PATIENCE_S, until

Reads = dict[str, dict[str, int]]
"""Rows by the kind of leaf (``Range``, ``Scan parquet``), by pipeline."""

#: So that nothing of a session is forgotten.
KEPT = {"spark.sql.ui.retainedExecutions": "10000", "spark.ui.retainedJobs": "10000"}
_ROWS = "number of output rows"


def newest_query(spark: SparkSession) -> int:
    """The number of the session's newest query."""
    return max((int(each.executionId()) for each in _executions(spark)), default=-1)


def reads_of(spark: SparkSession, *, after: int = -1) -> Reads:
    """Add up what all queries of the session's context have read, by pipeline; those with a number
    above `after`.
    """
    found: dict[str, Counter[str]] = {}
    for execution in _executions(spark):
        if int(execution.executionId()) <= after:
            continue
        pipeline = _pipeline_of(spark, execution)
        if pipeline is not None:
            for leaf, rows in _leaves(spark, execution):
                found.setdefault(pipeline, Counter())[leaf] += rows
    return {pipeline: dict(counts) for pipeline, counts in found.items()}


def _executions(spark: SparkSession) -> list[Any]:
    store = _store(spark)
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(int(PATIENCE_S * 1000))
    until(lambda: all(each.completionTime().isDefined() for each in _listed(store)), what="told")
    return _listed(store)


def _listed(store: Any) -> list[Any]:
    executions = store.executionsList()
    return [executions.apply(number) for number in range(executions.size())]


def _store(spark: SparkSession) -> Any:
    return spark._jsparkSession.sharedState().statusStore()


def _pipeline_of(spark: SparkSession, execution: Any) -> str | None:
    """The pipeline whose job group the query's jobs ran in: the second step of its name."""
    jobs = execution.jobs().keysIterator()
    if not jobs.hasNext():
        return None
    group = spark.sparkContext._jsc.sc().statusStore().job(jobs.next()).jobGroup()
    steps = str(group.get()).split("/") if group.isDefined() else []
    return steps[1] if len(steps) > 1 else None


def _leaves(spark: SparkSession, execution: Any) -> Iterator[tuple[str, int]]:
    store, number = _store(spark), execution.executionId()
    values, nodes = store.executionMetrics(number), store.planGraph(number).allNodes()
    for node in (nodes.apply(at) for at in range(nodes.size())):
        name = str(node.name()).strip()
        if not name.startswith(("Range", "Scan ")):
            continue
        metrics = node.metrics()
        for metric in (metrics.apply(at) for at in range(metrics.size())):
            if metric.name() == _ROWS and values.contains(metric.accumulatorId()):
                told = str(values.apply(metric.accumulatorId()))
                yield name, int(told.replace(",", ""))
