"""Several partitions: what holds over all of them, and what one that is away does to the others."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.redis.cluster import ClusterConnection
from conductor_py.adapters.redis.connection import Connection
from conductor_py.engine.effects.shared_limits import SharedLimits
from conductor_py.errors import LimitExceeded, StoreUnavailable
from conductor_py.model.definitions import TaskDef
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.permits import Holding, workflow_limit
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import pass_time, simple, status_of, typed, workflow
from tests.engine.partitioned import engine_over, ports_over
from tests.waiting import PATIENCE_S, until

PARTITIONS = 4


@pytest.fixture(
    params=[
        "memory",
        pytest.param("redis", marks=pytest.mark.service),
        pytest.param(
            "cluster", marks=[pytest.mark.service, pytest.mark.thorough(target="versions")]
        ),
    ]
)
def spread(request: pytest.FixtureRequest) -> Iterator[MemoryEngine]:
    """An engine over four partitions."""
    clock = FakeClock()
    if request.param == "memory":
        yield memory_engine(clock=clock, space=MemorySpace(PARTITIONS, clock))
        return
    connection: Connection
    if request.param == "redis":
        connection = Connection(
            request.getfixturevalue("newest_redis").url, socket_timeout_s=PATIENCE_S
        )
    else:
        cluster = request.getfixturevalue("redis_cluster")
        cluster.flush()
        seeds = [cluster.nodes[0].address]
        connection = ClusterConnection("redis://127.0.0.1", seeds, home="{test:0}:")
    ports = ports_over(connection, PARTITIONS, clock)
    yield engine_over(ports, connection, PARTITIONS, clock)
    ports.wakeups.close()
    connection.close()


def limited(limit: int = 3, **more: Any) -> dict[str, Any]:
    definition = {"name": "t", "concurrentExecLimit": limit, **more}
    return workflow("w", simple("t", taskDefinition=definition))


def a_day(**more: Any) -> dict[str, Any]:
    """A workflow limit."""
    return {"rateLimitConfig": {"concurrentExecLimit": 1, "rateLimitKey": "k", **more}}


def where(execution: str) -> int:
    return partition_of(ExecutionId(execution))


def started_in_all(engine: MemoryEngine, definition: dict[str, Any], each: int = 3) -> list[str]:
    """Executions, so many in each partition."""
    found: list[str] = []
    while min(Counter(map(where, found)).get(at, 0) for at in range(PARTITIONS)) < each:
        found.append(engine.start(definition))
    return found


def test_executions_are_spread_over_the_partitions(spread: MemoryEngine) -> None:
    ids = started_in_all(spread, workflow("w", simple("a")))
    done = 0
    while tasks := spread.poll("a", 5):
        for task in tasks:
            spread.complete(task)
        done += len(tasks)
    assert done == len(ids)
    assert {status_of(spread, one) for one in ids} == {"COMPLETED"}


def test_open_tasks_of_all_partitions_are_listed_and_put_back(spread: MemoryEngine) -> None:
    ids: list[str] = []
    while len(set(map(where, ids))) < PARTITIONS:
        spread.clock.advance(seconds=1)
        ids.append(spread.start(workflow("w", simple("a"))))
    page = spread.engine.open_tasks.page("a", start=1, count=len(ids))
    assert [task["workflowInstanceId"] for task in page] == ids[1:]
    dead = spread.poll("a", len(ids), worker="dead")
    assert spread.engine.open_tasks.requeue_all("a") == len(ids)
    again = [task for _ in range(PARTITIONS) for task in spread.poll("a", len(ids), worker="alive")]
    assert {task["taskId"] for task in again} == {task["taskId"] for task in dead}
    for task in dead:
        spread.complete(task, worker="dead")
    assert {status_of(spread, one) for one in ids} == {"RUNNING"}


def test_task_that_becomes_ready_later_is_found(spread: MemoryEngine) -> None:
    assert spread.poll("a") == []
    spread.start(workflow("w", simple("a", startDelay=7)))
    assert spread.poll("a") == []
    pass_time(spread, seconds=8)
    assert len(spread.poll("a")) == 1


def test_concurrent_limit_holds_over_all_partitions(spread: MemoryEngine) -> None:
    ids = started_in_all(spread, limited(3))
    held: list[dict[str, Any]] = []
    for _ in range(10 * len(ids)):
        held += spread.poll("t", 2)
        assert len(held) <= 3
        spread.clock.advance(seconds=1)
        if held:
            spread.complete(held.pop(0))
        if all(status_of(spread, one) == "COMPLETED" for one in ids):
            return
    raise AssertionError("a limit is stuck")


def test_limit_of_one_serves_every_partition_in_turn(spread: MemoryEngine) -> None:
    started_in_all(spread, limited(1), each=6)
    served: list[int] = []
    for _ in range(12):
        (task,) = spread.poll("t", 1) or spread.poll("t", 1)
        served.append(where(task["workflowInstanceId"]))
        spread.complete(task)
        spread.clock.advance(seconds=1)
    assert set(served) == set(range(PARTITIONS)), "a partition starves while another has work"


def test_limit_that_is_lowered_holds_for_permits_that_are_out(spread: MemoryEngine) -> None:
    definitions = spread.engine.definitions
    definitions.register_tasks([TaskDef(name="t", concurrent_exec_limit=8)])
    ids = started_in_all(spread, workflow("w", simple("t")))
    held = spread.poll("t", 8)
    assert len(held) == 8
    for task in held[1:]:
        spread.complete(task)
    definitions.update_task(TaskDef(name="t", concurrent_exec_limit=2))
    pass_time(spread, seconds=4)
    again = spread.poll("t", 8)
    assert len(again) == 1, "one of two is held"
    assert len(ids) > 9


def test_rate_holds_over_all_partitions(spread: MemoryEngine) -> None:
    rate = {"rateLimitPerFrequency": 5, "rateLimitFrequencyInSeconds": 10}
    ids = started_in_all(spread, limited(0, **rate), each=5)
    claims: list[float] = []
    for _ in range(200):
        now = spread.clock.monotonic()
        for task in spread.poll("t", 3):
            claims.append(now)
            spread.complete(task)
        spread.clock.advance(seconds=1)
        if len(claims) == len(ids):
            break
    assert len(claims) == len(ids), "a rate is stuck"
    for first in claims:
        assert sum(first <= one < first + 10 for one in claims) <= 5
    assert claims[-1] - claims[0] < 13 * len(ids) / 5, "what the rate allows is used"


def test_workflow_limit_holds_over_all_partitions(spread: MemoryEngine) -> None:
    ids = started_in_all(spread, workflow("w", simple("a"), **a_day()), each=2)
    for _ in range(20 * len(ids)):
        begun = [one for one in ids if spread.workflow(one)["tasks"]]
        running = [one for one in begun if status_of(spread, one) == "RUNNING"]
        assert len(running) <= 1
        for task in spread.poll("a", 5):
            spread.complete(task)
        pass_time(spread, seconds=1)
        if all(status_of(spread, one) == "COMPLETED" for one in ids):
            return
    raise AssertionError("executions wait for permits that nobody uses")


def test_start_beyond_a_workflow_limit_is_turned_away_in_every_partition(
    spread: MemoryEngine,
) -> None:
    definition = workflow("w", simple("a"), **a_day(policy="REJECT"))
    first = spread.start(definition)
    for _ in range(12):
        with pytest.raises(LimitExceeded):
            spread.start(definition)
    (task,) = spread.poll("a")
    spread.complete(task)
    assert status_of(spread, first) == "COMPLETED"
    second = next(filter(None, (_tried(spread, definition) for _ in range(12))), None)
    assert second is not None, "the permit went back with its execution"


def _tried(engine: MemoryEngine, definition: dict[str, Any]) -> str | None:
    try:
        return engine.start(definition)
    except LimitExceeded:
        return None


@pytest.mark.parametrize("seed", range(12))
def test_whatever_dies_between_two_steps_a_limit_is_neither_exceeded_nor_stuck(seed: int) -> None:
    """Servers get permits and die at any call; the limit moves; those in use are never too many."""
    chance, clock = random.Random(seed), FakeClock()
    space = MemorySpace(PARTITIONS, clock)
    engine = memory_engine(clock=clock, space=space)
    name, limit = workflow_limit("k"), chance.randint(1, 6)
    in_use: list[tuple[int, str]] = []
    for number in range(400):
        clock.advance(seconds=chance.choice((0, 0.001, 1, 400)))
        partition = chance.randrange(PARTITIONS)
        limits = SharedLimits(_Dying(engine.ports.permits, chance))  # type: ignore[arg-type]
        try:
            if chance.random() < 0.3:
                limits.give_back(partition, name, limit)
            else:
                limits.obtain(partition, name, limit, chance.randint(1, 3), seek=True)
        except _Dead:
            pass
        _use(space, partition, limit, in_use, number)
        assert len(in_use) <= limit
        if in_use and chance.random() < 0.4:
            at, member = in_use.pop(chance.randrange(len(in_use)))
            space.partition(at).admitted["k"].drop(member)
    for at, member in in_use:
        space.partition(at).admitted["k"].drop(member)
    for partition in range(PARTITIONS):
        limits = SharedLimits(engine.ports.permits)
        assert limits.obtain(partition, name, limit, limit).has_some, "a limit is stuck"
        shared = engine.ports.permits.share(name, limit, partition, 0)
        assert shared.total <= limit


def _use(
    space: MemorySpace, partition: int, limit: int, in_use: list[tuple[int, str]], number: int
) -> None:
    """Admit as many as the partition has permits for, as its own step would."""
    state = space.partition(partition)
    number *= 10
    while len(state.admitted["k"]) < state.holdings[workflow_limit("k")].under(limit):
        number += 1
        member = f"m{number}"
        state.executions[ExecutionId(member)] = _Running()  # type: ignore[assignment]
        state.admitted["k"].put(member, number)
        in_use.append((partition, member))


class _Running:
    terminal = False


class _Dead(BaseException):
    pass


class _Dying:
    """Permits for a server that may die before or after any call, or whose answer is lost."""

    def __init__(self, permits: Any, chance: random.Random) -> None:
        self._permits = permits
        self._chance = chance

    def share(self, *given: Any, **named: Any) -> Any:
        return self._call(self._permits.share, *given, **named)

    def adjust(self, name: str, limit: int, wanted: Any, admitted: bytes = b"") -> Any:
        replies = []
        for one in wanted:  # each is a step of its own
            replies += self._call(self._permits.adjust, name, limit, [one], admitted)
            if self._chance.random() < 0.1:
                replies[-1] = None  # the partition did it, and its answer is lost
        return tuple(replies)

    def _call(self, call: Any, *given: Any, **named: Any) -> Any:
        if self._chance.random() < 0.08:
            raise _Dead
        reply = call(*given, **named)
        if self._chance.random() < 0.08:
            raise _Dead
        return reply


def test_late_number_of_a_server_that_was_frozen_gives_nothing() -> None:
    clock = FakeClock()
    engine = memory_engine(clock=clock, space=MemorySpace(PARTITIONS, clock))
    permits, name = engine.ports.permits, workflow_limit("k")
    frozen = permits.share(name, 1, 0, 1)
    assert SharedLimits(permits).obtain(1, name, 1, 1).has_some, "home finds that nobody has it"
    (late,) = permits.adjust(name, 1, [(frozen.own, "keep")])
    assert late is not None
    assert late.number == 0
    nothing = Holding(partition=1, token=0, number=0)
    (other,) = permits.adjust(name, 1, [(nothing, "look")])
    assert other is not None
    assert other.number == 1


def test_partition_that_is_away_keeps_no_task_of_the_others_back(spread: MemoryEngine) -> None:
    started_in_all(spread, workflow("w", simple("a")), each=2)
    _take_away(spread, 2)
    got: list[dict[str, Any]] = []
    for _ in range(PARTITIONS):
        try:
            got += spread.poll("a", 100)
        except StoreUnavailable:  # only when nothing else came of it
            assert got
    assert {where(task["workflowInstanceId"]) for task in got} == {0, 1, 3}


def test_partition_that_is_away_keeps_no_timer_of_the_others_from_firing(
    spread: MemoryEngine,
) -> None:
    wait = {"name": "x", "taskReferenceName": "x", "type": "WAIT"}
    definition = workflow("w", wait | {"inputParameters": {"duration": "5 seconds"}})
    ids = started_in_all(spread, definition, each=1)
    _take_away(spread, 2)
    spread.clock.advance(seconds=6)
    for _ in range(3):
        spread.engine.sweeper.tick()
    done = {where(one) for one in ids if status_of(spread, one) == "COMPLETED"}
    assert done == {0, 1, 3}


def _take_away(engine: MemoryEngine, partition: int) -> None:
    """Let the scripts of one partition find nobody."""
    for port, names in (("queues", ("poll",)), ("timers", ("claim_due",))):
        adapter = getattr(engine.ports, port)
        for name in names:
            setattr(adapter, name, _away_in(partition, getattr(adapter, name)))


def _away_in(partition: int, call: Any) -> Any:
    def guarded(asked: int, *given: Any) -> Any:
        if asked == partition:
            raise StoreUnavailable
        return call(asked, *given)

    return guarded


def test_idle_poll_asks_no_partition(spread: MemoryEngine) -> None:
    spread.poll("a")
    asked: list[int] = []
    poll = spread.ports.queues.poll

    def counted(partition: int, wanted: Any) -> Any:
        asked.append(partition)
        return poll(partition, wanted)

    spread.engine.tasks._polling._queues._queues.poll = counted  # type: ignore[attr-defined]

    def idle(polls: int) -> bool:
        asked.clear()
        for _ in range(polls):
            assert spread.poll("a") == []
            spread.clock.advance(seconds=0.2)
        return not asked

    until(lambda: idle(20), what="nobody is asked, once the listener is there")
    started = spread.start(workflow("w", simple("a")))
    spread.clock.advance(seconds=1)
    assert len(spread.poll("a")) == 1
    assert where(started) in asked


def test_who_polls_is_known_in_whatever_partition_it_found_nothing(spread: MemoryEngine) -> None:
    spread.poll("a")
    (data,) = spread.engine.tasks.poll_data("a")
    assert (data["queueName"], data["workerId"]) == ("a", "worker")


def test_audit_of_several_partitions_finds_nothing_wrong(spread: MemoryEngine) -> None:
    started_in_all(spread, limited(2), each=2)
    started_in_all(spread, workflow("v", simple("a"), **a_day()), each=2)
    spread.poll("t", 2)
    spread.poll("a", 2)
    pass_time(spread, seconds=30)
    assert spread.engine.auditor.whole() == ()


def test_retry_that_comes_again_long_after_is_not_a_second_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FakeClock()
    engine = memory_engine(
        clock=clock, space=MemorySpace(PARTITIONS, clock), remove_after_ms=600_000
    )
    engine.register(workflow("child", simple("a")))
    parent, child = apart(engine)
    engine.run("a", status="FAILED_WITH_TERMINAL_ERROR")
    engine.settle()
    with monkeypatch.context() as patched:
        patched.setattr(engine.ports.outbox, "confirm", lambda *given: 0)
        engine.engine.recovery.retry(parent, resume_subworkflows=True)
        engine.engine.relay.tick()
    engine.engine.sweeper.tick()
    engine.run("a", status="FAILED_WITH_TERMINAL_ERROR")
    clock.advance(seconds=70)
    engine.settle()
    assert [status_of(engine, each) for each in (parent, child)] == ["FAILED", "FAILED"]
    assert len(engine.workflow(child)["tasks"]) == 2


def apart(engine: MemoryEngine) -> tuple[str, str]:
    """A parent and its child in another partition: where the child's key is at home."""
    for number in range(100):
        key = {"idempotencyKey": f"k{number}", "idempotencyStrategy": "FAIL"}
        parent = engine.start(
            workflow(
                "parent", typed("SUB_WORKFLOW", "s", subWorkflowParam={"name": "child", **key})
            )
        )
        engine.settle()
        child = str(engine.workflow(parent)["tasks"][0]["subWorkflowId"])
        if where(child) != where(parent):
            return parent, child
        engine.engine.executions.terminate(parent, reason=None)
    raise AssertionError
