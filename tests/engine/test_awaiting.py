"""Waiting for an execution to block or to end, and signals: woken by commits, never by polling."""

import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.codec.interventions import load_watches
from conductor_py.errors import Conflict, NotFound
from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import StartRequest, StateUpdate, TaskResult, WaitRequest
from conductor_py.model.status import TaskStatus
from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    fork,
    join,
    simple,
    status_of,
    sub_workflow,
    task_of,
    wait,
    workflow,
)
from tests.waiting import PATIENCE_S, until

UNKNOWN = "00000000-0000-0000-0000-000000000000"
_TOPIC = "wait:1"
_LONG_MS = 600_000
"""Longer than a test may take: what is answered before was not answered because time was over."""


def _waiting(timeout_ms: int = 0, **more: Any) -> WaitRequest:
    return WaitRequest(topic=_TOPIC, timeout_ms=timeout_ms, request_id="r", **more)


def _execute(engine: MemoryEngine, definition: Json, **more: Any) -> dict[str, Any]:
    inline = workflow_from_json(definition)
    request = StartRequest(name=inline.name, definition=inline)
    return dict(engine.engine.awaiting.execute(request, _waiting(**more)))


def _signal(engine: MemoryEngine, started: str, **output: Any) -> bool:
    return engine.engine.awaiting.signal(started, TaskStatus.COMPLETED, output)


def _meanwhile(engine: MemoryEngine, ask: Callable[[], Any], act: Callable[[], Any]) -> Any:
    """Act once somebody waits, whom nothing but a wake-up brings to look again; the answer."""
    answers: list[Any] = []
    waiting, wait = threading.Event(), engine.ports.wakeups.wait

    def wait_for_a_wakeup(topic: str, timeout_s: float, seen: int) -> int:
        if topic == f"o:{_TOPIC}":
            waiting.set()
            timeout_s = _LONG_MS / 1000
        return wait(topic, timeout_s, seen)

    with patch.object(engine.ports.wakeups, "wait", wait_for_a_wakeup):
        thread = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
        thread.start()
        assert waiting.wait(PATIENCE_S)
        act()
        thread.join(PATIENCE_S)
    (answer,) = answers
    return answer


def _complete(engine: MemoryEngine, task_type: str, output: Json | None = None) -> None:
    (task,) = until(lambda: engine.poll(task_type), what=f"a task {task_type} to do")
    engine.complete(task, output)


# -- execute ---------------------------------------------------------------------------------------


def test_execution_that_ends_at_once_is_answered_at_once(engine: MemoryEngine) -> None:
    found = _execute(engine, workflow("w", outputParameters={"v": 1}))
    assert (found["responseType"], found["status"]) == ("TARGET_WORKFLOW", "COMPLETED")
    assert (found["output"], found["signalTimeout"]) == ({"v": 1}, False)
    assert (found["requestId"], found["targetWorkflowId"]) == ("r", found["workflowId"])


def test_timeout_answers_how_it_stands_and_lets_it_go_on(engine: MemoryEngine) -> None:
    found = _execute(engine, workflow("w", simple("a")))
    assert (found["status"], found["signalTimeout"]) == ("RUNNING", True)
    assert found["tasks"][0]["status"] == "SCHEDULED"
    engine.run("a")
    assert status_of(engine, found["workflowId"]) == "COMPLETED"


def test_wait_without_a_timer_blocks_and_one_with_a_timer_does_not(engine: MemoryEngine) -> None:
    blocked = _execute(engine, workflow("w", wait("t")), timeout_ms=_LONG_MS)
    assert (blocked["signalTimeout"], blocked["status"]) == (False, "RUNNING")
    timed = _execute(engine, workflow("w", wait("t", duration="1h")))
    assert timed["signalTimeout"]


