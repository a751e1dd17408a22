"""DAGs: when a task runs, what a failure stops, and how the whole ends."""

import itertools
from collections.abc import Iterable

import pytest

from conductor_py.engine.executions.recovery import Recovery
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    conditions,
    dag,
    do_while,
    pass_time,
    policy,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    typed,
    workflow,
)


def _tasks(names: str) -> list[Json]:
    return [simple(name) for name in names]


def _choice(ref: str, value: str) -> Json:
    task = typed("SWITCH", ref, evaluatorType="value-param", expression="case")
    return task | {"inputParameters": {"case": value}}


def _started(engine: MemoryEngine, tasks: Iterable[Json], *edges: str, **more: object) -> str:
    return engine.start(dag("w", list(tasks), *edges, **more))


def test_tasks_run_when_all_before_them_are_done(engine: MemoryEngine) -> None:
    """The smallest graph that forks and joins do not make: a → c, a → d, b → d."""
    started = _started(engine, _tasks("dcba"), "a > c", "a > d", "b > d")
    assert engine.statuses(started) == {"a": "SCHEDULED", "b": "SCHEDULED"}
    engine.run("a")
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED", "c": "SCHEDULED"}
    engine.run("b")
    assert engine.statuses(started)["d"] == "SCHEDULED"
    engine.run("c")
    engine.run("d")
    assert status_of(engine, started) == "COMPLETED"


