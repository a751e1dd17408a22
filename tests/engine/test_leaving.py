"""After the end: indexed, archived, removed from the store, and still readable."""

from contextlib import suppress
from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.errors import Conflict, NotFound, StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.model.status import TaskStatus
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    pass_time,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    workflow,
)

_KEPT_S = 60


def _ended(engine: MemoryEngine) -> str:
    started = engine.start(workflow("w", simple("a")), input={"n": 1}, correlation_id="c-9")
    engine.run("a", {"x": 1})
    pass_time(engine, milliseconds=200)
    return started


def _found(engine: MemoryEngine, query: str = "", text: str = "*") -> list[Any]:
    page = engine.engine.executions.search(query=query, free_text=text, sort="", start=0, size=100)
    return [summary["workflowId"] for summary in page.results]


def test_execution_stays_in_the_store_until_its_time(engine: MemoryEngine) -> None:
    started = _ended(engine)
    pass_time(engine, seconds=_KEPT_S - 1)
    assert engine.engine.executions.view(started) is not None
    pass_time(engine, seconds=1)
    assert engine.engine.executions.view(started) is None


def test_archived_execution_reads_the_same_with_its_definitions(engine: MemoryEngine) -> None:
    started = _ended(engine)
    before = engine.workflow(started)
    pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.executions.view(started) is None
    after = engine.workflow(started)
    assert after == before
    assert after["workflowDefinition"]["tasks"][0]["taskDefinition"]["name"] == "a"


