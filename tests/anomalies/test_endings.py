"""Ends that are cut short or come late: an execution is over once, with all that was its own."""

from collections.abc import Callable
from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.errors import NotFound, StoreUnavailable
from conductor_py.model.ids import ExecutionId
from tests.anomalies.world import LEASE_S, Killed, World, newest, open_attempts
from tests.builders import (
    Json,
    fork,
    join,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    workflow,
)

_KEPT_S = 61
NOTE = "conductor.failure_workflow"


def _registered(world: World) -> None:
    rescue = workflow_from_json(workflow("rescue", simple("r")))
    world.servers[0].engine.definitions.register(rescue, overwrite=True)


def _definition() -> Json:
    branches = [simple("a")], [sub_workflow("s", workflow("c", simple("x")))], [simple("b")]
    return workflow("w", fork("f", *branches), join("j", "a", "s", "b"), failureWorkflow="rescue")


def _opened(world: World) -> str:
    _registered(world)
    started = world.servers[0].start(_definition())
    world.servers[0].settle()
    return started


def _fail(world: World, server: int, _: str) -> None:
    if world.servers[server].engine.tasks.queue_sizes(["a"])["a"]:
        run_failing(world.servers[server], "a", "broken")


def _terminate(world: World, server: int, started: str) -> None:
    world.servers[server].engine.executions.terminate(
        started, reason="broken", trigger_failure_workflow=True
    )


def _ending(
    world: World, server: int, end: Callable[[World, int, str], None], started: str
) -> None:
    end(world, server, started)
    world.servers[server].settle()


def _outcome(world: World, started: str) -> Json:
    engine = world.servers[1]
    child = task_of(engine, started, "s")["subWorkflowId"]
    found = engine.workflow(started)
    rescued = [one for one in world.stored if one.header()["name"] == "rescue"]
    assert [one.id for one in rescued] == [found["output"][NOTE]]
    return {
        "root": newest(found)["tasks"],
        "status": found["status"],
        "reason": found["reasonForIncompletion"],
        "child": (status_of(engine, child), engine.statuses(child)),
        "open": [a.ref for one in world.stored for a in open_attempts(one) if not one.terminal],
        "entries": len(world.entries()),
    }


@pytest.mark.anomaly("A-16")
@pytest.mark.anomaly("A-20")
@pytest.mark.parametrize("after", [False, True], ids=["before the step", "after the step"])
@pytest.mark.parametrize("end", [_fail, _terminate])
def test_an_end_that_is_cut_off_at_any_step_is_finished_once(
    end: Callable[[World, int, str], None], after: bool
) -> None:
    """Status, canceled tasks, terminated child and the failure workflow: all of it or none."""
    whole = World()
    started = _opened(whole)
    before = whole.steps(0)
    _ending(whole, 0, end, started)
    expected, steps = _outcome(whole, started), whole.steps(0) - before
    assert expected["child"] == ("TERMINATED", {"x": "CANCELED"})
    assert (expected["open"], expected["entries"]) == (["r"], 1)
    assert steps > 5
    for step in range(1, steps + 1):
        world = World()
        started = _opened(world)
        world.kill(0, step, after=after)
        with pytest.raises(Killed):
            _ending(world, 0, end, started)
        world.check()
        for _ in range(4):
            world.pass_time(1, seconds=LEASE_S)
        if status_of(world.servers[1], started) == "RUNNING":
            # Nothing was taken: the attempt that was polled comes again, the call is made again.
            assert (step, after) in {(1, False), (2, False), (1, True)}
            _ending_again(world, end, started)
        assert _outcome(world, started) == expected, f"killed at step {step}"


def _ending_again(world: World, end: Callable[[World, int, str], None], started: str) -> None:
    engine = world.servers[1]
    held = task_of(engine, started, "a")
    if end is _fail and held["status"] == "IN_PROGRESS":
        engine.complete(held, status="FAILED", reason="broken")
    else:
        end(world, 1, started)
    engine.settle()


@pytest.mark.anomaly("A-21")
@pytest.mark.parametrize("after", [False, True], ids=["before the step", "after the step"])
def test_a_start_that_is_cut_off_leaves_all_of_the_execution_or_nothing(after: bool) -> None:
    whole = World()
    _registered(whole)
    before = whole.steps(0)
    whole.servers[0].start(_definition())
    steps = whole.steps(0) - before
    for step in range(1, steps + 1):
        world = World()
        _registered(world)
        world.kill(0, step, after=after)
        with pytest.raises(Killed):
            world.servers[0].start(_definition())
        world.check()
        partition = world.space.partition(0)
        if not world.stored:
            assert (world.entries(), partition.effects, partition.timers) == ([], {}, {})
            continue
        world.pass_time(1, seconds=LEASE_S)
        (started,) = world.servers[1].engine.executions.running("w")
        assert set(world.servers[1].statuses(started)) == {"f", "a", "s", "b", "j"}
        assert len(world.servers[1].engine.executions.running("c")) == 1
        assert len(world.entries()) == 3


