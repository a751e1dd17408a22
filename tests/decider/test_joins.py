"""JOIN and EXCLUSIVE_JOIN: what they wait for, wherever it stands."""

from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.event import load_event
from conductor_py.decider.workspace import Limits
from conductor_py.model.event import Continue
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.testing.clock import FakeClock
from tests.builders import (
    Json,
    fork,
    fork_inputs,
    join,
    pass_time,
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
from tests.decider.cutting import cut_off


def exclusive(ref: str, *on: str, default: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"joinOn": list(on), **more}
    if default:
        facts["defaultExclusiveJoinTask"] = list(default)
    return typed("EXCLUSIVE_JOIN", ref, **facts)


# -- JOIN ------------------------------------------------------------------------------------------


def test_join_in_a_loop_counts_what_settled_before_the_loop(engine: MemoryEngine) -> None:
    loop = times("l", 2, fork("f", [simple("a")], [simple("b")]), join("j", "a", "before"))
    started = engine.start(workflow("w", simple("before"), loop))
    engine.run("before", {"v": 1})
    engine.run("a")
    assert engine.statuses(started)["j__1"] == "COMPLETED"
    assert task_of(engine, started, "j__1")["outputData"] == {"before": {"v": 1}}
    assert engine.statuses(started)["b__1"] == "SCHEDULED"


def _beside(task: Json) -> Json:
    """A task beside a loop whose join waits for it, and somebody who never ends."""
    loop = times("l", 1, fork("f", [simple("a")]), join("j", "a", "beside"), simple("next"))
    branches = fork("o", [task], [loop], [typed("HUMAN", "h")])
    return workflow("w", branches, join("oj", "l"))


_CHOSEN = typed("DYNAMIC", "beside", dynamicTaskNameParam="which", inputParameters={"which": "b"})


def test_join_in_a_loop_is_told_of_a_dynamic_task_that_settles_outside(
    engine: MemoryEngine,
) -> None:
    started = engine.start(_beside(_CHOSEN))
    engine.run("a")
    assert engine.statuses(started)["j__1"] == "IN_PROGRESS"
    engine.run("b")
    assert engine.statuses(started)["j__1"] == "COMPLETED"
    assert engine.poll("next")


def test_join_in_a_loop_fails_with_a_permissive_dynamic_task_outside(engine: MemoryEngine) -> None:
    started = engine.start(_beside({**_CHOSEN, "permissive": True, "retryCount": 0}))
    engine.run("a")
    run_failing(engine, "b")
    assert engine.statuses(started)["j__1"] == "FAILED"
    assert not engine.poll("next")


def test_join_in_a_loop_is_told_of_what_settles_outside(engine: MemoryEngine) -> None:
    loop = times("l", 2, fork("f", [simple("a")]), join("j", "a", "beside"), simple("next"))
    started = engine.start(workflow("w", fork("o", [simple("beside")], [loop]), join("oj", "l")))
    engine.run("a")
    assert engine.statuses(started)["j__1"] == "IN_PROGRESS"
    engine.run("beside")
    assert engine.statuses(started)["j__1"] == "COMPLETED"
    engine.run("next")
    engine.run("a")
    assert engine.statuses(started)["j__2"] == "COMPLETED"


def test_join_in_a_loop_is_told_of_what_settles_outside_while_others_go_on(
    engine: MemoryEngine,
) -> None:
    """Told, and not released because nothing else is left that could reach it."""
    loop = times("l", 1, fork("f", [simple("a")]), join("j", "a", "beside"))
    outer = fork("o", [simple("beside")], [loop], [simple("longer")])
    started = engine.start(workflow("w", outer, join("oj", "l")))
    engine.run("a")
    engine.run("beside")
    assert engine.statuses(started)["longer"] == "SCHEDULED"
    assert engine.statuses(started)["j__1"] == "COMPLETED"


@pytest.mark.parametrize("batch", [1, 1000])
def test_iteration_waits_for_a_branch_that_goes_on_behind_a_join(batch: int) -> None:
    """The join waits for one branch; the other settles without a pause and opens what follows."""
    engine = memory_engine(limits=Limits(attempts=batch))
    chain = [simple("a"), set_variable("u", n=1), set_variable("v", n=2), simple("b")]
    loop = times("l", 2, fork("f", chain, [simple("c")]), join("j", "c"))
    started = engine.start(workflow("w", loop, simple("z")))
    engine.run("c")
    engine.run("a")
    assert engine.statuses(started)["b__1"] == "SCHEDULED"
    assert "f__2" not in engine.statuses(started)
    engine.run("b")
    assert engine.statuses(started)["a__2"] == "SCHEDULED"
    for name in ("c", "a", "b", "z"):
        engine.run(name)
    assert status_of(engine, started) == "COMPLETED"


def test_a_decision_that_is_cut_leaves_loops_to_the_end() -> None:
    """However many continuations there are: what follows inside is read before the loop is."""
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(limits=Limits(rounds=1), space=space, clock=clock)
    chain = [simple("a"), set_variable("u", n=1), set_variable("v", n=2), simple("b")]
    loop = times("l", 2, fork("f", chain, [simple("c")]), join("j", "c"))
    started = engine.start(workflow("w", loop))
    engine.settle()
    engine.run("c")
    engine.settle()
    (task,) = engine.poll("a")
    cut_off(engine, 1, lambda: engine.complete(task))
    waiting = [load_event(event) for event in space.partition(0).executions[started].inbox]
    kinds = [each.kind for each in waiting if isinstance(each, Continue)]
    assert kinds == ["open", "loop", "loop"]


@pytest.mark.timeout(60)
def test_a_jump_begins_behind_loops_that_a_cut_has_left() -> None:
    engine = memory_engine(limits=Limits(attempts=1, rounds=1))
    chain = [simple("a"), set_variable("u", n=1), simple("b")]
    loop = times("l", 2, fork("f", chain, [simple("c")]), join("j", "c"))
    started = engine.start(workflow("w", loop, simple("y"), simple("z")))
    engine.settle()
    engine.run("c")
    engine.settle()
    (task,) = engine.poll("a")
    cut_off(engine, 1, lambda: engine.complete(task))
    engine.engine.recovery.jump(started, "z", {})
    engine.settle()
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    ("limits", "before"), [(Limits(), 600), (Limits(attempts=1, rounds=1), 0), (Limits(), 0)]
)
def test_retry_goes_on_with_a_branch_behind_a_join_before_the_loop_does(
    limits: Limits, before: int
) -> None:
    """More iterations ``before`` it than a walk looks at in one piece."""
    engine = memory_engine(limits=limits)
    branches = [fork("f", [simple("a"), simple("b")], [simple("c")]), join("j", "c")]
    choice = switch(
        "s", "${l.output.iteration}", {str(before + 1): branches}, [set_variable("v", n=1)]
    )
    started = engine.start(workflow("w", times("l", before + 2, choice), simple("z")))
    engine.settle()
    engine.run("c")
    engine.settle()
    (task,) = engine.poll("a")
    engine.engine.steering.pause(started)
    engine.settle()
    engine.complete(task)
    engine.settle()
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    engine.engine.recovery.retry(started)
    engine.settle()
    statuses = engine.statuses(started)
    assert (statuses.get(f"b__{before + 1}"), statuses["l"]) == ("SCHEDULED", "IN_PROGRESS")
    engine.run("b")
    engine.settle()
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_join_in_a_loop_on_a_task_of_another_loop_waits_for_that_loop(
    engine: MemoryEngine,
) -> None:
    other = times("m", 2, simple("x"))
    loop = times("l", 1, fork("f", [simple("a")]), join("j", "a", "x"))
    started = engine.start(workflow("w", fork("o", [other], [loop]), join("oj", "m", "l")))
    engine.run("a")
    engine.run("x", {"n": 1})
    assert engine.statuses(started)["j__1"] == "IN_PROGRESS"
    engine.run("x", {"n": 2})
    assert engine.statuses(started)["j__1"] == "COMPLETED"
    assert task_of(engine, started, "j__1")["outputData"]["x"] == {"n": 2}
    assert status_of(engine, started) == "COMPLETED"


