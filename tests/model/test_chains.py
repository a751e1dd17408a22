"""A place in a chain, as it is stored and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.model.chains import NO_CHAIN, Chain, chain_in


@given(st.integers(min_value=0, max_value=2**53), st.text(max_size=40))
def test_a_chain_reads_back(number: int, root: str) -> None:
    assert chain_in(Chain(number=number, root=root).members()) == Chain(number=number, root=root)


@pytest.mark.parametrize(
    ("stored", "chain"),
    [
        ({}, NO_CHAIN),
        ({"chain": 4}, Chain(number=4)),
        ({"chain": "4", "root": 7}, NO_CHAIN),
        ({"chain": None, "root": None}, NO_CHAIN),
    ],
)
def test_an_order_or_message_of_an_older_release_has_no_root(
    stored: dict[str, object], chain: Chain
) -> None:
    assert chain_in(stored) == chain
