"""Bodies that take much memory are parsed one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conductor_py.api import create_app, front
from conductor_py.api.admission import Admission
from conductor_py.errors import Overloaded
from conductor_py.model.json_bounds import HEAVY_VALUES, is_heavy
from tests.api.fake_engine import FakeEngine
from tests.waiting import PATIENCE_S, until

_HEAVY = b"[" + b"[]," * HEAVY_VALUES + b"[]]"
_LARGE = _HEAVY + b" " * (1 << 20)
_LIGHT = b"[" + b"1234567," * 10_000 + b"1]"


class _Site:
    """A server whose bodies are parsed when the test lets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, heavy_s: float) -> None:
        self.admission = Admission(threads=8, working=4, resting=4, wait_s=0.01, heavy_s=heavy_s)
        self.app = create_app(FakeEngine(), instance="here", admission=self.admission)
        self.parsing: list[int] = []
        self.go_on = threading.Semaphore(0)
        self.statuses: list[int] = []
        self._threads: list[threading.Thread] = []
        monkeypatch.setattr(front, "parse", self._parse)

    def _parse(self, body: bytes, **_: Any) -> list[Any]:
        self.parsing.append(len(body))
        if len(body) >= len(_HEAVY):
            assert self.go_on.acquire(timeout=PATIENCE_S)
        return [{"name": "t"}]

    def send(self, body: bytes) -> int:
        answer = self.app.test_client().post("/api/metadata/taskdefs", data=body)
        self.statuses.append(answer.status_code)
        return answer.status_code

    def send_aside(self, body: bytes) -> None:
        thread = threading.Thread(target=self.send, args=(body,))
        self._threads.append(thread)
        thread.start()

    def close(self) -> None:
        for _ in self._threads:
            self.go_on.release()
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


Make = Callable[..., _Site]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    made: list[_Site] = []

    def make(heavy_s: float = PATIENCE_S) -> _Site:
        made.append(_Site(monkeypatch, heavy_s))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("body", [_HEAVY, _LARGE], ids=["with a turn", "beside the turns"])
def test_a_heavy_body_waits_for_the_one_before_and_light_ones_do_not(
    site: Make, body: bytes
) -> None:
    at = site()
    at.send_aside(body)
    until(lambda: len(at.parsing) == 1, what="the first")
    at.send_aside(_HEAVY)
    until(lambda: at.admission.counts()["resting"] == 1, what="the second, which has no turn")
    assert at.send(_LIGHT) == 200
    assert at.parsing == [len(body), len(_LIGHT)]
    at.go_on.release()
    until(lambda: len(at.parsing) == 3, what="the second")


def test_a_heavy_body_that_waits_in_vain_is_refused_unparsed(site: Make) -> None:
    at = site(heavy_s=0.01)
    at.send_aside(_HEAVY)
    until(lambda: len(at.parsing) == 1, what="the first")
    assert at.send(_LARGE) == 503
    assert len(at.parsing) == 1
    assert at.admission.counts()["refused"] == 1
    at.go_on.release()
    until(lambda: at.statuses == [503, 200], what="the end of the first")
    at.go_on.release()
    assert at.send(_HEAVY) == 200


def test_who_waits_for_an_execution_is_heavy_no_more() -> None:
    admission = Admission(threads=2, working=1, resting=1, wait_s=PATIENCE_S, heavy_s=0.01)
    admission.be_heavy()
    admission.be_heavy()  # a second reading of the same request
    found: list[str] = []

    def another() -> None:
        try:
            admission.be_heavy()
            admission.be_light()
            found.append("had it")
        except Overloaded:
            found.append("refused")

    def beside() -> None:
        thread = threading.Thread(target=another)
        thread.start()
        thread.join(PATIENCE_S)

    beside()
    admission.rest(beside)
    assert found == ["refused", "had it"]


def test_what_is_heavy_is_counted_in_values() -> None:
    assert is_heavy(_HEAVY)
    assert not is_heavy(_LIGHT)
    assert not is_heavy(b'"' + b"a" * (12 << 20) + b'"')