def test_later_join_may_name_a_branch_of_a_dynamic_fork(engine: MemoryEngine) -> None:
    spread = fork_inputs("g", [1], forkTaskName="w", forkTaskType="NOOP")
    started = engine.start(workflow("w", spread, join("j"), join("k", "_g_w_0"), simple("z")))
    assert engine.statuses(started)["k"] == "COMPLETED"
    assert engine.statuses(started)["z"] == "SCHEDULED"


@pytest.mark.timeout(300)  # much to compute for a busy machine
@pytest.mark.thorough(target="histories")
def test_unreachable_join_is_released_however_far_back_it_stands() -> None:
    """More attempts than any window of recent ones stand between."""
    engine = memory_engine(limits=Limits(attempts=10_000, rounds=200_000))
    skipped = switch("s", "no", {"yes": [simple("never")]})
    long = times("l", 2_000, set_variable("v", n=1), typed("NOOP", "n"))
    started = engine.start(
        workflow("w", fork("f", [skipped], [long]), join("j", "never", "l"), simple("z"))
    )
    engine.settle()
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_unreachable_join_inside_a_dynamic_branch_is_released(engine: MemoryEngine) -> None:
    inner = {
        **typed("DO_WHILE", "d", loopCondition="false"),
        "loopOver": [
            fork("df", [switch("ds", "no", {"yes": [simple("never")]})], [simple("x")]),
            join("dj", "never", "x"),
        ],
    }
    spread = typed(
        "FORK_JOIN_DYNAMIC",
        "g",
        dynamicForkTasksParam="t",
        dynamicForkTasksInputParamName="i",
        inputParameters={"t": [inner], "i": {}},
    )
    started = engine.start(workflow("w", spread, join("j"), simple("z")))
    engine.run("x")
    assert engine.statuses(started)["dj__1"] == "COMPLETED"
    assert engine.statuses(started)["z"] == "SCHEDULED"