def test_end_wakes_whoever_waits(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"))
    found = _meanwhile(
        engine,
        lambda: _execute(engine, definition, timeout_ms=_LONG_MS),
        lambda: _complete(engine, "a", {"v": 1}),
    )
    assert (found["status"], found["output"]) == ("COMPLETED", {"v": 1})


def test_reference_that_has_ended_wakes_whoever_waits_for_it(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"), simple("b"))
    found = _meanwhile(
        engine,
        lambda: _execute(engine, definition, timeout_ms=_LONG_MS, refs=("a",)),
        lambda: _complete(engine, "a"),
    )
    assert (found["status"], found["signalTimeout"]) == ("RUNNING", False)


def test_block_in_a_later_child_wakes_whoever_waits_above(engine: MemoryEngine) -> None:
    inner = workflow("inner", simple("y"), wait("t"))
    outer = workflow("outer", simple("x"), sub_workflow("deep", inner))

    def act() -> None:
        for name in ("x", "y"):
            _complete(engine, name)

    found = _meanwhile(
        engine,
        lambda: _execute(
            engine,
            workflow("w", sub_workflow("s", outer)),
            timeout_ms=_LONG_MS,
            strategy="BLOCKING_TASK",
        ),
        act,
    )
    assert (found["referenceTaskName"], found["status"]) == ("t", "IN_PROGRESS")


@pytest.mark.parametrize(
    ("strategy", "kind", "name"),
    [
        ("TARGET_WORKFLOW", "TARGET_WORKFLOW", "w"),
        ("BLOCKING_WORKFLOW", "BLOCKING_WORKFLOW", "c"),
        ("BLOCKING_TASK", "BLOCKING_TASK", "t"),
        ("BLOCKING_TASK_INPUT", "BLOCKING_TASK_INPUT", "t"),
    ],
)
def test_strategy_says_what_is_shown(
    engine: MemoryEngine, strategy: str, kind: str, name: str
) -> None:
    definition = workflow("w", sub_workflow("s", workflow("c", wait("t", about="it"))))
    found = _execute(engine, definition, strategy=strategy, timeout_ms=_LONG_MS)
    assert found["responseType"] == kind
    assert found["targetWorkflowStatus"] == "RUNNING"
    if name == "t":
        assert (found["referenceTaskName"], found["input"]["about"]) == ("t", "it")
        assert found["workflowType"] == "c"
        assert "tasks" not in found
    else:
        shown = engine.workflow(found["workflowId"])
        assert (shown["workflowName"], found["tasks"]) == (name, shown["tasks"])


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [
        ("BLOCKING_WORKFLOW", "BLOCKING_WORKFLOW"),
        ("BLOCKING_TASK", "TARGET_WORKFLOW"),
        ("BLOCKING_TASK_INPUT", "TARGET_WORKFLOW"),
    ],
)
def test_nothing_that_blocks_is_answered_with_the_execution(
    engine: MemoryEngine, strategy: str, kind: str
) -> None:
    found = _execute(engine, workflow("w"), strategy=strategy)
    assert (found["responseType"], found["status"]) == (kind, "COMPLETED")
    assert found["tasks"] == []


def test_server_that_stops_answers_at_once(engine: MemoryEngine) -> None:
    inline, stop = workflow_from_json(workflow("w", simple("a"))), threading.Event()
    stop.set()
    request = StartRequest(name="w", definition=inline)
    found = engine.engine.awaiting.execute(request, _waiting(_LONG_MS), stop)
    assert found["signalTimeout"]


def test_nobody_is_told_once_the_wait_is_over(engine: MemoryEngine) -> None:
    found = _execute(engine, workflow("w", simple("a"), wait("t")), timeout_ms=1)
    engine.clock.advance(seconds=1)
    engine.run("a")
    assert engine.ports.reader.answer(found["workflowId"], _TOPIC) is None


# -- signal ----------------------------------------------------------------------------------------


def test_signal_completes_the_first_wait_with_its_output_merged(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t"), simple("a")))
    assert engine.engine.awaiting.signal(started, TaskStatus.IN_PROGRESS, {"x": 1, "y": 1})
    assert task_of(engine, started, "t")["status"] == "IN_PROGRESS"
    assert _signal(engine, started, y=2)
    task = task_of(engine, started, "t")
    assert (task["status"], task["outputData"]) == ("COMPLETED", {"x": 1, "y": 2})
    assert engine.statuses(started)["a"] == "SCHEDULED"


def test_signals_take_one_wait_each_own_ones_first(engine: MemoryEngine) -> None:
    child = sub_workflow("s", workflow("c", wait("inner")))
    definition = workflow(
        "w",
        fork("f", [child], [wait("one", duration="1h")], [wait("two")]),
        join("j", "s", "one", "two"),
    )
    started = engine.start(definition)
    for expected in ("one", "two", "s"):
        assert _signal(engine, started)
        engine.settle()
        assert engine.statuses(started)[expected] == "COMPLETED"
    assert status_of(engine, started) == "COMPLETED"
    assert not _signal(engine, started)


def test_signals_at_once_never_take_the_same_wait(engine: MemoryEngine) -> None:
    waits = [[wait(f"t{n}")] for n in range(8)]
    refs = [f"t{n}" for n in range(8)]
    started = engine.start(workflow("w", fork("f", *waits), join("j", *refs)))
    taken: list[bool] = []
    threads = [
        threading.Thread(target=lambda n=n: taken.append(_signal(engine, started, by=n)))
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    engine.settle()
    assert sorted(taken) == [False] * 4 + [True] * 8
    by = [task_of(engine, started, ref)["outputData"]["by"] for ref in refs]
    assert len(set(by)) == 8


def test_failing_signal_fails_the_execution(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t")))
    assert engine.engine.awaiting.signal(started, TaskStatus.FAILED, {})
    assert status_of(engine, started) == "FAILED"


def test_human_and_worker_tasks_are_not_signalled(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    assert not _signal(engine, started)
    with pytest.raises(NotFound):
        engine.engine.awaiting.signal_and_wait(started, TaskStatus.COMPLETED, {}, _waiting())
    with pytest.raises(NotFound):
        _signal(engine, UNKNOWN)


def test_synchronous_signal_waits_for_the_next_block(engine: MemoryEngine) -> None:
    child = workflow("c", wait("one"), simple("a"), wait("two"))
    started = engine.start(workflow("w", sub_workflow("s", child)))
    wanted = _waiting(_LONG_MS, strategy="BLOCKING_TASK")
    found = _meanwhile(
        engine,
        lambda: engine.engine.awaiting.signal_and_wait(started, TaskStatus.COMPLETED, {}, wanted),
        lambda: _complete(engine, "a"),
    )
    assert (found["referenceTaskName"], found["targetWorkflowId"]) == ("two", started)


# -- state -----------------------------------------------------------------------------------------


def test_update_of_state_merges_variables_and_reports(engine: MemoryEngine) -> None:
    follower = simple("b", inputParameters={"v": "${workflow.variables.v}"})
    started = engine.start(workflow("w", simple("a"), follower, variables={"u": 1}))
    result = TaskResult(
        workflow_id="", task_id="", status=TaskStatus.COMPLETED, output={"done": True}
    )
    update = StateUpdate(ref="a", result=result, variables={"v": 2})
    found = engine.engine.awaiting.update_state(started, update, _waiting())
    assert (found["variables"], found["responseType"]) == ({"u": 1, "v": 2}, "TARGET_WORKFLOW")
    assert task_of(engine, started, "a")["outputData"] == {"done": True}
    assert task_of(engine, started, "b")["inputData"] == {"v": 2}


def test_update_of_state_that_does_not_wait_leaves_nothing_behind(engine: MemoryEngine) -> None:
    started = ExecutionId(engine.start(workflow("w", simple("a"))))
    engine.engine.awaiting.update_state(started, StateUpdate(variables={"v": 1}), _waiting(0))
    found = engine.ports.store.load(started, ["watch"])
    assert found is not None
    assert not load_watches(found[1]["watch"]).watches


def test_update_of_a_task_that_is_not_open_changes_nothing(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    result = TaskResult(workflow_id="", task_id="", status=TaskStatus.COMPLETED)
    update = StateUpdate(ref="b", result=result, variables={"v": 2})
    with pytest.raises(NotFound):
        engine.engine.awaiting.update_state(started, update, _waiting())
    assert engine.workflow(started)["variables"] == {}
    engine.run("a")
    with pytest.raises(Conflict):
        engine.engine.awaiting.update_state(started, StateUpdate(variables={"v": 1}), _waiting())
