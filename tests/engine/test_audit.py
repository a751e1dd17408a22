"""The audit: a violation of every kind is planted in memory and in a real Redis, and found."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from conductor_py.adapters.memory.inspector import MemoryInspector
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.redis.connection import Connection
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.config import load
from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.auditing.findings import KINDS, Finding
from conductor_py.errors import InvalidInput, NotFound
from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.testing import FakeClock, memory_engine
from conductor_py.wiring import build_engine
from tests.builders import (
    Json,
    fork,
    join,
    policy,
    simple,
    sub_workflow,
    typed,
    wait,
    workflow,
)
from tests.conftest import RealRedis
from tests.decider.chaos import Chaos, Weather, timeless
from tests.waiting import PATIENCE_S

NOBODY = "0000dead-0000-0000-0000-000000000000"
OLD_MS = 1_000


class Vandal(Protocol):
    """Changes a store as no script does."""

    def field(self, execution: str, name: str, value: bytes | None) -> None: ...

    def read(self, execution: str, name: str) -> bytes: ...

    def entry(self, kind: str, rest: str, member: str, score: int | None) -> None: ...

    def event(self, execution: str, event: bytes) -> None: ...

    def effect(self, effect: str, document: bytes | None) -> None: ...

    def forget_plan(self, plan: str) -> None: ...

    def forget_reference(self, plan: str) -> None: ...

    def end(self, execution: str) -> None:
        """Let its record say that it is COMPLETED."""


@dataclass
class InMemory:
    space: MemorySpace

    def field(self, execution: str, name: str, value: bytes | None) -> None:
        fields = self.space.partition(0).executions[execution].fields
        if value is None:
            fields.pop(name, None)
        else:
            fields[name] = value

    def read(self, execution: str, name: str) -> bytes:
        return self.space.partition(0).executions[execution].fields[name]

    def entry(self, kind: str, rest: str, member: str, score: int | None) -> None:
        partition = self.space.partition(0)
        sets: dict[str, Callable[[], Any]] = {
            "queue:": lambda: partition.ready[_lane(rest)],
            "timers:": lambda: partition.timers[rest],
            "limit:": lambda: partition.permits[rest],
            "admitted:": lambda: partition.admitted[rest],
            "waiting:": lambda: partition.waiting[rest],
            "running:": lambda: partition.running[rest],
            "outbox": lambda: partition.outbox,
        }
        found = sets[kind]()
        if score is None:
            found.drop(member)
        else:
            found.put(member, score)

    def event(self, execution: str, event: bytes) -> None:
        self.space.partition(0).executions[execution].inbox.append(event)

    def effect(self, effect: str, document: bytes | None) -> None:
        effects = self.space.partition(0).effects
        if document is None:
            effects.pop(effect, None)
        else:
            effects[effect] = (1, document)

    def forget_plan(self, plan: str) -> None:
        del self.space.partition(0).plans[plan]

    def forget_reference(self, plan: str) -> None:
        del self.space.partition(0).references[plan]

    def end(self, execution: str) -> None:
        stored = self.space.partition(0).executions[execution]
        stored.terminal, stored.status = True, "COMPLETED"


@dataclass
class InRedis:
    connection: Connection
    prefix: str

    def field(self, execution: str, name: str, value: bytes | None) -> None:
        key = f"{self.prefix}exec:{execution}"
        if value is None:
            self.connection.command("HDEL", key, name)
        else:
            self.connection.command("HSET", key, name, value)

    def read(self, execution: str, name: str) -> bytes:
        found: bytes = self.connection.command("HGET", f"{self.prefix}exec:{execution}", name)
        return found

    def entry(self, kind: str, rest: str, member: str, score: int | None) -> None:
        key = f"{self.prefix}{kind}{rest}"
        if score is None:
            self.connection.command("ZREM", key, member)
        else:
            self.connection.command("ZADD", key, score, member)

    def event(self, execution: str, event: bytes) -> None:
        self.connection.command("RPUSH", f"{self.prefix}inbox:{execution}", event)

    def effect(self, effect: str, document: bytes | None) -> None:
        if document is None:
            self.connection.command("HDEL", f"{self.prefix}effects", effect)
        else:
            self.connection.command("HSET", f"{self.prefix}effects", effect, b"1 " + document)

    def forget_plan(self, plan: str) -> None:
        self.connection.command("DEL", f"{self.prefix}plan:{plan}")

    def forget_reference(self, plan: str) -> None:
        self.connection.command("HDEL", f"{self.prefix}references", plan)

    def end(self, execution: str) -> None:
        words = self.read(execution, "v").decode().split(" ")
        words[1], words[7] = "1", "COMPLETED"
        self.field(execution, "v", " ".join(words).encode())


def _lane(rest: str) -> tuple[str, str]:
    queue, _, shard = rest.rpartition(":")
    return queue, shard


@dataclass
class World:
    """An engine, and its vandal."""

    engine: Engine
    vandal: Vandal

    def start(self, *tasks: Json, **more: Any) -> str:
        definition = workflow_from_json({**workflow("w", *tasks), **more})
        return self.engine.executions.start(StartRequest(name="w", definition=definition))

    def poll(self, task_type: str = "a") -> Json:
        request = PollRequest(task_type=task_type, count=1, timeout_ms=0, worker="worker")
        (task,) = self.engine.tasks.poll(request)
        return dict(task)

    def complete(self, task_type: str = "a") -> None:
        task = self.poll(task_type)
        self.engine.tasks.update(
            TaskResult(
                workflow_id=task["workflowInstanceId"],
                task_id=task["taskId"],
                status=TaskStatus.COMPLETED,
                output={},
                worker="worker",
            )
        )

    def header(self, execution: str, **facts: Any) -> None:
        known = json.loads(self.vandal.read(execution, "h"))
        self.vandal.field(execution, "h", json.dumps({**known, **facts}).encode())

    def plan(self, execution: str) -> str:
        return str(json.loads(self.vandal.read(execution, "h"))["plan"])

    def attempt(self, execution: str, seq: int = 1, **facts: Any) -> None:
        known = json.loads(self.vandal.read(execution, f"a:{seq}"))
        text = json.dumps({**known, **facts}, separators=(",", ":"))
        self.vandal.field(execution, f"a:{seq}", text.encode())

    def audit(self) -> tuple[Finding, ...]:
        return self.engine.auditor.whole(50)

    def found(self, code: str, subject: str | None = None) -> Finding:
        """The finding of this code, and of this subject if one is given."""
        listed = self.audit()
        found = [one for one in listed if one.code == code and subject in {None, one.subject}]
        assert found, listed
        return found[0]


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.service)])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "memory":
        clock = FakeClock()
        space = MemorySpace(clock=clock)
        yield World(memory_engine(clock=clock, space=space).engine, InMemory(space))
        return
    server: RealRedis = request.getfixturevalue("newest_redis")
    settings = load(
        flags={
            "conductor.redis.socket": server.url.removeprefix("unix://"),
            "conductor.data.directory": str(tmp_path),
            "conductor.redis.commandTimeout": "60s",
        }
    )
    connection = Connection(server.url, socket_timeout_s=PATIENCE_S)
    prefix = f"{{{settings.redis.namespace}:0}}:"
    yield World(build_engine(settings, server="s"), InRedis(connection, prefix))
    connection.close()


# -- nothing wrong ---------------------------------------------------------------------------------


def test_a_store_in_use_has_no_finding(world: World) -> None:
    assert world.audit() == ()
    branches = (fork("f", [simple("a")], [wait("t", duration="1 hour")]), join("j", "a", "t"))
    for tasks in (
        (simple("a"), simple("b")),
        (typed("HUMAN", "h"),),
        (policy("a", concurrentExecLimit=3),),
        branches,
        (sub_workflow("s", workflow("child", simple("a"))),),
    ):
        world.start(*tasks)
    assert world.audit() == ()
    for _ in range(3):
        world.complete()
    world.poll()
    assert world.audit() == ()


def test_one_execution_is_audited_alone(world: World) -> None:
    broken, fine = world.start(simple("a")), world.start(simple("a"))
    world.vandal.entry("queue:", "a:s0", f"{broken}-1", None)
    assert world.engine.auditor.execution(fine) == ()
    (finding,) = world.engine.auditor.execution(broken)
    assert (finding.code, finding.invariant, finding.place) == ("no-place", "I3", f"{broken}-1")
    for unknown in ("x", NOBODY):
        with pytest.raises(NotFound):
            world.engine.auditor.execution(unknown)


@pytest.mark.parametrize("size", [1, 2, 1_000])
def test_pages_of_any_size_find_the_same(world: World, size: int) -> None:
    started = [world.start(simple("a")) for _ in range(3)]
    for execution in started[1:]:
        world.vandal.entry("queue:", "a:s0", f"{execution}-1", None)
    subjects = {one.subject for one in world.engine.auditor.whole(size)}
    assert subjects == set(started[1:])


def test_a_cursor_of_nobody_is_refused(world: World) -> None:
    with pytest.raises(InvalidInput):
        world.engine.auditor.page("nonsense", 10)


# -- one of each kind ------------------------------------------------------------------------------


def test_header_and_record_that_differ(world: World) -> None:
    started = world.start(simple("a"))
    world.header(started, st="PAUSED")
    assert world.found("record-differs", started).invariant == "I2"


def test_an_attempt_reopened_after_the_end(world: World) -> None:
    started = world.start(simple("a"))
    world.complete()
    world.attempt(started, st="SCHEDULED")
    assert world.found("reopened", started).place == f"{started}-1"


def test_an_end_within_a_walk(world: World) -> None:
    started = world.start(simple("a"))
    world.complete()
    world.header(started, walk=1)
    world.found("walk-without-end", started)


def test_an_attempt_in_no_queue(world: World) -> None:
    started = world.start(simple("a"))
    world.vandal.entry("queue:", "a:s0", f"{started}-1", None)
    assert world.found("no-place", started).place == f"{started}-1"


def test_a_claimed_attempt_that_is_still_in_its_queue(world: World) -> None:
    started = world.start(simple("a"))
    world.poll()
    world.vandal.entry("queue:", "a:s0", f"{started}-1", 1)
    world.found("several-places", started)


def test_an_entry_of_an_attempt_that_no_worker_takes(world: World) -> None:
    started = world.start(typed("HUMAN", "h"))
    world.vandal.entry("queue:", ":", f"{started}-1", 1)
    world.found("unknown-queue", started)


def test_a_closed_claim_without_a_result(world: World) -> None:
    started = world.start(simple("a"))
    world.poll()
    claim = world.vandal.read(started, "c:1").replace(b'"closed":0', b'"closed":1')
    world.vandal.field(started, "c:1", claim)
    world.found("unasked-result", started)


def test_a_wait_whose_timer_is_gone(world: World) -> None:
    started = world.start(wait("t", duration="1 hour"))
    world.vandal.entry("timers:", "s0", f"a:{started}-1", None)
    assert world.found("no-wake-up", started).place == f"{started}-1"


def test_a_claim_whose_timer_is_gone(world: World) -> None:
    started = world.start(simple("a"))
    world.poll()
    world.vandal.entry("timers:", "s0", f"a:{started}-1", None)
    assert world.found("no-wake-up", started).place == f"{started}-1"


def test_an_execution_that_runs_with_nothing_open(world: World) -> None:
    started = world.start(simple("a"))
    world.attempt(started, st="COMPLETED")
    world.found("no-wake-up", started)


def test_events_without_a_timer(world: World) -> None:
    started = world.start(simple("a"))
    world.vandal.event(started, b'0 {"t":"start"}')
    world.found("unheard-events", started)


def test_a_clean_up_that_has_stopped(world: World) -> None:
    started = world.start(simple("a"))
    world.complete()
    world.header(started, drain=1)
    world.found("drain-stopped", started)


def test_a_walk_that_has_stopped(world: World) -> None:
    started = world.start(simple("a"))
    world.header(started, walk=1)
    world.found("walk-stopped", started)


def test_steps_that_nobody_takes_up(world: World) -> None:
    started = world.start(simple("a"))
    world.header(started, held=1)
    step = {"kind": "open", "plan": world.plan(started), "ref": "a", "it": ""}
    world.vandal.field(started, "w:1", json.dumps(step).encode())
    world.found("steps-stopped", started)


def test_steps_that_are_not_stored(world: World) -> None:
    started = world.start(simple("a"))
    world.header(started, held=2)
    assert world.found("miscounted", started).place == "steps"


def _child(world: World, parent: str) -> str:
    return str(json.loads(world.vandal.read(parent, "a:1"))["child"])


def test_a_child_that_has_ended_unheard(world: World) -> None:
    started = world.start(sub_workflow("s", workflow("child", simple("a"))))
    child = _child(world, started)
    world.vandal.end(child)
    world.header(child, st="COMPLETED")
    world.found("child-unheard", started)


def test_a_child_that_does_not_exist(world: World) -> None:
    started = world.start(sub_workflow("s", workflow("child", simple("a"))))
    world.attempt(started, child=NOBODY)
    world.found("child-missing", started)


def test_a_child_without_a_parent(world: World) -> None:
    started = world.start(sub_workflow("s", workflow("child", simple("a"))))
    child = _child(world, started)
    world.header(child, parent=NOBODY)
    assert world.found("parent-gone", child).invariant == ""


def test_an_attempt_that_exists_twice(world: World) -> None:
    started = world.start(simple("a"))
    world.vandal.field(started, "a:2", world.vandal.read(started, "a:1"))
    assert world.found("place-doubled", started).place == "a#"
    assert world.found("identity-doubled", started).invariant == "I5"


@pytest.mark.parametrize(("name", "place"), [("open", "open attempts"), ("cont", "containers")])
def test_a_header_that_counts_wrongly(world: World, name: str, place: str) -> None:
    started = world.start(simple("a"))
    world.header(started, **{name: 7})
    assert world.found("miscounted", started).place == place


def test_a_join_that_counts_wrongly(world: World) -> None:
    tasks = (fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = world.start(*tasks)
    world.complete()
    state = json.loads(world.vandal.read(started, "j:j"))
    assert state["d"] == 1
    world.vandal.field(started, "j:j", json.dumps({**state, "d": 0}).encode())
    assert world.found("miscounted", started).place == "j:j"


def test_an_execution_that_the_list_lacks_or_keeps(world: World) -> None:
    started, ended = world.start(simple("b")), world.start(simple("a"))
    world.complete()
    world.vandal.entry("running:", "w", started, None)
    world.vandal.entry("running:", "w", ended, 1)
    world.found("not-listed", started)
    world.found("not-listed", ended)


def test_an_end_that_nothing_archives(world: World) -> None:
    started = world.start(simple("a"))
    world.complete()
    for kind in ("index", "remove"):
        world.vandal.entry("outbox", "", f"{started}:{kind}", None)
        world.vandal.effect(f"{started}:{kind}", None)
    world.found("archive-unordered", started)


def test_an_effect_without_text_and_one_without_time(world: World) -> None:
    world.vandal.entry("outbox", "", "x:index", 2**41)
    world.vandal.effect("y:index", b"{}")
    world.vandal.effect("z:index", b"{}")
    assert world.found("effect-without-text").subject == "x:index"
    assert world.found("effect-never-due").subject == "y:index"


def test_a_definition_that_is_gone(world: World) -> None:
    started = world.start(simple("a"))
    plan = world.plan(started)
    world.vandal.forget_plan(plan)
    assert world.found("plan-missing", started).place == plan


def test_a_definition_that_does_not_count_as_used(world: World) -> None:
    started = world.start(simple("a"))
    world.vandal.forget_reference(world.plan(started))
    world.found("plan-uncounted", started)


def test_more_permits_than_the_limit_allows(world: World) -> None:
    started = [world.start(policy("a", concurrentExecLimit=1)) for _ in range(2)]
    for execution in started:
        world.attempt(execution, lim=2)
    for _ in started:
        world.poll()
    assert "above-limit" not in {one.code for one in world.audit()}
    for execution in started:
        world.attempt(execution, lim=1)
    assert world.found("above-limit", "a").detail == "2 are held, 1 may be"


def test_a_permit_of_nobody(world: World) -> None:
    started = world.start(policy("a", concurrentExecLimit=2))
    world.vandal.entry("limit:", "a", f"{started}-1", 2**41)
    world.vandal.entry("limit:", "a", f"{NOBODY}-1", 2**41)
    places = {one.place for one in world.audit() if one.code == "permit-of-nobody"}
    assert places == {f"{started}-1", f"{NOBODY}-1"}


_LIMITED: Json = {"rateLimitConfig": {"rateLimitKey": "k", "concurrentExecLimit": 1}}


def test_an_execution_that_waits_for_nobodys_turn(world: World) -> None:
    world.start(simple("a"), **_LIMITED)
    waiting = world.start(simple("a"), **_LIMITED)
    world.vandal.entry("waiting:", "w:k", waiting, None)
    world.found("admission-lost", waiting)


def test_an_execution_that_begins_without_being_counted(world: World) -> None:
    first = world.start(simple("a"), **_LIMITED)
    world.start(simple("a"), **_LIMITED)
    world.vandal.entry("admitted:", "w:k", first, None)
    world.found("not-admitted", first)
    world.found("waits-with-room", "w:k")


def test_an_ended_execution_that_counts(world: World) -> None:
    first = world.start(simple("a"), **_LIMITED)
    world.complete()
    world.vandal.entry("admitted:", "w:k", first, 1)
    world.found("admitted-dead", first)


# -- remarks ---------------------------------------------------------------------------------------


def test_an_unknown_format_is_a_remark(world: World) -> None:
    started = world.start(simple("a"))
    world.header(started, f=99)
    assert world.found("unreadable", started).invariant == ""


def test_damaged_state_is_a_remark_and_hides_no_other(world: World) -> None:
    damaged, broken = world.start(simple("a")), world.start(simple("a"))
    world.vandal.field(damaged, "j:x", b"{")
    world.vandal.entry("queue:", "a:s0", f"{broken}-1", None)
    world.found("unreadable", damaged)
    world.found("no-place", broken)


def test_dead_entries_and_timers_are_remarks(world: World) -> None:
    world.vandal.entry("queue:", "a:s0", f"{NOBODY}-1", 1)
    world.vandal.entry("timers:", "s0", f"a:{NOBODY}-1", 1)
    world.vandal.entry("timers:", "s0", f"x:{NOBODY}", 1)
    assert world.found("dead-entry", "queue:a:s0").detail == "1 entries"
    assert world.found("dead-timer", "timers:s0").detail == "2 timers"


def test_what_is_overdue_is_a_remark(world: World) -> None:
    started = world.start(wait("t", duration="1 hour"))
    world.vandal.entry("timers:", "s0", f"a:{started}-1", OLD_MS)
    world.vandal.entry("outbox", "", f"{started}:index", OLD_MS)
    assert world.found("overdue").subject == "timers:s0"
    assert world.found("effect-overdue").detail == "1 effects"


def test_what_goes_first_is_overdue_no_sooner_than_the_others() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space, gather_tasks_ms=None).engine
    world = World(engine, InMemory(space))
    child = sub_workflow("s", workflow("child", simple("c")))
    child["subWorkflowParam"] |= {"idempotencyKey": "k"}
    started = world.start(child)
    (effect,) = (name for name in space.partition(0).effects if ":start:" in name)
    space.partition(0).outbox.drop(f"{started}:index")
    del space.partition(0).effects[f"{started}:index"]

    clock.advance(seconds=59)
    assert world.audit() == ()
    clock.advance(seconds=2)
    assert world.found("effect-overdue").detail == "1 effects"
    assert effect in space.partition(0).effects


def test_what_can_wait_is_overdue_after_the_minute_for_which_it_gives_way() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space, gather_tasks_ms=None).engine
    world = World(engine, InMemory(space))
    world.start(typed("HUMAN", "h"))
    clock.advance(seconds=120)  # its index is wanted a second after the start
    assert world.audit() == ()
    clock.advance(seconds=2)
    assert world.found("effect-overdue").detail == "1 effects"


def test_quarantine_is_a_remark_with_its_reason(world: World) -> None:
    started = ExecutionId(world.start(typed("HUMAN", "h")))
    world.vandal.event(started, b'0 {"t":"of a later version"}')
    world.vandal.entry("timers:", "s0", f"x:{started}", 1)
    for _ in range(5):
        world.engine.executor.follow([started])
        world.vandal.entry("timers:", "s0", f"x:{started}", 1)
    assert "cannot read" in world.found("quarantined", started).detail


def test_keys_of_nothing_are_left_over(newest_redis: RealRedis, tmp_path: Path) -> None:
    settings = load(
        flags={
            "conductor.redis.socket": newest_redis.url.removeprefix("unix://"),
            "conductor.data.directory": str(tmp_path),
            "conductor.redis.commandTimeout": "60s",
        }
    )
    engine = build_engine(settings, server="s")
    connection = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    prefix = f"{{{settings.redis.namespace}:0}}:"
    connection.command("RPUSH", f"{prefix}inbox:{NOBODY}", "x")
    connection.command("SADD", f"{prefix}park:{NOBODY}", "1")
    found = {one.subject for one in engine.auditor.whole() if one.code == "left-over"}
    connection.close()
    assert found == {f"inbox:{NOBODY}", f"park:{NOBODY}"}


def test_a_page_of_what_comes_back_from_the_archive_is_not_left_over(
    newest_redis: RealRedis, tmp_path: Path
) -> None:
    settings = load(
        flags={
            "conductor.redis.socket": newest_redis.url.removeprefix("unix://"),
            "conductor.data.directory": str(tmp_path),
            "conductor.redis.commandTimeout": "60s",
        }
    )
    engine = build_engine(settings, server="s")
    connection = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    key = f"{{{settings.redis.namespace}:0}}:ckpt:{NOBODY}"
    connection.command("HSET", key, "l", "[]")
    connection.command("EXPIRE", key, 86_400)
    assert engine.auditor.whole() == ()
    connection.command("PERSIST", key)
    assert [one.code for one in engine.auditor.whole()] == ["left-over"]
    connection.close()


def test_a_key_that_has_gone_with_its_execution_is_not_left_over(
    newest_redis: RealRedis, tmp_path: Path
) -> None:
    settings = load(
        flags={
            "conductor.redis.socket": newest_redis.url.removeprefix("unix://"),
            "conductor.data.directory": str(tmp_path),
            "conductor.redis.commandTimeout": "60s",
        }
    )
    engine = build_engine(settings, server="s")
    connection = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    key = f"{{{settings.redis.namespace}:0}}:log:{NOBODY}"
    connection.command("RPUSH", key, "x")
    auditor: Any = engine.auditor
    walk = auditor._inspector.walk

    def removed_behind_it(cursor: str, limit: int) -> Any:
        found = walk(cursor, limit)
        connection.command("DEL", key)
        return found

    auditor._inspector.walk = removed_behind_it
    assert engine.auditor.whole() == ()
    connection.close()


def test_every_kind_of_finding_is_planted_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [code for code in KINDS if f'"{code}"' not in text] == []


# -- while it moves --------------------------------------------------------------------------------


def _moving(space: MemorySpace, looks: int) -> type[MemoryInspector]:
    """An inspector under whose eyes executions are broken, and move, for so many looks."""

    class Moving(MemoryInspector):
        seen = 0

        def inspect(self, execution: ExecutionId) -> Any:
            Moving.seen += 1
            stored = space.partition(0).executions[execution]
            place = space.partition(0).ready["a", "s0"]
            if Moving.seen <= looks:
                stored.version += 1
                place.drop(f"{execution}-1")
            else:
                place.put(f"{execution}-1", 1)
            return super().inspect(execution)

    return Moving


@pytest.mark.parametrize(("looks", "codes"), [(1, []), (3, []), (100, ["in-motion"])])
def test_what_moves_is_looked_at_again_and_not_judged(looks: int, codes: list[str]) -> None:
    space = MemorySpace(clock=FakeClock())
    server = memory_engine(clock=space.clock, space=space)  # type: ignore[arg-type]
    server.start(workflow("w", simple("a")))
    auditor: Any = server.engine.auditor
    auditor._inspector = _moving(space, looks)(space)
    assert [one.code for one in auditor.whole()] == codes


# -- by and by -------------------------------------------------------------------------------------


def test_a_round_is_made_page_by_page_and_its_counts_are_kept() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    server = memory_engine(clock=clock, space=space)
    broken = server.start(workflow("w", simple("a")))
    for _ in range(4):
        server.start(workflow("w", simple("b")))
    space.partition(0).ready["a", "s0"].drop(f"{broken}-1")
    auditor: Any = server.engine.auditor
    assert auditor.tick() == 0, "it is off"
    auditor._interval_ms, auditor._page = 60_000, 3
    clock.advance(seconds=61)
    pages = 0
    while auditor.tick():
        pages += 1
    assert pages > 2
    last = auditor.last()
    assert {name: count for name, count in last.items() if name[0] == "I" and count} == {"I3": 1}
    assert (last["executions"], last["runs"], last["ended_ms"]) == (5, 1, clock.now_ms)
    assert auditor.tick() == 0, "not before the interval is over"
    clock.advance(seconds=61)
    assert auditor.tick()


# -- whatever happens ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_in_any_world_a_sound_store_has_no_violation(seed: int) -> None:
    logging.disable(logging.CRITICAL)
    try:
        with timeless():
            weather = Weather(unavailable=0.02, crash=0.02, intrusion=0.15)
            world = Chaos(seed, (Limits(), Limits(attempts=1))[seed % 2], weather)
            for _ in range(50):
                world.step()
                found = [one for one in world.engine.engine.auditor.whole() if one.invariant]
                assert not found, (seed, found, world.log[-8:])
    finally:
        logging.disable(logging.NOTSET)
