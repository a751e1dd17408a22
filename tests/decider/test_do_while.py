"""DO_WHILE: loops over a condition or a list, nested, and with forks."""

from typing import Any

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    do_while,
    for_each,
    fork,
    fork_inputs,
    inline,
    join,
    pass_time,
    policy,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    times,
    wait,
    workflow,
)


def test_loop_of_three_iterations(engine: MemoryEngine) -> None:
    """Oracle row 24."""
    started = engine.start(workflow("w", times("l", 3, simple("x"))))
    for n in (1, 2, 3):
        task = engine.run("x", {"n": n})
        assert (task["referenceTaskName"], task["iteration"]) == (f"x__{n}", n)
    found = engine.workflow(started)
    assert found["status"] == "COMPLETED"
    assert task_of(engine, started, "l")["outputData"] == {
        "iteration": 3,
        "1": {"x": {"n": 1}},
        "2": {"x": {"n": 2}},
        "3": {"x": {"n": 3}},
    }
    assert set(engine.statuses(started)) == {"l", "x__1", "x__2", "x__3"}


def test_iterations_run_one_after_the_other(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, simple("x"), simple("y")), simple("z")))
    for ref in ("x", "y", "x", "y"):
        assert "z" not in engine.statuses(started)
        engine.run(ref)
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_condition_reads_the_output_of_the_present_iteration(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", do_while("l", "$.x.more", simple("x"))))
    engine.run("x", {"more": True})
    engine.run("x", {"more": True})
    engine.run("x", {"more": False})
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "l")["outputData"]["iteration"] == 3


def test_condition_reads_the_last_output_of_a_task_that_this_iteration_went_around(
    engine: MemoryEngine,
) -> None:
    """Semantics 2.10.7: the latest record wins, from whichever iteration."""
    body = (simple("x"), switch("s", "${x.output.way}", {"look": [simple("y")]}))
    started = engine.start(workflow("w", do_while("l", "$.y.more", *body)))
    engine.run("x", {"way": "look"})
    engine.run("y", {"more": True})
    engine.run("x", {"way": "around"})
    engine.run("x", {"way": "look"})
    engine.run("y", {"more": False})
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "l")["outputData"]["iteration"] == 3


def test_condition_of_an_inner_loop_reads_nothing_of_an_outer_iteration_before(
    engine: MemoryEngine,
) -> None:
    inner = do_while(
        "i",
        "$.y.more && $.i.iteration < 9",
        simple("x"),
        switch("s", "${x.output.way}", {"look": [simple("y")]}),
    )
    started = engine.start(workflow("w", times("o", 2, inner)))
    engine.run("x", {"way": "look"})
    engine.run("y", {"more": True})
    engine.run("x", {"way": "look"})
    engine.run("y", {"more": False})
    engine.run("x", {"way": "around"})
    assert status_of(engine, started) == "COMPLETED"


def test_condition_of_an_outer_loop_reads_the_last_output_of_an_inner_one(
    engine: MemoryEngine,
) -> None:
    inner = times("i", 2, simple("x"))
    started = engine.start(workflow("w", do_while("o", "$.x.more", inner)))
    for more in (False, True, True, False):
        engine.run("x", {"more": more})
    assert status_of(engine, started) == "COMPLETED"


def test_condition_reads_outputs_of_all_iterations_through_the_loop(engine: MemoryEngine) -> None:
    condition = "$.l['1'].x.v + $.x.v < 5"
    started = engine.start(workflow("w", do_while("l", condition, simple("x"))))
    engine.run("x", {"v": 2})
    engine.run("x", {"v": 3})
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    "condition",
    [
        "Object.keys($.l).length < 4",
        "!('3' in $.l)",
        "const l = $['l']; Object.values(l).length < 4",
        "$.l.iteration < 3 && JSON.stringify($.l).length < 60",
    ],
)
def test_condition_may_look_at_the_whole_output_of_the_loop(
    engine: MemoryEngine, condition: str
) -> None:
    started = engine.start(workflow("w", do_while("l", condition, simple("x"))))
    for number in (1, 2, 3):
        engine.run("x", {"n": number})
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    "condition",
    [
        "$.l.n = ($.l.n || 0) + 1; $.l.n < 3",
        "if ($.l['iteration'] < 3) { $.l.n = 3; true } else { false }",
        "const l = $['l']; l['n'] = 3; $.x.n < 3",
        "Object.assign($.l, {n: l = 3}), $.x.n < 3; var l",
    ],
)
def test_what_a_condition_writes_into_the_output_of_its_loop_stays_there(
    engine: MemoryEngine, condition: str
) -> None:
    """Semantics 2.20: a loop condition gets the live object."""
    loop = do_while("l", condition, simple("x"))
    started = engine.start(workflow("w", loop, simple("z", inputParameters={"n": "${l.output.n}"})))
    for number in (1, 2, 3):
        engine.run("x", {"n": number})
    output = task_of(engine, started, "l")["outputData"]
    assert (output["n"], output["iteration"], output["2"]["x"]) == (3, 3, {"n": 2})
    assert task_of(engine, started, "z")["inputData"] == {"n": 3}


