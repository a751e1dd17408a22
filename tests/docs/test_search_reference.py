"""The reference of searching says what the parser takes: fields with their kinds, and operators."""

import inspect
import re
from collections.abc import Mapping

import pytest

from conductor_py.model.search import EXECUTION_FIELDS, TASK_FIELDS, FieldKind
from conductor_py.wire import search_query
from conductor_py.wire.free_text import parse_free_text
from conductor_py.wire.search_query import parse_query
from tests.docs.pages import page

_KINDS = {
    "": {FieldKind.KEYWORD, FieldKind.INTEGER},
    "times": {FieldKind.INSTANT},
    "milliseconds": {FieldKind.INTEGER},
    "long texts": {FieldKind.TEXT},
}


def _section() -> str:
    return page("docs/reference/http-api.md").section("Searching")


def _conditions() -> list[str]:
    """The left column, each condition by itself; `>=` alone stands for `field >= value`."""
    cells = re.findall(r"^\| (`.+`) \|", _section(), re.MULTILINE)
    told = [one for cell in cells for one in re.findall("`([^`]+)`", cell)]
    return [one if one.startswith("field ") else f"field {one} value" for one in told]


@pytest.mark.parametrize(
    ("of", "fields"), [("executions", EXECUTION_FIELDS), ("tasks", TASK_FIELDS)]
)
def test_every_field_is_listed_with_its_kind(of: str, fields: Mapping[str, FieldKind]) -> None:
    (listed,) = re.findall(rf"^\| {of} \| (.+) \|$", _section(), re.MULTILINE)
    names = re.findall(r"`(\w+)`", listed)
    assert sorted(names) == sorted(fields)
    for group in listed.split("; "):
        kinds = _KINDS[group.partition("`")[0].strip()]
        assert {fields[name] for name in re.findall(r"`(\w+)`", group)} <= kinds, group


def test_every_operator_is_listed() -> None:
    told = " ".join(_conditions())
    assert set(re.findall(r"[=!<>]+", told)) == set(search_query._OPERATOR.pattern.split("|"))
    taken = re.findall(r'_(?:keyword|expect)\("(\w+)"\)', inspect.getsource(search_query._Parser))
    assert set(re.findall(r"\b[A-Z_]{2,}\b", told)) | {"AND", "OR"} == set(taken)


@pytest.mark.parametrize("condition", _conditions())
def test_each_condition_that_is_listed_is_taken(condition: str) -> None:
    field = "workflowType" if "STARTS_WITH" in condition else "priority"
    words = {"field": field, "value": "1", "a": "1", "b": "2"}
    asked = re.sub(r"[a-z]+", lambda word: words[word[0]], condition)
    assert parse_query(f"{asked} AND ({asked} OR {asked})", EXECUTION_FIELDS) is not None


def test_each_search_that_is_shown_is_taken() -> None:
    free, asked = re.findall(r"^ {4}(.+)$", _section(), re.MULTILINE)
    assert parse_query(asked, EXECUTION_FIELDS) is not None
    found = parse_free_text(free, EXECUTION_FIELDS, now_ms=1_800_000_000_000)
    read = set(re.findall(r"field='(\w+)'", repr(found)))
    assert read >= {"workflowType", "status", "startTime"}
