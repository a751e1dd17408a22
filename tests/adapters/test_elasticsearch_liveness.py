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


def _is_away(alive: Liveness) -> bool:
    try:
        alive.check()
    except StoreUnavailable:
        return True
    return False


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

    for _ in range(50):
        with pytest.raises(StoreUnavailable, match="nobody listens"):
            alive.check()
    assert server.questions == 2


def test_an_answer_of_an_hour_ago_says_nothing_about_now() -> None:
    server, now = Server(), [0.0]
    alive = Liveness(server, monotonic=lambda: now[0])
    alive.check()
    server.away, now[0] = "nobody listens", 3_600.0
    server.goes_on.clear()
    threading.Timer(0.1, server.goes_on.set).start()  # it answers while somebody waits
    with pytest.raises(StoreUnavailable, match="nobody listens"):
        alive.check()
    server.away, now[0] = "", 7_200.0
    alive.check()
    assert server.questions == 3


def test_an_answer_stands_for_seconds_while_the_next_question_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, now = Server(), [0.0]
    alive = Liveness(server, monotonic=lambda: now[0])
    alive.check()
    server.goes_on.clear()
    now[0] = 6.0
    monkeypatch.setattr(liveness, "_WAIT_S", 0.01)
    alive.check()  # a server may be slow
    now[0] = 12.0
    monkeypatch.setattr(liveness, "_WAIT_S", PATIENCE_S)  # nobody waits any more
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="does not answer"):
            alive.check()
    assert server.questions == 2
    server.goes_on.set()
    until(lambda: not _is_away(alive))
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
