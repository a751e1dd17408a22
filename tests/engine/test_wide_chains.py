"""What starts several of itself sets going a bounded number of executions, whatever it starts
them by.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.wakeups import RedisWakeups
from conductor_py.decider.limits import Limits
from conductor_py.model.chains import Chain
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.model.requests import StartRequest
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.wire.event_handlers import read_event_handler
from tests.builders import (
    Json,
    fork,
    join,
    pass_time,
    simple,
    sub_workflow,
    switch,
    typed,
    workflow,
)
from tests.engine.partitioned import engine_over, ports_over
from tests.waiting import PATIENCE_S

_MOST = 20
_LONGEST = 8  # a doubling that nobody bounds is 511 executions, not more than there is room for
_LIMITS = Limits(chain=_LONGEST, depth=_LONGEST, chain_executions=_MOST, nested_executions=_MOST)


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine(limits=_LIMITS)


def _start(name: str, ref: str, **request: str) -> Json:
    given = {"startWorkflow": {"name": name, **request}}
    return typed("START_WORKFLOW", ref, inputParameters=given)


def _go_on(engine: MemoryEngine) -> None:
    for _ in range(3 * _MOST):
        engine.settle()


def _wide(name: str, *tasks: Json) -> Json:
    """A workflow whose tasks are side by side."""
    refs = [task["taskReferenceName"] for task in tasks]
    return workflow(name, fork("f", *([task] for task in tasks)), join("j", *refs))


def _reasons(engine: MemoryEngine, started: list[str]) -> set[str]:
    tasks = [task for each in started for task in engine.workflow(each)["tasks"]]
    return {task["reasonForIncompletion"] for task in tasks if task["status"].startswith("FAILED")}


def _sentence(root: str) -> str:
    return f"Execution {root} has set going {_MOST} executions in an hour, each within ten seconds"


_KEYS = ("a-${workflow.workflowId}", "b-${workflow.workflowId}")


@pytest.mark.parametrize("keys", [("", ""), _KEYS])
def test_a_workflow_that_starts_two_of_itself_ends_at_the_bound_and_says_why(
    engine: MemoryEngine, keys: tuple[str, str]
) -> None:
    """Without keys by the commit, with them by an effect."""
    tasks = [
        _start("w", f"s{number}", **({"idempotencyKey": key} if key else {}))
        for number, key in enumerate(keys)
    ]
    engine.register(_wide("w", *tasks))
    root = engine.start("w")
    _go_on(engine)
    started = engine.started("w")
    assert len(started) == _MOST + 1
    (reason,) = [one for one in _reasons(engine, started) if "limits.chainExecutions" in one]
    assert _sentence(root) in reason


def test_a_fork_that_starts_more_than_there_may_be_starts_those_that_may(
    engine: MemoryEngine,
) -> None:
    """One decision that wants more than there is room for is made again with what there is."""
    engine.register(workflow("other", simple("t")))
    tasks = [_start("other", f"s{number}") for number in range(_MOST + 5)]
    root = engine.start(_wide("wide", *tasks))
    _go_on(engine)
    assert len(engine.started("other")) == _MOST
    assert _sentence(root) in next(iter(_reasons(engine, [root])))


def test_two_actions_of_a_handler_of_what_they_start_end_at_the_bound_and_say_why(
    engine: MemoryEngine,
) -> None:
    engine.register(workflow("w", typed("EVENT", "e", sink="conductor")))
    start = {"action": "start_workflow", "start_workflow": {"name": "w"}}
    handler = {"name": "h", "event": "conductor:w:e", "active": True, "actions": [start, start]}
    engine.engine.events.register(read_event_handler(handler))
    root = engine.start("w")
    _go_on(engine)
    assert len(engine.started("w")) == _MOST + 1
    records = engine.engine.events.executions(event="", name="", size=100)
    failed = [record for record in records if record["status"] == "FAILED"]
    assert failed
    assert all(_sentence(root) in str(record["output"]) for record in failed)


def test_a_failure_workflow_that_starts_two_of_what_failed_ends_at_the_bound(
    engine: MemoryEngine,
) -> None:
    failing = typed("TERMINATE", "t", inputParameters={"terminationStatus": "FAILED"})
    engine.register(workflow("clean", _start("w", "s1"), _start("w", "s2")))
    engine.register(workflow("w", failing, failureWorkflow="clean"))
    root = engine.start("w")
    pass_time(engine, seconds=1)
    started = engine.started("w")
    assert len(started) + len(engine.started("clean")) == _MOST + 1
    notes = [engine.workflow(each)["output"]["conductor.failure_workflow"] for each in started]
    refused = [note for note in notes if "cannot be started" in note]
    assert refused
    assert all(_sentence(root) in note for note in refused)


@pytest.mark.parametrize("keys", [("", ""), _KEYS])
def test_a_workflow_with_two_of_itself_as_sub_workflows_ends_at_the_bound_and_says_why(
    engine: MemoryEngine, keys: tuple[str, str]
) -> None:
    both = [sub_workflow(f"s{number}", "w", optional=True) for number in range(2)]
    for task, key in zip(both, keys, strict=True):
        task["subWorkflowParam"]["idempotencyKey"] = key
    again = [fork("f", *([task] for task in both)), join("j", "s0", "s1")]
    engine.register(workflow("w", switch("c", "yes", {"yes": again})))
    root = engine.start("w")
    for _ in range(10):
        pass_time(engine, milliseconds=100)
    started = engine.started("w")
    assert len(started) == 1 + 2 + _MOST  # its own sub-workflows are tasks that have a limit
    tasks = [task for each in started for task in engine.workflow(each)["tasks"]]
    reasons = [task.get("reasonForIncompletion", "") for task in tasks]
    refused = [reason for reason in reasons if "limits.nestedExecutions" in reason]
    sentence = f"Execution {root} has set going {_MOST} sub-workflows of sub-workflows in an hour"
    assert refused
    assert all(sentence in reason for reason in refused)


def test_the_sub_workflows_of_an_execution_itself_are_not_counted(engine: MemoryEngine) -> None:
    engine.register(workflow("child", typed("INLINE", "i", inputParameters={"expression": "1"})))
    tasks = [sub_workflow(f"s{number}", "child") for number in range(2 * _MOST)]
    root = engine.start(_wide("wide", *tasks))
    pass_time(engine, seconds=1)
    assert len(engine.started("child")) == 2 * _MOST
    assert engine.workflow(root)["status"] == "COMPLETED"


def test_a_start_that_is_repeated_counts_once(engine: MemoryEngine) -> None:
    engine.register(workflow("w", simple("t")))
    root = engine.start("w")
    request = StartRequest(name="w", chain=Chain(number=1, root=root))
    (first, *others) = [
        engine.engine.executions.start(request, cause="one") for _ in range(_MOST + 1)
    ]
    assert set(others) == {first}
    more = [engine.engine.executions.start(request, cause=f"c{n}") for n in range(_MOST - 1)]
    assert len({first, *more}) == _MOST


def test_two_roots_do_not_count_as_one(engine: MemoryEngine) -> None:
    engine.register(workflow("w", simple("t")))
    for root in (engine.start("w"), engine.start("w")):
        request = StartRequest(name="w", chain=Chain(number=1, root=root))
        for number in range(_MOST):
            engine.engine.executions.start(request, cause=f"{root}-{number}")
    assert len(engine.started("w")) == 2 + 2 * _MOST


def test_a_root_may_set_going_others_an_hour_after_the_first(engine: MemoryEngine) -> None:
    engine.register(workflow("w", _start("w", "s1"), _start("w", "s2")))
    root = engine.start("w")
    _go_on(engine)
    engine.advance(seconds=3_601)
    late = StartRequest(name="w", chain=Chain(number=_LONGEST, root=root))  # the last of its chain
    engine.engine.executions.start(late, cause="late")
    _go_on(engine)
    assert len(engine.started("w")) == _MOST + 2


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.service)])
def partitioned(request: pytest.FixtureRequest) -> Iterator[MemoryEngine]:
    """A server over four partitions, in memory and over the scripts of a real Redis."""
    clock = FakeClock()
    if request.param == "memory":
        yield memory_engine(space=MemorySpace(4, clock), clock=clock, limits=_LIMITS)
        return
    connection = Connection(
        request.getfixturevalue("newest_redis").url, socket_timeout_s=PATIENCE_S
    )
    ports = ports_over(connection, 4, clock)
    engine = engine_over(ports, connection, 4, clock, limits=_LIMITS)
    engine.engine.shards.keep()
    yield engine
    assert isinstance(ports.wakeups, RedisWakeups)
    ports.wakeups.close()
    connection.close()


def test_each_partition_counts_what_it_creates(partitioned: MemoryEngine) -> None:
    tasks = [_start("w", f"s{n}", idempotencyKey=key) for n, key in enumerate(_KEYS)]
    partitioned.register(workflow("w", *tasks))
    root = partitioned.start("w")
    for _ in range(10 * _MOST):
        partitioned.settle()
    created = [partition_of(ExecutionId(each)) for each in partitioned.started("w") if each != root]
    assert [created.count(partition) for partition in range(4)] == [_MOST] * 4


def test_a_commit_of_two_starts_and_two_sub_workflows_ends_at_both_bounds(
    partitioned: MemoryEngine,
) -> None:
    both = [{**_start("w", ref), "optional": True} for ref in ("s1", "s2")]
    below = [sub_workflow(ref, "child", optional=True) for ref in ("c1", "c2")]
    partitioned.register(workflow("child", typed("NOOP", "n")), _wide("w", *both, *below))
    partitioned.start("w")
    for _ in range(3 * _MOST):
        partitioned.settle()
    assert len(partitioned.started("w")) == _MOST + 1
    assert len(partitioned.started("child")) == _MOST + 2
