"""A Redis that holds ``maxmemory``: nothing new is taken, what was taken goes on and ends, and when
it has left there is room again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.redis.connection import Connection
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.config import load
from conductor_py.engine import Engine
from conductor_py.errors import NotFound, StoreFull
from conductor_py.model.requests import PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.wiring import build_engine
from tests.builders import Json, simple, sub_workflow, typed, workflow
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
    settings = {
        "redis.socket": real_redis.url.removeprefix("unix://"),
        "data.directory": str(directory),
        "redis.shardLease": "600s",
        "redis.commandTimeout": "60s",
    }
    found = build_engine(
        load(flags={f"conductor.{key}": value for key, value in settings.items()}), server="s"
    )
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
    # No job can be put into the queue: the relay carries out what leads to the removal, and that
    # without the usual delay.
    for ended in (ends, other):
        until(lambda: engine.relay.tick() >= 0 and not redis.has(ended))  # noqa: B023
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


def _children(engine: Engine, parent: str) -> list[object]:
    found: Any = engine.executions.document(parent)
    return [task["inputData"] for task in found["tasks"] if task.get("subWorkflowId")]
