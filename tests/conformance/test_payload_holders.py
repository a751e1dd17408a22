"""What `PayloadHolders` promises, on every store."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from conductor_py.ports.payload_holders import PRESENT, Held, PayloadHolders
from tests.conformance.stores import Store


@pytest.fixture
def holders(store: Store) -> PayloadHolders:
    """The records of the store in turn, two payloads in them."""
    store.payload_holders.begin("p", 10)
    store.payload_holders.begin("q", 20)
    return store.payload_holders


def _held(holders: PayloadHolders, path: str) -> Held:
    found = holders.read(path)
    assert found is not None
    return found


def _of(holders: PayloadHolders, path: str) -> dict[str, int]:
    return dict(_held(holders, path).holders)


def _settle(
    holders: PayloadHolders,
    path: str,
    version: int,
    found: Mapping[str, int] | None = None,
    forgotten: Sequence[str] = (),
    **more: Any,
) -> bool:
    asked = {"check_ms": 30, **more}
    return holders.settle(path, version, found=found or {}, forgotten=forgotten, **asked)


def test_who_holds_a_payload_is_read_back(holders: PayloadHolders) -> None:
    assert holders.read("r") is None
    assert holders.hold("a", ["p", "q"])
    assert holders.hold("b", ["p"])
    assert holders.hold("c", [])
    assert _of(holders, "p") == {"a": PRESENT, "b": PRESENT}
    assert _of(holders, "q") == {"a": PRESENT}


def test_what_has_no_record_gets_none_by_being_held(holders: PayloadHolders) -> None:
    """Others that nobody wrote down may need it."""
    assert holders.hold("a", ["older", "p"])
    assert holders.read("older") is None
    assert _of(holders, "p") == {"a": PRESENT}
    assert holders.let_go("a", 5, 50) == 1
    assert holders.due(99, 9) == ("p", "q")


def test_a_record_begins_once(holders: PayloadHolders) -> None:
    holders.hold("a", ["p"])
    holders.begin("p", 99)
    assert _of(holders, "p") == {"a": PRESENT}
    assert holders.due(10, 9) == ("p",)


def test_what_is_due_is_listed_the_longest_overdue_first(holders: PayloadHolders) -> None:
    assert holders.due(9, 9) == ()
    assert holders.due(10, 9) == ("p",)
    assert holders.due(20, 9) == ("p", "q")
    assert holders.due(20, 1) == ("p",)


def test_a_holder_lets_go_of_all_it_has(holders: PayloadHolders) -> None:
    holders.begin("r", 100)
    holders.hold("a", ["p", "r"])
    holders.hold("b", ["r", "q"])
    assert holders.let_go("a", 5, 50) == 2
    assert _of(holders, "p") == {"a": 5}
    assert _of(holders, "r") == {"a": 5, "b": PRESENT}
    assert holders.due(49, 9) == ("p", "q")
    assert holders.due(50, 9) == ("p", "q", "r")
    assert holders.let_go("nobody", 5, 50) == 0


def test_a_look_that_is_due_is_not_put_off_by_letting_go(holders: PayloadHolders) -> None:
    holders.hold("a", ["p"])
    holders.let_go("a", 5, 50)
    assert holders.due(10, 9) == ("p",)


def test_a_holder_that_comes_again_is_there(holders: PayloadHolders) -> None:
    holders.hold("a", ["p"])
    holders.let_go("a", 5, 50)
    holders.hold("a", ["p"])
    assert _of(holders, "p") == {"a": PRESENT}


def test_what_a_look_found_is_noted_and_what_it_forgets_is_gone(holders: PayloadHolders) -> None:
    for name in "abc":
        holders.hold(name, ["p"])
    version = _held(holders, "p").version
    assert _settle(holders, "p", version, {"a": 7, "b": -8}, ["c", "nobody"])
    assert _of(holders, "p") == {"a": 7, "b": -8}
    assert holders.due(29, 9) == ("q",)
    assert holders.due(30, 9) == ("q", "p")
    assert holders.let_go("c", 9, 9) == 0


@pytest.mark.parametrize("change", ["hold", "let_go", "settle"])
def test_what_changed_meanwhile_stays(holders: PayloadHolders, change: str) -> None:
    holders.hold("a", ["p"])
    seen = _held(holders, "p").version
    if change == "hold":
        holders.hold("b", ["p"])
    elif change == "let_go":
        holders.let_go("a", 3, 10)
    else:
        assert _settle(holders, "p", seen, check_ms=10)
    before = _held(holders, "p")
    assert not _settle(holders, "p", seen, {"a": 9}, ["a"], check_ms=99, leaving=True)
    assert _held(holders, "p") == before
    assert holders.due(10, 9) == ("p",)


def test_what_is_leaving_is_held_by_nobody_until_it_stays(holders: PayloadHolders) -> None:
    holders.hold("a", ["p"])
    version = _held(holders, "p").version
    assert _settle(holders, "p", version, leaving=True)
    assert _held(holders, "p").leaving
    assert not holders.hold("b", ["q", "p"])
    assert _of(holders, "q") == {}
    assert _of(holders, "p") == {"a": PRESENT}
    assert _settle(holders, "p", version + 1)
    assert not _held(holders, "p").leaving
    assert holders.hold("b", ["q", "p"])


def test_nothing_is_left_of_what_was_forgotten(holders: PayloadHolders, store: Store) -> None:
    holders.hold("a", ["p", "q"])
    holders.hold("b", ["p"])
    holders.forget(["p", "q", "unknown"])
    holders.forget([])
    assert holders.read("p") is None
    assert holders.due(99, 9) == ()
    assert not _settle(holders, "p", 2)
    assert holders.let_go("a", 5, 50) == 0
    if store.connection is not None:
        assert store.keys() == []
