"""A Redis that goes away and comes back: 503 meanwhile, and nobody has to start anything again."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.asking import ask
from tests.acceptance.deployment import Api, Deployment, Process, await_gone, written_down
from tests.acceptance.stories import finish, found, start, status, take
from tests.services import RedisServer, absent, start_redis
from tests.services.cache import Unobtainable
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_DEFINITION: Any = {
    "name": "x",
    "version": 1,
    "tasks": [{"name": "a", "taskReferenceName": "a", "type": "SIMPLE"}],
}


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    try:
        server = start_redis(append_only=True)
    except Unobtainable as error:
        absent(str(error))
    yield server
    server.stop()


def _over(deployment: Deployment, redis: RedisServer, shape: tuple[str, ...]) -> Api:
    shared = ("--redis", redis.url, "--data", str(deployment.folder / "data"))
    brief = ("--set", "conductor.redis.commandTimeout=1s")
    again = ("--set", "conductor.effects.lease=1s")
    folder = deployment.folder / "server"
    return deployment.serve(Api(folder, "server", *shape, *shared, *brief, *again))


def _refused(server: Api) -> None:
    """Whatever is asked of a server without its Redis is 503, with a time to come back."""
    given = {"name": "x", "workflowDef": _DEFINITION}
    for method, path, body in (
        ("POST", "/api/workflow", given),
        ("GET", "/api/workflow/000b46ff-7ba5-e45d-b3c9-8cd1665bf7dd", None),
        ("GET", "/api/tasks/poll/batch/nothing?workerid=w&timeout=100", None),
        ("POST", "/api/metadata/workflow", _DEFINITION),
    ):
        answer = ask(server, method, path, body)
        assert answer.status == 503, (method, path, answer)
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.body["retryable"] is True
        assert answer.body["message"].startswith("Redis does not answer")
    assert ask(server, "GET", "/health").status == 503


def _goes_on(server: Api, workflow: str) -> None:
    until(server.is_healthy, what="healthy again")
    task = until(lambda: take(server.client, timeout_ms=500), what="the task")[0]
    finish(server.client, task)
    assert server.client.get_workflow(workflow)["output"] == {"double": 42}
    until(lambda: workflow in found(server.client, "COMPLETED"), what="found by search")
    assert status(server.client, start(server.client, 1)) == "RUNNING"


def test_a_redis_that_is_killed_is_503_and_the_server_recovers_by_itself(
    deployment: Deployment, shape: tuple[str, ...], own_redis: RedisServer
) -> None:
    server = _over(deployment, own_redis, shape)
    workflow = start(server.client, 21)
    with own_redis.client() as client:
        written_down(client)

    own_redis.kill()
    began = time.monotonic()
    _refused(server)
    assert time.monotonic() - began < 5  # a dead socket is known at once
    own_redis.start()

    _goes_on(server, workflow)


def test_a_redis_that_is_frozen_is_503_and_the_server_recovers_by_itself(
    deployment: Deployment, shape: tuple[str, ...], own_redis: RedisServer
) -> None:
    server = _over(deployment, own_redis, shape)
    workflow = start(server.client, 21)
    with own_redis.client() as client:
        pid = client.info("server")["process_id"]

    os.kill(pid, signal.SIGSTOP)
    try:
        _refused(server)
    finally:
        os.kill(pid, signal.SIGCONT)

    _goes_on(server, workflow)


_NOTICED = {"sweeper": "store_away", "effects": "could not connect"}


@pytest.mark.parametrize("command", ["api", "sweeper", "effects"])
def test_a_process_whose_redis_is_away_still_stops_when_asked(
    deployment: Deployment, own_redis: RedisServer, command: str
) -> None:
    shared = ("--redis", own_redis.url, "--data", str(deployment.folder / "data"))
    if command == "api":
        process: Process = deployment.serve(Api(deployment.folder / "api", "api", *shared))
    else:
        process = deployment.run(command, command, *shared)
        until(lambda: _works(own_redis, command), what="it works")
    family = process.family()

    own_redis.kill()
    until(lambda: _noticed(process), what="it noticed")

    assert process.terminate() == 0
    await_gone(family)


def _noticed(process: Process) -> bool:
    """Whether it knows that its Redis is away: an API node says so, the others log it."""
    if isinstance(process, Api):
        return not process.is_healthy()
    return _NOTICED[process.command[0]] in process.log


def _works(redis: RedisServer, command: str) -> bool:
    """Whether the process has begun: a sweeper runs its scripts, an effects worker is on record."""
    with redis.client() as client:
        if command == "effects":
            return bool(client.scard("rq:workers"))
        return "cmdstat_evalsha" in client.info("commandstats")


_ROLES = ("api", "sweeper", "effects", "scheduler", "system-worker")


def test_processes_that_start_while_their_redis_is_away_wait_for_it(
    deployment: Deployment, own_redis: RedisServer
) -> None:
    shared = ("--redis", own_redis.url, "--data", str(deployment.folder / "data"))
    own_redis.kill()
    api = Api(deployment.folder / "api", "api", *shared)
    deployment.processes.append(api)
    Process.start(api)
    others = {name: deployment.run(name, name, *shared) for name in _ROLES[1:]}
    for name, process in {"api": api, **others}.items():
        until(lambda p=process: "redis_awaited" in p.log, what=f"{name} waits")  # type: ignore[misc]

    own_redis.start()

    until(api.is_healthy, what="healthy")
    until(lambda: _works(own_redis, "effects"), what="effects are carried out")
    workflow = start(api.client, 21)
    _goes_on(api, workflow)
    for process in (*others.values(), api):
        assert process.terminate() == 0


@pytest.mark.parametrize("command", _ROLES)
def test_a_process_that_waits_for_its_redis_stops_when_asked(
    deployment: Deployment, tmp_path: Path, command: str
) -> None:
    process = deployment.run(
        command, command, "--redis", f"unix://{tmp_path}/nobody", "--data", str(tmp_path)
    )
    until(lambda: "redis_awaited" in process.log, what="it waits")

    assert process.terminate() == 0
