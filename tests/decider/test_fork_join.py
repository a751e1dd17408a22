"""FORK_JOIN and JOIN: branches side by side, and what waits for them."""

import json

import pytest

from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    fork,
    inline,
    join,
    pass_time,
    policy,
    run_failing,
    set_variable,
    simple,
    status_of,
    switch,
    task_of,
    times,
    typed,
    workflow,
)


def test_all_branches_are_open_at_once(engine: MemoryEngine) -> None:
    definition = workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(definition)
    statuses = {"f": "COMPLETED", "a": "SCHEDULED", "b": "SCHEDULED", "j": "IN_PROGRESS"}
    assert engine.statuses(started) == statuses
    seqs = [task["seq"] for task in engine.workflow(started)["tasks"]]
    assert seqs == [1, 2, 3, 4]


def test_join_waits_for_every_reference_it_names(engine: MemoryEngine) -> None:
    branches = [simple("a"), simple("a2")], [simple("b")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a2", "b"), simple("z")))
    for ref in ("a", "b"):
        engine.run(ref)
        assert "z" not in engine.statuses(started)
    engine.run("a2")
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_joins_output_is_the_outputs_by_reference(engine: MemoryEngine) -> None:
    """Oracle row 14: without output parameters it is the workflow's output."""
    definition = workflow(
        "w", fork("f", [simple("a")], [simple("b")], [simple("c")]), join("j", "a", "b", "c")
    )
    started = engine.start(definition)
    engine.run("b", {"y": 2})
    engine.run("a", {"x": 1})
    engine.run("c")
    found = engine.workflow(started)
    assert found["status"] == "COMPLETED"
    assert found["output"] == {"a": {"x": 1}, "b": {"y": 2}}


def test_failing_branch_fails_the_workflow_and_cancels_the_others(engine: MemoryEngine) -> None:
    """Oracle row 18."""
    definition = workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(definition)
    engine.poll("b")
    run_failing(engine, "a")
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    assert engine.statuses(started) == {
        "f": "COMPLETED",
        "a": "FAILED",
        "b": "CANCELED",
        "j": "CANCELED",
    }


def test_join_with_an_optional_failed_branch_has_errors(engine: MemoryEngine) -> None:
    """Oracle row 19."""
    branches = [simple("a", optional=True)], [simple("b")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "b"), simple("z")))
    run_failing(engine, "a", "sour")
    engine.run("b")
    joined = task_of(engine, started, "j")
    assert joined["status"] == "COMPLETED_WITH_ERRORS"
    assert "sour" in joined["reasonForIncompletion"]
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_join_fails_for_a_permissive_branch_only_when_all_have_settled(
    engine: MemoryEngine,
) -> None:
    branches = [simple("a", permissive=True)], [simple("b")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "b")))
    run_failing(engine, "a", "no")
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    engine.run("b")
    assert engine.statuses(started)["j"] == "FAILED"
    assert status_of(engine, started) == "FAILED"


def test_reason_of_a_join_that_fails_names_the_tasks_that_made_it_fail(
    engine: MemoryEngine,
) -> None:
    branches = [simple("a", permissive=True)], [simple("b", permissive=True)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "b")))
    run_failing(engine, "a", "sour")
    run_failing(engine, "b")
    reason = "Task a (a) failed: sour; Task b (b) failed"
    assert task_of(engine, started, "j")["reasonForIncompletion"] == reason
    assert reason in engine.workflow(started)["reasonForIncompletion"]


def test_a_loop_that_a_join_names_by_two_of_its_tasks_stands_at_the_first_and_once(
    engine: MemoryEngine,
) -> None:
    body = [simple("x", permissive=True), simple("y")]
    branches = [[times("l", 1, *body, permissive=True)], [simple("b", permissive=True)]]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "x", "b", "y")))
    run_failing(engine, "b", "late")
    run_failing(engine, "x", "sour")
    engine.settle()
    reason = task_of(engine, started, "j")["reasonForIncompletion"]
    assert reason.count("sour") == 1
    assert reason.index("sour") < reason.index("late")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"permissive": True}, "Task b (b) failed: 2; Task c (c) failed: 1; Task a (a) failed: 3"),
        ({"optional": True}, "b: 2; c: 1; a: 3"),
    ],
)
def test_reasons_of_a_join_stand_in_the_order_of_what_it_waits_for(
    engine: MemoryEngine, more: dict[str, bool], reason: str
) -> None:
    branches = [[simple(ref, **more)] for ref in "abc"]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "b", "c", "a")))
    for said, ref in enumerate("cba", 1):
        run_failing(engine, ref, str(said))
    assert task_of(engine, started, "j")["reasonForIncompletion"] == reason


