"""A Redis that holds ``maxmemory``: nothing new is taken, what was taken goes on and ends, and when
it has left there is room again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.quickjs import QuickJsScripts
from conductor_py.adapters.redis.connection import Connection
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.config import load
from conductor_py.engine import Engine
from conductor_py.errors import NotFound, StoreFull
from conductor_py.model.requests import ExtendRequest, PollRequest, StartRequest, TaskResult
from conductor_py.model.schedules import Schedule
from conductor_py.model.status import TaskStatus
from conductor_py.ports.payloads import PayloadKind
from conductor_py.ports.scripts import Value
from conductor_py.ports.store import Commit, CommitReply, Start, StartReply
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.wire.event_handlers import read_event_handler
from conductor_py.wiring import build_engine, check_redis
from tests.builders import Json, inline, simple, sub_workflow, typed, workflow
from tests.conftest import RealRedis
from tests.waiting import until

_BALLAST = 100_000_000


class FullRedis:
    """A server that is filled to a share of ``maxmemory``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        connection.command("SETRANGE", "ballast", _BALLAST - 1, "x")

    def fill(self, share: float) -> None:
        told = self._connection.command("INFO", "memory").decode()
        used = int(told.split("used_memory:")[1].split("\r")[0])
        self._connection.command("CONFIG", "SET", "maxmemory", int(used / share))

    def has(self, execution: str) -> bool:
        return bool(self._connection.command("EXISTS", f"{{conductor:0}}:exec:{execution}"))

    def is_halted(self) -> bool:
        return bool(self._connection.command("EXISTS", "{conductor:0}:schedules:halted"))

    def owes(self, effect: str) -> float:
        """When it is due, epoch ms; 0 when it is done."""
        return float(self._connection.command("ZSCORE", "{conductor:0}:outbox", effect) or 0)

    def damage_room(self) -> None:
        self._connection.command("LPUSH", "{conductor:0}:room", "x")

    def lose_ballast(self) -> None:
        self._connection.command("DEL", "ballast")

    def end(self) -> None:
        self._connection.command("CONFIG", "SET", "maxmemory", 0)


@pytest.fixture
def redis(real_redis: RealRedis) -> Iterator[FullRedis]:
    with closing(Connection(real_redis.url, socket_timeout_s=60)) as connection:
        found = FullRedis(connection)
        yield found
        found.end()


@contextmanager
def engine_on(real_redis: RealRedis, directory: Path) -> Iterator[Engine]:
    """An engine of a process that has just begun."""
    settings = {
        "redis.socket": real_redis.url.removeprefix("unix://"),
        "data.directory": str(directory),
        "redis.shardLease": "600s",
        "redis.commandTimeout": "60s",
    }
    loaded = load(flags={f"conductor.{key}": value for key, value in settings.items()})
    check_redis(loaded)
    found = build_engine(loaded, server="s")
    found.shards.keep()
    yield found
    found.shards.release()


@pytest.fixture
def engine(real_redis: RealRedis, redis: FullRedis, tmp_path: Path) -> Iterator[Engine]:
    with engine_on(real_redis, tmp_path) as found:
        yield found


def register(engine: Engine, name: str, *tasks: Json) -> None:
    definition = workflow_from_json(workflow(name, *(tasks or (simple("a"),))))
    engine.definitions.register(definition, overwrite=True)


def start(engine: Engine, *tasks: Json) -> str:
    definition = workflow_from_json(workflow("w", *tasks))
    return engine.executions.start(StartRequest(name="w", definition=definition))


def poll(engine: Engine, task_type: str = "a") -> Json:
    request = PollRequest(task_type=task_type, count=1, timeout_ms=0, worker="worker")
    (task,) = engine.tasks.poll(request)
    return dict(task)


def complete(engine: Engine, task: Json, bytes_: int = 10) -> None:
    engine.tasks.update(
        TaskResult(
            workflow_id=task["workflowInstanceId"],
            task_id=task["taskId"],
            status=TaskStatus.COMPLETED,
            output={"text": "x" * bytes_},
        )
    )


def status(engine: Engine, execution: str) -> str:
    return str(engine.executions.document(execution)["status"])


def test_what_was_taken_goes_on_and_leaves_and_makes_room(engine: Engine, redis: FullRedis) -> None:
    ends, other = start(engine, simple("a"), simple("b")), start(engine, simple("c"))
    redis.fill(1.1)
    with pytest.raises(StoreFull) as refused:
        start(engine, simple("a"))
    assert refused.value.retry_after_s == 5
    complete(engine, poll(engine))
    complete(engine, poll(engine, "b"))
    assert status(engine, ends) == "COMPLETED"
    engine.executions.terminate(other, reason="no room")
    # No job can be put into the queue: the relay carries out what leads to the removal.
    until(lambda: engine.relay.tick() >= 0 and not redis.owes(f"{ends}:index"))
    for ended in (ends, other):
        engine.steering.remove(ended, archive=True)
        assert not redis.has(ended)
    assert status(engine, ends) == "COMPLETED"  # in the archive
    redis.lose_ballast()
    assert status(engine, start(engine, simple("a"))) == "RUNNING"


