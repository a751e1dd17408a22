"""What is damaged is named, waits for longer each time, is retried or dropped by an operator."""

from __future__ import annotations

import logging
from typing import Any

import orjson
import pytest

from conductor_py.api import create_app
from conductor_py.errors import NotFound
from conductor_py.model.ids import ExecutionId
from conductor_py.model.search import OneOf, SearchRequest
from conductor_py.testing import FakeClock, MemoryEngine
from tests.builders import simple, typed, workflow
from tests.damage.world import PREFIX, World, schedule_of


def _waiting(server: MemoryEngine, seconds: int = 20) -> str:
    inputs = {"duration": f"{seconds} seconds"}
    return server.start(workflow("w", typed("WAIT", "w", inputParameters=inputs)))


def _damaged(server: MemoryEngine) -> list[dict[str, Any]]:
    return [dict(one) for one in server.engine.quarantine.damaged()]


def _field(world: World, execution: str, name: str, value: str | None = None) -> bytes:
    key = f"{PREFIX}exec:{execution}"
    before = world.redis.hget(key, name)
    assert isinstance(before, bytes)
    if value is not None:
        world.redis.hset(key, name, value)
    return before


def test_a_claim_that_is_no_json_is_named_and_goes_on_when_it_is_mended(
    world: World, server: MemoryEngine, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = _waiting(server), _waiting(server)
    whole = _field(world, bad, "c:1", "no JSON")
    clock.advance(seconds=30)
    server.settle()
    assert server.workflow(good)["status"] == "COMPLETED"

    (one,) = _damaged(server)
    assert (one["entry"], one["tries"]) == (f"0 timers:s0 a:{bad}-1", 1)
    for _ in range(2):
        server.engine.quarantine.tick()
    told = [each for each in caplog.records if getattr(each, "action", "") == "damaged"]
    assert [(each.levelno, getattr(each, "entry", "")) for each in told] == [
        (logging.ERROR, one["entry"])
    ]

    _field(world, bad, "c:1", whole.decode())
    server.engine.quarantine.retry_damaged(one["entry"])
    server.settle()
    assert server.workflow(bad)["status"] == "COMPLETED"
    assert _damaged(server) == []


def test_what_is_damaged_is_looked_at_seldom(
    world: World, server: MemoryEngine, clock: FakeClock
) -> None:
    bad = _waiting(server)
    _field(world, bad, "a:1", '{"st":')
    clock.advance(seconds=30)
    for _ in range(50):
        server.engine.sweeper.tick()
    assert [one["tries"] for one in _damaged(server)] == [1]
    for _ in range(60):
        clock.advance(seconds=60)
        server.engine.sweeper.tick()
    (one,) = _damaged(server)
    assert one["tries"] == 6, "after 1, 2, 4, 8, 16 minutes"


def test_it_goes_on_by_itself_when_it_can_be_read_again(
    world: World, server: MemoryEngine, clock: FakeClock
) -> None:
    bad = _waiting(server)
    whole = _field(world, bad, "v", "no record")
    clock.advance(seconds=30)
    server.settle()
    assert [one["entry"] for one in _damaged(server)]
    world.redis.hset(f"{PREFIX}exec:{bad}", "v", whole)
    clock.advance(seconds=120)
    server.settle()
    assert server.workflow(bad)["status"] == "COMPLETED"
    assert _damaged(server) == []


def test_a_head_that_cannot_be_read_leaves_the_queue_to_others(
    world: World, server: MemoryEngine
) -> None:
    bad, good = (server.start(workflow(name, simple("t"))) for name in ("bad", "good"))
    whole = _field(world, bad, "a:1", "no JSON")
    assert [task["workflowInstanceId"] for task in server.poll("t", 5)] == [good]
    (one,) = _damaged(server)
    assert one["entry"] == f"0 delayed:t:s0 {bad}-1"

    _field(world, bad, "a:1", whole.decode())
    server.engine.quarantine.retry_damaged(one["entry"])
    assert [task["workflowInstanceId"] for task in server.poll("t", 5)] == [bad]
    assert _damaged(server) == []


def test_a_delayed_task_that_cannot_be_read_delays_no_other(
    world: World, server: MemoryEngine, clock: FakeClock
) -> None:
    bad, good = (server.start(workflow(name, simple("late"))) for name in ("bad", "good"))
    for task in server.poll("late", 2):
        server.complete(task, status="IN_PROGRESS", callback_after_s=5)
    _field(world, bad, "a:1", "[1]")
    clock.advance(seconds=6)
    assert [task["workflowInstanceId"] for task in server.poll("late", 5)] == [good]
    assert [one["entry"] for one in _damaged(server)] == [f"0 delayed:late:s0 {bad}-1"]


@pytest.mark.parametrize("stored", ["no JSON", "1 {", "1 ", "x {}", ""])
def test_an_effect_that_cannot_be_read_holds_no_other_back(
    world: World, server: MemoryEngine, stored: str
) -> None:
    world.redis.hset(f"{PREFIX}effects", "bad:index", stored)
    world.redis.zadd(f"{PREFIX}outbox", {"bad:index": 0})
    started = server.start(workflow("w", simple("t")))
    server.run("t")
    server.settle()
    assert server.ports.search.archived(started) is not None
    assert [one["entry"] for one in _damaged(server)] == ["0 outbox bad:index"]

    server.engine.quarantine.drop_damaged("0 outbox bad:index")
    assert not world.redis.hexists(f"{PREFIX}effects", "bad:index")
    assert world.redis.zscore(f"{PREFIX}outbox", "bad:index") is None
    assert _damaged(server) == []


def test_a_schedule_that_cannot_be_read_stops_no_other(
    world: World, server: MemoryEngine, clock: FakeClock
) -> None:
    server.schedule(schedule_of("fine"))
    world.redis.hset(f"{PREFIX}schedules", "victim", "no schedule")
    clock.advance(seconds=61)
    server.settle()
    assert server.poll("t", 5)
    assert [one["entry"] for one in _damaged(server)] == ["0 schedules:due victim"]
    server.engine.quarantine.drop_damaged("0 schedules:due victim")
    assert not world.redis.hexists(f"{PREFIX}schedules", "victim")


def test_a_mended_schedule_and_effect_are_not_listed_any_more(
    world: World, server: MemoryEngine, clock: FakeClock
) -> None:
    effect = f"{_waiting(server, 9_000)}:index"
    whole = world.redis.hget(f"{PREFIX}schedules", "victim")
    assert isinstance(whole, bytes)
    world.redis.hset(f"{PREFIX}schedules", "victim", "no schedule")
    world.redis.hset(f"{PREFIX}effects", effect, "no JSON")
    world.redis.zadd(f"{PREFIX}outbox", {effect: 0})
    clock.advance(seconds=61)
    server.settle()
    assert len(_damaged(server)) == 2
    world.redis.hset(f"{PREFIX}schedules", "victim", whole)
    world.redis.hset(f"{PREFIX}effects", effect, '1 {"kind":"index"}')
    clock.advance(seconds=61)
    server.settle()
    assert _damaged(server) == []
    assert server.poll("t", 5), "the schedule fires"


def test_an_effect_of_nobody_holds_no_other_back(world: World, server: MemoryEngine) -> None:
    world.redis.hset(f"{PREFIX}effects", "ffffffff-nobody:index", '1 {"kind":"index"}')
    world.redis.zadd(f"{PREFIX}outbox", {"ffffffff-nobody:index": 0})
    started = server.start(workflow("w", simple("t")))
    server.run("t")
    server.settle()
    assert server.ports.search.archived(started) is not None


def _found(server: MemoryEngine, execution: str) -> int:
    server.ports.search.refresh()
    query = OneOf(field="workflowId", values=(execution,))
    return server.ports.search.search(SearchRequest(query=query)).total_hits


def _traces(world: World, execution: str, plan: str) -> list[str]:
    """Where an execution of the workflow ``w`` is still in the store, but for what goes by itself
    as its owner is gone.
    """
    redis = world.redis
    traces = [str(key) for key in redis.keys(f"*{execution}*")]
    traces += [
        name
        for name in ("running:w", "quarantine", "timers:s0")
        if redis.zscore(f"{PREFIX}{name}", execution) is not None
    ]
    if redis.zscore(f"{PREFIX}timers:s0", f"x:{execution}") is not None:
        traces.append("timer")
    if redis.hexists(f"{PREFIX}references", plan):
        traces.append("references")
    traces += [str(one) for one in redis.hkeys(f"{PREFIX}effects") if execution in str(one)]
    return traces


def _plan(world: World, execution: str) -> str:
    return str(orjson.loads(_field(world, execution, "h"))["plan"])


@pytest.mark.parametrize("field", ["v", "l"])
def test_with_its_timer_an_execution_is_dropped_and_leaves_no_trace(
    world: World, server: MemoryEngine, clock: FakeClock, field: str
) -> None:
    bad = _waiting(server)
    clock.advance(seconds=5)
    server.settle()
    plan = _plan(world, bad)
    assert (_found(server, bad), "references" in _traces(world, bad, plan)) == (1, True)
    _field(world, bad, field, "cannot be read")
    world.redis.zadd(f"{PREFIX}timers:s0", {f"x:{bad}": 0})
    server.settle()
    assert _found(server, bad) == 1
    server.engine.quarantine.drop_damaged(f"0 timers:s0 x:{bad}")
    server.settle()
    clock.advance(seconds=60)
    server.settle()
    assert all(bad not in one["entry"] for one in _damaged(server))
    assert (_found(server, bad), _traces(world, bad, plan)) == (0, [])


def test_one_of_which_nothing_is_left_to_read_is_dropped_by_what_the_index_knows(
    world: World, server: MemoryEngine, clock: FakeClock
) -> None:
    bad = _waiting(server)
    clock.advance(seconds=5)
    server.settle()
    plan = _plan(world, bad)
    world.redis.delete(f"{PREFIX}exec:{bad}")
    world.redis.set(f"{PREFIX}exec:{bad}", "of another type")
    world.redis.zadd(f"{PREFIX}timers:s0", {f"x:{bad}": 0})
    server.settle()
    server.engine.quarantine.drop_damaged(f"0 timers:s0 x:{bad}")
    assert not world.redis.exists(f"{PREFIX}exec:{bad}")
    clock.advance(seconds=60)
    server.settle()
    assert all(bad not in one["entry"] for one in _damaged(server))
    assert _found(server, bad) == 0
    assert _traces(world, bad, plan) == ["references"], "nobody knows any more which plan it had"


@pytest.mark.parametrize("field", ["v", "h"])
def test_one_in_quarantine_that_cannot_be_read_is_dropped_and_leaves_no_trace(
    world: World, server: MemoryEngine, clock: FakeClock, field: str
) -> None:
    bad = _waiting(server, 9_000)
    clock.advance(seconds=5)
    server.settle()
    assert _found(server, bad) == 1
    plan, stored = _plan(world, bad), server.ports.store.load(ExecutionId(bad), ["h"])
    assert stored is not None
    for _ in range(5):
        server.ports.quarantine.set_back(ExecutionId(bad), "d", stored[0], "broken")
    damaged = "no record" if field == "v" else _field(world, bad, "h").decode()[:-1]
    _field(world, bad, field, damaged)
    assert server.engine.quarantine.end(bad, "enough")
    server.settle()
    clock.advance(seconds=3_600)
    server.settle()
    assert (_found(server, bad), _traces(world, bad, plan)) == (0, [])


def test_the_timer_of_nobody_is_dropped_alone(world: World, server: MemoryEngine) -> None:
    good = _waiting(server)
    for member in ("x:nobody", f"x:fff{good[3:]}"):
        world.redis.hset(f"{PREFIX}damaged", f"timers:s0 {member}", "1 1 1 broken")
        server.engine.quarantine.drop_damaged(f"0 timers:s0 {member}")
    server.settle()
    assert server.ports.outbox.size(0) == len(world.redis.hkeys(f"{PREFIX}effects"))
    assert not [one for one in world.redis.hkeys(f"{PREFIX}effects") if b"forget" in one]
    assert server.workflow(good)["status"] == "RUNNING"


def test_a_shared_key_of_a_wrong_type_is_set_aside_and_told(
    world: World, server: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    world.redis.delete(f"{PREFIX}polldata")
    world.redis.set(f"{PREFIX}polldata", "of another type")
    server.start(workflow("w", simple("t")))
    server.engine.quarantine.tick()
    assert server.run("t")
    assert world.redis.get(f"{PREFIX}aside:polldata") == b"of another type"
    told = [getattr(each, "key", "") for each in caplog.records]
    assert f"{PREFIX}polldata" in told


def test_many_invented_names_are_looked_at_in_pieces_until_the_damaged_one_is_found(
    world: World, server: MemoryEngine
) -> None:
    world.redis.sadd(f"{PREFIX}queues", *(f"invented-{number}\ns0" for number in range(20_000)))
    for number in range(0, 20_000, 5_000):
        world.redis.set(f"{PREFIX}queue:invented-{number}:s0", "of another type")
    mended: list[str] = []
    while len(mended) < 4:
        before = world.connection.round_trips
        mended += server.ports.damage.mend()
        assert world.connection.round_trips - before < 20


@pytest.mark.parametrize("entry", ["", "0", "0 outbox", "9 outbox x", "x outbox x", "0 outbox x"])
def test_what_is_not_damaged_is_neither_retried_nor_dropped(
    server: MemoryEngine, entry: str
) -> None:
    for verb in (server.engine.quarantine.retry_damaged, server.engine.quarantine.drop_damaged):
        with pytest.raises(NotFound):
            verb(entry)


def test_a_name_that_no_member_of_ours_has_is_not_kept(world: World, server: MemoryEngine) -> None:
    world.redis.zadd(f"{PREFIX}timers:s0", {"a:" + "x" * 100_000: 0})
    world.redis.zadd(f"{PREFIX}touched", {"x" * 100_000: 0})
    server.settle()
    assert _damaged(server) == []


@pytest.mark.parametrize("stored", ["no JSON", "9" * 40, "1 ", ""])
def test_an_effect_that_is_damaged_once_it_was_taken_is_left_to_the_next_look(
    world: World, server: MemoryEngine, stored: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.redis.hset(f"{PREFIX}effects", "bad:index", stored)
    assert server.ports.outbox.read(0, ["bad:index"]) == ()
    assert server.engine.effects.run(0, ["bad:index"]) == 0
    assert "unknown_effect" not in caplog.text


@pytest.mark.parametrize(
    ("field", "stored", "path"),
    [
        ("h", "", "/tasks"),
        ("h", "[1]", ""),
        ("end", "null", ""),
        ("meta", "[1]", ""),
        ("a:1", "no JSON", ""),
        ("a:1", "{}", "/tasks"),
        ("input", "{", ""),
    ],
)
def test_what_is_stored_and_cannot_be_read_answers_as_damaged(
    world: World, server: MemoryEngine, field: str, stored: str, path: str
) -> None:
    bad, good = server.start(workflow("w", simple("t"))), server.start(workflow("w", simple("t")))
    world.redis.hset(f"{PREFIX}exec:{bad}", field, stored)
    client = create_app(server.engine).test_client()
    answer = client.get(f"/api/workflow/{bad}{path}")
    assert (answer.status_code, answer.get_json()["code"]) == (500, "STORE_DAMAGED")
    assert client.get(f"/api/workflow/{good}{path}").status_code == 200


def _unreadable(world: World, server: MemoryEngine, bad: str, field: str = "v") -> None:
    """Let what is stored of it be found to be damaged, and drop it."""
    _field(world, bad, field, "cannot be read")
    world.redis.zadd(f"{PREFIX}timers:s0", {f"x:{bad}": 0})
    server.settle()
    server.engine.quarantine.drop_damaged(f"0 timers:s0 x:{bad}")


def test_the_parent_of_what_is_dropped_is_told(
    world: World, server: MemoryEngine, clock: FakeClock
) -> None:
    inner = workflow("inner", typed("WAIT", "w", inputParameters={"duration": "20 seconds"}))
    params = {"name": "inner", "version": 1, "workflowDefinition": inner}
    parent = server.start(workflow("outer", typed("SUB_WORKFLOW", "s", subWorkflowParam=params)))
    child = str(server.workflow(parent)["tasks"][0]["subWorkflowId"])
    _unreadable(world, server, child)
    server.settle()
    told = server.workflow(parent)
    assert (told["status"], told["tasks"][0]["status"]) == ("TERMINATED", "CANCELED")
    assert "could not be read" in told["reasonForIncompletion"]
    assert told["tasks"][0]["subWorkflowId"] == child


@pytest.mark.parametrize("field", ["v", "l"])
def test_who_waits_gets_the_place_of_what_is_dropped(
    world: World, server: MemoryEngine, clock: FakeClock, field: str
) -> None:
    definition = workflow(
        "limited",
        simple("t"),
        rateLimitConfig={"rateLimitKey": "k", "concurrentExecLimit": 1},
    )
    first, second = server.start(definition), server.start(definition)
    assert len(server.workflow(first)["tasks"]) == 1
    assert server.workflow(second)["tasks"] == []
    _unreadable(world, server, first, field)
    server.settle()
    assert len(server.workflow(second)["tasks"]) == 1
