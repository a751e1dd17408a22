"""A thousand sub-workflows within one another: every verb reaches the bottom."""

from __future__ import annotations

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.workspace import Limits
from conductor_py.model.status import TaskStatus
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    Json,
    fail,
    inline,
    pass_time,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    wait,
    workflow,
)

pytestmark = [pytest.mark.thorough(target="histories"), pytest.mark.timeout(120)]

_DEPTH = 1_000


def _chain(leaf: Json, depth: int = _DEPTH) -> tuple[MemoryEngine, MemorySpace, str]:
    """An execution at the beginning of a chain, all of it started."""
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space, limits=Limits(depth=_DEPTH))
    deeper = sub_workflow("s", "n", inputParameters={"left": "${less.output.result}"})
    less = inline("less", "$.left - 1", left="${workflow.input.left}")
    choice = switch("c", "${workflow.input.left}", {"0": [leaf]}, [less, deeper])
    engine.engine.definitions.register(workflow_from_json(workflow("n", choice)), overwrite=True)
    started = engine.start("n", input={"left": depth})
    _settle(engine)
    return engine, space, started


def _settle(engine: MemoryEngine) -> None:
    """What a call has no time for is the sweeper's within a second."""
    pass_time(engine, seconds=1)


def _statuses(space: MemorySpace) -> dict[str, int]:
    found: dict[str, int] = {}
    for execution in space.partition(0).executions.values():
        found[execution.status] = found.get(execution.status, 0) + 1
    return found


def test_end_of_the_innermost_ends_all() -> None:
    engine, space, started = _chain(simple("leaf"))
    assert _statuses(space) == {"RUNNING": _DEPTH + 1}
    engine.run("leaf")
    _settle(engine)
    assert _statuses(space) == {"COMPLETED": _DEPTH + 1}
    assert status_of(engine, started) == "COMPLETED"


def test_one_level_more_than_may_be_fails_all_with_the_setting_in_the_reason() -> None:
    engine, space, started = _chain(simple("leaf"), _DEPTH + 1)
    assert _statuses(space) == {"FAILED": _DEPTH + 1}
    reason = task_of(engine, started, "s")["reasonForIncompletion"]
    assert len(reason) <= 500
    assert reason.startswith("Sub workflow ")
    assert reason.endswith(f"nested deeper than {_DEPTH} (conductor.limits.subWorkflowDepth)")
    outer = engine.workflow(started)["reasonForIncompletion"]
    assert outer == f"Task s (SUB_WORKFLOW) failed: {reason}"


def test_terminate_reaches_the_innermost() -> None:
    engine, space, started = _chain(simple("leaf"))
    engine.engine.executions.terminate(started, reason="enough")
    _settle(engine)
    assert _statuses(space) == {"TERMINATED": _DEPTH + 1}
    assert engine.poll("leaf") == []


@pytest.mark.parametrize("resume", [True, False])
def test_retry_tries_the_innermost_again(resume: bool) -> None:
    engine, space, started = _chain(simple("leaf"))
    (task,) = engine.poll("leaf")
    fail(engine, task)
    _settle(engine)
    assert _statuses(space) == {"FAILED": _DEPTH + 1}
    engine.engine.recovery.retry(started, resume_subworkflows=resume)
    _settle(engine)
    engine.run("leaf")
    _settle(engine)
    assert status_of(engine, started) == "COMPLETED"


def test_signal_finds_the_innermost() -> None:
    engine, _, started = _chain(wait("w"))
    assert engine.engine.awaiting.signal(started, TaskStatus.COMPLETED, {"x": 1})
    _settle(engine)
    assert status_of(engine, started) == "COMPLETED"