def test_tasks_without_relations_to_others_run_side_by_side(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"))
    assert engine.statuses(started) == {"a": "SCHEDULED", "b": "SCHEDULED"}
    engine.run("b")
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_what_follows_a_failure_never_runs(engine: MemoryEngine) -> None:
    """Row 1."""
    started = _started(engine, _tasks("abc"), "a > b", "b > c")
    run_failing(engine, "a", "sour")
    assert engine.statuses(started) == {"a": "FAILED"}
    assert status_of(engine, started) == "FAILED"
    reason = engine.workflow(started)["reasonForIncompletion"]
    assert reason == "Task a (a) failed: sour"


@pytest.mark.parametrize("first", ["a", "x"])
def test_a_join_of_a_failed_and_a_done_task_neither_runs_nor_hangs(
    engine: MemoryEngine, first: str
) -> None:
    """Row 2 (#18131)."""
    started = _started(engine, _tasks("axj"), "a > j", "x > j")
    for ref in (first, "a" if first == "x" else "x"):
        assert status_of(engine, started) == "RUNNING"
        run_failing(engine, ref) if ref == "a" else engine.run(ref)
    assert engine.statuses(started) == {"a": "FAILED", "x": "COMPLETED"}
    assert status_of(engine, started) == "FAILED"


def test_a_join_of_a_short_and_a_long_branch_runs_once(engine: MemoryEngine) -> None:
    """Row 3 (#18318)."""
    started = _started(engine, _tasks("abcd"), "a > d", "b > c", "c > d")
    engine.run("a")
    engine.run("b")
    assert "d" not in engine.statuses(started)
    engine.run("c")
    engine.run("d")
    assert [task["referenceTaskName"] for task in engine.workflow(started)["tasks"]] == list("abcd")
    assert status_of(engine, started) == "COMPLETED"


def test_a_join_behind_a_choice_runs_without_the_branch_that_was_not_taken(
    engine: MemoryEngine,
) -> None:
    """Row 4 (#14625)."""
    edges = ("s -case:left> l", "s -case:right> r", "l > j", "r > j")
    started = _started(engine, [_choice("s", "left"), *_tasks("lrj")], *edges)
    engine.run("l")
    engine.run("j")
    assert engine.statuses(started) == {"s": "COMPLETED", "l": "COMPLETED", "j": "COMPLETED"}
    assert status_of(engine, started) == "COMPLETED"


def test_nothing_runs_behind_a_choice_of_nothing(engine: MemoryEngine) -> None:
    """Row 5."""
    edges = ("s -case:left> l", "l > z")
    started = _started(engine, [_choice("s", "other"), *_tasks("lz")], *edges)
    assert engine.statuses(started) == {"s": "COMPLETED"}
    assert status_of(engine, started) == "COMPLETED"


def test_the_default_is_chosen_when_no_case_is(engine: MemoryEngine) -> None:
    edges = ("s -case:left> l", "s -default> d")
    started = _started(engine, [_choice("s", "other"), *_tasks("ld")], *edges)
    assert engine.statuses(started) == {"s": "COMPLETED", "d": "SCHEDULED"}
    chosen = _started(engine, [_choice("s", "left"), *_tasks("ld")], *edges)
    assert engine.statuses(chosen) == {"s": "COMPLETED", "l": "SCHEDULED"}


_JUDGED = ("a -test> c", "c -success> s", "c -failure> f")


def test_a_failure_that_conditions_look_at_is_handled(engine: MemoryEngine) -> None:
    """Row 6."""
    started = _started(engine, [*_tasks("asf"), conditions("c")], *_JUDGED)
    run_failing(engine, "a")
    engine.run("f")
    expected = {"a": "FAILED", "c": "COMPLETED", "f": "COMPLETED"}
    assert engine.statuses(started) == expected
    assert status_of(engine, started) == "COMPLETED"
    output = task_of(engine, started, "c")["outputData"]
    assert output == {"conditionResult": False, "statuses": {"a": "FAILURE"}}


def test_a_handled_failure_that_also_stops_another_task_fails_the_whole(
    engine: MemoryEngine,
) -> None:
    """Row 7."""
    started = _started(engine, [*_tasks("asfb"), conditions("c")], *_JUDGED, "a > b")
    run_failing(engine, "a")
    engine.run("f")
    assert "b" not in engine.statuses(started)
    assert status_of(engine, started) == "FAILED"


def test_conditions_see_a_task_that_could_not_run_as_failed(engine: MemoryEngine) -> None:
    """Row 8."""
    edges = ("a > b", "b -test> c", "c -success> s", "c -failure> f")
    started = _started(engine, [*_tasks("absf"), conditions("c")], *edges)
    run_failing(engine, "a")
    engine.run("f")
    assert engine.statuses(started) == {"a": "FAILED", "c": "COMPLETED", "f": "COMPLETED"}
    assert status_of(engine, started) == "FAILED"


def test_cleanup_runs_after_everything_and_excuses_nothing(engine: MemoryEngine) -> None:
    """Row 9 (#11781)."""
    edges = ("s -case:no> l", "l -always> k", "b -always> k")
    started = _started(engine, [_choice("s", "other"), *_tasks("lbk")], *edges)
    assert engine.statuses(started) == {"s": "COMPLETED", "b": "SCHEDULED"}
    run_failing(engine, "b")
    engine.run("k")
    assert engine.statuses(started) == {"s": "COMPLETED", "b": "FAILED", "k": "COMPLETED"}
    assert status_of(engine, started) == "FAILED"


def test_end_cancels_nothing_before_the_last_attempt(engine: MemoryEngine) -> None:
    """Row 10."""
    tasks = [policy("a", retryCount=1), simple("x"), simple("b")]
    started = _started(engine, tasks, "a > b", failureStrategy="END")
    engine.poll("x")
    run_failing(engine, "a")
    assert task_of(engine, started, "x")["status"] == "IN_PROGRESS"
    pass_time(engine, seconds=1)
    run_failing(engine, "a")
    engine.settle()
    assert task_of(engine, started, "x")["status"] == "CANCELED"
    assert status_of(engine, started) == "FAILED"


def test_continue_lets_the_others_finish(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("axyb"), "a > b", "x > y")
    run_failing(engine, "a")
    engine.run("x")
    engine.run("y")
    assert status_of(engine, started) == "FAILED"
    assert engine.statuses(started) == {"a": "FAILED", "x": "COMPLETED", "y": "COMPLETED"}


def test_a_handled_failure_does_not_end_what_ends_on_failure(engine: MemoryEngine) -> None:
    """#13410."""
    tasks = [*_tasks("asfx"), conditions("c")]
    started = _started(engine, tasks, *_JUDGED, failureStrategy="END")
    run_failing(engine, "a")
    engine.run("x")
    engine.run("f")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(("failing", "status"), [("p", "COMPLETED"), ("pq", "FAILED")])
def test_any_live_tolerates_failures_but_not_of_all(
    engine: MemoryEngine, failing: str, status: str
) -> None:
    """Rows 11 and 12."""
    tasks = [*_tasks("pq"), simple("j", triggerRule="ANY_LIVE")]
    started = _started(engine, tasks, "p > j", "q > j")
    for ref in "pq":
        run_failing(engine, ref) if ref in failing else engine.run(ref)
    if status == "COMPLETED":
        engine.run("j")
    assert ("j" in engine.statuses(started)) is (status == "COMPLETED")
    assert status_of(engine, started) == status


def test_all_done_runs_whatever_happened_and_excuses_nothing(engine: MemoryEngine) -> None:
    tasks = [*_tasks("ab"), simple("k", triggerRule="ALL_DONE")]
    started = _started(engine, tasks, "a > b", "b > k")
    run_failing(engine, "a")
    engine.run("k")
    assert status_of(engine, started) == "FAILED"


def test_conditions_that_fail_block_both_sides(engine: MemoryEngine) -> None:
    """Row 14: a choice whose script cannot be evaluated."""
    broken = typed("SWITCH", "s", evaluatorType="javascript", expression="no.such.thing")
    started = _started(engine, [broken, *_tasks("lr")], "s -case:a> l", "s -default> r")
    assert engine.statuses(started) == {"s": "FAILED"}
    assert status_of(engine, started) == "FAILED"


def test_an_optional_failure_is_a_success_with_errors(engine: MemoryEngine) -> None:
    """Row 15."""
    started = _started(engine, [simple("a", optional=True), simple("b")], "a > b")
    run_failing(engine, "a")
    assert engine.statuses(started) == {"a": "COMPLETED_WITH_ERRORS", "b": "SCHEDULED"}
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_a_diamond_below_a_choice_runs_where_one_side_is_live(engine: MemoryEngine) -> None:
    """Row 16."""
    edges = ("s -case:no> l", "l > m", "l > n", "r > n", "m > z", "n > z")
    started = _started(engine, [_choice("s", "other"), *_tasks("lrmnz")], *edges)
    for ref in "rnz":
        engine.run(ref)
    assert "m" not in engine.statuses(started)
    assert status_of(engine, started) == "COMPLETED"


def test_what_an_operator_cancels_counts_as_failed(engine: MemoryEngine) -> None:
    """Row 18."""
    started = _started(engine, [*_tasks("asf"), conditions("c")], *_JUDGED)
    task = engine.poll("a")[0]
    engine.complete(task, status="CANCELED")
    engine.run("f")
    assert status_of(engine, started) == "COMPLETED"


def test_a_loop_whose_body_fails_is_a_failed_task(engine: MemoryEngine) -> None:
    loop = do_while("d", "$.d['iteration'] < 2", simple("body"))
    started = _started(engine, [loop, *_tasks("xz")], "d > z")
    engine.run("body")
    run_failing(engine, "body", "sour")
    assert task_of(engine, started, "d")["status"] == "FAILED"
    assert status_of(engine, started) == "RUNNING"
    engine.run("x")
    assert status_of(engine, started) == "FAILED"


def test_prohibited_tasks_are_passed_through(engine: MemoryEngine) -> None:
    started = _started(
        engine, [simple("a"), simple("p", prohibited=True), simple("b")], "a > p", "p > b"
    )
    engine.run("a")
    assert task_of(engine, started, "p")["outputData"] == {"prohibited": True}
    assert engine.statuses(started) == {"a": "COMPLETED", "p": "COMPLETED", "b": "SCHEDULED"}


# -- later generations -----------------------------------------------------------------------------


def _recovery(engine: MemoryEngine) -> Recovery:
    return engine.engine.recovery


def _seq_of(engine: MemoryEngine, started: str, ref: str) -> list[int]:
    tasks = engine.workflow(started)["tasks"]
    return [task["seq"] for task in tasks if task["referenceTaskName"] == ref]


def test_a_retry_runs_what_failed_and_what_follows_it(engine: MemoryEngine) -> None:
    edges = ("a > b", "b > c", "x > c", "b -always> k")
    started = _started(engine, _tasks("abcxk"), *edges)
    engine.run("a")
    engine.run("x")
    run_failing(engine, "b")
    engine.run("k")
    assert status_of(engine, started) == "FAILED"
    _recovery(engine).retry(started)
    assert [task["referenceTaskName"] for task in engine.poll("b", 2)] == ["b"]
    assert engine.poll("k") == []
    retried = task_of(engine, started, "b")
    assert (retried["retryCount"], retried["status"]) == (1, "IN_PROGRESS")
    engine.complete(retried)
    engine.run("c")
    engine.run("k")
    assert status_of(engine, started) == "COMPLETED"
    assert len(_seq_of(engine, started, "a")) == len(_seq_of(engine, started, "x")) == 1
    assert len(_seq_of(engine, started, "k")) == 2


def test_a_rerun_runs_the_task_and_what_follows_it_and_nothing_beside(
    engine: MemoryEngine,
) -> None:
    """By the graph, not by the order in which things ran."""
    edges = ("a > b", "a > x", "b > z", "x > z")
    started = _started(engine, _tasks("abxz"), *edges)
    for ref in "abxz":
        engine.run(ref)
    request = RerunRequest(from_task=task_of(engine, started, "b")["taskId"], task_input={"n": 2})
    _recovery(engine).rerun(started, request)
    assert engine.poll("x") == []
    assert engine.run("b")["inputData"] == {"n": 2}
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"
    assert [len(_seq_of(engine, started, ref)) for ref in "abxz"] == [1, 2, 1, 2]


def test_a_restart_begins_with_the_roots(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abc"), "a > c", "b > c")
    for ref in "abc":
        engine.run(ref)
    _recovery(engine).restart(started)
    assert engine.statuses(started) == {"a": "SCHEDULED", "b": "SCHEDULED"}
    for ref in "bac":
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"


def test_a_retry_after_a_termination_runs_what_was_canceled(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abc"), "a > c", "b > c")
    engine.run("a")
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "CANCELED"}
    _recovery(engine).retry(started)
    engine.run("b")
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"
    assert len(_seq_of(engine, started, "a")) == 1


def test_all_that_failed_before_any_live_is_tried_again(engine: MemoryEngine) -> None:
    """Each of them is somebody's business, and nobody ran."""
    tasks = [*_tasks("pq"), simple("j", triggerRule="ANY_LIVE")]
    started = _started(engine, tasks, "p > j", "q > j")
    run_failing(engine, "p")
    run_failing(engine, "q")
    assert status_of(engine, started) == "FAILED"
    _recovery(engine).retry(started)
    engine.run("p")
    run_failing(engine, "q")
    engine.run("j")
    assert status_of(engine, started) == "COMPLETED"


def test_a_loop_of_a_dag_is_done_again_as_a_whole(engine: MemoryEngine) -> None:
    loop = do_while("d", "$.d['iteration'] < 2", simple("one"), simple("two"))
    started = _started(engine, [loop, *_tasks("z")], "d > z")
    engine.run("one")
    engine.run("two")
    engine.run("one")
    run_failing(engine, "two")
    assert status_of(engine, started) == "FAILED"
    _recovery(engine).retry(started)
    for ref in ("one", "two", "one", "two", "z"):
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "d")["outputData"]["iteration"] == 2


def test_a_child_that_was_recovered_alone_changes_nothing_in_its_dag(engine: MemoryEngine) -> None:
    """Row 17: what comes behind the parent's task has been told already."""
    child = workflow("child", simple("inner"))
    tasks = [sub_workflow("s", child), simple("x"), simple("z")]
    started = _started(engine, tasks, "s > z")
    failed = run_failing(engine, "inner")
    child_id = failed["workflowInstanceId"]
    assert task_of(engine, started, "s")["status"] == "FAILED"
    _recovery(engine).retry(child_id)
    engine.run("inner")
    assert status_of(engine, child_id) == "COMPLETED"
    assert (status_of(engine, started), "z" in engine.statuses(started)) == ("RUNNING", False)
    engine.run("x")
    assert status_of(engine, started) == "FAILED"
    _recovery(engine).retry(started, resume_subworkflows=True)
    assert task_of(engine, started, "s")["status"] == "COMPLETED"
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_a_failed_child_is_recovered_with_its_parent(engine: MemoryEngine) -> None:
    child = workflow("child", simple("one"), simple("two"))
    started = _started(engine, [sub_workflow("s", child), simple("z")], "s > z")
    engine.run("one")
    run_failing(engine, "two")
    assert status_of(engine, started) == "FAILED"
    _recovery(engine).retry(started, resume_subworkflows=True)
    assert engine.poll("one") == []
    engine.run("two")
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_a_dag_may_be_the_child_of_a_workflow(engine: MemoryEngine) -> None:
    child = dag("child", _tasks("ab"), "a > b")
    started = engine.start(workflow("w", sub_workflow("s", child), simple("z")))
    engine.run("a")
    engine.run("b")
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_nothing_starts_while_a_dag_is_paused(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abc"), "a > b", "a > c")
    (task,) = engine.poll("a")
    engine.engine.steering.pause(started)
    engine.complete(task)
    assert engine.statuses(started) == {"a": "COMPLETED"}
    engine.engine.steering.resume(started)
    assert engine.statuses(started)["b"] == engine.statuses(started)["c"] == "SCHEDULED"


def test_a_skipped_task_counts_when_the_dag_comes_to_it(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abc"), "a > b", "b > c")
    engine.engine.steering.skip(started, "b", task_input={}, task_output={"v": 1})
    engine.run("a")
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SKIPPED", "c": "SCHEDULED"}


def test_a_failure_reaches_any_depth_in_one_decision(engine: MemoryEngine) -> None:
    names = [f"t{number}" for number in range(3_000)]
    edges = [f"{one} > {other}" for one, other in itertools.pairwise(names)]
    started = _started(engine, [simple(name) for name in names], *edges)
    run_failing(engine, "t0")
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    assert engine.statuses(started) == {"t0": "FAILED"}


def test_a_task_with_very_many_behind_it_opens_them_in_pieces(engine: MemoryEngine) -> None:
    names = [f"t{number}" for number in range(2_500)]
    edges = [f"a > {name}" for name in names] + [f"{name} > z" for name in names[:600]]
    started = _started(engine, [simple(name) for name in ("a", "z", *names)], *edges)
    engine.run("a")
    engine.settle()
    assert len(engine.statuses(started)) == 2_501
