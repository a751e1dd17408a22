"""The dice of ids in `make test`."""

import pytest

from conductor_py.engine.machine import REAL_MACHINE
from tests.drawn_ids import drawn_from


def _drawn(seed: str) -> list[str]:
    with drawn_from(seed):
        return [REAL_MACHINE.token(size) for size in (16, 16, 8)]


def test_the_same_seed_draws_the_same_ids_and_another_one_others() -> None:
    first = _drawn("1 a")
    assert [len(token) for token in first] == [32, 32, 16]
    assert len(set(first)) == 3
    assert _drawn("1 a") == first
    assert not set(first) & set(_drawn("2 a") + _drawn("1 b"))


def test_a_test_has_the_ids_of_its_name_and_of_the_seed(
    request: pytest.FixtureRequest, run_seed: int
) -> None:
    expected = _drawn(f"{run_seed} {request.node.nodeid}")
    assert [REAL_MACHINE.token(size) for size in (16, 16, 8)] == expected
