"""Why is it not moving, where limits and queues stand in a real Redis of one or four partitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.config import load
from conductor_py.engine import Engine
from conductor_py.model.requests import PollRequest, StartRequest
from conductor_py.wiring import build_engine
from tests.builders import Json, policy, simple, sub_workflow, typed, workflow
from tests.conftest import RealRedis


@pytest.fixture(params=["1", "4"])
def engine(
    request: pytest.FixtureRequest, newest_redis: RealRedis, tmp_path: Path
) -> Iterator[Engine]:
    settings = {
        "redis.socket": newest_redis.url.removeprefix("unix://"),
        "redis.partitions": request.param,
        "data.directory": str(tmp_path),
        "redis.shardLease": "600s",
        "redis.commandTimeout": "60s",
    }
    found = build_engine(
        load(flags={f"conductor.{key}": value for key, value in settings.items()}), server="s"
    )
    found.shards.keep()
    yield found
    found.shards.release()


def start(engine: Engine, *tasks: Json, **more: Any) -> str:
    definition = workflow_from_json({**workflow("w", *tasks), **more})
    return engine.executions.start(StartRequest(name="w", definition=definition))


def poll(engine: Engine, task_type: str = "a") -> list[Json]:
    request = PollRequest(task_type=task_type, count=1, timeout_ms=500, worker="worker")
    return [dict(task) for task in engine.tasks.poll(request)]


def cause(engine: Engine, started: str, code: str) -> Json:
    found: Any = engine.why.explain(started)["cause"]
    assert found["code"] == code, found
    return dict(found)


def test_nobody_asks_and_then_somebody_works(engine: Engine) -> None:
    started = start(engine, simple("a"))
    assert cause(engine, started, "no-worker-ever")["evidence"]["entries"] == 1
    poll(engine)
    assert cause(engine, started, "running")["evidence"]["worker"] == "worker"


def test_the_concurrency_limit_is_held_by_another(engine: Engine) -> None:
    both = {start(engine, policy("a", concurrentExecLimit=1)) for _ in range(2)}
    (task,) = poll(engine)
    (other,) = both - {task["workflowInstanceId"]}
    found = cause(engine, other, "concurrency-limit")
    assert found["evidence"] == {"limit": 1, "heldBy": [task["taskId"]]}
    assert engine.auditor.whole() == ()


def test_the_rate_limit_is_used_up(engine: Engine) -> None:
    limits = {"rateLimitPerFrequency": 1, "rateLimitFrequencyInSeconds": 60}
    both = {start(engine, policy("a", **limits)) for _ in range(2)}
    (task,) = poll(engine)
    (other,) = both - {task["workflowInstanceId"]}
    assert cause(engine, other, "rate-limit")["until"]


def test_the_workflows_rate_limit_lets_another_go_first(engine: Engine) -> None:
    limit = {"rateLimitConfig": {"rateLimitKey": "k", "concurrentExecLimit": 1}}
    first = start(engine, simple("a"), **limit)
    second = start(engine, simple("a"), **limit)
    found = cause(engine, second, "workflow-rate-limit")
    assert found["evidence"]["heldBy"] == [first]
    assert [one.code for one in engine.auditor.whole() if one.invariant] == []


def test_a_sub_workflow_and_a_person_are_found(engine: Engine) -> None:
    started = start(engine, sub_workflow("s", workflow("child", typed("HUMAN", "h"))))
    assert cause(engine, started, "human")["referenceTaskName"] == "h"


def test_it_is_paused(engine: Engine) -> None:
    started = start(engine, simple("a"))
    engine.steering.pause(started)
    cause(engine, started, "paused")
