"""Conductor's query syntax: what it means, and what is refused with a position."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.errors import InvalidInput
from conductor_py.model.search import (
    EXECUTION_FIELDS,
    TASK_FIELDS,
    And,
    Between,
    Matches,
    Missing,
    Not,
    OneOf,
    Or,
    SortKey,
    Word,
    Words,
)
from conductor_py.wire.search_query import (
    MAX_LIST,
    parse_query,
    parse_sort,
)
from conductor_py.wire.search_terms import MAX_CONDITIONS, MAX_DEPTH, MAX_LENGTH, MAX_STARS


def parsed(text: str):
    return parse_query(text, EXECUTION_FIELDS)


def one(field: str, *values: str | int) -> OneOf:
    return OneOf(field=field, values=values)


def refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        parsed(text)
    (violation,) = refused.value.violations
    assert violation.path == "$.query"
    return violation.message


A, B, C = one("status", "A"), one("status", "B"), one("status", "C")


@pytest.mark.parametrize("text", [None, "", "  "])
def test_no_query_asks_for_everything(text):
    assert parse_query(text, EXECUTION_FIELDS) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status=A AND status=B OR status=C", Or(terms=(And(terms=(A, B)), C))),
        ("status=A OR status=B AND status=C", Or(terms=(A, And(terms=(B, C))))),
        ("status=A AND (status=B OR status=C)", And(terms=(A, Or(terms=(B, C))))),
        ("(status=A AND status=B) OR status=C", Or(terms=(And(terms=(A, B)), C))),
        ("((status=A))", A),
        ("status=A and status=B or status=C", Or(terms=(And(terms=(A, B)), C))),
        ("  status  =  A\n AND\tstatus=B ", And(terms=(A, B))),
        ("(status=A)AND(status=B)", And(terms=(A, B))),
    ],
)
def test_and_binds_tighter_than_or_and_parentheses_say_otherwise(text, expected):
    assert parsed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("workflowType=orders", one("workflowType", "orders")),
        ("workflowType='two words'", one("workflowType", "two words")),
        ('workflowType="it\'s"', one("workflowType", "it's")),
        (r"workflowType='it\'s'", one("workflowType", "it's")),
        (r"workflowType='C:\temp'", one("workflowType", r"C:\temp")),
        (r"workflowType='a\*b'", one("workflowType", "a*b")),
        (r"workflowType='a\\'", one("workflowType", "a\\")),
        ("correlationId=abc==", one("correlationId", "abc==")),
        ("correlationId=AND", one("correlationId", "AND")),
        ("correlationId=a:b/c-d.e", one("correlationId", "a:b/c-d.e")),
        ("correlationId=17", one("correlationId", "17")),
        ("version=3", one("version", 3)),
        ("version='3'", one("version", 3)),
        ("priority=-1", one("priority", -1)),
    ],
)
def test_values_are_read_quoted_and_unquoted(text, expected):
    assert parsed(text) == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("workflowType=ord*", ("ord", "")),
        ("workflowType='*ord'", ("", "ord")),
        ("workflowType=a*b*c", ("a", "b", "c")),
        (r"workflowType='a\**'", ("a*", "")),
        ("workflowType STARTS_WITH ord", ("ord", "")),
        (r"workflowType STARTS_WITH 'a\*'", ("a*", "")),
    ],
)
def test_a_star_stands_for_anything_unless_escaped(text, parts):
    assert parsed(text) == Matches(field="workflowType", parts=parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status IN (A,B)", one("status", "A", "B")),
        ("status in ( 'A' , \"B\",C)", one("status", "A", "B", "C")),
        ("workflowType IN (two words, x)", one("workflowType", "two words", "x")),
        ("workflowType IN (a*)", Matches(field="workflowType", parts=("a", ""))),
        ("workflowType IN (a\\*)", one("workflowType", "a*")),
        (
            "workflowType IN (a*, b)",
            Or(terms=(one("workflowType", "b"), Matches(field="workflowType", parts=("a", "")))),
        ),
        ("version IN (1,2)", one("version", 1, 2)),
        ("status NOT IN (A)", Not(term=A)),
        ("status IN ('')", Missing(field="status")),
        ("status IN (A,'')", Or(terms=(A, Missing(field="status")))),
    ],
)
def test_lists_hold_values_in_which_a_star_stands_for_anything(text, expected):
    assert parsed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("priority>5", Between(field="priority", least=6)),
        ("priority>=5", Between(field="priority", least=5)),
        ("priority<5", Between(field="priority", most=4)),
        ("priority<=5", Between(field="priority", most=5)),
        ("priority!=5", Not(term=one("priority", 5))),
        ("priority BETWEEN 1 AND 5 AND status=A",
         And(terms=(Between(field="priority", least=1, most=5), A))),
        ("startTime>1700000000000", Between(field="startTime", least=1_700_000_000_001)),
        ("startTime>='2023-11-14T22:13:20.000Z'",
         Between(field="startTime", least=1_700_000_000_000)),
        ("startTime>=2023-11-14T22:13:20", Between(field="startTime", least=1_700_000_000_000)),
        ("startTime>=2023-11-14T23:13:20.5+01:00",
         Between(field="startTime", least=1_700_000_000_500)),
        ("startTime<1970-01-02", Between(field="startTime", most=86_399_999)),
        ("startTime=0", one("startTime", 0)),
    ],
)  # fmt: skip
def test_numbers_and_times_compare(text, expected):
    assert parsed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("correlationId IS NULL", Missing(field="correlationId")),
        ("correlationId is not null", Not(term=Missing(field="correlationId"))),
        ('parentWorkflowId=""', Missing(field="parentWorkflowId")),
        ("parentWorkflowId!=''", Not(term=Missing(field="parentWorkflowId"))),
        ("correlationId=*", Not(term=Missing(field="correlationId"))),
        ("correlationId STARTS_WITH ''", Not(term=Missing(field="correlationId"))),
    ],
)
def test_empty_and_absent_are_the_same(text, expected):
    assert parsed(text) == expected


def test_long_texts_compare_by_words():
    assert parsed("input='Ada Love*'") == Words(
        field="input", words=(Word(text="ada"), Word(text="love", prefix=True))
    )
    assert parsed("output STARTS_WITH 'Ada L'") == Words(
        field="output", words=(Word(text="ada"), Word(text="l", prefix=True))
    )


@pytest.mark.parametrize(
    ("text", "position", "sentence"),
    [
        ("workflowTyp=a", "position 1", "no field 'workflowTyp'"),
        ("status=A AND wrong=1", "position 14", "no field 'wrong'"),
        ("foo", "position 1", "no field 'foo'"),
        ("status", "the end", "expected ="),
        ("status=", "the end", "expected a value"),
        ("status=A status=B", "position 10", "expected AND, OR or the end"),
        ("status=A AND", "the end", "name of a field"),
        ("status=A OR OR status=B", "position 13", "no field 'OR'"),
        ("(status=A", "the end", "expected ')'"),
        ("status=A)", "position 9", "expected AND, OR or the end"),
        ("status='A", "position 8", "never closed"),
        ("status IN A", "position 11", "expected '('"),
        ("status IN ()", "position 12", "expected a value"),
        ("status IN (A", "the end", "expected ',' or ')'"),
        ("status IN (A B)", "position 14", "expected ',' or ')'"),
        ("workflowId NOT IN (a, b c)", "position 25", "expected ',' or ')'"),
        ("status IN (A,)", "position 14", "expected a value"),
        ("status NOT A", "position 12", "expected IN"),
        ("status IS A", "position 11", "expected NULL"),
        ("status LIKE A", "position 8", "expected ="),
        ("status>A", "position 8", "is text"),
        ("priority=high", "position 10", "whole number"),
        ("priority=1*", "position 10", "does not apply"),
        ("priority>1e3", "position 10", "whole number"),
        ("priority STARTS_WITH 1", "the end", "does not apply"),
        ("priority BETWEEN 1 OR 2", "position 20", "expected AND"),
        ("startTime>yesterday", "position 11", "is a time"),
        ("workflowType=two words", "position 18", "expected AND, OR or the end"),
    ],
)
def test_a_malformed_query_is_refused_with_its_position(text, position, sentence):
    message = refusal(text)
    assert f"At {position}:" in message
    assert sentence in message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("(" * (MAX_DEPTH + 1) + "status=A" + ")" * (MAX_DEPTH + 1), "nested deeper"),
        (" OR ".join(["status=A"] * (MAX_CONDITIONS + 1)), "conditions"),
        (f"status IN ({','.join('A' * (MAX_LIST + 1))})", "a list has at most"),
        (f"workflowType={'a*' * (MAX_STARS + 1)}", "stars"),
        (f"workflowType={'a' * MAX_LENGTH}", "longer than"),
    ],
)
def test_a_query_without_measure_is_refused(text, sentence):
    assert sentence in refusal(text)


def test_tasks_have_fields_of_their_own():
    assert parse_query("taskDefName=a", TASK_FIELDS) == one("taskDefName", "a")
    with pytest.raises(InvalidInput):
        parsed("taskDefName=a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ()),
        ("", ()),
        ("startTime:DESC", (SortKey(field="startTime", descending=True),)),
        ("startTime:asc", (SortKey(field="startTime"),)),
        ("startTime", (SortKey(field="startTime"),)),
        (
            "status:ASC|startTime:DESC",
            (SortKey(field="status"), SortKey(field="startTime", descending=True)),
        ),
        ("status,startTime:DESC",
         (SortKey(field="status"), SortKey(field="startTime", descending=True))),
    ],
)  # fmt: skip
def test_sort_names_fields_and_perhaps_an_order(text, expected):
    assert parse_sort(text, EXECUTION_FIELDS) == expected


@pytest.mark.parametrize("text", ["nothing:ASC", "startTime:UP", "input:ASC", ":ASC"])
def test_a_sort_that_means_nothing_is_refused(text):
    with pytest.raises(InvalidInput):
        parse_sort(text, EXECUTION_FIELDS)


_PIECES = st.lists(
    st.sampled_from(
        [
            "status", "priority", "input", "startTime", "nothing", "=", "!=", ">", "<=", "IN",
            "NOT", "BETWEEN", "IS", "NULL", "STARTS_WITH", "AND", "OR", "(", ")", ",", "'a'", "'",
            '"', "1", "a*", "\\", "2024-01-01", " ", "*",
        ]
    ),
    max_size=14,
)  # fmt: skip


@given(text=_PIECES.map(" ".join) | _PIECES.map("".join) | st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(InvalidInput):
        assert (parsed(text) is None) == (text.strip() == "")
