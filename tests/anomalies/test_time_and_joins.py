"""Deadlines, joins and servers that come and go: what is due happens when it is due, and once."""

from contextlib import suppress
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from conductor_py.adapters.memory.store import MemoryExecutionStore
from conductor_py.adapters.memory.timers import MemoryTimers
from conductor_py.config import load
from conductor_py.errors import StoreUnavailable
from conductor_py.testing import MemoryEngine
from conductor_py.testing import adapters as kit
from tests.anomalies.world import LEASE_S, World, newest
from tests.builders import (
    Json,
    fork,
    join,
    pass_time,
    policy,
    report,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    task_of,
    tasks_of,
    times,
    typed,
    wait,
    workflow,
)

_DAY_S = 86_400


# -- locks -----------------------------------------------------------------------------------------


@pytest.mark.anomaly("A-24")
@pytest.mark.anomaly("A-25")
def test_without_any_lock_two_servers_decide_at_once_and_nothing_is_lost() -> None:
    with (
        patch.object(kit, "MemoryExecutionStore", partial(MemoryExecutionStore, take_lease=False)),
        patch.object(kit, "MemoryTimers", partial(MemoryTimers, take_lease=False)),
    ):
        world = World()
    first, second = world.servers
    refs = [f"b{n}" for n in range(6)]
    branches = [[simple(ref, name="b"), simple(f"{ref}z", name="z")] for ref in refs]
    started = first.start(
        workflow("w", fork("f", *branches), join("j", *[f"{ref}z" for ref in refs]))
    )
    for kind in ("b", "z"):
        tasks = first.poll(kind, 6)
        assert len(tasks) == 6
        for mine, others in zip(tasks[::2], tasks[1::2], strict=True):
            world.meanwhile(0, "store.commit", partial(second.complete, others))
            first.complete(mine)
        world.pass_time(1, seconds=LEASE_S)
    found = first.workflow(started)
    assert found["status"] == "COMPLETED"
    assert len(found["tasks"]) == 2 + 2 * len(refs)
    assert world.entries() == []


@pytest.mark.anomaly("A-26")
def test_what_no_setting_names_is_safe_for_many_servers() -> None:
    settings = load(flags={"conductor.redis.hosts": "redis:6379:r"})
    assert (settings.lock.type, settings.app.fencing) == ("redis", True)


@pytest.mark.anomaly("A-27")
def test_a_result_whose_execution_is_being_decided_is_gone_on_with_at_once(world: World) -> None:
    """The server that decides takes it along: no time passes, nobody is asked to come again."""
    first, second = world.servers
    branches = fork("f", [simple("a"), simple("a2")], [simple("b"), simple("b2")])
    started = first.start(workflow("w", branches, join("j", "a2", "b2")))
    (a,), (b,) = first.poll("a"), first.poll("b")
    world.meanwhile(0, "store.commit", lambda: second.complete(b))
    first.complete(a)
    assert [first.statuses(started)[ref] for ref in ("a2", "b2")] == ["SCHEDULED", "SCHEDULED"]
    assert world.stored[0].inbox == []


# -- deadlines -------------------------------------------------------------------------------------


def _guarded(ref: str, **facts: Any) -> Json:
    return policy(ref, retryCount=0, timeoutPolicy="TIME_OUT_WF", **facts)


@pytest.mark.anomaly("A-28")
@pytest.mark.anomaly("A-30")
@pytest.mark.parametrize("beside", ["HUMAN", "WAIT", "JOIN"])
@pytest.mark.parametrize(
    ("facts", "polled"),
    [
        ({"timeoutSeconds": 4000, "responseTimeoutSeconds": 4000}, True),
        ({"responseTimeoutSeconds": 4000}, True),
        ({"totalTimeoutSeconds": 4000, "responseTimeoutSeconds": 3600}, False),
        ({"pollTimeoutSeconds": 4000}, False),
    ],
    ids=["task", "response", "total", "poll"],
)
def test_a_deadline_passes_to_the_millisecond_whatever_else_is_waited_for(
    engine: MemoryEngine, beside: str, facts: Json, polled: bool
) -> None:
    other = {
        "HUMAN": [typed("HUMAN", "other")],
        "WAIT": [wait("other")],
        "JOIN": [sub_workflow("other", workflow("c", typed("HUMAN", "h")))],
    }[beside]
    branches = fork("f", [_guarded("a", **facts)], other)
    started = engine.start(workflow("w", branches, join("j", "a", "other")))
    engine.settle()
    if polled:
        engine.poll("a")
    pass_time(engine, milliseconds=3_999_999)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, milliseconds=1)
    assert status_of(engine, started) == "TIMED_OUT"


