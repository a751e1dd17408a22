"""JSON from outside: counted before it is parsed, heavy documents one at a time."""

from __future__ import annotations

import pytest

from conductor_py.errors import Overloaded, PayloadTooLarge
from conductor_py.model.json_bounds import HEAVY_VALUES
from conductor_py.wire.outside import HeavyPlace, OutsideJson
from tests.heavy import another_has

_HEAVY = b"[" + b"[]," * HEAVY_VALUES + b"[]]"


def _reader(place: HeavyPlace) -> OutsideJson:
    return OutsideJson(place=place, wait_s=0)


@pytest.mark.parametrize(
    "document",
    [
        b"[" + b"[]," * 600 + b"[]]",
        b"[" + b"{}," * 600 + b"{}]",
        b'{"a":[' + b'"b",' * 1_200 + b'"b"]}',
        b"[" * 1_200,
    ],
)
def test_document_of_too_many_values_is_refused_before_it_is_parsed(
    document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor_py.wire.outside.orjson.loads", lambda _: pytest.fail("parsed"))
    wrong = r"The payload has more than 1000 JSON values, the limit \(conductor.limits.jsonValues\)"
    with pytest.raises(PayloadTooLarge, match=wrong):
        OutsideJson(max_values=1_000).parse(document, "The payload")


def test_heavy_document_is_refused_while_another_has_the_place_and_a_light_one_is_not() -> None:
    place = HeavyPlace()
    with another_has(place):
        with pytest.raises(Overloaded):
            _reader(place).parse(_HEAVY, "The payload")
        assert _reader(place).parse(b"[1]", "The payload") == [1]
    assert len(_reader(place).parse(_HEAVY, "The payload")) == HEAVY_VALUES + 1


def test_place_is_left_when_a_heavy_document_is_parsed_or_is_none() -> None:
    place = HeavyPlace()
    _reader(place).parse(_HEAVY, "The payload")
    assert not place.is_own
    with pytest.raises(ValueError, match="unexpected"):
        _reader(place).parse(_HEAVY[:-1], "The payload")
    assert not place.is_own


def test_heavy_document_keeps_the_place_until_the_outermost_scope_ends() -> None:
    place = HeavyPlace()
    with place.scope():
        with place.scope():
            _reader(place).parse(_HEAVY, "The payload")
        assert place.is_own
        _reader(place).parse(_HEAVY, "The payload")
    assert not place.is_own


def test_who_had_the_place_before_a_scope_has_it_afterwards() -> None:
    place = HeavyPlace()
    assert place.take(0)
    with place.scope():
        _reader(place).parse(_HEAVY, "The payload")
    assert place.is_own
    place.leave()


def test_place_that_was_given_up_within_a_scope_is_left_once() -> None:
    place = HeavyPlace()
    with place.scope():
        _reader(place).parse(_HEAVY, "The payload")
        place.leave()
        with another_has(place):
            assert not place.take(0)
    assert not place.is_own