@pytest.mark.anomaly("A-22")
def test_the_tasks_of_the_last_decision_are_stored_as_it_left_them(world: World) -> None:
    """The optional task whose failure ends the execution, read again from the archive too."""
    engine = world.servers[0]
    branches = fork("f", [simple("a", optional=True)], [simple("b")])
    started = engine.start(workflow("w", branches, join("j", "a", "b")))
    engine.run("b")
    run_failing(engine, "a", "broken")
    expected = {
        "f": "COMPLETED",
        "b": "COMPLETED",
        "a": "COMPLETED_WITH_ERRORS",
        "j": "COMPLETED_WITH_ERRORS",
    }
    for _ in range(2):
        assert (status_of(engine, started), engine.statuses(started)) == ("COMPLETED", expected)
        assert world.entries() == []
        world.pass_time(0, seconds=1)
        world.pass_time(0, seconds=_KEPT_S)
    assert engine.engine.executions.view(started) is None


@pytest.mark.anomaly("A-23")
def test_an_execution_is_in_the_store_until_its_end_has_reached_everybody(world: World) -> None:
    """Removal comes due while the failure workflow and the parent have not been told."""
    first, second = world.servers
    _registered(world)
    child = workflow("c", simple("x"), failureWorkflow="rescue")
    started = first.start(workflow("w", sub_workflow("s", child, optional=True), simple("z")))
    first.settle()
    (task,) = first.poll("x")
    world.kill(0, 2, after=True)
    with pytest.raises(Killed):
        first.complete(task, status="FAILED", reason="broken")
    world.clock.advance(seconds=_KEPT_S)
    for _ in range(3):
        world.pass_time(1, seconds=_KEPT_S)
    gone = task_of(second, started, "s")["subWorkflowId"]
    assert second.engine.executions.view(gone) is None
    assert second.statuses(started) == {"s": "COMPLETED_WITH_ERRORS", "z": "SCHEDULED"}
    archived = second.workflow(gone)
    assert (archived["status"], archived["reasonForIncompletion"]) == (
        "FAILED",
        "Task x (x) failed: broken",
    )
    told = second.workflow(archived["output"][NOTE])["input"]
    assert told["workflowId"] == gone
    assert {one.header()["name"] for one in world.stored} == {"w", "rescue"}


@pytest.mark.anomaly("A-38")
def test_an_archive_that_swallows_what_it_is_given_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index answers as if it had stored: what cannot be read back does not leave the store."""
    engine = world.servers[0]
    started = engine.start(workflow("w", simple("a")))
    with monkeypatch.context() as patch:
        patch.setattr(engine.ports.search, "put", lambda _: None)
        engine.run("a", {"v": 1})
        for _ in range(3):
            world.pass_time(0, seconds=_KEPT_S)
        assert engine.ports.reader.snapshot(ExecutionId(started)) is not None
    assert engine.workflow(started)["output"] == {"v": 1}


@pytest.mark.anomaly("A-39")
def test_what_still_comes_for_a_removed_execution_creates_nothing(world: World) -> None:
    """A report in flight, its timer and its child's end reach an execution that was removed."""
    first, second = world.servers
    branches = [simple("a")], [sub_workflow("s", workflow("c", simple("x")))]
    started = first.start(workflow("w", fork("f", *branches), join("j", "a", "s")))
    first.settle()
    (held,) = first.poll("a")
    (inner,) = first.poll("x")
    world.meanwhile(0, "store.commit", lambda: second.complete(inner))
    first.engine.steering.remove(started, archive=False)
    for _ in range(4):
        world.pass_time(1, seconds=LEASE_S)
    with pytest.raises(NotFound):
        second.complete(held)
    with pytest.raises(NotFound):
        second.workflow(started)
    assert started not in {one.id for one in world.stored}
    assert world.entries() == []


@pytest.mark.anomaly("A-62")
def test_a_summary_that_comes_late_does_not_replace_a_newer_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server has read the running execution and writes it after another wrote its end."""
    first, second = world.servers
    started = first.start(workflow("w", simple("a")))
    put, late = first.ports.search.put, []

    def keep(documents: Any) -> None:
        late.append(documents)
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(first.ports.search, "put", keep)
        with pytest.raises(StoreUnavailable):
            world.pass_time(0, seconds=1)
    second.run("a", {"v": 1})
    for _ in range(3):
        world.pass_time(1, seconds=_KEPT_S)
    for documents in late:
        put(documents)
    found = second.engine.executions.search(query="", free_text="*", sort="", start=0, size=10)
    assert [(one["workflowId"], one["status"]) for one in found.results] == [(started, "COMPLETED")]
    assert second.engine.executions.view(started) is None
    assert second.workflow(started)["output"] == {"v": 1}