def test_what_a_condition_wrote_is_there_in_the_iteration_after_and_hides_no_input(
    engine: MemoryEngine,
) -> None:
    condition = "$.l.most = 9; $.most === 2 && $.l.iteration < $.most"
    loop = do_while("l", condition, simple("x", inputParameters={"n": "${l.output.most}"}))
    loop["inputParameters"] = {"most": 2}
    started = engine.start(workflow("w", loop))
    engine.run("x")
    assert task_of(engine, started, "x__2")["inputData"] == {"n": 9}
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


def test_condition_may_take_away_what_it_wrote_but_not_what_the_loop_tells(
    engine: MemoryEngine,
) -> None:
    condition = (
        "if ($.l.n) { delete $.l.n } else { $.l.n = 1 }; $.l['1'] = $.l.iteration = 7; $.x.n"
    )
    started = engine.start(workflow("w", do_while("l", condition, simple("x"))))
    for number in (1, 1, 1, 0):
        engine.run("x", {"n": number})
    output = task_of(engine, started, "l")["outputData"]
    assert output == {"iteration": 4} | {
        str(n): {"x": {"n": 0 if n == 4 else 1}} for n in range(1, 5)
    }


def test_condition_that_throws_while_it_writes_says_where(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", do_while("l", "$.l.n = 1;\n$.l.n.m.o", simple("x"))))
    engine.run("x")
    reason = task_of(engine, started, "l")["reasonForIncompletion"]
    assert "loopCondition: TypeError" in reason
    assert "(line 2)" in reason


def test_condition_reads_the_loops_own_input(engine: MemoryEngine) -> None:
    loop = do_while("l", "$.l['iteration'] < $.most", simple("x"))
    loop["inputParameters"] = {"most": "${workflow.input.n}"}
    started = engine.start(workflow("w", loop), input={"n": 2})
    engine.run("x")
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    ("condition", "iterations"),
    [
        pytest.param("'true'", 1, id="row 22: a text is not true"),
        ("null", 1),
        ("0", 1),
        ("-1", 1),
        ("false", 1),
        ("$.l['iteration'] < 2 ? 1 : 0", 2),
    ],
)
def test_condition_is_true_or_a_positive_number(
    engine: MemoryEngine, condition: str, iterations: int
) -> None:
    started = engine.start(workflow("w", do_while("l", condition, set_variable("s", a=1))))
    assert task_of(engine, started, "l")["outputData"]["iteration"] == iterations


def test_condition_that_throws_fails_the_loop(engine: MemoryEngine) -> None:
    """Oracle row 23."""
    started = engine.start(workflow("w", do_while("l", "$.none.deep.x", simple("x"))))
    engine.run("x")
    assert engine.statuses(started)["l"] == "FAILED_WITH_TERMINAL_ERROR"
    assert status_of(engine, started) == "FAILED"


def test_failure_in_the_body_fails_the_workflow_and_cancels_the_loop(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 3, simple("x"))))
    run_failing(engine, "x")
    engine.settle()
    assert engine.statuses(started) == {"l": "CANCELED", "x__1": "FAILED"}
    assert status_of(engine, started) == "FAILED"


def test_permissive_failure_in_the_body_fails_the_loop_at_once(engine: MemoryEngine) -> None:
    loop = times("l", 3, simple("x", permissive=True), simple("y"))
    started = engine.start(workflow("w", loop))
    run_failing(engine, "x", "sand")
    engine.settle()
    assert engine.statuses(started)["l"] == "FAILED"
    assert status_of(engine, started) == "FAILED"
    reason = "Task x__1 (x) failed: sand"
    assert task_of(engine, started, "l")["reasonForIncompletion"] == reason
    assert reason in engine.workflow(started)["reasonForIncompletion"]


def test_loop_that_fails_keeps_what_its_iterations_have_left(engine: MemoryEngine) -> None:
    throws = "$.l['iteration'] < 2 || $.none.deep.x"
    started = engine.start(workflow("w", do_while("l", throws, simple("x"))))
    for n in (1, 2):
        engine.run("x", {"n": n})
    output = {"iteration": 2, "1": {"x": {"n": 1}}, "2": {"x": {"n": 2}}}
    assert task_of(engine, started, "l")["outputData"] == output
    permissive = times("l", 2, simple("x", permissive=True))
    started = engine.start(workflow("w", permissive))
    engine.run("x", {"n": 1})
    (task,) = engine.poll("x")
    engine.complete(task, {"n": 2}, status="FAILED")
    assert task_of(engine, started, "l")["outputData"] == output


