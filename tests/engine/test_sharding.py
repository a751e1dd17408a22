"""Shards: two servers over one store, and where tasks go under either strategy."""

import threading

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.engine.shards import LOCAL_ONLY, ROUND_ROBIN
from conductor_py.model.requests import PollRequest
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import fork, join, pass_time, simple, status_of, wait, workflow
from tests.waiting import PATIENCE_S


def _two(strategy: str) -> tuple[MemoryEngine, MemoryEngine]:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    one = memory_engine(clock=clock, space=space, strategy=strategy, server="one")
    two = memory_engine(clock=clock, space=space, strategy=strategy, server="two")
    registry = one.engine.shards._registry
    two.engine.shards._registry = registry
    for engine in (one, two, one):
        engine.engine.shards.keep(force=True)
    assert (one.engine.shards.own, two.engine.shards.own) == (("s0",), ("s1",))
    return one, two


def _by_shard(engine: MemoryEngine, queue: str) -> dict[str, int]:
    found = engine.engine.tasks.queue_sizes_by_shard().get(queue, {})
    return {shard: sizes["size"] for shard, sizes in found.items() if sizes["size"]}  # type: ignore[index]


def _wide(width: int = 10) -> dict[str, object]:
    refs = [f"b{n}" for n in range(width)]
    branches = [[{**simple(ref), "name": "a"}] for ref in refs]
    return workflow("w", fork("f", *branches), join("j", *refs))


def test_round_robin_gives_each_task_to_the_next_live_shard() -> None:
    one, _ = _two(ROUND_ROBIN)
    one.start(_wide())
    assert _by_shard(one, "a") == {"s0": 5, "s1": 5}


def test_local_only_keeps_tasks_with_the_server_that_started_them() -> None:
    one, two = _two(LOCAL_ONLY)
    one.start(_wide(3))
    two.start(_wide(4))
    assert _by_shard(one, "a") == {"s0": 3, "s1": 4}


def test_local_only_hands_out_own_tasks_only() -> None:
    one, two = _two(LOCAL_ONLY)
    one.start(_wide(3))
    assert two.poll("a", 10) == []
    assert len(one.poll("a", 10)) == 3


def test_local_only_keeps_later_tasks_at_home_whoever_takes_the_result() -> None:
    one, two = _two(LOCAL_ONLY)
    started = one.start(workflow("w", simple("a"), simple("b")))
    (task,) = one.poll("a")
    two.complete(task)
    assert _by_shard(one, "b") == {"s0": 1}
    one.run("b")
    assert status_of(two, started) == "COMPLETED"


def test_round_robin_server_with_nothing_of_its_own_takes_from_others() -> None:
    one, two = _two(ROUND_ROBIN)
    one.start(_wide(10))
    assert len(two.poll("a", 10)) == 10


@pytest.mark.parametrize("strategy", [ROUND_ROBIN, LOCAL_ONLY])
def test_one_execution_runs_over_both_servers(strategy: str) -> None:
    one, two = _two(strategy)
    started = [one.start(_wide(6)), two.start(_wide(6))]
    done = 0
    for _ in range(20):
        for engine in (one, two):
            for task in engine.poll("a", 1):
                (two if engine is one else one).complete(task)
                done += 1
    assert done == 12
    assert [status_of(one, each) for each in started] == ["COMPLETED", "COMPLETED"]


@pytest.mark.parametrize("strategy", [ROUND_ROBIN, LOCAL_ONLY])
def test_tasks_and_timers_of_a_dead_server_are_taken_over_within_its_lease(strategy: str) -> None:
    one, two = _two(strategy)
    started = one.start(workflow("w", simple("a"), timeoutSeconds=60, timeoutPolicy="TIME_OUT_WF"))
    other = one.start(workflow("v", simple("a")))
    two.clock.advance(seconds=11)
    two.engine.shards.keep(force=True)
    two.engine.shards.keep(force=True)
    assert set(two.engine.shards.own) == {"s0", "s1"}
    tasks = two.poll("a", 5)
    assert {task["workflowInstanceId"] for task in tasks} == {started, other}
    pass_time(two, seconds=60)
    assert status_of(two, started) == "TIMED_OUT"


def test_home_shard_follows_the_execution_to_its_children() -> None:
    _, two = _two(LOCAL_ONLY)
    from tests.builders import sub_workflow

    two.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    assert _by_shard(two, "x") == {"s1": 1}


def test_under_local_only_the_home_server_alone_fires_timers_and_a_long_poll_there_is_woken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the wake-up brings the task: looking again by itself is put off."""
    from conductor_py.engine.tasks import hub

    monkeypatch.setattr(hub, "_LOOK_S", 600.0)
    one, two = _two(LOCAL_ONLY)
    started = one.start(workflow("w", wait("r", duration="5s"), simple("a")))
    found: list[object] = []
    wanted = PollRequest(task_type="a", worker="w", timeout_ms=600_000)
    polling = threading.Thread(
        target=lambda: found.extend(one.engine.tasks.poll(wanted)), daemon=True
    )
    polling.start()
    for engine in (one, two):
        engine.clock.advance(seconds=3)
        for keeping in (one, two):
            keeping.engine.shards.keep(force=True)
    assert two.engine.sweeper.tick() == 0
    assert one.statuses(started) == {"r": "IN_PROGRESS"}

    assert one.engine.sweeper.tick() == 1

    polling.join(PATIENCE_S)
    assert [task["workflowInstanceId"] for task in found] == [started]  # type: ignore[index]
    assert two.poll("a") == []


def test_a_server_fires_the_timers_of_its_own_and_of_those_that_it_took_over() -> None:
    """I4."""
    one, two = _two(LOCAL_ONLY)
    started = [server.start(workflow("w", wait("r", duration="30s"))) for server in (one, two)]
    two.clock.advance(seconds=30)
    for _ in range(2):
        two.engine.shards.keep(force=True)
    assert two.engine.sweeper.tick() == 2
    assert [status_of(two, execution) for execution in started] == ["COMPLETED"] * 2
