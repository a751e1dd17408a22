"""The last resort: an execution that cannot be decided on ends, and so does its clean-up."""

from typing import Any

import pytest

from conductor_py.decider import ending
from conductor_py.testing import MemoryEngine
from tests.builders import fork, join, pass_time, simple, status_of, workflow


def test_clean_up_that_breaks_in_one_piece_goes_on_behind_it(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    branches = [[simple(f"b{n}")] for n in range(1200)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "b0")))
    engine.settle()
    cancel = ending._cancel

    def broken(ws: Any, attempt: Any, reason: Any) -> None:
        if attempt.ref == "b7":
            raise RuntimeError("a defect")
        cancel(ws, attempt, reason)

    monkeypatch.setattr(ending, "_cancel", broken)
    engine.engine.executions.terminate(started, reason="enough")
    pass_time(engine, seconds=2)
    found = engine.workflow(started)
    assert (found["status"], found["reasonForIncompletion"]) == ("TERMINATED", "enough")
    assert {task["status"] for task in found["tasks"]} == {"COMPLETED", "CANCELED"}
    assert sum(engine.engine.tasks.queue_sizes(None).values()) < 500
    pass_time(engine, seconds=61)
    assert engine.engine.executions.view(started) is None
    assert status_of(engine, started) == "TERMINATED"
    while engine.poll("b7"):
        raise AssertionError("a task of an ended execution was handed out")


def test_defect_ends_a_running_execution_with_its_reason(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")

    def broken(*_: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("conductor_py.decider.control.settle", broken)
    engine.complete(task)
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "a defect" in found["reasonForIncompletion"]