def test_definitions_are_refused_when_they_are_new_and_can_be_deleted(
    engine: Engine, redis: FullRedis
) -> None:
    register(engine, "first")
    redis.fill(1.1)
    with pytest.raises(StoreFull):
        register(engine, "w")
    engine.definitions.delete("first", 1)
    with pytest.raises(NotFound):
        engine.definitions.workflow("first", 1)


@pytest.mark.thorough(target="histories")
def test_what_executions_start_of_their_own_leaves_others_a_fifth(
    engine: Engine, redis: FullRedis
) -> None:
    register(engine, "leaf", simple("b"))
    given = {"startWorkflow": {"name": "leaf"}}
    starter = start(engine, simple("a"), typed("START_WORKFLOW", "s", inputParameters=given))
    redis.fill(0.9)
    complete(engine, poll(engine))
    assert status(engine, starter) == "RUNNING"
    start(engine, simple("c"))
    redis.fill(0.5)
    until(lambda: engine.sweeper.tick() >= 0 and status(engine, starter) == "COMPLETED")
    assert poll(engine, "b")["workflowType"] == "leaf"


def test_a_process_that_begins_while_it_is_full_lets_executions_end(
    real_redis: RealRedis, engine: Engine, redis: FullRedis, tmp_path: Path
) -> None:
    started = start(engine, simple("a"))
    redis.fill(1.1)
    with engine_on(real_redis, tmp_path / "other") as other:
        complete(other, poll(other))
        assert status(other, started) == "COMPLETED"


@pytest.mark.parametrize(("share", "stays_s"), [(0.9, 10), (0.5, 60)])
def test_what_has_ended_leaves_sooner_when_it_is_nearly_full(
    engine: Engine, redis: FullRedis, share: float, stays_s: int
) -> None:
    """Not at once: a start that is sent again has to find it."""
    ended = start(engine, simple("a"))
    redis.fill(share)
    complete(engine, poll(engine))
    document = engine.executions.document(ended)
    due = redis.owes(f"{ended}:remove") - float(str(document["endTime"]))
    assert abs(due - stays_s * 1000) < 1000


def test_an_execution_fails_with_its_failure_workflow_when_it_is_nearly_full(
    engine: Engine, redis: FullRedis
) -> None:
    register(engine, "mourn", simple("b"))
    definition = workflow_from_json({**workflow("w", simple("a")), "failureWorkflow": "mourn"})
    failing = engine.executions.start(StartRequest(name="w", definition=definition))
    redis.fill(0.9)
    task = poll(engine)
    engine.tasks.update(
        TaskResult(
            workflow_id=failing,
            task_id=task["taskId"],
            status=TaskStatus.FAILED_WITH_TERMINAL_ERROR,
        )
    )
    until(lambda: engine.sweeper.tick() >= 0 and status(engine, failing) == "FAILED")
    assert poll(engine, "b")["workflowType"] == "mourn"


def test_what_lets_executions_go_on_is_taken_and_new_work_is_not(
    engine: Engine, redis: FullRedis
) -> None:
    paused, waiting, ended = (
        start(engine, simple("a")),
        start(engine, typed("WAIT", "t")),
        start(engine, simple("z")),
    )
    engine.executions.terminate(ended, reason="enough")
    redis.fill(1.1)
    engine.steering.pause(paused)
    engine.steering.resume(paused)
    assert engine.awaiting.signal(waiting, TaskStatus.COMPLETED, {})
    assert status(engine, waiting) == "COMPLETED"
    complete(engine, poll(engine))
    assert status(engine, paused) == "COMPLETED"
    with pytest.raises(StoreFull):
        engine.recovery.restart(ended)
    engine.schedules.halt(halted=True)
    assert redis.is_halted()


def test_what_is_removed_without_a_trace_leaves_nothing_to_do(
    engine: Engine, redis: FullRedis
) -> None:
    removed = start(engine, simple("a"))
    redis.fill(1.1)
    engine.steering.remove(removed, archive=False)
    assert not redis.has(removed)
    assert not redis.owes(f"{removed}:forget")


def test_a_start_that_finds_what_is_there_needs_no_room(engine: Engine, redis: FullRedis) -> None:
    def begin() -> str:
        definition = workflow_from_json(workflow("w", simple("a")))
        return engine.executions.start(
            StartRequest(
                name="w",
                definition=definition,
                idempotency_key="k",
                idempotency_strategy="RETURN_EXISTING",
            )
        )

    found = begin()
    redis.fill(1.1)
    assert begin() == found