def test_loop_that_fails_keeps_its_reason_when_its_output_would_be_too_large() -> None:
    engine = memory_engine(payload_limits=PayloadLimits(task_output_hard=2000))
    throws = "$.l['iteration'] < 2 || $.none.deep.x"
    started = engine.start(workflow("w", do_while("l", throws, simple("x"))))
    for _ in range(2):
        engine.run("x", {"n": "n" * 1500})
    loop = task_of(engine, started, "l")
    assert (loop["status"], loop["outputData"]) == ("FAILED_WITH_TERMINAL_ERROR", {"iteration": 2})
    assert loop["reasonForIncompletion"].startswith("loopCondition: TypeError")


def test_optional_failure_in_the_body_goes_on(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, simple("x", optional=True))))
    run_failing(engine, "x")
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


def test_retry_stays_in_its_iteration(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, policy("x", retryCount=1))))
    run_failing(engine, "x")
    assert engine.run("x")["referenceTaskName"] == "x__1"
    assert engine.run("x")["referenceTaskName"] == "x__2"
    assert status_of(engine, started) == "COMPLETED"


# -- lists -----------------------------------------------------------------------------------------


def test_loop_over_a_list_gives_each_item(engine: MemoryEngine) -> None:
    body = simple("x", inputParameters={"i": "${l.output.loopItem}", "n": "${l.output.loopIndex}"})
    started = engine.start(workflow("w", for_each("l", ["a", {"b": 1}], body)))
    assert engine.run("x")["inputData"] == {"i": "a", "n": 0}
    assert engine.run("x")["inputData"] == {"i": {"b": 1}, "n": 1}
    assert status_of(engine, started) == "COMPLETED"


def test_items_may_be_an_expression_of_the_task(engine: MemoryEngine) -> None:
    body = simple("x", inputParameters={"i": "${l.output.loopItem}"})
    loop = do_while("l", "", body, items="${workflow.input.list}")
    started = engine.start(workflow("w", loop), input={"list": [4, 5]})
    assert [engine.run("x")["inputData"]["i"] for _ in range(2)] == [4, 5]
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(("items", "iterations"), [([], 0), (None, 0), ("one", 1), (7, 1)])
def test_items_that_are_no_list(engine: MemoryEngine, items: Any, iterations: int) -> None:
    loop = do_while("l", "", set_variable("s", a=1), items="${workflow.input.list}")
    started = engine.start(workflow("w", loop), input={"list": items, "some": 1})
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "l")["outputData"]["iteration"] == iterations


def test_list_ends_early_when_the_condition_says_so(engine: MemoryEngine) -> None:
    loop = for_each("l", [1, 2, 3], set_variable("s", a=1))
    loop["loopCondition"] = "$.loopItem < 2"
    started = engine.start(workflow("w", loop))
    assert task_of(engine, started, "l")["outputData"]["iteration"] == 2


# -- nesting ---------------------------------------------------------------------------------------


@pytest.mark.anomaly("A-50")
def test_loops_nest_with_an_iteration_vector(engine: MemoryEngine) -> None:
    inner = times("m", 2, simple("x"))
    started = engine.start(workflow("w", times("l", 2, inner, simple("y"))))
    refs = [engine.run(ref)["referenceTaskName"] for ref in ("x", "x", "y", "x", "x", "y")]
    assert refs == ["x__1__1", "x__1__2", "y__1", "x__2__1", "x__2__2", "y__2"]
    found = engine.workflow(started)
    assert found["status"] == "COMPLETED"
    outer = task_of(engine, started, "l")["outputData"]
    assert outer["iteration"] == 2
    assert outer["2"]["m"]["iteration"] == 2


def test_inner_list_is_read_anew_in_each_outer_iteration(engine: MemoryEngine) -> None:
    body = simple("x", inputParameters={"i": "${m.output.loopItem}"})
    inner = do_while("m", "", body, items="${l.output.loopItem}")
    started = engine.start(workflow("w", for_each("l", [[1, 2], [], [3]], inner)))
    seen = [engine.run("x")["inputData"]["i"] for _ in range(3)]
    assert seen == [1, 2, 3]
    assert status_of(engine, started) == "COMPLETED"


def test_three_loops_deep(engine: MemoryEngine) -> None:
    deep = times("a", 2, times("b", 2, times("c", 2, set_variable("s", n=1))))
    started = engine.start(workflow("w", deep))
    statuses = engine.statuses(started)
    assert status_of(engine, started) == "COMPLETED"
    assert sum(ref.startswith("s__") for ref in statuses) == 8
    assert "s__2__2__2" in statuses


# -- forks and loops -------------------------------------------------------------------------------


