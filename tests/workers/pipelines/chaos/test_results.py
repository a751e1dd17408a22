"""Which rows of the matrix are played when there is an hour and not six."""

from __future__ import annotations

from tests.workers.pipelines.chaos.results import Result, to_play
from tests.workers.pipelines.chaos.rows import Row, Strike, rows

WHOLE = list(rows())
NOW = dict.fromkeys(Strike, "one")


def found(row: Row, *wrong: str) -> Result:
    return Result(row=str(row), wrong=wrong, left="", seconds=30, commit="1234567", code="one")


def test_a_row_that_was_right_is_left_out_and_one_that_was_wrong_is_played_again() -> None:
    right, wrong, unknown = WHOLE[:3]
    known = {str(right): found(right), str(wrong): found(wrong, "a row is missing")}

    assert set(to_play((right, wrong, unknown), known, NOW)) == {wrong, unknown}


def test_a_state_of_the_code_has_an_order_of_its_own_and_keeps_it() -> None:
    again, other = to_play(reversed(WHOLE), {}, NOW), to_play(WHOLE, {}, dict.fromkeys(NOW, "two"))

    assert again == to_play(WHOLE, {}, NOW)
    assert set(other) == set(again) == set(WHOLE)
    assert other[:50] != again[:50]


def test_an_hour_reaches_all_strikes() -> None:
    first = to_play(WHOLE, {}, NOW)[:80]

    assert {row.strike for row in first} >= set(Strike) - {Strike.TWICE}
    assert len({row.point for row in first}) > 10