def test_who_starts_from_outside_what_starts_others_has_the_last_fifth(
    engine: Engine, redis: FullRedis
) -> None:
    register(engine, "leaf", simple("b"))
    given = {"startWorkflow": {"name": "leaf"}}
    redis.fill(0.9)
    started = start(engine, typed("START_WORKFLOW", "s", inputParameters=given))
    assert status(engine, started) == "COMPLETED"


def test_a_sub_workflow_that_has_a_key_goes_on_as_others_do(
    engine: Engine, redis: FullRedis
) -> None:
    register(engine, "leaf", simple("b"))
    keyed = sub_workflow("s", "leaf")
    keyed["subWorkflowParam"] |= {"idempotencyKey": "k"}
    start(engine, simple("a"), keyed)
    redis.fill(1.1)
    complete(engine, poll(engine))

    def begun() -> bool:
        engine.relay.tick()
        engine.sweeper.tick()
        request = PollRequest(task_type="b", count=1, timeout_ms=0, worker="worker")
        return bool(engine.tasks.poll(request))

    until(begun)


def test_a_key_where_none_is_to_be_is_gone_with_the_next_tick(
    engine: Engine, redis: FullRedis
) -> None:
    """Scripts ask for memory by writing nothing to a key that is never there."""
    redis.damage_room()
    engine.sweeper.tick()
    assert status(engine, start(engine, simple("a"))) == "RUNNING"


def test_far_above_only_little_goes_on(engine: Engine, redis: FullRedis) -> None:
    start(engine, simple("a"), simple("b"))
    redis.fill(1.7)
    task = poll(engine)
    with pytest.raises(StoreFull):
        complete(engine, task, 50_000)
    complete(engine, task)
    assert poll(engine, "b")


