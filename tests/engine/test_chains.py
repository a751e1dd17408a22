"""Executions that start each other without end are stopped, whatever they start each other by."""

from __future__ import annotations

import pytest

from conductor_py.decider.limits import Limits
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.event_handlers import read_event_handler
from tests.builders import Json, pass_time, sub_workflow, task_of, typed, wait, workflow

_MOST = 5
_SENTENCE = "More than 5 executions have started each other"


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine(limits=Limits(chain=_MOST))


def _start(name: str, **request: str) -> Json:
    given = {"startWorkflow": {"name": name, **request}}
    return typed("START_WORKFLOW", "again", inputParameters=given)


@pytest.mark.parametrize("request_", [{}, {"idempotencyKey": "${workflow.workflowId}"}])
def test_a_workflow_that_starts_itself_is_stopped_and_says_why(
    engine: MemoryEngine, request_: dict[str, str]
) -> None:
    engine.register(workflow("w", _start("w", **request_)))
    engine.start("w")
    for _ in range(3 * _MOST):
        engine.settle()
    started = engine.started("w")
    assert len(started) == _MOST + 1
    ends = [engine.workflow(each)["status"] for each in started]
    assert sorted(ends) == ["COMPLETED"] * _MOST + ["FAILED"]
    last = started[ends.index("FAILED")]
    reason = task_of(engine, last, "again")["reasonForIncompletion"]
    assert _SENTENCE in reason
    assert "conductor.limits.chainLength" in reason


def test_the_chain_goes_on_through_sub_workflows(engine: MemoryEngine) -> None:
    engine.register(workflow("inner", _start("w")), workflow("w", sub_workflow("s", "inner")))
    engine.start("w")
    pass_time(engine, seconds=1)
    assert len(engine.started("w")) == _MOST + 1


def test_the_chain_goes_on_through_failure_workflows(engine: MemoryEngine) -> None:
    failing = typed("TERMINATE", "t", inputParameters={"terminationStatus": "FAILED"})
    engine.register(workflow("clean", _start("w")))
    engine.register(workflow("w", failing, failureWorkflow="clean"))
    engine.start("w")
    pass_time(engine, seconds=1)
    assert len(engine.started("w")) == _MOST // 2 + 1


def test_a_handler_of_the_messages_of_what_it_starts_is_stopped_and_says_why(
    engine: MemoryEngine,
) -> None:
    engine.register(workflow("w", typed("EVENT", "e", sink="conductor")))
    start = {"action": "start_workflow", "start_workflow": {"name": "w"}}
    handler = {"name": "h", "event": "conductor:w:e", "active": True, "actions": [start]}
    engine.engine.events.register(read_event_handler(handler))
    engine.start("w")
    for _ in range(3 * _MOST):
        engine.settle()
    assert len(engine.started("w")) == _MOST + 1
    records = engine.engine.events.executions(event="", name="", size=100)
    (failed,) = [record for record in records if record["status"] == "FAILED"]
    assert _SENTENCE in str(failed["output"])


def test_executions_that_take_ten_seconds_may_start_each_other_for_ever(
    engine: MemoryEngine,
) -> None:
    engine.register(workflow("w", wait("p", duration="10s"), _start("w")))
    engine.start("w")
    for _ in range(3 * _MOST):
        pass_time(engine, seconds=10)
    assert len(engine.started("w")) == 3 * _MOST + 1
