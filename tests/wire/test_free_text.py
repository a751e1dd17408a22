"""Free text of a search: words, and the part of Lucene's syntax that the index can answer."""

from __future__ import annotations

import pytest

from conductor_py.errors import InvalidInput
from conductor_py.model.search import (
    EXECUTION_FIELDS,
    MAX_QUERY_WORDS,
    TASK_FIELDS,
    And,
    Between,
    Matches,
    Missing,
    Not,
    OneOf,
    Or,
    Query,
    Words,
    anywhere,
    query_words,
)
from conductor_py.wire.free_text import parse_free_text
from conductor_py.wire.search_terms import MAX_CONDITIONS, MAX_DEPTH, MAX_LENGTH, MAX_STARS

NOW = 1_800_000_000_000
_HOUR = 3_600_000
_NOV_1 = 1_793_491_200_000
_DAY = 86_400_000


def read(text: str) -> Query | None:
    return parse_free_text(text, EXECUTION_FIELDS, now_ms=NOW)


def one(field: str, *values: str | int) -> OneOf:
    return OneOf(field=field, values=values)


def any_of(*terms: Query) -> Or:
    return Or(terms=terms)


def all_of(*terms: Query) -> And:
    return And(terms=terms)


def text_of(field: str, words: str) -> Words:
    return Words(field=field, words=query_words(words))


RUNNING, FAILED = one("status", "RUNNING"), one("status", "FAILED")


# ------------------------------------------------------------------------------ words


@pytest.mark.parametrize("text", ["", " ", "*", " ** \n"])
def test_nothing_and_stars_ask_for_everything(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "order_processing",
        "refund ada",
        "Refund, ADA.",
        "ord* x",
        "O'Brien",
        "x-17",
        "what (is this",
        'an odd " mark',
        "a ) b",
        "C:\\temp\\x",
        "AND",
        "OR x",
        "x AND",
        "{'customer':7}",
        "https://example.com/a?b=c",
        "customer:7",
        "Hello world!",
        "not or and",
        "a\\",
    ],
)
def test_text_that_names_no_field_is_its_words(text: str) -> None:
    assert read(text) == anywhere(text)


def test_punctuation_alone_finds_nothing() -> None:
    assert read("!?") == Words(field=None, words=())
    assert read(", ;") == Words(field=None, words=())


@pytest.mark.parametrize("text", ["a AND b", "a && b", "a b", '"a b"', "a, b", "a +b", "b a a"])
def test_words_side_by_side_must_all_occur(text: str) -> None:
    found = read(text)
    assert isinstance(found, Words)
    assert set(found.words) == set(query_words("a b"))


@pytest.mark.parametrize("text", ["timeout OR refused", "timeout || refused"])
def test_either_word_is_enough_with_or(text: str) -> None:
    assert read(text) == any_of(anywhere("timeout"), anywhere("refused"))


def test_words_are_left_out_with_not() -> None:
    assert read("timeout NOT refused") == all_of(anywhere("timeout"), Not(term=anywhere("refused")))
    assert read("(a OR b) !c") == all_of(
        any_of(anywhere("a"), anywhere("b")), Not(term=anywhere("c"))
    )


def test_too_many_words_are_refused() -> None:
    with pytest.raises(InvalidInput, match=f"at most {MAX_QUERY_WORDS} words"):
        read(" ".join(f"w{n}" for n in range(MAX_QUERY_WORDS + 1)))


def test_an_endless_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match=f"longer than {MAX_LENGTH}"):
        read("x" * (MAX_LENGTH + 1))


# ------------------------------------------------------------------------------ fields


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status:RUNNING", RUNNING),
        ("status: RUNNING", RUNNING),
        ('workflowType:"order processing"', one("workflowType", "order processing")),
        ('workflowType:"a*"', one("workflowType", "a*")),
        ("workflowName:orders", one("workflowType", "orders")),
        ("correlationId:scheduled-*", Matches(field="correlationId", parts=("scheduled-", ""))),
        (r"correlationId:a\*\:b", one("correlationId", "a*:b")),
        ("correlationId:a:b", one("correlationId", "a:b")),
        ("correlationId:*", Not(term=Missing(field="correlationId"))),
        ("_exists_:endTime", Not(term=Missing(field="endTime"))),
        ("version:2", one("version", 2)),
        ("input:(ada OR bob)", any_of(text_of("input", "ada"), text_of("input", "bob"))),
        ('output:"was refused"', text_of("output", "was refused")),
        ("status:(RUNNING FAILED)", any_of(RUNNING, FAILED)),
        ("status:(RUNNING OR FAILED)", any_of(RUNNING, FAILED)),
        ("-status:FAILED", Not(term=FAILED)),
        ("NOT status:FAILED", Not(term=FAILED)),
        ("!(status:FAILED)", Not(term=FAILED)),
        ("+status:FAILED", FAILED),
    ],
)  # fmt: skip
def test_a_field_with_its_value_is_a_condition(text: str, expected: Query) -> None:
    assert read(text) == expected


