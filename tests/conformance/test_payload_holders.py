"""What `PayloadHolders` promises, on every store."""

import pytest

from conductor_py.ports.payload_holders import PRESENT, Held, PayloadHolders
from tests.conformance.stores import Store


@pytest.fixture
def holders(store: Store) -> PayloadHolders:
    """The records of the store in turn."""
    return store.payload_holders


def _held(holders: PayloadHolders, path: str) -> Held:
    found = holders.read(path)
    assert found is not None
    return found


def test_who_holds_a_payload_is_read_back(holders: PayloadHolders) -> None:
    assert holders.read("p") is None
    holders.hold("a", ["p", "q"], 10)
    holders.hold("b", ["p"], 10)
    holders.hold("c", [], 10)
    assert dict(_held(holders, "p").gone_since) == {"a": PRESENT, "b": PRESENT}
    assert dict(_held(holders, "q").gone_since) == {"a": PRESENT}


def test_one_that_was_had_before_is_looked_at_when_it_was_to_be(holders: PayloadHolders) -> None:
    holders.hold("a", ["p"], 10)
    holders.hold("b", ["p", "q"], 20)
    assert holders.due(9, 9) == ()
    assert holders.due(10, 9) == ("p",)
    assert holders.due(20, 9) == ("p", "q")
    assert holders.due(20, 1) == ("p",)


def test_a_holder_lets_go_of_all_it_has(holders: PayloadHolders) -> None:
    holders.hold("a", ["p", "q"], 100)
    holders.hold("b", ["q", "r"], 100)
    assert holders.let_go("a", 5, 50) == 2
    assert dict(_held(holders, "p").gone_since) == {"a": 5}
    assert dict(_held(holders, "q").gone_since) == {"a": 5, "b": PRESENT}
    assert sorted(holders.due(50, 9)) == ["p", "q"]
    assert holders.let_go("nobody", 5, 50) == 0


def test_a_look_that_is_due_is_not_put_off_by_letting_go(holders: PayloadHolders) -> None:
    holders.hold("a", ["p"], 10)
    holders.let_go("a", 5, 50)
    assert holders.due(10, 9) == ("p",)


def test_a_holder_that_comes_again_is_there(holders: PayloadHolders) -> None:
    holders.hold("a", ["p"], 10)
    holders.let_go("a", 5, 50)
    holders.hold("a", ["p"], 10)
    assert dict(_held(holders, "p").gone_since) == {"a": PRESENT}


def test_what_a_look_found_is_noted(holders: PayloadHolders) -> None:
    holders.hold("a", ["p"], 10)
    holders.hold("b", ["p"], 10)
    assert holders.settle("p", _held(holders, "p").version, {"a": 7}, 30)
    assert dict(_held(holders, "p").gone_since) == {"a": 7, "b": PRESENT}
    assert holders.due(29, 9) == ()
    assert holders.due(30, 9) == ("p",)


@pytest.mark.parametrize("change", ["hold", "let_go", "settle"])
def test_what_changed_meanwhile_stays(holders: PayloadHolders, change: str) -> None:
    holders.hold("a", ["p"], 10)
    seen = _held(holders, "p").version
    if change == "hold":
        holders.hold("b", ["p"], 10)
    elif change == "let_go":
        holders.let_go("a", 3, 10)
    else:
        assert holders.settle("p", seen, {}, 10)
    before = _held(holders, "p")
    assert not holders.settle("p", seen, {"a": 9}, 99)
    assert not holders.drop("p", seen)
    assert _held(holders, "p") == before
    assert holders.due(10, 9) == ("p",)


def test_nothing_is_left_of_a_payload_that_was_dropped(
    holders: PayloadHolders, store: Store
) -> None:
    holders.hold("a", ["p"], 10)
    holders.hold("", ["p"], 10)
    assert holders.drop("p", _held(holders, "p").version)
    assert holders.read("p") is None
    assert holders.due(99, 9) == ()
    assert not holders.drop("p", 2)
    assert not holders.settle("p", 2, {}, 10)
    if store.connection is not None:
        assert store.keys() == []