def test_fork_inside_a_loop_joins_in_each_iteration(engine: MemoryEngine) -> None:
    loop = times("l", 2, fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(workflow("w", loop))
    for n in (1, 2):
        engine.run("b", {"n": n})
        engine.run("a", {"n": n})
        joined = task_of(engine, started, f"j__{n}")
        assert joined["outputData"] == {f"a__{n}": {"n": n}, f"b__{n}": {"n": n}}
    assert status_of(engine, started) == "COMPLETED"


def test_loops_inside_a_forks_branches_turn_independently(engine: MemoryEngine) -> None:
    branches = [times("l", 3, simple("a"))], [times("m", 2, simple("b"))]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "l", "m"), simple("z")))
    for ref in ("a", "a", "b", "a"):
        engine.run(ref)
    assert engine.statuses(started)["l"] == "COMPLETED"
    assert "z" not in engine.statuses(started)
    engine.run("b")
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_join_on_a_task_inside_a_loop_waits_for_the_loop(engine: MemoryEngine) -> None:
    branches = [times("l", 2, simple("a"))], [simple("b")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "b"), simple("z")))
    engine.run("b")
    engine.run("a")
    assert "z" not in engine.statuses(started)
    engine.run("a")
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_iteration_waits_for_a_branch_that_no_join_names(engine: MemoryEngine) -> None:
    loop = times("l", 2, fork("f", [simple("a")], [simple("b")]), join("j", "a"))
    started = engine.start(workflow("w", loop))
    for n in (1, 2):
        engine.run("a")
        assert f"j__{n + 1}" not in engine.statuses(started)
        engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_iteration_waits_for_a_nested_branch_that_no_join_names(engine: MemoryEngine) -> None:
    """The straggler ends inside an inner loop, which then is the last thing of the outer one."""
    straggler = [times("m", 2, simple("b"))]
    loop = times("l", 2, fork("f", [simple("a")], straggler), join("j", "a"))
    started = engine.start(workflow("w", loop))
    for _ in range(2):
        engine.run("a")
        engine.run("b")
        engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-50")
def test_dynamic_fork_inside_a_loop_brings_branches_in_each_iteration(engine: MemoryEngine) -> None:
    spread = fork_inputs("f", "${l.output.loopItem}", forkTaskName="x")
    started = engine.start(workflow("w", for_each("l", [[1], [2, 3]], spread, join("j"))))
    assert engine.run("x")["inputData"]["input"] == 1
    assert engine.run("x")["inputData"]["input"] == 2
    assert engine.run("x")["inputData"]["input"] == 3
    assert status_of(engine, started) == "COMPLETED"


def test_straggler_of_a_dynamic_task_inside_a_loop_lets_it_go_on(engine: MemoryEngine) -> None:
    named = {
        "name": "d",
        "taskReferenceName": "d",
        "type": "DYNAMIC",
        "dynamicTaskNameParam": "n",
        "inputParameters": {"n": "b"},
        "retryCount": 0,
    }
    loop = times("l", 2, fork("f", [simple("a")], [named]), join("j", "a"))
    started = engine.start(workflow("w", loop))
    for _ in range(2):
        engine.run("a")
        engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_loop_inside_a_switch_inside_a_loop(engine: MemoryEngine) -> None:
    choice = switch("s", "a", {"a": [times("m", 2, simple("x"))]})
    started = engine.start(workflow("w", times("l", 2, choice)))
    for _ in range(4):
        engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


def test_loop_over_sub_workflows(engine: MemoryEngine) -> None:
    child = workflow("c", simple("x"))
    started = engine.start(workflow("w", times("l", 2, sub_workflow("s", child))))
    engine.run("x")
    engine.settle()
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_loop_over_waits(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 3, wait("t", duration="10s"))))
    pass_time(engine, seconds=10)
    pass_time(engine, seconds=10)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=10)
    assert status_of(engine, started) == "COMPLETED"


def test_loop_without_a_body_only_asks_its_condition(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 4), simple("z")))
    assert task_of(engine, started, "l")["outputData"]["iteration"] == 4
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_loop_that_never_ends_is_stopped_at_the_limit() -> None:
    engine = memory_engine(limits=Limits(iterations=20, attempts=7))
    started = engine.start(workflow("w", for_each("l", list(range(50)), set_variable("s", n=1))))
    engine.settle()
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "20 iterations" in found["reasonForIncompletion"]


def test_later_tasks_read_the_loops_output_and_its_tasks(engine: MemoryEngine) -> None:
    after = simple(
        "z", inputParameters={"n": "${l.output.iteration}", "last": "${i.output.result}"}
    )
    loop = times("l", 2, inline("i", "$.n * 10", n="${l.output.iteration}"))
    engine.start(workflow("w", loop, after))
    (task,) = engine.poll("z")
    assert task["inputData"] == {"n": 2, "last": 20}
