"""Upgrade: an execution under way goes on under another version of its definition."""

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.workspace import Limits
from conductor_py.errors import Conflict, InvalidInput, NotFound
from conductor_py.model.requests import RerunRequest, UpgradeRequest
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    Json,
    fork,
    fork_inputs,
    join,
    pass_time,
    run_failing,
    simple,
    status_of,
    switch,
    task_of,
    times,
    wait,
    workflow,
)


def _define(engine: MemoryEngine, version: int, *tasks: Json, **more: object) -> None:
    definition = workflow_from_json(workflow("w", *tasks, **{"version": version, **more}))
    engine.engine.definitions.register(definition, overwrite=True)


def _upgrade(engine: MemoryEngine, started: str, **how: object) -> None:
    request = UpgradeRequest(name="w", version=2, **how)  # type: ignore[arg-type]
    engine.engine.recovery.upgrade(started, request)
    engine.settle()


def test_open_task_goes_on_and_what_follows_is_new(engine: MemoryEngine) -> None:
    _define(engine, 1, simple("a"), simple("b"))
    started = engine.start("w", version=1, input={"n": 1})
    (held,) = engine.poll("a")
    _define(engine, 2, simple("a"), simple("c", inputParameters={"n": "${workflow.input.m}"}))
    _upgrade(engine, started, workflow_input={"m": 2})
    found = engine.workflow(started)
    assert (found["workflowVersion"], found["input"]) == (2, {"n": 1, "m": 2})
    engine.complete(held)
    assert task_of(engine, started, "c")["inputData"] == {"n": 2}
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("dynamic", [False, True])
def test_branches_that_are_still_to_be_opened_are_not_skipped(
    monkeypatch: pytest.MonkeyPatch,
    dynamic: bool,
) -> None:
    """The server dies in the middle of opening a wide fork, and is asked to upgrade next."""
    engine = memory_engine(limits=Limits(attempts=1))
    refs = ["x", "y", "z"]
    if dynamic:
        forked = [fork_inputs("f", [0, 1, 2], forkTaskName="x"), join("j")]
    else:
        forked = [fork("f", *([simple(ref)] for ref in refs)), join("j", *refs)]
    _define(engine, 1, *forked)
    _define(engine, 2, *forked, simple("last"))
    with monkeypatch.context() as patch:
        patch.setattr(engine.ports.store, "commit", _die)
        with pytest.raises(KeyboardInterrupt):
            engine.start("w", version=1)
    (started,) = engine.engine.executions.running("w")
    engine.clock.advance(seconds=4)
    _upgrade(engine, started)
    for ref in ["x", "x", "x"] if dynamic else refs:
        engine.run(ref)
    assert "SKIPPED" not in engine.statuses(started).values()
    engine.settle()
    engine.run("last")
    assert status_of(engine, started) == "COMPLETED"


def test_branches_that_a_pause_has_postponed_are_opened_under_the_new_version() -> None:
    """More of them than a resume takes up in one piece; one has a new task at its beginning."""
    engine = memory_engine(limits=Limits(attempts=1, rounds=1))
    refs = [f"x{n}" for n in range(6)]
    _define(engine, 1, fork("f", *([simple(ref)] for ref in refs)), join("j", *refs))
    branches = [[simple("before"), simple("x5")], *([simple(ref)] for ref in refs[:5])]
    _define(engine, 2, fork("f", *branches), join("j", *refs), simple("last"))
    commit = engine.ports.store.commit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.ports.store, "commit", _die)
        with pytest.raises(KeyboardInterrupt):
            engine.start("w", version=1)
    (started,) = engine.engine.executions.running("w")
    assert engine.ports.store.commit == commit
    engine.clock.advance(seconds=4)
    engine.engine.steering.pause(started)
    engine.settle()
    assert len(engine.statuses(started)) < len(refs)
    _upgrade(engine, started)
    assert engine.statuses(started)["before"] == "SKIPPED"
    engine.engine.steering.resume(started)
    engine.settle()
    for ref in refs:
        engine.run(ref)
    engine.run("last")
    assert status_of(engine, started) == "COMPLETED"


def _die(_: object) -> None:
    raise KeyboardInterrupt


def test_new_task_before_what_is_reached_is_skipped_with_its_output(engine: MemoryEngine) -> None:
    _define(engine, 1, simple("a"), simple("b"))
    started = engine.start("w", version=1)
    engine.run("a")
    last = simple("c", inputParameters={"x": "${new.output.x}"})
    _define(engine, 2, simple("a"), simple("new"), simple("b"), last)
    _upgrade(engine, started, task_output={"new": {"x": 7}})
    assert engine.statuses(started) == {"a": "COMPLETED", "new": "SKIPPED", "b": "SCHEDULED"}
    engine.run("b")
    assert task_of(engine, started, "c")["inputData"] == {"x": 7}
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    ("tasks", "path", "words"),
    [
        ([simple("z")], "$.tasks[0]", "does not have it"),
        ([wait("a", duration="1h")], "$.tasks[0]", "as WAIT"),
        ([simple("z"), times("l", 2, simple("a"))], "$.tasks[1].loopOver[0]", "another task"),
    ],
)
def test_what_is_open_must_stand_where_it_stood(
    engine: MemoryEngine, tasks: list[Json], path: str, words: str
) -> None:
    _define(engine, 1, simple("a"))
    started = engine.start("w", version=1)
    _define(engine, 2, *tasks)
    before = engine.workflow(started)
    with pytest.raises(InvalidInput) as refused:
        _upgrade(engine, started)
    (violation,) = refused.value.violations
    assert violation.path == path
    assert words in violation.message
    found = engine.engine.recovery.check_upgrade(started, UpgradeRequest(version=2))
    assert found == refused.value.violations
    after = engine.workflow(started)
    assert (after["workflowVersion"], after["tasks"]) == (1, before["tasks"])