@pytest.mark.anomaly("A-28")
def test_a_workflow_times_out_to_the_millisecond_while_a_callback_waits(
    engine: MemoryEngine,
) -> None:
    more = {"timeoutSeconds": 4000, "timeoutPolicy": "TIME_OUT_WF"}
    started = engine.start(workflow("w", simple("a"), **more))
    (task,) = engine.poll("a")
    report(engine, task, status="IN_PROGRESS", callback_after_s=100_000)
    pass_time(engine, milliseconds=3_999_999)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, milliseconds=1)
    assert status_of(engine, started) == "TIMED_OUT"


@pytest.mark.anomaly("A-30")
def test_a_human_task_that_times_out_leaves_the_deadlines_of_the_others(
    engine: MemoryEngine,
) -> None:
    person = typed(
        "HUMAN",
        "h",
        optional=True,
        taskDefinition={
            "name": "h",
            "timeoutSeconds": 10,
            "responseTimeoutSeconds": 10,
            "timeoutPolicy": "RETRY",
            "retryCount": 0,
        },
    )
    branches = fork("f", [person], [_guarded("a", responseTimeoutSeconds=20)])
    started = engine.start(workflow("w", branches, join("j", "h", "a")))
    engine.poll("a")
    pass_time(engine, seconds=10)
    assert engine.statuses(started)["h"] == "COMPLETED_WITH_ERRORS"
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=10)
    assert status_of(engine, started) == "TIMED_OUT"


@pytest.mark.anomaly("A-37")
def test_a_retrys_poll_timeout_counts_its_delay_once(engine: MemoryEngine) -> None:
    task = policy(
        "a", retryCount=1, retryDelaySeconds=30, pollTimeoutSeconds=5, timeoutPolicy="TIME_OUT_WF"
    )
    started = engine.start(workflow("w", task))
    run_failing(engine, "a")
    pass_time(engine, milliseconds=34_999)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, milliseconds=1)
    assert status_of(engine, started) == "TIMED_OUT"


@pytest.mark.anomaly("A-37")
def test_a_task_that_is_called_back_has_its_whole_poll_timeout_again(
    engine: MemoryEngine,
) -> None:
    task = policy("a", retryCount=0, pollTimeoutSeconds=5, timeoutPolicy="TIME_OUT_WF")
    started = engine.start(workflow("w", task))
    (polled,) = engine.poll("a")
    pass_time(engine, seconds=60)
    report(engine, polled, status="IN_PROGRESS", callback_after_s=10)
    pass_time(engine, milliseconds=14_999)
    assert engine.statuses(started) == {"a": "SCHEDULED"}
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, milliseconds=1)
    assert status_of(engine, started) == "TIMED_OUT"


# -- joins -----------------------------------------------------------------------------------------


@pytest.mark.anomaly("A-32")
def test_a_join_that_waits_costs_nothing_and_ends_with_its_last_branch(world: World) -> None:
    engine = world.servers[0]
    branches = fork("f", [simple("a")], [simple("b")])
    started = engine.start(workflow("w", branches, join("j", "a", "b"), simple("z")))
    engine.run("a")
    engine.settle()
    decided = world.counted(0)["store.commit"]
    for _ in range(24):
        world.pass_time(0, seconds=_DAY_S / 24)
    assert world.counted(0)["store.commit"] == decided
    engine.run("b")
    assert (engine.statuses(started)["j"], engine.statuses(started)["z"]) == (
        "COMPLETED",
        "SCHEDULED",
    )
    assert world.counted(0)["store.commit"] == decided + 1


