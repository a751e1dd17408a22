"""More than a server can do: what it takes it does, the rest is told to come back, and it recovers
by itself.
"""

import json
import os
import signal
import socket
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conductor_py.sdk import Backoff, Client
from tests.acceptance.asking import Answer, ask
from tests.acceptance.deployment import Api, Deployment, Process, Stalls
from tests.acceptance.programs import Program
from tests.acceptance.stories import ONE_STEP, start, status, work_off
from tests.services import RedisServer, absent, start_redis
from tests.services.cache import Unobtainable
from tests.services.processes import resident_mb
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(300),
]

_CROWD = Path(__file__).with_name("crowd.py")
_SMALL = (
    "--set",
    "conductor.server.blockingThreads=16",
    "--set",
    "conductor.server.working=4",
    "--set",
    "conductor.server.turnWait=200ms",
)
_ENOUGH = 101


def _crowd(deployment: Deployment, server: Api, clients: int, seconds: float) -> Process:
    body = json.dumps({"name": "one_step", "workflowDef": ONE_STEP, "input": {"number": 1}})
    given = (str(server.port), str(clients), str(seconds), str(_ENOUGH), body)
    program = Program(deployment.folder / "crowd", str(_CROWD), *given)
    deployment.processes.append(program)
    program.start()
    return program


def _memory_mb(server: Api) -> dict[int, float]:
    """What each of its processes has, but those of scripts, which come and go."""
    return {pid: resident_mb(pid) for pid, line in server.family().items() if "quickjs" not in line}


def test_crowd_gets_answers_or_a_time_to_come_back_and_nothing_accepted_is_lost(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    server = deployment.server(*shape, *_SMALL)
    status(server.client, start(server.client, 1))
    before_mb = _memory_mb(server)
    crowd = _crowd(deployment, server, clients=100, seconds=4)
    health = [ask(server, "GET", "/health").status for _ in range(5)]
    assert crowd.wait(90) == 0, crowd.log
    seen = json.loads(crowd.said)

    assert health == [200] * 5
    assert set(seen["statuses"]) == {"200", "503"}, seen["statuses"]
    assert seen["without_time"] == 0
    assert len(seen["started"]) > 100
    assert seen["slowest_ms"] < 5_000 + seen["stalled_ms"]
    after_mb = _memory_mb(server)
    assert max(after_mb[pid] - mb for pid, mb in before_mb.items()) < 150

    next_one = ask(server, "POST", "/api/workflow", _body())
    assert next_one.status == 200, "it recovers by itself"
    wanted = len(seen["started"]) + 2
    work_off(server.client, wanted, 90)
    for workflow in seen["started"][::50]:
        until(lambda: status(server.client, workflow) == "COMPLETED", what=workflow)  # noqa: B023


def _body() -> dict[str, Any]:
    return {"name": "one_step", "workflowDef": ONE_STEP, "input": {"number": 1}}


def test_our_client_gets_through_a_crowd_by_coming_back_when_it_is_told(
    deployment: Deployment,
) -> None:
    server = deployment.server(*_SMALL)
    crowd = _crowd(deployment, server, clients=60, seconds=6)
    patient = Client(f"http://127.0.0.1:{server.port}/api", timeout_s=20, backoff=Backoff(tries=12))
    until(lambda: ask(server, "GET", "/api/metadata/taskdefs").status == 503, what="a refusal")
    started = [start(patient, number) for number in range(5)]
    assert len(set(started)) == 5
    assert crowd.wait(90) == 0, crowd.log
    patient.close()


def test_clients_that_send_slowly_have_no_turn_and_take_only_the_places_for_bodies(
    deployment: Deployment,
) -> None:
    server = deployment.server(*_SMALL, "--set", "conductor.server.readingBodies=12")
    workflow = start(server.client, 1)
    head = (
        b"POST /api/workflow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{"
    )
    slow = [socket.create_connection(("127.0.0.1", server.port), 20) for _ in range(40)]
    try:
        for each in slow[:10]:
            each.sendall(head)
        for number in range(10):
            assert status(server.client, start(server.client, number)) == "RUNNING"
        for each in slow[10:]:
            each.sendall(head)
        refused = until(lambda: _refused(server), what="a refusal")
        assert refused is not None
        assert int(refused.headers["retry-after"]) >= 1
        for _ in range(10):
            assert status(server.client, workflow) == "RUNNING", "what has no body is answered"
    finally:
        for each in slow:
            each.close()
    until(lambda: ask(server, "POST", "/api/workflow", _body()).status == 200, what="room again")


def _refused(server: Api) -> Answer | None:
    answer = ask(server, "POST", "/api/workflow", _body())
    return answer if answer.status == 503 else None


def test_head_that_is_too_large_is_refused(deployment: Deployment) -> None:
    server = deployment.server(*_SMALL)
    for headers in (
        b"X-Long: " + b"x" * 200_000 + b"\r\n",
        b"".join(b"X-%d: x\r\n" % number for number in range(200)),
    ):
        with closing(socket.create_connection(("127.0.0.1", server.port), 20)) as connection:
            request = (
                b"GET /api/metadata/taskdefs HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n"
            )
            try:
                connection.sendall(request)
            except (BrokenPipeError, ConnectionResetError):
                continue
            assert connection.recv(100).startswith(b"HTTP/1.1 431")
    assert status(server.client, start(server.client, 1)) == "RUNNING"


def test_redis_that_hangs_is_503_quickly_for_many_clients_at_once(deployment: Deployment) -> None:
    try:
        redis = start_redis(append_only=True)
    except Unobtainable as error:
        absent(str(error))
    try:
        _hang(deployment, redis)
    finally:
        redis.stop()


def _hang(deployment: Deployment, redis: RedisServer) -> None:
    shared = ("--redis", redis.url, "--data", str(deployment.folder / "data"))
    brief = ("--set", "conductor.redis.commandTimeout=1s", *_SMALL)
    server = deployment.serve(Api(deployment.folder / "api", "api", *shared, *brief))
    with redis.client() as client:
        pid = client.info("server")["process_id"]
    os.kill(pid, signal.SIGSTOP)
    try:
        with Stalls() as stalls:
            answers = _together(server, 60)
        assert {answer.status for answer, _ in answers} == {503}
        assert all(int(answer.headers["retry-after"]) >= 1 for answer, _ in answers)
        # Whoever has a turn waits for Redis (twice its timeout), the others for a turn.
        assert max(took for _, took in answers) < 6 + stalls.longest_s
        assert sorted(took for _, took in answers)[len(answers) // 2] < 2 + stalls.longest_s
        with Stalls() as stalls:
            known = [took for _, took in _together(server, 30)]
        known_soon = 1 + stalls.longest_s
        assert sorted(known)[len(known) // 2] < known_soon, "it knows that Redis is away"
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: ask(server, "POST", "/api/workflow", _body()).status == 200, what="it is back")


def _together(server: Api, clients: int) -> list[tuple[Answer, float]]:
    """One request of each of so many clients at the same time, with the seconds it took."""
    answers: list[tuple[Answer, float]] = []

    def one() -> None:
        began = time.monotonic()
        answer = ask(server, "GET", "/api/workflow/000b46ff-7ba5-e45d-b3c9-8cd1665bf7dd")
        answers.append((answer, time.monotonic() - began))

    threads = [threading.Thread(target=one) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == clients
    return answers