# -- EXCLUSIVE_JOIN --------------------------------------------------------------------------------


def _chosen(value: str, **more: Any) -> dict[str, Any]:
    choice = switch("s", value, {"a": [simple("in_a")], "b": [simple("in_b")]})
    return workflow("w", simple("first"), choice, exclusive("x", "in_a", "in_b", **more))


def test_exclusive_join_ends_with_the_output_of_the_branch_taken(engine: MemoryEngine) -> None:
    started = engine.start(_chosen("b"))
    engine.run("first")
    engine.run("in_b", {"v": 2})
    assert task_of(engine, started, "x")["outputData"] == {"v": 2}
    assert status_of(engine, started) == "COMPLETED"


def test_exclusive_join_takes_the_default_when_no_branch_was_taken(engine: MemoryEngine) -> None:
    started = engine.start(_chosen("none", default=("first",)))
    engine.run("first", {"v": 1})
    assert task_of(engine, started, "x")["outputData"] == {"v": 1}
    assert task_of(engine, started, "x")["inputData"] == {
        "joinOn": ["in_a", "in_b"],
        "defaultExclusiveJoinTask": ["first"],
    }
    assert status_of(engine, started) == "COMPLETED"


def test_exclusive_join_that_nothing_can_reach_is_complete_and_empty(engine: MemoryEngine) -> None:
    started = engine.start(_chosen("none"))
    engine.run("first")
    assert task_of(engine, started, "x")["outputData"] == {}
    assert status_of(engine, started) == "COMPLETED"


def test_exclusive_join_of_a_fork_waits_for_the_first_it_names(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", fork("f", [simple("a")], [simple("b")]), exclusive("x", "a", "b"))
    )
    engine.run("b", {"of": "b"})
    assert engine.statuses(started)["x"] == "IN_PROGRESS"
    engine.run("a", {"of": "a"})
    assert task_of(engine, started, "x")["outputData"] == {"of": "a"}
    assert status_of(engine, started) == "COMPLETED"


def test_exclusive_join_looks_into_its_own_iteration(engine: MemoryEngine) -> None:
    choice = switch("s", "${l.output.iteration}", {"1": [simple("a")], "2": [simple("b")]})
    started = engine.start(workflow("w", times("l", 2, choice, exclusive("x", "a", "b"))))
    engine.run("a", {"of": "a"})
    engine.run("b", {"of": "b"})
    assert task_of(engine, started, "x__1")["outputData"] == {"of": "a"}
    assert task_of(engine, started, "x__2")["outputData"] == {"of": "b"}
    assert status_of(engine, started) == "COMPLETED"


def test_exclusive_join_fails_with_the_permissive_task_it_waited_for(engine: MemoryEngine) -> None:
    choice = switch("s", "a", {"a": [simple("in_a", permissive=True)], "b": [simple("in_b")]})
    started = engine.start(workflow("w", choice, exclusive("x", "in_a", "in_b")))
    run_failing(engine, "in_a", "broken")
    assert engine.statuses(started)["x"] == "FAILED"
    assert task_of(engine, started, "x")["reasonForIncompletion"] == "broken"
    assert status_of(engine, started) == "FAILED"


def test_exclusive_join_waits_for_a_retry(engine: MemoryEngine) -> None:
    retried = simple("a", retryCount=1, taskDefinition={"name": "a", "retryDelaySeconds": 5})
    started = engine.start(workflow("w", fork("f", [retried]), exclusive("x", "a")))
    run_failing(engine, "a")
    assert engine.statuses(started)["x"] == "IN_PROGRESS"
    pass_time(engine, seconds=5)
    engine.run("a", {"v": 1})
    assert task_of(engine, started, "x")["outputData"] == {"v": 1}
