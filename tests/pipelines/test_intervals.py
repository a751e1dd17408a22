"""Intervals against plain sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.pipelines.intervals import NOTHING, Intervals

_sets = st.sets(st.integers(0, 60), max_size=40)


@given(_sets, _sets)
def test_intervals_are_the_sets_of_their_numbers(one, other):
    a, b = Intervals.of(one), Intervals.of(other)
    assert set(a | b) == one | other
    assert set(a - b) == one - other
    assert set(a & b) == one & other
    assert len(a) == len(one)
    assert [number in a for number in range(61)] == [number in one for number in range(61)]


@given(_sets, _sets)
def test_results_are_in_the_one_form_of_their_set(one, other):
    a, b = Intervals.of(one), Intervals.of(other)
    assert a | b == Intervals.of(one | other)
    assert a - b == Intervals.of(one - other)
    assert a & b == Intervals.of(one & other)


@given(_sets)
def test_written_intervals_are_read_back(numbers):
    assert Intervals.parse(str(Intervals.of(numbers))) == Intervals.of(numbers)


@given(st.sets(st.integers(0, 10**9), min_size=65, max_size=90).filter(lambda n: len(n) > 64))
def test_packed_intervals_are_read_back_and_have_one_form(numbers):
    made = Intervals.of(numbers)
    assert Intervals.parse(made.packed()) == made
    assert Intervals.parse(made.packed()).packed() == made.packed()


def test_few_intervals_stay_readable_and_many_are_packed():
    few, many = Intervals.of(range(0, 128, 2)), Intervals.of(range(0, 130, 2))
    assert few.packed() == str(few)
    assert many.packed().startswith("z")


@pytest.mark.parametrize(
    "text", ["z", "z!!!!", "zabcde", Intervals.of(range(0, 200, 2)).packed()[:-5]]
)
def test_damaged_packed_intervals_are_refused(text):
    with pytest.raises(ValueError):
        Intervals.parse(text)


@pytest.mark.parametrize("text", ["3-1", "1,1", "1-2,3", "5,1", "x", "-1", "1-", "1--2"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match=r"interval|literal"):
        Intervals.parse(text)


def test_million_in_order_are_a_few_bytes():
    assert str(Intervals.range(0, 1_000_000) - Intervals.of([612])) == "0-611,613-999999"
    assert str(NOTHING) == ""