def test_many_values_of_a_field_stand_side_by_side_not_within_each_other() -> None:
    values = [f"S{number}" for number in range(MAX_CONDITIONS - 1)]
    found = read(f"status:({' '.join(values)})")
    assert found == any_of(*(one("status", value) for value in values))
    assert read("input:(a AND b c)") == any_of(
        all_of(text_of("input", "a"), text_of("input", "b")), text_of("input", "c")
    )


def test_conditions_and_words_are_joined() -> None:
    ord_star = Matches(field="workflowType", parts=("ord", ""))
    assert read("workflowType:ord* AND (status:RUNNING OR status:FAILED)") == all_of(
        ord_star, any_of(RUNNING, FAILED)
    )
    assert read("status:FAILED timeout refused") == all_of(anywhere("timeout refused"), FAILED)
    assert read("status:FAILED OR status:RUNNING AND timeout") == any_of(
        FAILED, all_of(anywhere("timeout"), RUNNING)
    )


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("startTime:[now-24h TO now]", NOW - 24 * _HOUR, NOW),
        ("startTime:{now-1d TO now+2w}", NOW - _DAY + 1, NOW + 14 * _DAY - 1),
        ("startTime:[now-90m TO *]", NOW - 90 * 60_000, None),
        ("startTime:>now-30s", NOW - 30_000 + 1, None),
        ("startTime:>=1700000000000", 1_700_000_000_000, None),
        ("startTime:<1700000000000", None, 1_700_000_000_000 - 1),
        ("modifiedTime:<=1700000000000", None, 1_700_000_000_000),
        ("startTime:[2026-11-01 TO 2026-11-02]", _NOV_1, _NOV_1 + 2 * _DAY - 1),
        ("startTime:{2026-11-01 TO 2026-11-02}", _NOV_1 + _DAY, _NOV_1 + _DAY - 1),
        ("startTime:2026-11-01", _NOV_1, _NOV_1 + _DAY - 1),
        ('startTime:["2026-11-01T00:00:00Z" TO 2026-11-01T02:00:00+01:00]', _NOV_1, _NOV_1 + _HOUR),
        ("priority:[1 TO 5}", 1, 4),
    ],
)
def test_a_range_has_ends(text: str, least: int | None, most: int | None) -> None:
    found = read(text)
    assert isinstance(found, Between)
    assert (found.least, found.most) == (least, most)


def test_a_range_without_ends_is_whatever_is_there() -> None:
    assert read("endTime:[* TO *]") == Not(term=Missing(field="endTime"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("status:", "At the end: expected a value"),
        ("(status:FAILED", "At the end: expected ')'"),
        ("status:FAILED)", "At position 14: expected a word, a condition or the end"),
        ("status:FAILED AND", "At the end: expected a word or a condition"),
        ("status:FAILED OR OR x", "At position 18: expected a word or a condition"),
        ("version:two", "'version' is a whole number"),
        ("version:1*", "'*' does not apply to the number 'version'"),
        ("startTime:yesterday", "'startTime' is a time"),
        ("startTime:now-1y", "'startTime' is a time"),
        ("startTime:[now-1h now]", "expected TO"),
        ("startTime:[now-1h TO now", "expected ']' or '}'"),
        ("workflowType:[a TO b]", "'workflowType' is text"),
        ("workflowType:>a", "'workflowType' is text"),
        ("workflowType:[* TO *]", "'workflowType' is text"),
        ("workflowType:ord?r", "'?' is no sign here"),
        ("workflowType:order~", "'~' is no sign here"),
        ("workflowType:order^2", "'^' is no sign here"),
        ("workflowType:" + "a*" * (MAX_STARS + 1), f"at most {MAX_STARS} stars"),
        ("_exists_:nothing", "there is no field 'nothing'"),
        ("(" * (MAX_DEPTH + 1) + "status:A", f"nested deeper than {MAX_DEPTH}"),
        ("NOT " * (MAX_DEPTH + 1) + "status:A", f"nested deeper than {MAX_DEPTH}"),
        (" ".join(["status:A"] * (MAX_CONDITIONS + 1)), f"more than {MAX_CONDITIONS} conditions"),
    ],
)  # fmt: skip
def test_a_condition_that_cannot_be_read_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(text)
    (found,) = refused.value.violations
    assert found.path == "$.freeText"
    assert said in found.message


def test_the_fields_are_those_of_what_is_searched() -> None:
    assert parse_free_text("taskReferenceName:a", TASK_FIELDS, now_ms=NOW) == OneOf(
        field="referenceTaskName", values=("a",)
    )
    assert read("taskReferenceName:a") == anywhere("taskReferenceName a")
