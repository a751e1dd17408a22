"""Relations labelled order: they say when, and nothing else."""

from __future__ import annotations

from typing import Any

from conductor_py.model.requests import ForceRequest, RerunRequest
from conductor_py.testing import MemoryEngine
from tests.builders import Json, dag, run_failing, simple, status_of, task_of, typed


def _started(engine: MemoryEngine, tasks: list[Json], *edges: str, **more: Any) -> str:
    return engine.start(dag("w", tasks, *edges, **more))


def _tasks(names: str) -> list[Json]:
    return [simple(name) for name in names]


def _again(engine: MemoryEngine, started: str) -> set[str]:
    """What waits for a worker."""
    return {ref for ref, status in engine.statuses(started).items() if status == "SCHEDULED"}


def test_it_is_waited_for_and_no_more(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"), "a -order> b")
    assert engine.statuses(started) == {"a": "SCHEDULED"}
    run_failing(engine, "a")
    engine.run("b")
    assert engine.statuses(started) == {"a": "FAILED", "b": "COMPLETED"}
    assert status_of(engine, started) == "FAILED"


def test_what_could_not_run_is_not_waited_for_longer(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abc"), "a > b", "b -order> c")
    run_failing(engine, "a")
    assert engine.statuses(started) == {"a": "FAILED", "c": "SCHEDULED"}


def test_whether_a_task_runs_is_left_to_its_other_relations(engine: MemoryEngine) -> None:
    edges = ("a > c", "x -order> c")
    started = _started(engine, _tasks("acx"), *edges)
    engine.run("x")
    assert engine.statuses(started) == {"a": "SCHEDULED", "x": "COMPLETED"}
    run_failing(engine, "a")
    assert engine.statuses(started) == {"a": "FAILED", "x": "COMPLETED"}


def test_a_task_that_is_not_chosen_does_not_run_for_having_waited(engine: MemoryEngine) -> None:
    choice = typed("SWITCH", "s", evaluatorType="value-param", expression="case")
    choice["inputParameters"] = {"case": "other"}
    started = _started(engine, [choice, *_tasks("cx")], "s -case:this> c", "x -order> c")
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"
    assert engine.statuses(started) == {"s": "COMPLETED", "x": "COMPLETED"}


def test_a_retry_keeps_what_only_came_later(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abc"), "a -order> b", "b > c")
    run_failing(engine, "a")
    engine.run("b")
    engine.run("c")
    engine.engine.recovery.retry(started)
    assert _again(engine, started) == {"a"}
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"
    assert [task["referenceTaskName"] for task in engine.workflow(started)["tasks"]] == list("abca")


def test_what_runs_again_still_waits_for_its_turn(engine: MemoryEngine) -> None:
    """Two of a lane failed, with one between them that did not."""
    started = _started(engine, _tasks("abc"), "a -order> b", "b -order> c")
    run_failing(engine, "a")
    engine.run("b")
    run_failing(engine, "c")
    engine.engine.recovery.retry(started)
    assert _again(engine, started) == {"a"}
    engine.run("a")
    assert _again(engine, started) == {"c"}
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"


def test_a_rerun_runs_nothing_that_only_came_later_and_makes_it_not_stale(
    engine: MemoryEngine,
) -> None:
    started = _started(engine, _tasks("abc"), "a -order> b", "a > c")
    for ref in "acb":
        engine.run(ref)
    request = RerunRequest(from_ref="a")
    foretold = engine.engine.recovery.preview_rerun(started, request)
    assert (set(foretold.runs_again), set(foretold.kept)) == ({"a", "c"}, {"b"})
    engine.engine.recovery.rerun(started, request)
    assert "stale" not in task_of(engine, started, "b")
    engine.run("a")
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"


def test_a_part_before_a_task_leaves_out_what_is_only_waited_for(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abc"), "a -order> c", "b > c")
    for ref in "abc":
        engine.run(ref)
    engine.engine.recovery.rerun(started, RerunRequest(from_ref="c", mode="TASK_PRE"))
    assert _again(engine, started) == {"b"}


def test_a_failure_counts_as_done_although_something_has_waited_for_its_end(
    engine: MemoryEngine,
) -> None:
    edges = ("a > b", "a -order> c", "b -order> d", "x -order> d")
    started = _started(engine, _tasks("abcdx"), *edges)
    run_failing(engine, "a")
    assert _again(engine, started) == {"c", "x"}
    _force(engine, started, "a")
    engine.run("x")
    assert _again(engine, started) == {"b", "c"}, "d waits for b, which can run now"
    for ref in "bcd":
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"


def _force(engine: MemoryEngine, started: str, ref: str) -> None:
    engine.engine.recovery.force_success(started, ref, ForceRequest())


def test_what_was_blocked_twice_is_opened_by_both(engine: MemoryEngine) -> None:
    edges = ("a > b", "b -order> d", "f > g", "g > d")
    started = _started(engine, _tasks("abdfgy"), *edges)
    run_failing(engine, "a")
    run_failing(engine, "f")
    _force(engine, started, "a")
    _force(engine, started, "f")
    for ref in "bgdy":
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"
    assert engine.statuses(started)["d"] == "COMPLETED"


def test_what_was_opened_again_is_waited_for_again(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abdfy"), "a > b", "b -order> d", "f > d")
    run_failing(engine, "a")
    run_failing(engine, "f")
    _force(engine, started, "a")
    _force(engine, started, "f")
    assert _again(engine, started) == {"b", "y"}
    engine.run("b")
    assert _again(engine, started) == {"d", "y"}


def test_with_end_the_first_failure_ends_it_all_the_same(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"), "a -order> b", failureStrategy="END")
    run_failing(engine, "a")
    engine.settle()
    assert engine.statuses(started) == {"a": "FAILED"}
    assert status_of(engine, started) == "FAILED"
