"""The fuzz program by itself: a seed repeats its steps, and what must not be answered is told.

The long run against a real server is the target `fuzz-server` of `make test-all`.
"""

from __future__ import annotations

import functools
import json
import random
import sys
import threading
from contextlib import closing
from typing import Any

import pytest

from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.api import create_app
from conductor_py.testing.bench import MemoryBench
from conductor_py.testing.engine import memory_engine
from tests.fuzz.actor import Actor
from tests.fuzz.findings import Answer, Findings, Place
from tests.fuzz.framing import Raw
from tests.fuzz.requests import Request, request
from tests.fuzz.values import MOST_NESTED, Chance, go_deep
from tests.script_processes import unhurried

_STEPS = 120
_AT = Place(actor=0, step=0)


class _Nowhere:
    """A way to nobody; keeps what was sent."""

    host = "127.0.0.1"

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, request: Request) -> Answer:
        self.sent.append(request.bytes(self.host))
        return _answer(404, b'{"status":404}')

    def send_raw(self, raw: Raw) -> Answer:
        self.sent.append(raw.sent)
        return _answer(0)

    def leave(self, request: Request) -> Answer:
        self.sent.append(request.bytes(self.host))
        return _answer(0)

    def close(self) -> None:
        """Nothing to let go of."""


class _InProcess(_Nowhere):
    """A way to an engine in this process."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._client = client

    def send(self, request: Request) -> Answer:
        super().send(request)
        answer = self._client.open(
            request.target, method=request.method, data=request.body, headers=request.headers
        )
        return _answer(answer.status_code, answer.data, **dict(answer.headers))


def _answer(status: int, body: bytes = b"", **headers: str) -> Answer:
    lower = {name.lower(): value for name, value in headers.items()}
    return Answer(status=status, headers=lower, body=body, seconds=0.0)


def _steps(seed: int, way: _Nowhere, count: int) -> Findings:
    findings = Findings()
    actor = Actor(0, seed, way, findings)
    for step in range(count):
        actor.take(step)
    return findings


def test_hostile_steps_find_nothing_in_an_engine_in_this_process() -> None:
    stop = threading.Event()
    stop.set()  # no long polls
    with unhurried(), closing(QuickJsScripts(workers=1)) as scripts:
        engine = memory_engine(bench=MemoryBench, scripts=scripts).engine
        way = _InProcess(create_app(engine, stop=stop).test_client())
        findings = _steps(1, way, _STEPS)
    assert findings.wrong == []
    assert set(findings.statuses) >= {"routes", "starts", "definitions", "polls", "steering"}


def test_values_nested_in_nested_ones_can_be_mutated_and_written() -> None:
    before = sys.getrecursionlimit()
    chance = Chance(random.Random(1))
    deep = functools.reduce(
        lambda inner, _: [inner], range(MOST_NESTED), chance.nested(MOST_NESTED)
    )
    with pytest.raises(RecursionError):
        chance.mutated(deep, 0)
    go_deep()
    try:
        assert chance.mutated(deep, 0) == deep
        assert json.dumps(deep).startswith("[" * MOST_NESTED)
    finally:
        sys.setrecursionlimit(before)


def test_a_seed_sends_the_same_again() -> None:
    first, second, other = _Nowhere(), _Nowhere(), _Nowhere()
    for seed, way in ((2, first), (2, second), (3, other)):
        _steps(seed, way, _STEPS)
    assert first.sent == second.sent
    assert first.sent != other.sent


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (_answer(500, b'{"status":500}'), "status 500"),
        (_answer(501), "status 501"),
        (_answer(503, b'{"status":503}'), "503 without Retry-After"),
        (_answer(400, b"<html>"), "an error of 400 without its envelope"),
        (_answer(0), "no answer"),
    ],
)
def test_what_must_not_be_answered_is_told_with_a_command_line(answer: Answer, told: str) -> None:
    findings = Findings()
    asked = request("starts", "POST", "/api/workflow/{}", "a b", body=json.dumps({}).encode())
    findings.answered(asked, answer, _AT, "http://127.0.0.1")
    (sentence,) = findings.wrong
    assert told in sentence
    assert "curl -i -X POST http://127.0.0.1/api/workflow/a%20b -H" in sentence


@pytest.mark.parametrize(
    "answer",
    [
        _answer(200),
        _answer(404, b'{"status":404}'),
        _answer(503, b'{"status":503}', **{"Retry-After": "1"}),
        _answer(501, b'{"status":501,"code":"READ_ONLY"}'),
    ],
)
def test_refusals_in_their_form_are_right(answer: Answer) -> None:
    findings = Findings()
    findings.answered(request("starts", "GET", "/api/x"), answer, _AT, "")
    assert findings.wrong == []


def test_what_cannot_be_read_is_right_where_the_run_has_damaged_something_and_nowhere_else() -> (
    None
):
    unread = _answer(500, b'{"status":500,"code":"STORE_DAMAGED"}')
    findings = Findings(damaged=True)
    findings.answered(request("starts", "GET", "/api/x"), unread, _AT, "")
    assert findings.wrong == []
    findings.answered(request("starts", "GET", "/api/x"), _answer(500, b"{}"), _AT, "")
    assert len(findings.wrong) == 1

    before = Findings()
    before.answered(request("starts", "GET", "/api/x"), unread, _AT, "")
    assert len(before.wrong) == 1


def test_a_kind_of_requests_that_hardly_ever_gets_through_is_told() -> None:
    findings = Findings()
    for kind, accepted in (("files", 49), ("starts", 50)):
        asked = request(kind, "GET", "/api/x")
        for number in range(500):
            answer = _answer(201) if number < accepted else _answer(404, b'{"status":404}')
            findings.answered(asked, answer, _AT, "")
    for _ in range(499):
        findings.answered(request("polls", "GET", "/api/x"), _answer(404), _AT, "")
    assert findings.least_accepted() == (0.098, "files")