def test_lines_that_a_script_has_printed_hold_up_no_execution(
    engine: Engine, redis: FullRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = Value(value=1, lines=("x" * 400,) * 50)
    monkeypatch.setattr(QuickJsScripts, "attempt", lambda _self, _asked: printed)
    kept, lost = (start(engine, simple("a"), inline("i", "1"), simple("b")) for _ in range(2))
    complete(engine, poll(engine))
    task = poll(engine)
    redis.fill(1.7)
    complete(engine, task)
    assert {poll(engine, "b")["workflowInstanceId"] for _ in range(2)} == {kept, lost}
    lines = [engine.tasks.logs(_task_of(engine, each, "i")) for each in (kept, lost)]
    assert list(map(len, lines)) == [50, 0]


@pytest.mark.thorough(target="histories")
@pytest.mark.parametrize("share", [1.1, 1.4])
def test_a_little_goes_on_however_full_it_is_and_much_in_a_reserve(
    engine: Engine, redis: FullRedis, share: float
) -> None:
    register(engine, "leaf", simple("b"))
    parent = start(engine, simple("a"), sub_workflow("s", "leaf"))
    large, small = start(engine, simple("c"), simple("d")), start(engine, simple("e"), simple("f"))
    redis.fill(share)
    complete(engine, poll(engine, "e"))
    assert poll(engine, "f")["workflowInstanceId"] == small
    task = poll(engine, "c")
    complete(engine, poll(engine))
    if share < 1.25:
        complete(engine, task, 1_000_000)
        assert poll(engine, "b")["workflowType"] == "leaf"
        return
    with pytest.raises(StoreFull):
        complete(engine, task, 1_000_000)
    assert status(engine, large) == "RUNNING"
    redis.fill(1.1)
    complete(engine, task, 1_000_000)
    assert poll(engine, "d")["workflowInstanceId"] == large
    until(lambda: engine.sweeper.tick() >= 0 and _children(engine, parent))
    complete(engine, poll(engine, "b"))
    assert status(engine, parent) == "COMPLETED"


@pytest.mark.thorough(target="histories")
def test_a_claim_goes_on_however_full_it_is_and_large_progress_is_not_kept(
    engine: Engine, redis: FullRedis
) -> None:
    start(engine, simple("a"))
    task = poll(engine)

    def told(size: int) -> object:
        progress = {"done": "x" * size}
        given = ExtendRequest(task_id=task["taskId"], claim=task["claimToken"], progress=progress)
        engine.tasks.extend(given)
        found: Any = engine.tasks.document(task["taskId"])
        return len(found["progress"]["done"]) if "progress" in found else None

    redis.fill(1.6)
    assert told(100_000) is None
    assert told(100) == 100
    assert told(50_000) == 100
    redis.fill(1.4)
    assert told(50_000) == 50_000
    assert told(100_000) == 50_000
    redis.fill(0.5)
    assert told(100_000) == 100_000


def _task_of(engine: Engine, execution: str, ref: str) -> str:
    found: Any = engine.executions.document(execution)
    return next(str(each["taskId"]) for each in found["tasks"] if each["referenceTaskName"] == ref)


def _children(engine: Engine, parent: str) -> list[object]:
    found: Any = engine.executions.document(parent)
    return [task["inputData"] for task in found["tasks"] if task.get("subWorkflowId")]


# -- what is refused keeps nothing else from being done --------------------------------------------


def _full_for(engine: MemoryEngine, name: str) -> list[str]:
    """Have the store refuse to start executions of this name; how often it did."""
    tried: list[str] = []
    start_execution = engine.ports.store.start

    def refuse(given: Start) -> StartReply:
        if given.name != name:
            return start_execution(given)
        tried.append(name)
        raise StoreFull

    engine.ports.store.start = refuse  # type: ignore[assignment, method-assign]
    return tried


def _registered(*names: str) -> MemoryEngine:
    engine = memory_engine(
        clock=FakeClock(int(datetime(2027, 3, 1, tzinfo=UTC).timestamp() * 1000))
    )
    for name in names:
        engine.register(workflow(name, typed("NOOP", "n")))
    return engine


def test_a_schedule_that_cannot_be_fired_keeps_no_other_from_firing() -> None:
    engine = _registered("large", "small")
    for name in ("large", "small"):
        request = {"name": name}
        schedule = Schedule(
            name=name, cron_expression="0 * * * * *", start_workflow_request=request
        )
        engine.engine.schedules.save(schedule)
    tried = _full_for(engine, "large")
    engine.advance(seconds=61)
    assert tried
    assert len(engine.started("small")) == 1


def test_a_message_that_cannot_start_anything_keeps_no_other_waiting() -> None:
    engine = _registered("large", "small")
    for name in ("large", "small"):
        start_it = {"action": "start_workflow", "start_workflow": {"name": name}}
        handler = {"name": name, "event": f"conductor:w:{name}", "actions": [start_it]}
        engine.engine.events.register(read_event_handler({**handler, "active": True}))
    tried = _full_for(engine, "large")
    tasks = [typed("EVENT", name, sink=f"conductor:{name}") for name in ("large", "small")]
    engine.start(workflow("w", *tasks))
    engine.engine.relay.tick()
    assert tried
    assert len(engine.engine.executions.running("small")) + len(engine.started("small")) >= 1


def test_a_message_whose_execution_waits_for_room_keeps_no_other_waiting() -> None:
    engine = _registered("leaf", "small")
    given = {"startWorkflow": {"name": "leaf"}}
    waits = workflow("waits", simple("a"), typed("START_WORKFLOW", "s", inputParameters=given))
    waiting = engine.start(waits)
    commit = engine.ports.store.commit

    def refuse(given: Commit) -> CommitReply:
        if given.execution == waiting:
            raise StoreFull
        return commit(given)

    engine.ports.store.commit = refuse  # type: ignore[assignment, method-assign]
    change = {"workflowId": waiting, "variables": {"x": 1}}
    actions = {
        "change": {"action": "update_workflow_variables", "update_workflow_variables": change},
        "small": {"action": "start_workflow", "start_workflow": {"name": "small"}},
    }
    for name, action in actions.items():
        handler = {"name": name, "event": f"conductor:w:{name}", "actions": [action]}
        engine.engine.events.register(read_event_handler({**handler, "active": True}))
    engine.start(
        workflow("w", *(typed("EVENT", name, sink=f"conductor:{name}") for name in actions))
    )
    engine.engine.relay.tick()
    assert engine.started("small") or engine.engine.executions.running("small")


def test_what_is_refused_again_and_again_is_stored_once() -> None:
    """Its large input is named again by what it holds."""
    engine = _registered("leaf")
    given = {"startWorkflow": {"name": "leaf", "input": {"text": "${workflow.input.text}"}}}
    definition = workflow("w", simple("a"), typed("START_WORKFLOW", "s", inputParameters=given))
    started = engine.start(definition, input={"text": "x" * 4_000_000})
    stored, commit = [], engine.ports.store.commit
    put = engine.ports.payloads.put

    def refuse(given: Commit) -> CommitReply:
        if given.changes.children:
            raise StoreFull
        return commit(given)

    def count(kind: PayloadKind, document: bytes) -> str:
        stored.append(kind)
        return put(kind, document)

    engine.ports.store.commit = refuse  # type: ignore[assignment, method-assign]
    engine.ports.payloads.put = count  # type: ignore[method-assign]
    engine.run("a")
    for _ in range(5):
        engine.clock.advance(seconds=6)
        engine.settle()
    assert len(stored) <= 2
    engine.ports.store.commit = commit  # type: ignore[method-assign]
    engine.advance(seconds=6)
    assert engine.workflow(started)["status"] == "COMPLETED"
