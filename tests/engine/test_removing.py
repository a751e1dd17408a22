"""Removal: into the archive, or without a trace."""

import pytest

from conductor_py.errors import InvalidInput, NotFound
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
    workflow,
)

UNKNOWN = "00000000-0000-0000-0000-000000000000"


def _remove(engine: MemoryEngine, started: str, *, archive: bool) -> None:
    engine.engine.steering.remove(started, archive=archive)


def _is_gone(engine: MemoryEngine, started: str) -> bool:
    with pytest.raises(NotFound):
        engine.workflow(started)
    with pytest.raises(NotFound):
        engine.engine.executions.status(started, include_output=False, include_variables=False)
    with pytest.raises(NotFound):
        engine.engine.tasks.document(f"{started}-1")
    found = engine.engine.executions.search(
        query=f"workflowId={started}", free_text="*", sort="", start=0, size=1
    )
    return found.total_hits == 0


@pytest.mark.oracle(47)
def test_what_has_not_ended_cannot_be_archived(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    with pytest.raises(InvalidInput, match="ended"):
        _remove(engine, started, archive=True)
    engine.engine.steering.pause(started)
    with pytest.raises(InvalidInput):
        _remove(engine, started, archive=True)
    assert status_of(engine, started) == "PAUSED"


def test_archived_execution_leaves_the_store_and_stays_readable(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a", {"v": 1})
    before = engine.workflow(started)
    _remove(engine, started, archive=True)
    assert engine.engine.executions.view(started) is None
    assert engine.workflow(started)["tasks"] == before["tasks"]
    _remove(engine, started, archive=True)
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("state", ["running", "paused", "failed", "archived"])
def test_without_archive_nothing_is_left_of_it(engine: MemoryEngine, state: str) -> None:
    started = engine.start(workflow("w", simple("a")))
    pass_time(engine, seconds=2)
    if state == "paused":
        engine.engine.steering.pause(started)
    if state in {"failed", "archived"}:
        run_failing(engine, "a")
        engine.settle()
    if state == "archived":
        pass_time(engine, seconds=61)
        assert engine.engine.executions.view(started) is None
    _remove(engine, started, archive=False)
    assert _is_gone(engine, started)
    pass_time(engine, seconds=120)
    assert _is_gone(engine, started)
    assert not engine.poll("a")
    assert engine.engine.executions.running("w") == ()
    with pytest.raises(NotFound):
        _remove(engine, started, archive=False)


@pytest.mark.anomaly("A-39")
def test_removing_a_running_execution_ends_its_children_and_late_results_find_nothing(
    engine: MemoryEngine,
) -> None:
    branches = [simple("a")], [sub_workflow("s", workflow("c", simple("x")))]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "s")))
    (held,) = engine.poll("a")
    child = task_of(engine, started, "s")["subWorkflowId"]
    _remove(engine, started, archive=False)
    pass_time(engine, seconds=2)
    found = engine.workflow(child)
    assert found["status"] == "TERMINATED"
    assert "removed" in found["reasonForIncompletion"]
    with pytest.raises(NotFound):
        engine.complete(held)
    assert _is_gone(engine, started)


def test_large_execution_is_not_there_for_anybody_while_it_is_taken_apart(
    engine: MemoryEngine,
) -> None:
    branches = [[simple(f"b{n}")] for n in range(1500)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "b0")))
    engine.settle()
    _remove(engine, started, archive=False)
    assert _is_gone(engine, started)
    with pytest.raises(NotFound):
        engine.engine.steering.pause(started)
    pass_time(engine, seconds=60)
    assert engine.ports.reader.snapshot(started) is None  # type: ignore[arg-type]
    assert sum(engine.engine.tasks.queue_sizes(None).values()) == 0


def test_parent_of_a_removed_child_is_told(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    child = task_of(engine, started, "s")["subWorkflowId"]
    _remove(engine, child, archive=False)
    engine.settle()
    assert status_of(engine, started) == "TERMINATED"


@pytest.mark.oracle(26)
def test_terminated_child_cancels_its_task_and_terminates_its_parent(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    child = task_of(engine, started, "s")["subWorkflowId"]
    engine.engine.executions.terminate(child, reason="enough")
    engine.settle()
    assert engine.statuses(started) == {"s": "CANCELED"}
    assert status_of(engine, started) == "TERMINATED"


def test_unknown_execution_is_not_found(engine: MemoryEngine) -> None:
    for archive in (True, False):
        with pytest.raises(NotFound):
            _remove(engine, UNKNOWN, archive=archive)
