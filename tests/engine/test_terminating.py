"""The verb that ends an execution from outside."""

import pytest

from conductor_py.errors import Conflict, NotFound
from conductor_py.testing import MemoryEngine
from tests.builders import (
    fork,
    join,
    pass_time,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    times,
    wait,
    workflow,
)


def _terminate(engine: MemoryEngine, started: str, reason: str | None = "enough") -> None:
    engine.engine.executions.terminate(started, reason=reason)


def test_running_execution_with_an_open_fork_is_cut(engine: MemoryEngine) -> None:
    branches = [simple("a")], [simple("b")], [wait("t", duration="1h")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "b", "t")))
    (held,) = engine.poll("a")
    _terminate(engine, started)
    found = engine.workflow(started)
    assert (found["status"], found["reasonForIncompletion"]) == ("TERMINATED", "enough")
    statuses = engine.statuses(started)
    assert {statuses[ref] for ref in ("a", "b", "t", "j")} == {"CANCELED"}
    engine.settle()
    assert not engine.poll("b")
    engine.complete(held, {"late": 1})
    assert engine.workflow(started)["tasks"][1]["outputData"] == {}


def test_after_draining_nothing_of_it_is_left_in_queues_or_timers(engine: MemoryEngine) -> None:
    branches = [[simple(f"b{n}")] for n in range(600)]
    refs = [f"b{n}" for n in range(600)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", *refs)))
    engine.settle()
    assert sum(engine.engine.tasks.queue_sizes(None).values()) == 600
    _terminate(engine, started)
    pass_time(engine, seconds=1)
    assert sum(engine.engine.tasks.queue_sizes(None).values()) == 0
    assert engine.ports.timers.next_due_ms(0, "s0") == 0


def test_end_time_of_canceled_tasks_is_the_end_of_the_execution(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    _terminate(engine, started)
    ended = engine.workflow(started)["endTime"]
    pass_time(engine, seconds=5)
    assert task_of(engine, started, "a")["endTime"] == ended


def test_children_are_terminated_with_the_parents_reason(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    child = task_of(engine, started, "s")["subWorkflowId"]
    _terminate(engine, started)
    pass_time(engine, seconds=1)
    found = engine.workflow(child)
    assert found["status"] == "TERMINATED"
    assert "enough" in found["reasonForIncompletion"]


@pytest.mark.oracle(41)
def test_completed_execution_cannot_be_terminated(engine: MemoryEngine) -> None:
    """Oracle row 41."""
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    with pytest.raises(Conflict, match="Cannot terminate a COMPLETED workflow"):
        _terminate(engine, started)
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.oracle(40)
def test_failed_execution_becomes_terminated(engine: MemoryEngine) -> None:
    """Oracle row 40."""
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a", "first")
    _terminate(engine, started, "second")
    found = engine.workflow(started)
    assert (found["status"], found["reasonForIncompletion"]) == ("TERMINATED", "second")
    assert engine.statuses(started) == {"a": "FAILED"}


def test_failed_execution_that_still_drains_becomes_terminated(engine: MemoryEngine) -> None:
    branches = [[simple(f"b{n}")] for n in range(20)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "b0")))
    run_failing(engine, "b3")
    _terminate(engine, started)
    engine.settle()
    assert status_of(engine, started) == "TERMINATED"
    assert engine.statuses(started)["b4"] == "CANCELED"


def test_terminating_twice_changes_nothing(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    _terminate(engine, started, "first")
    before = engine.workflow(started)
    _terminate(engine, started, "second")
    assert engine.workflow(started) == before


def test_unknown_execution_is_not_found(engine: MemoryEngine) -> None:
    for unknown in ("nobody", "00000000-0000-0000-0000-000000000000", "fff" + "0" * 33):
        with pytest.raises(NotFound):
            _terminate(engine, unknown)


def test_archived_execution_answers_by_its_status(engine: MemoryEngine) -> None:
    completed = engine.start(workflow("w", simple("a")))
    engine.run("a")
    ended = engine.start(workflow("w", simple("a")))
    _terminate(engine, ended)
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=61)
    assert engine.engine.executions.view(completed) is None
    with pytest.raises(Conflict):
        _terminate(engine, completed)
    _terminate(engine, ended)


def test_terminate_inside_a_loop_of_forks(engine: MemoryEngine) -> None:
    loop = times("l", 3, fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(workflow("w", loop))
    engine.run("a")
    _terminate(engine, started)
    engine.settle()
    statuses = engine.statuses(started)
    assert (statuses["l"], statuses["a__1"], statuses["b__1"]) == (
        "CANCELED",
        "COMPLETED",
        "CANCELED",
    )
