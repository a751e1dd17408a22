"""Bodies on their way in, and JSON of many values: each has a bound, known before it is met."""

import io
import time
from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.api.bodies import PIECE, Arriving, Bodies
from conductor_py.errors import InvalidInput
from conductor_py.wire.body import parse
from tests.api.fake_engine import FakeEngine


class _Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def bodies(clock: _Clock) -> Bodies:
    return Bodies(places=4, most_bytes=1_000, piece_s=30, monotonic=clock)


def test_places_and_bytes_are_taken_and_given_back(bodies: Bodies) -> None:
    assert [bodies.take(200) for _ in range(5)] == [True, True, True, True, False]
    bodies.give_back(200)
    assert [bodies.take(401), bodies.take(400)] == [False, True]
    assert bodies.counts() == {"reading": 4, "bytes": 1_000}


def test_piece_is_late_after_its_time_and_the_next_has_its_own(
    bodies: Bodies, clock: _Clock
) -> None:
    for _ in range(2):
        with bodies.piece(7, "10.0.0.1"):
            assert not bodies.is_quiet
            clock.now += 29
            assert not bodies.late()
            clock.now += 1
            assert bodies.late() == {"10.0.0.1"}
            assert bodies.answering() == ()
        assert not bodies.late()
        assert bodies.answering() == (clock.now,)
    bodies.answered(7)
    assert (bodies.answering(), bodies.is_quiet) == ((), True)


@pytest.mark.parametrize("announced", [100, 400])
def test_time_is_short_while_half_of_the_places_or_bytes_are_taken(
    bodies: Bodies, announced: int
) -> None:
    bodies.take(announced)
    bodies.take(announced)
    assert bodies.piece_s == (30 if announced == 100 else 2)
    bodies.take(100)
    assert bodies.piece_s == 2
    bodies.give_back(100)
    bodies.give_back(announced)
    assert bodies.piece_s == 30


@pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 3 * PIECE])
@pytest.mark.parametrize("told_size", [True, False])
def test_body_is_read_whole_whatever_its_size(bodies: Bodies, size: int, told_size: bool) -> None:
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    stream = io.BytesIO(content + (b"next" if told_size else b""))
    arriving = Arriving({"wsgi.input": stream}, bodies, 1)
    assert arriving.read(size if told_size else -1) == content


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 60_000 + b"[]]",
        b"[" + b"{}," * 60_000 + b"{}]",
        b"[" + b"1," * 120_000 + b"1]",
        b'{"a":[' + b'"b",' * 120_000 + b'"b"]}',
        b"[" * 120_000,
        b'"' + b'\\"' * 10_000 + b'",' + b"," * 120_000,
    ],
)
def test_body_of_too_many_values_is_refused_before_it_is_parsed(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor_py.wire.body.orjson.loads", lambda _: pytest.fail("parsed"))
    with pytest.raises(InvalidInput, match="more than 100000 values"):
        parse(body, max_values=100_000)


@pytest.mark.parametrize(
    "text", ["a,b;[c]" * 50_000, '\\"[,' * 50_000, "\\\\" * 100_000 + ",[" * 50_000, ""]
)
def test_signs_within_strings_are_no_values(text: str) -> None:
    import json

    assert parse(json.dumps([text, 1]).encode(), max_values=1_000) == [text, 1]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_document_is_read_in_the_encoding_that_its_first_bytes_show(encoding: str) -> None:
    assert parse('{"who": "Zoë"}'.encode(encoding)) == {"who": "Zoë"}


@pytest.mark.parametrize("body", [b"\xff\xfe{", b"{\x00", b"\xef\xbb\xbf", b'\x00\x00\x00"\xd8'])
def test_what_only_begins_like_another_encoding_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="not JSON"):
        parse(body)


_ENDLESS = [b'"' * 200_001, b'"' + b'\\"' * 200_000, b'[,"\\' * 100_000]


@pytest.mark.parametrize("body", _ENDLESS)
def test_strings_that_never_end_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        parse(body + b"," * 2_000 + b"\\", max_values=1_000)


@pytest.mark.thorough(target="timing")
@pytest.mark.parametrize("body", _ENDLESS)
def test_strings_that_never_end_are_looked_through_once(body: bytes) -> None:
    began = time.process_time()
    with pytest.raises(InvalidInput):
        parse(body + b"," * 2_000 + b"\\", max_values=1_000)
    assert time.process_time() - began < 5, "a second look from each quote would take minutes"


def test_start_of_too_many_values_is_400_and_starts_nothing() -> None:
    engine = FakeEngine()
    client: Any = create_app(engine, max_values=10_000).test_client()
    body = b'{"name":"thumbs","input":{"a":[' + b"[]," * 10_000 + b"[]]}}"
    answer = client.post("/api/workflow", data=body, content_type="application/json")
    assert (answer.status_code, answer.json["code"]) == (400, "INVALID_INPUT")
    assert "10000 values" in answer.json["message"]
    assert engine.executions.started == []