@pytest.mark.anomaly("A-33")
def test_branch_with_an_outstanding_retry_is_not_settled(engine: MemoryEngine) -> None:
    branches = [policy("a", retryCount=1)], [simple("b")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "b")))
    engine.run("b")
    run_failing(engine, "a")
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    engine.run("a", {"x": 1})
    assert task_of(engine, started, "j")["outputData"] == {"a": {"x": 1}}


def test_join_that_names_only_some_branches_goes_on_without_the_rest(engine: MemoryEngine) -> None:
    definition = workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a"), simple("z"))
    started = engine.start(definition)
    engine.run("a")
    engine.run("z")
    assert status_of(engine, started) == "RUNNING"
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_join_of_nothing_is_completed_at_once(engine: MemoryEngine) -> None:
    definition = workflow("w", fork("f", [simple("a")]), join("j"), simple("z"))
    started = engine.start(definition)
    assert engine.statuses(started)["j"] == "COMPLETED"
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_join_on_an_unknown_reference_counts_it_as_skipped(engine: MemoryEngine) -> None:
    definition = workflow("w", fork("f", [simple("a")]), join("j", "a", "nobody"))
    started = engine.start(definition)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_join_that_names_a_reference_twice_waits_for_it_once(engine: MemoryEngine) -> None:
    definition = workflow("w", fork("f", [simple("a")]), join("j", "a", "a"))
    started = engine.start(definition)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_join_may_name_a_task_that_ended_before_the_fork(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"), fork("f", [simple("b")]), join("j", "a", "b"))
    started = engine.start(definition)
    engine.run("a", {"x": 1})
    engine.run("b")
    assert engine.workflow(started)["output"] == {"a": {"x": 1}}


def test_branches_without_workers_end_within_the_start(engine: MemoryEngine) -> None:
    branches = [set_variable("s", v=1)], [inline("i", "1 + 1")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "s", "i")))
    found = engine.workflow(started)
    assert found["status"] == "COMPLETED"
    assert found["output"] == {"i": {"result": 2}}


def test_forks_nest(engine: MemoryEngine) -> None:
    inner = [fork("g", [simple("a")], [simple("b")]), join("k", "a", "b"), simple("c")]
    started = engine.start(workflow("w", fork("f", inner, [simple("d")]), join("j", "c", "d")))
    for ref in ("d", "a", "b", "c"):
        assert status_of(engine, started) == "RUNNING"
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"


def test_fork_of_a_thousand_branches(engine: MemoryEngine) -> None:
    refs = [f"b{n}" for n in range(1000)]
    branches = [[{**simple(ref), "name": "a"}] for ref in refs]
    started = engine.start(workflow("w", fork("f", *branches), join("j", *refs)))
    engine.settle()
    done = 0
    while tasks := engine.poll("a", 1000):
        for task in tasks:
            engine.complete(task, {"x": 1})
        done += len(tasks)
    assert done == 1000
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    assert len(task_of(engine, started, "j")["outputData"]) == 1000


def test_fork_without_a_join_fails_the_workflow(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", fork("f", [simple("a")]), simple("z")))
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "JOIN" in found["reasonForIncompletion"]


# -- what can never come ---------------------------------------------------------------------------


def test_join_on_an_unreachable_branch_counts_it_as_skipped(engine: MemoryEngine) -> None:
    choice = switch("s", "other", {"yes": [simple("p")]})
    definition = workflow("w", fork("f", [choice], [simple("b")]), join("j", "p", "b"), simple("z"))
    started = engine.start(definition)
    engine.run("b", {"x": 1})
    assert engine.statuses(started)["j"] == "COMPLETED"
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_inner_join_is_let_go_before_the_outer_one(engine: MemoryEngine) -> None:
    """The outer join waits for what follows the inner one, so it must not be let go first."""
    choice = switch("s", "other", {"yes": [simple("p")]})
    inner = [fork("g", [choice]), join("k", "p"), simple("x")]
    started = engine.start(workflow("w", fork("f", inner), join("j", "x"), simple("z")))
    assert engine.statuses(started)["x"] == "SCHEDULED"
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    engine.run("x")
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_unreachable_join_inside_a_loop_lets_the_loop_go_on(engine: MemoryEngine) -> None:
    choice = switch("s", "other", {"yes": [simple("p")]})
    loop = times("l", 2, fork("f", [choice], [simple("b")]), join("j", "p", "b"))
    started = engine.start(workflow("w", loop))
    engine.run("b")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "j__2")["status"] == "COMPLETED"


