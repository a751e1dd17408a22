"""What is asked most often of a server asks its Redis once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.redis.connection import Connection
from conductor_py.config import Settings, load
from conductor_py.engine import Engine
from conductor_py.model.requests import PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.wiring import build_application, build_engine
from conductor_py.wiring import engine as wired
from conductor_py.wiring import redis as connecting
from tests.builders import simple, workflow
from tests.conftest import RealRedis


@pytest.fixture
def settings(newest_redis: RealRedis, tmp_path: Path) -> Settings:
    flags = {
        "redis.socket": newest_redis.url.removeprefix("unix://"),
        "data.directory": str(tmp_path),
        "redis.shardLease": "600s",
        "redis.commandTimeout": "60s",
    }
    return load(environment={}, flags={f"conductor.{key}": value for key, value in flags.items()})


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    """Those that an engine asks its store by."""
    made: list[Any] = []

    def connect(settings: Settings) -> Any:
        made.append(connecting.connect(settings))
        return made[-1]

    monkeypatch.setattr(wired, "connect", connect)
    return made


@pytest.fixture
def engine(settings: Settings, connections: list[Connection]) -> Iterator[Engine]:
    assert connections == []
    found = build_engine(settings, server="s")
    found.shards.keep()
    yield found
    found.shards.release()


@pytest.fixture
def client(settings: Settings, engine: Engine) -> Any:
    application = build_application(settings, engine, stop=threading.Event(), instance="s")
    return application.test_client()


def _ended(engine: Engine, client: Any) -> str:
    assert client.put("/api/metadata/workflow", json=[workflow("w", simple("a"))]).status_code < 300
    execution = engine.executions.start(StartRequest(name="w"))
    (task,) = engine.tasks.poll(PollRequest(task_type="a", timeout_ms=500, worker="w", count=1))
    engine.tasks.update(
        TaskResult(workflow_id=execution, task_id=str(task["taskId"]), status=TaskStatus.COMPLETED)
    )
    return execution


def _trips(connections: list[Connection], ask: Callable[[], Any]) -> tuple[int, Any]:
    """How often the store was asked for an answer, and the answer."""
    before = sum(each.round_trips for each in connections)
    answer = ask()
    return sum(each.round_trips for each in connections) - before, answer


@pytest.mark.parametrize("query", ["", "?includeTasks=false"])
def test_a_get_of_an_ended_execution_takes_one_round_trip(
    engine: Engine, client: Any, connections: list[Connection], query: str
) -> None:
    path = f"/api/workflow/{_ended(engine, client)}{query}"
    client.get(path)  # the server knows the script

    trips, answer = _trips(connections, lambda: client.get(path))

    assert answer.json["status"] == "COMPLETED"
    assert trips == 1


def test_a_get_of_an_execution_that_has_left_the_store_takes_one_round_trip(
    engine: Engine, client: Any, connections: list[Connection]
) -> None:
    execution = _ended(engine, client)
    assert client.delete(f"/api/workflow/{execution}/remove").status_code == 200
    assert engine.executions.view(execution) is None

    trips, answer = _trips(connections, lambda: client.get(f"/api/workflow/{execution}"))

    assert answer.json["status"] == "COMPLETED"
    assert trips == 1
