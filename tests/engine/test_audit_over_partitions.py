"""Audits and explanations over four partitions: in memory, on one server, on a real cluster."""

from typing import Any

import pytest

from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.testing import MemoryEngine
from tests.builders import simple, workflow
from tests.engine.test_partitions import limited, spread, started_in_all

__all__ = ["spread"]


@pytest.mark.parametrize("page", [3, 500])
def test_an_audit_sees_every_execution_of_every_partition(spread: MemoryEngine, page: int) -> None:
    started = set(started_in_all(spread, workflow("w", simple("a")), each=2))
    seen, executions, cursor = set(), 0, ""
    while True:
        keys, cursor = spread.ports.inspector.walk(cursor, page)
        seen |= {key.rest for key in keys if key.kind == "exec:"}
        if not cursor:
            break
    assert seen == started
    while True:
        found = spread.engine.auditor.page(cursor, page)
        executions, cursor = executions + found.executions, found.cursor
        assert [one for one in found.findings if one.invariant] == []
        if not cursor:
            break
    assert executions >= len(started)


def test_what_is_broken_is_found_in_whatever_partition(spread: MemoryEngine) -> None:
    started = started_in_all(spread, workflow("w", simple("a")), each=1)
    for execution in started:
        assert spread.engine.auditor.execution(execution) == ()
        cause: Any = spread.engine.why.explain(execution)["cause"]
        assert cause["code"] in {"no-worker-ever", "shard-unserved"}
    for execution in started:
        version = spread.ports.store.load(ExecutionId(execution), ["h"])
        assert version is not None
        for _ in range(5):
            spread.ports.quarantine.set_back(ExecutionId(execution), "d", version[0], "broken")
    listed, total = spread.engine.quarantine.listed(start=0, size=100)
    assert total == len(started)
    assert {str(one["workflowId"]) for one in listed} == set(started)
    assert {partition_of(ExecutionId(one)) for one in started} == {0, 1, 2, 3}
    assert {one.code for one in spread.engine.auditor.whole()} == {"quarantined"}
    tried = spread.engine.quarantine.retry_all()
    assert (tried.decided, tried.failed, tried.left) == (len(started), 0, 0)


def test_the_holders_of_a_limit_are_named_across_partitions(spread: MemoryEngine) -> None:
    started = set(started_in_all(spread, limited(1), each=1))
    (task,) = spread.poll("t")
    others = started - {task["workflowInstanceId"]}
    spread.engine.shards.keep(force=True)
    for execution in others:
        cause: Any = spread.engine.why.explain(execution)["cause"]
        assert (cause["code"], cause["evidence"]["heldBy"]) == (
            "concurrency-limit",
            [task["taskId"]],
        )
    assert [one for one in spread.engine.auditor.whole() if one.invariant] == []
