"""Chains keep their bounds when the server is late, and keep nobody else waiting."""

from __future__ import annotations

import pytest

from conductor_py.decider.limits import Limits
from conductor_py.engine.shards import LOCAL_ONLY, ROUND_ROBIN
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import Json, fork, join, status_of, sub_workflow, typed, wait, workflow

_MOST = 20
_LONGEST = 8
_LATE_S = 60


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine(
        limits=Limits(chain=_LONGEST, chain_executions=_MOST, nested_executions=_MOST)
    )


def _start(name: str, ref: str, **request: str) -> Json:
    given = {"startWorkflow": {"name": name, **request}}
    return typed("START_WORKFLOW", ref, inputParameters=given)


def _be_late(engine: MemoryEngine, times: int) -> None:
    """What is due after a second is done after a minute, again and again."""
    for _ in range(times):
        engine.clock.advance(seconds=_LATE_S)
        engine.settle()


_KEYED = {"idempotencyKey": "${workflow.workflowId}"}


@pytest.mark.parametrize("pause", ["wait", "sub-workflow", "effect"])
def test_what_is_old_because_the_server_is_late_counts_under_its_root(
    engine: MemoryEngine, pause: str
) -> None:
    """What it waited for was to take a second, or no time at all."""
    second = wait("p", duration="1s")
    first = {
        "wait": second,
        "sub-workflow": sub_workflow("c", "inner"),
        "effect": _start("other", "o", **_KEYED),
    }[pause]
    engine.register(workflow("inner", second), workflow("other", typed("NOOP", "n")))
    both = fork("f", [_start("w", "s1")], [_start("w", "s2")])
    engine.register(workflow("w", first, both, join("j", "s1", "s2")))
    root = engine.start("w")
    _be_late(engine, 7)  # doubled so often it is 255
    started = [*engine.started("w"), *engine.started("other")]
    assert len(started) == _MOST + 1
    failed = [engine.workflow(each) for each in engine.started("w")]
    reasons = {str(one.get("reasonForIncompletion")) for one in failed if one["status"] == "FAILED"}
    assert reasons
    assert all(f"Execution {root} has set going {_MOST} executions" in one for one in reasons)


def test_one_after_the_other_goes_on_while_the_server_is_late(engine: MemoryEngine) -> None:
    engine.register(workflow("w", wait("p", duration="1s"), _start("w", "again")))
    engine.start("w")
    _be_late(engine, 2 * _LONGEST)
    assert len(engine.started("w")) == 2 * _LONGEST + 1


def test_what_waits_on_purpose_begins_a_chain_of_its_own_when_the_server_is_punctual(
    engine: MemoryEngine,
) -> None:
    engine.register(workflow("w", wait("p", duration="10s"), _start("w", "again")))
    engine.start("w")
    engine.advance(seconds=10 * 2 * _MOST)
    assert len(engine.started("w")) == 2 * _MOST + 1


@pytest.mark.parametrize("other", ["keyed start", "wait until long ago"])
def test_what_others_do_on_a_punctual_server_counts_nothing_under_an_old_starter(
    engine: MemoryEngine, other: str
) -> None:
    """Neither an effect with its head start, nor a deadline in the past, is late."""
    engine.register(workflow("leaf", typed("NOOP", "n")))
    past = typed("WAIT", "past", inputParameters={"until": "2020-01-01 00:00 GMT"})
    task = _start("leaf", "k", **_KEYED) if other == "keyed start" else past
    starts = [_start("leaf", f"s{number}") for number in range(_MOST + 5)]
    refs = [each["taskReferenceName"] for each in starts]
    wide = [fork("f", *([each] for each in starts)), join("j", *refs)]
    dispatcher = engine.start(workflow("w", wait("p", duration="60s"), *wide))
    engine.advance(seconds=59)
    engine.start(workflow("other", task))
    engine.advance(seconds=2)
    assert status_of(engine, dispatcher) == "COMPLETED"


@pytest.mark.parametrize("by", ["starts", "sub-workflows of sub-workflows"])
def test_what_executions_set_going_keeps_nobody_waiting(by: str) -> None:
    """Their timers are more than one look takes, and were due before."""
    engine = memory_engine()
    sleeper = workflow("sleeper", wait("p", duration="5s"))
    engine.register(sleeper, workflow("middle", sub_workflow("s", "sleeper")))
    wide = [
        _start("sleeper", f"s{number}") if by == "starts" else sub_workflow(f"s{number}", "middle")
        for number in range(200)
    ]
    refs = [each["taskReferenceName"] for each in wide]
    engine.start(workflow("wide", fork("f", *([each] for each in wide)), join("j", *refs)))
    engine.settle()
    engine.clock.advance(seconds=1)
    mine = engine.start("sleeper")
    engine.clock.advance(seconds=10)
    engine.engine.sweeper.tick()
    ended = [each for each in engine.started("sleeper") if status_of(engine, each) == "COMPLETED"]
    assert mine in ended
    assert 1 < len(ended) < 201


@pytest.mark.parametrize("strategy", [LOCAL_ONLY, ROUND_ROBIN])
def test_tasks_of_what_executions_set_going_are_polled_like_those_of_others(strategy: str) -> None:
    engine = memory_engine(strategy=strategy)
    engine.register(workflow("other", typed("SIMPLE", "work")))
    engine.start(workflow("w", _start("other", "s")))
    engine.settle()
    assert len(engine.poll("work")) == 1