def test_tasks_and_logs_of_an_archived_execution_are_readable(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    task = task_of(engine, started, "a")["taskId"]
    engine.engine.tasks.log(task, "a line")
    engine.run("a")
    before = engine.engine.tasks.document(task)
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.tasks.document(task) == before
    assert [line["log"] for line in engine.engine.tasks.logs(task)] == ["a line"]


def test_status_of_an_archived_execution(engine: MemoryEngine) -> None:
    started = _ended(engine)
    pass_time(engine, seconds=_KEPT_S)
    status = engine.engine.executions.status(started, include_output=True, include_variables=False)
    assert (status["status"], status["output"]) == ("COMPLETED", {"x": 1})


def test_late_result_for_an_archived_execution_is_ignored(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    (task,) = engine.poll("a")
    engine.complete(task)
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=_KEPT_S)
    engine.complete(task, {"late": 1})
    assert engine.workflow(started)["output"] == {}


def test_who_asks_only_whether_an_execution_is_archived_does_not_read_its_archive(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a")))
    (task,) = engine.poll("a")
    engine.complete(task)
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=_KEPT_S)

    def read(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(type(engine.ports.search), "archived", read)
    engine.complete(task, {"late": 1})
    result: Any = (started, "a", TaskStatus.COMPLETED, {}, "w")
    assert engine.engine.tasks.update_by_ref(*result) is None
    cause: Any = engine.engine.why.explain(started)["cause"]
    assert cause["code"] == "archived"
    with pytest.raises(Conflict, match="has ended"):
        engine.engine.messages.push(started, {})


def test_an_archive_that_does_not_answer_keeps_no_other_execution_in_the_store(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = [_ended(engine) for _ in range(4)]
    real = type(engine.ports.search).archived

    def archived(search: Any, execution: str) -> Any:
        if execution == ended[0]:
            raise StoreUnavailable("what it answers is damaged")
        return real(search, execution)

    with monkeypatch.context() as broken:
        broken.setattr(type(engine.ports.search), "archived", archived)
        pass_time(engine, seconds=_KEPT_S)
        left = [engine.engine.executions.view(one) is None for one in ended]
        assert left == [False, True, True, True]
    pass_time(engine, seconds=31)
    assert engine.engine.executions.view(ended[0]) is None


def test_running_execution_is_searchable(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")), correlation_id="c-9")
    pass_time(engine, seconds=1)
    assert _found(engine, "status IN (RUNNING)") == [started]
    assert _found(engine, "correlationId = 'c-9'") == [started]
    assert _found(engine, "status = 'COMPLETED'") == []


def test_ended_execution_is_searchable_before_and_after_it_left(engine: MemoryEngine) -> None:
    started = _ended(engine)
    assert _found(engine, "status = 'COMPLETED'") == [started]
    pass_time(engine, seconds=_KEPT_S)
    assert _found(engine, "status = 'COMPLETED' AND workflowType = 'w'") == [started]


def test_terminated_failure_keeps_its_reason_when_no_other_is_given(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a", "sour")
    failed = engine.workflow(started)
    engine.engine.executions.terminate(started, reason=None)
    found = engine.workflow(started)
    assert (failed["status"], found["status"]) == ("FAILED", "TERMINATED")
    told = ("reasonForIncompletion", "failedTaskId", "failedReferenceTaskNames")
    assert [found.get(name) for name in told] == [failed.get(name) for name in told]


def test_terminated_failure_is_archived_as_terminated(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a")
    pass_time(engine, seconds=1)
    engine.engine.executions.terminate(started, reason="over")
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.executions.view(started) is None
    assert status_of(engine, started) == "TERMINATED"
    assert _found(engine, "status = 'TERMINATED'") == [started]


def test_child_that_left_does_not_hold_its_parent(engine: MemoryEngine) -> None:
    child = sub_workflow("s", workflow("c", simple("x")))
    started = engine.start(workflow("w", child, simple("z")))
    engine.run("x", {"v": 1})
    engine.settle()
    gone = task_of(engine, started, "s")["subWorkflowId"]
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.executions.view(gone) is None
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_nothing_is_left_in_the_store_of_what_left(engine: MemoryEngine) -> None:
    for _ in range(5):
        _ended(engine)
    pass_time(engine, seconds=_KEPT_S)
    assert engine.ports.outbox.size(0) == 0
    assert engine.ports.timers.next_due_ms(0, "s0") == 0
    assert engine.engine.executions.running("w") == ()


@pytest.mark.anomaly("A-38")
def test_execution_does_not_leave_before_its_archive_is_there(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conductor_py.errors import StoreUnavailable

    def away(*_: Any) -> None:
        raise StoreUnavailable

    started = engine.start(workflow("w", simple("a")))
    with monkeypatch.context() as patch:
        patch.setattr(type(engine.ports.search), "put", away)
        engine.run("a")
        engine.clock.advance(seconds=1)
        with pytest.raises(StoreUnavailable):
            engine.settle()
        engine.clock.advance(seconds=_KEPT_S)
        with pytest.raises(StoreUnavailable):
            engine.settle()
        assert engine.engine.executions.view(started) is not None
    pass_time(engine, seconds=31)
    pass_time(engine, seconds=31)
    assert engine.engine.executions.view(started) is None
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("status", ["COMPLETED", "TERMINATED"])
def test_execution_that_was_terminated_after_its_end_leaves(
    engine: MemoryEngine, status: str
) -> None:
    started = engine.start(workflow("w", simple("a")))
    if status == "COMPLETED":
        engine.run("a")
    else:
        engine.engine.executions.terminate(started, reason="over")
    pass_time(engine, seconds=1)
    with suppress(Conflict):
        engine.engine.executions.terminate(started, reason="again")
    for _ in range(3):
        pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.executions.view(started) is None
    assert engine.ports.outbox.size(0) == 0
    assert status_of(engine, started) == status


@pytest.mark.anomaly("A-38")
def test_what_leaves_is_archived_in_its_last_version(engine: MemoryEngine) -> None:
    """I7: an operation on what has ended moves its version, and orders nothing."""
    started = ExecutionId(_ended(engine))
    with pytest.raises(Conflict):
        engine.engine.steering.pause(started)
    last = engine.ports.store.load(started, ["h"])
    before = engine.ports.search.archived(started)
    assert last is not None
    assert before is not None
    assert before.version < last[0]
    for _ in range(3):
        pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.executions.view(started) is None
    after = engine.ports.search.archived(started)
    assert after is not None
    assert after.version == last[0]


@pytest.mark.parametrize("damage", [b'{"f":1}', b"not JSON", b'{"f":99}'])
def test_damaged_execution_keeps_no_other_from_being_archived(
    damage: bytes,
) -> None:
    space = MemorySpace(clock=(clock := FakeClock()))
    engine = memory_engine(space=space, clock=clock)
    before, fine = _started_and_run(engine), _started_and_run(engine)
    fields = space.partition(0).executions[before].fields
    whole, fields["h"] = fields["h"], damage
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.executions.view(fine) is None
    fields["h"] = whole
    for _ in range(3):
        pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.executions.view(before) is None
    assert status_of(engine, before) == "COMPLETED"


def test_execution_that_is_damaged_after_its_archive_keeps_no_other_in_the_store() -> None:
    space = MemorySpace(clock=(clock := FakeClock()))
    engine = memory_engine(space=space, clock=clock)
    before, fine = _started_and_run(engine), _started_and_run(engine)
    pass_time(engine, seconds=1)
    fields = space.partition(0).executions[before].fields
    whole, fields["h"] = fields["h"], b"not JSON"
    pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.executions.view(fine) is None
    fields["h"] = whole
    pass_time(engine, seconds=_KEPT_S)
    assert engine.engine.executions.view(before) is None


def _started_and_run(engine: MemoryEngine) -> ExecutionId:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    return ExecutionId(started)


def test_unknown_execution_is_not_found(engine: MemoryEngine) -> None:
    for unknown in ("nobody", "00000000-0000-0000-0000-000000000000", ""):
        with pytest.raises(NotFound):
            engine.workflow(unknown)
