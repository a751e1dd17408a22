"""Whether the search server is there, asked by many, is asked of it seldom."""

from __future__ import annotations

import threading

import pytest

from conductor_py.adapters.elasticsearch import liveness
from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings
from conductor_py.adapters.elasticsearch.liveness import Liveness, asked
from conductor_py.errors import StoreUnavailable
from tests.services.ports import free_port
from tests.waiting import PATIENCE_S, until


class Server:
    """Counts questions, and may hang or be away."""

    def __init__(self) -> None:
        self.questions = 0
        self.away = ""
        self.goes_on = threading.Event()
        self.goes_on.set()

    def __call__(self) -> None:
        self.questions += 1
        assert self.goes_on.wait(PATIENCE_S)
        if self.away:
            raise StoreUnavailable(self.away)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "_WAIT_S", PATIENCE_S)


def test_it_is_asked_once_in_a_while_however_often_people_ask() -> None:
    server, now = Server(), [0.0]
    alive = Liveness(server, monotonic=lambda: now[0])
    for _ in range(50):
        alive.check()
    assert server.questions == 1
    now[0] = 6.0
    server.away = "nobody listens"

    def is_away() -> bool:
        try:
            alive.check()
        except StoreUnavailable as away:
            return away.message == "nobody listens"
        return False

    until(is_away)
    assert server.questions == 2


def test_one_that_hangs_is_waited_for_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "_WAIT_S", 0.01)
    server = Server()
    server.goes_on.clear()
    alive = Liveness(server)
    for _ in range(5):
        with pytest.raises(StoreUnavailable, match="has not answered yet"):
            alive.check()
    assert server.questions == 1
    server.goes_on.set()


def test_a_server_that_is_not_there_is_away() -> None:
    settings = ElasticsearchSettings(urls=(f"http://127.0.0.1:{free_port()}",))
    with pytest.raises(StoreUnavailable, match="does not answer"):
        Liveness(asked(settings)).check()
