"""DAGs: when a task runs, what a failure stops, and how the whole ends."""

from collections.abc import Iterable

import pytest

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
    task_of,
    typed,
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
    assert reason == "sour"


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