@pytest.mark.anomaly("A-33")
@pytest.mark.parametrize("stopped", [False, True], ids=["lease held", "lease lost"])
@pytest.mark.parametrize("failing_first", [False, True])
def test_a_join_does_not_fail_for_a_branch_that_is_tried_again(
    world: World, stopped: bool, failing_first: bool
) -> None:
    """The failure of one branch and the end of the other are decided at once."""
    first, second = world.servers
    branches = fork("f", [policy("a", retryCount=1)], [simple("b")])
    started = first.start(workflow("w", branches, join("j", "a", "b")))
    (a,), (b,) = first.poll("a"), first.poll("b")
    happens = world.held_up if stopped else world.meanwhile
    failing = partial(second.complete, a, status="FAILED")
    happens(0, "store.commit", partial(second.complete, b) if failing_first else failing)
    if failing_first:
        first.complete(a, status="FAILED")
    else:
        first.complete(b)
    world.pass_time(1, seconds=LEASE_S)
    assert first.statuses(started)["j"] == "IN_PROGRESS"
    second.run("a", {"by": "retry"})
    assert first.statuses(started)["j"] == "COMPLETED"
    assert status_of(first, started) == "COMPLETED"


# -- a store that is away now and then -------------------------------------------------------------


_STORY = workflow(
    "w",
    set_variable("v", n=1),
    fork("f", [simple("a")], [sub_workflow("s", workflow("c", simple("x")))]),
    join("j", "a", "s"),
    times("l", 2, simple("body", name="l")),
)


def _work(engine: MemoryEngine) -> None:
    for kind in ("a", "x", "l"):
        for task in engine.poll(kind, 5, lease_s=8):
            engine.complete(task, {"by": kind})
    engine.settle()


def _played(world: World) -> Json:
    """Go on, whatever is answered, until it has ended."""
    engine = world.servers[0]
    for _ in range(30):
        with suppress(StoreUnavailable):
            if not world.stored:
                engine.start(_STORY)
            _work(engine)
        ended = [one for one in world.stored if one.header()["name"] == "w" and one.terminal]
        if ended:
            return newest(engine.workflow(ended[0].id))
        world.clock.advance(seconds=9)
    raise AssertionError("the execution does not end")


@pytest.mark.anomaly("A-35")
@pytest.mark.parametrize("after", [False, True], ids=["not arrived", "answer lost"])
def test_a_store_that_is_away_at_any_step_fails_no_execution(after: bool) -> None:
    whole = World()
    expected = _played(whole)
    steps = whole.steps(0)
    assert expected["status"] == "COMPLETED"
    for step in range(1, steps + 1):
        world = World()
        world.away(0, step, after=after)
        assert _played(world) == expected, f"away at step {step}"
        assert sum(one.header()["name"] == "c" for one in world.stored) == 1
        world.check()


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.anomaly("A-50")
def test_names_that_look_like_iterations_are_names(engine: MemoryEngine) -> None:
    """`x__1` outside a loop, `x` and `x__1` in loops inside one another."""
    inner = times("in__ner", 2, simple("x__1"))
    loop = times("outer", 2, simple("x"), inner)
    started = engine.start(workflow("w", loop, simple("x__2")))
    for outer in (1, 2):
        engine.run("x", {"at": [outer]})
        for turn in (1, 2):
            engine.run("x__1", {"at": [outer, turn]})
    engine.run("x__2", {"at": []})
    assert status_of(engine, started) == "COMPLETED"
    output = task_of(engine, started, "outer")["outputData"]
    assert [output[str(n)]["x"]["at"] for n in (1, 2)] == [[1], [2]]
    inside = [output[str(n)]["in__ner"][str(m)]["x__1"]["at"] for n in (1, 2) for m in (1, 2)]
    assert inside == [[1, 1], [1, 2], [2, 1], [2, 2]]
    shown = [(t["taskType"], t["outputData"]["at"]) for t in tasks_of(engine, started, "x__2")]
    assert shown == [("x", [2]), ("x__2", [])], "both read as x__2"