def test_check_changes_nothing(engine: MemoryEngine) -> None:
    _define(engine, 1, simple("a"))
    started = engine.start("w", version=1)
    _define(engine, 2, simple("a"), simple("b"))
    assert engine.engine.recovery.check_upgrade(started, UpgradeRequest(version=2)) == ()
    assert engine.workflow(started)["workflowVersion"] == 1


def test_branch_that_had_ended_goes_on_with_its_new_task(engine: MemoryEngine) -> None:
    _define(engine, 1, fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start("w", version=1)
    engine.run("a")
    branches = [simple("a"), simple("c")], [simple("b")]
    _define(engine, 2, fork("f", *branches), join("j", "c", "b"), simple("z"))
    _upgrade(engine, started)
    assert engine.statuses(started)["c"] == "SCHEDULED"
    engine.run("b")
    assert task_of(engine, started, "j")["status"] == "IN_PROGRESS"
    engine.run("c", {"v": 1})
    assert task_of(engine, started, "j")["outputData"] == {"c": {"v": 1}}
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_loop_goes_on_under_its_new_body(engine: MemoryEngine) -> None:
    _define(engine, 1, times("l", 2, simple("a"), simple("b")))
    started = engine.start("w", version=1)
    engine.run("a")
    _define(engine, 2, times("l", 2, simple("a"), simple("b"), simple("c")))
    _upgrade(engine, started)
    for ref in ("b", "c", "a", "b", "c"):
        engine.run(ref)
        engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_dynamic_fork_stays_with_its_branches(engine: MemoryEngine) -> None:
    spread = fork_inputs("g", [1, 2], forkTaskName="work")
    _define(engine, 1, spread, join("j"))
    started = engine.start("w", version=1)
    _define(engine, 2, spread, join("j"), simple("z"))
    _upgrade(engine, started)
    for task in engine.poll("work", 2):
        engine.complete(task)
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_choice_under_way(engine: MemoryEngine) -> None:
    _define(engine, 1, switch("s", "1", {"1": [simple("a")]}))
    started = engine.start("w", version=1)
    _define(
        engine, 2, switch("s", "1", {"1": [simple("n"), simple("a"), simple("b")]}), simple("z")
    )
    _upgrade(engine, started)
    assert engine.statuses(started)["n"] == "SKIPPED"
    for ref in ("a", "b", "z"):
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"


def test_paused_execution_is_upgraded_and_goes_on_later(engine: MemoryEngine) -> None:
    _define(engine, 1, simple("a"), simple("b"))
    started = engine.start("w", version=1)
    (held,) = engine.poll("a")
    engine.engine.steering.pause(started)
    engine.complete(held)
    _define(engine, 2, simple("a"), simple("c"))
    _upgrade(engine, started)
    engine.engine.steering.resume(started)
    engine.settle()
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"


def test_workflow_timeout_is_that_of_the_new_version(engine: MemoryEngine) -> None:
    _define(engine, 1, simple("a"))
    started = engine.start("w", version=1)
    pass_time(engine, seconds=5)
    _define(engine, 2, simple("a"), timeoutSeconds=8, timeoutPolicy="TIME_OUT_WF")
    _upgrade(engine, started)
    pass_time(engine, seconds=2)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=2)
    assert status_of(engine, started) == "TIMED_OUT"


def test_retry_and_rerun_after_an_upgrade(engine: MemoryEngine) -> None:
    _define(engine, 1, simple("a"), simple("b"))
    started = engine.start("w", version=1)
    engine.run("a")
    _define(engine, 2, simple("a"), simple("b"), simple("c"))
    _upgrade(engine, started)
    run_failing(engine, "b")
    engine.engine.recovery.retry(started)
    engine.run("b")
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"
    first = task_of(engine, started, "a")["taskId"]
    engine.engine.recovery.rerun(started, RerunRequest(from_task=first))
    for ref in ("a", "b", "c"):
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"


def test_what_cannot_be_upgraded(engine: MemoryEngine) -> None:
    _define(engine, 1, simple("a"))
    started = engine.start("w", version=1)
    with pytest.raises(NotFound):
        _upgrade(engine, started)
    with pytest.raises(NotFound):
        _upgrade(engine, "00000000-0000-0000-0000-000000000000")
    with pytest.raises(InvalidInput, match="same definition"):
        engine.engine.recovery.upgrade(started, UpgradeRequest(name="other", version=1))
    _define(engine, 2, simple("a"))
    _define(engine, 3, simple("a"), simple("b"))
    engine.engine.recovery.upgrade(started, UpgradeRequest(version=3))
    with pytest.raises(Conflict, match="cannot go back"):
        engine.engine.recovery.upgrade(started, UpgradeRequest(version=1))
    engine.engine.executions.terminate(started, reason="over")
    with pytest.raises(Conflict):
        _upgrade(engine, started)