@pytest.mark.parametrize(
    "broken",
    [fork("f", [simple("a")], [simple("b")]), typed("FORK_JOIN_DYNAMIC", "f")],
    ids=["static", "dynamic"],
)
def test_a_fork_without_its_join_fails_when_it_is_reached(
    engine: MemoryEngine, broken: Json
) -> None:
    started = engine.start(workflow("w", simple("before"), broken, simple("z")))
    assert status_of(engine, started) == "RUNNING"
    engine.run("before")
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "has no JOIN right behind it" in found["reasonForIncompletion"]
    assert found["failedReferenceTaskNames"] == ["f"]
    assert not engine.poll("a")


_INNER = fork("f", [simple("a")], [simple("b")])


@pytest.mark.parametrize(
    "tasks",
    [
        [switch("s", "yes", {"yes": [_INNER]}), join("j", "a", "b"), simple("z")],
        [
            switch("s", "yes", {"yes": [switch("t", "no", {}, [simple("x"), _INNER])]}),
            join("j", "a", "b"),
            simple("z"),
        ],
        [fork("g", [_INNER], [simple("k")]), join("j", "a", "b", "k"), simple("z")],
        [
            fork("g", [switch("s", "yes", {"yes": [simple("x"), _INNER]})], [simple("k")]),
            join("j", "a", "b", "k"),
            simple("z"),
        ],
        [fork("g", [_INNER, join("i", "a", "b")], [simple("k")]), join("j", "i", "k"), simple("z")],
    ],
    ids=["in a choice", "in two choices", "in a branch", "in a choice in a branch", "its own"],
)
@pytest.mark.parametrize("iterations", [0, 2])
def test_the_join_of_a_fork_may_stand_behind_what_ends_with_the_fork(
    engine: MemoryEngine, tasks: list[Json], iterations: int
) -> None:
    """As in Conductor, whose JOIN is the task that comes next."""
    refs = [ref for ref in ("x", "a", "b", "k") if f'"{ref}"' in json.dumps(tasks)]
    around = [times("l", iterations, *tasks)] if iterations else tasks
    for first in range(len(refs)):
        started = engine.start(workflow("w", *around))
        for _ in range(iterations or 1):
            for ref in (ref for ref in refs if ref == "x"):
                engine.run(ref)
            for ref in (ref for ref in [*refs[first:], *refs[:first]] if ref != "x"):
                assert not engine.poll("z")
                engine.run(ref)
            engine.run("z")
        assert status_of(engine, started) == "COMPLETED"


def test_what_a_fork_in_a_choice_had_open_is_waited_for_again_when_it_is_rerun(
    engine: MemoryEngine,
) -> None:
    chosen = switch("s", "yes", {"yes": [_INNER]})
    started = engine.start(workflow("w", chosen, join("j", "a", "b"), simple("z")))
    for ref in ("a", "b", "z"):
        engine.run(ref)
    engine.engine.recovery.rerun(started, RerunRequest(from_ref="a"))
    assert not engine.poll("z")
    engine.run("a")
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_a_fork_that_ends_a_loop_has_no_join_behind_the_loop(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, _INNER), join("j", "a", "b")))
    assert "has no JOIN right behind it" in engine.workflow(started)["reasonForIncompletion"]


@pytest.mark.anomaly("A-32")
@pytest.mark.parametrize("seconds", [0, 30])
def test_every_join_is_counted_once_however_late_results_come(
    engine: MemoryEngine, seconds: int
) -> None:
    definition = workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(definition)
    (task,) = engine.poll("a")
    for _ in range(3):
        engine.complete(task)
        pass_time(engine, seconds=seconds)
    assert status_of(engine, started) == "RUNNING"
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"
