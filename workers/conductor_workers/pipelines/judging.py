"""Whether all SQL of a pipeline is what a worker runs for a stranger; before its first round."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.errors import ParseException

from conductor_py.pipelines import spec
from conductor_py.pipelines.chance import UNSEEN, statements, with_time_pinned
from conductor_workers.pipelines.rounds import Ground
from conductor_workers.pipelines.transforms import TransformRefused
from conductor_workers.statements import Judge, StatementRefused
from conductor_workers.tasks.outcome import shortened


def refuse_other_than_queries(ground: Ground) -> None:
    """Look at the queries and expressions of all its nodes, unless any SQL is allowed.

    Raises ``TransformRefused``.
    """
    if ground.any_sql:
        return
    judge, names = Judge(ground.spark, UNSEEN), frozenset(ground.plan.nodes)
    for transform in ground.job.transforms:
        if transform.id in names:
            _look_at(judge, transform)
    for sink in ground.job.sinks:
        if sink.id in names and sink.kind == "assert":
            for check, text in sink.settings.get("checks", {}).items():
                _passed(judge, f"{sink.id}.checks.{check}", text)


def _look_at(judge: Judge, node: spec.Transform) -> None:
    for path, text in statements(with_time_pinned(node, 0, frozenset())):
        _passed(judge, f"{node.id}{path}", text, node.inputs if node.kind == "sql" else None)


def _passed(judge: Judge, where: str, text: str, relations: Collection[str] | None = None) -> None:
    """Let a query of these relations pass; without any it is an expression."""
    try:
        if relations is None:
            judge.expression(text)
        else:
            judge.query(text, relations)
    except (StatementRefused, ParseException) as error:
        raise TransformRefused(f"{where}: {shortened(str(error))}") from error
