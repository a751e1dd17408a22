"""A worker tells that it is there, a few times a lease, and nothing depends on it."""

from __future__ import annotations

import threading

import pytest

from conductor_py.sdk import Client, NotFound, ServerFailure, StoreUnavailable, Worker, worker_task
from conductor_py.sdk.presence import Presence
from tests.sdk.clock import FakeClock
from tests.sdk.stub import Reply, TaskQueue
from tests.sdk.tasks import polled
from tests.waiting import PATIENCE_S, until


class PresenceServer:
    """Answers signs of life by what was scripted, the last answer again and again."""

    def __init__(self, *answers: Exception | dict[str, object]) -> None:
        self.answers = list(answers)
        self.signs: list[dict[str, object]] = []
        self.left: list[str] = []

    def report_worker(self, sign, *, timeout_s=None):
        assert timeout_s
        self.signs.append(dict(sign))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def worker_leaves(self, worker_id, *, timeout_s=None):
        assert timeout_s
        self.left.append(worker_id)


def told(server: PresenceServer) -> Presence:
    return Presence(server, "me", lambda: {"host": "here"}, FakeClock())


def test_it_is_told_again_in_a_third_of_what_the_server_says():
    server = PresenceServer({"leaseSeconds": 30})
    assert told(server).tell() == 10_000
    assert server.signs == [{"workerId": "me", "host": "here"}]


def test_a_short_lease_is_no_reason_to_hammer():
    assert told(PresenceServer({"leaseSeconds": 1})).tell() == 1_000


@pytest.mark.parametrize("failure", [StoreUnavailable(), ServerFailure("no", status=500)])
def test_a_server_that_is_away_is_told_later(failure):
    assert told(PresenceServer(failure)).tell() == 10_000


@pytest.mark.parametrize("answer", [NotFound(), {}, {"leaseSeconds": "x"}])
def test_a_server_that_does_not_know_the_call_is_not_asked_again(answer):
    server = PresenceServer(answer)
    presence = told(server)
    presence.start()
    until(lambda: server.signs, what="it was told")
    thread = presence._thread
    assert thread is not None
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "it ends by itself"
    presence.stop()
    assert len(server.signs) == 1
    assert server.left == []


def test_a_worker_that_stops_says_farewell():
    server = PresenceServer({"leaseSeconds": 30})
    presence = told(server)
    presence.tell()
    presence.stop()
    assert server.left == ["me"]


def test_a_worker_tells_what_it_takes_and_how_busy_it_is(stub, monkeypatch):
    monkeypatch.setattr("conductor_py.sdk.presence._FAREWELL_S", PATIENCE_S)
    monkeypatch.setattr("conductor_py.sdk.presence._PATIENCE_S", PATIENCE_S)
    stub.on("POST", "/api/workers", Reply(200, {"leaseSeconds": 3}))
    stub.on("DELETE", "/api/workers", Reply(200))
    tasks = TaskQueue(stub)
    running, release = threading.Event(), threading.Event()

    @worker_task("greet", concurrency=3, domain="blue", poll_timeout_ms=50)
    def hold() -> None:
        running.set()
        release.wait(PATIENCE_S)

    tasks.put({**polled()})
    with (
        Client(stub.url, timeout_s=PATIENCE_S) as client,
        Worker(client, [hold], worker_id="me", version="1.2"),
    ):
        assert running.wait(PATIENCE_S)
        busy = until(
            lambda: [
                sign
                for sign in (request.json() for request in stub.seen("POST", "/api/workers"))
                if sign["taskTypes"][0]["running"]
            ],
            what="it tells that it is busy",
        )[0]
        release.set()

    assert busy["taskTypes"] == [
        {"taskType": "greet", "domain": "blue", "running": 1, "capacity": 3}
    ]
    assert (busy["workerId"], busy["version"]) == ("me", "1.2")
    assert busy["host"]
    assert busy["sdk"].startswith("conductor-py")
    (farewell,) = stub.seen("DELETE", "/api/workers")
    assert farewell.query == {"workerId": ["me"]}


def test_workers_of_one_process_have_ids_of_their_own(stub):
    @worker_task("greet")
    def work() -> None: ...

    with Client(stub.url) as client:
        ids = {Worker(client, [work]).worker_id for _ in range(3)}
    assert len(ids) == 3
