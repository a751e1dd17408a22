"""Layouts of codes: what they hold, how they are read, and what is refused."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.model.codes import DEFAULT_LAYOUT, EPOCH_MS, CodeLayout, layout_from

_NOW = 1_800_000_000_000


@st.composite
def layouts(draw: st.DrawFn) -> CodeLayout:
    worker = draw(st.integers(1, 12))
    sequence = draw(st.integers(1, 63 - worker - 1))
    time = draw(st.integers(1, 63 - worker - sequence))
    return CodeLayout(
        time_bits=time,
        worker_bits=worker,
        sequence_bits=sequence,
        epoch_ms=draw(st.integers(0, _NOW)),
    )


@st.composite
def minted(draw: st.DrawFn, layout: CodeLayout) -> tuple[int, int, int]:
    """A time, a worker's number and a sequence number that a layout has."""
    return (
        draw(st.integers(layout.epoch_ms, layout.last_ms)),
        draw(st.integers(0, layout.workers - 1)),
        draw(st.integers(0, layout.per_ms - 1)),
    )


@given(data=st.data(), layout=layouts())
def test_a_code_says_what_it_was_made_of(data: st.DataObject, layout: CodeLayout) -> None:
    at_ms, worker, sequence = data.draw(minted(layout))

    code = layout.code(at_ms, worker, sequence)

    told = (layout.time_of(code), layout.worker_of(code), layout.sequence_of(code))
    assert told == (at_ms, worker, sequence)
    assert 0 <= code < 1 << layout.bits
    assert layout.parse(code) == layout.parse(str(code)) == code


@given(data=st.data(), layout=layouts())
def test_codes_are_ordered_by_time_then_worker_then_sequence(
    data: st.DataObject, layout: CodeLayout
) -> None:
    one, other = data.draw(minted(layout)), data.draw(minted(layout))
    assert (layout.code(*one) < layout.code(*other)) == (one < other)


@given(data=st.data(), layout=layouts())
def test_a_range_of_times_is_a_range_of_codes(data: st.DataObject, layout: CodeLayout) -> None:
    at_ms, worker, sequence = data.draw(minted(layout))
    near = st.integers(-2, 2).map(lambda away: at_ms + away)
    begin, end = (data.draw(st.one_of(near, st.integers(0, 2 * _NOW))) for _ in range(2))

    code = layout.code(at_ms, worker, sequence)

    is_in_range = layout.first_at(begin) <= code < layout.first_at(end)
    assert is_in_range == (begin <= at_ms < end)


def test_the_default_is_exact_in_json_and_lasts_until_2090() -> None:
    assert str(DEFAULT_LAYOUT) == "41/6/6"
    assert (DEFAULT_LAYOUT.bits, DEFAULT_LAYOUT.workers, DEFAULT_LAYOUT.per_ms) == (53, 64, 64)
    assert DEFAULT_LAYOUT.is_exact_in_json
    largest = DEFAULT_LAYOUT.code(DEFAULT_LAYOUT.last_ms, 63, 63)
    assert int(float(largest)) == largest == 2**53 - 1
    assert datetime.fromtimestamp(EPOCH_MS / 1000, UTC) == datetime(2021, 1, 1, tzinfo=UTC)
    assert datetime.fromtimestamp(DEFAULT_LAYOUT.last_ms / 1000, UTC).year == 2090


def test_a_code_of_63_bits_is_not_exact_in_json() -> None:
    layout = layout_from("41/10/12")
    assert (layout.bits, layout.workers, layout.per_ms) == (63, 1024, 4096)
    assert not layout.is_exact_in_json
    code = layout.code(_NOW, 1023, 4095)
    assert int(float(code)) != code


@pytest.mark.parametrize("text", ["41/6/6", " 41 / 10 / 12 ", "1/1/1"])
def test_a_layout_is_read_as_it_is_written(text: str) -> None:
    assert str(layout_from(text)) == text.replace(" ", "")


@pytest.mark.parametrize(
    "text",
    [
        *("", "41", "41/6", "41/6/6/1", "0/6/6", "41/0/6", "41/6/0", "41/11/12", "30/13/6"),
        *("-1/6/6", "a/b/c", "4 1/6/6", "\N{ARABIC-INDIC DIGIT FOUR}/6/6", "999/1/1"),
    ],
)
def test_what_is_no_layout_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(ValueError, match="bits of time, worker and sequence such as 41/6/6"):
        layout_from(text)


@pytest.mark.parametrize(
    ("at_ms", "worker", "sequence"),
    [
        (EPOCH_MS - 1, 0, 0),
        (DEFAULT_LAYOUT.last_ms + 1, 0, 0),
        (_NOW, -1, 0),
        (_NOW, 64, 0),
        (_NOW, 0, -1),
        (_NOW, 0, 64),
    ],
)
def test_a_part_that_does_not_fit_is_refused(at_ms: int, worker: int, sequence: int) -> None:
    with pytest.raises(ValueError, match="is no"):
        DEFAULT_LAYOUT.code(at_ms, worker, sequence)


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "-1", "+1", "01", "1 ", "1.0", "1e3", "0x1", "one", "\N{SUPERSCRIPT TWO}"),
        *(str(2**53), "9" * 19, "9" * 5_000, "\N{ARABIC-INDIC DIGIT FOUR}", "1\n"),
        *(-1, 2**53, True),
    ],
)
def test_what_is_no_code_is_not_read(value: str | int) -> None:
    assert DEFAULT_LAYOUT.parse(value) is None


@pytest.mark.parametrize("value", ["0", 0, str(2**53 - 1), 2**53 - 1])
def test_codes_are_read_as_decimals_and_as_numbers(value: str | int) -> None:
    assert DEFAULT_LAYOUT.parse(value) == int(value)
