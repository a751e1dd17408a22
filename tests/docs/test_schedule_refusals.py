"""The page on compatibility names what a schedule is refused for and Conductor takes."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from conductor_py.errors import InvalidInput
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.schedules import read_schedule
from tests.docs.pages import page

Json = dict[str, Any]

_SECTION = page("docs/reference/compatibility.md").section("Schedules")

_START: Json = {"name": "w", "version": 1, "input": {"a": 1}, "priority": 1}
#: A schedule with every member.
RIGHT: Json = {
    "name": "s",
    "cronExpression": "0 0 6 * * *",
    "zoneId": "Europe/Berlin",
    "cronSchedules": [{"cronExpression": "0 0 7 * * MON", "zoneId": "UTC"}],
    "startWorkflowRequest": _START,
    "runCatchupScheduleInstances": True,
    "paused": True,
    "pausedReason": "not yet",
    "scheduleStartTime": 1_000,
    "scheduleEndTime": 2_000,
    "overlapPolicy": "SKIP",
    "description": "d",
    "tags": [{"key": "team", "value": "data", "type": "METADATA"}],
}
_TAG: Json = {"key": "k"}
_CRON: Json = {"cronExpression": "0 0 6 * * *"}

#: What a row says, the place that is refused, and what differs from a schedule that is taken.
CASES: list[tuple[str, str, Json]] = [
    ("no expression", "$.cronExpression", {"cronExpression": None, "cronSchedules": []}),
    ("or a wrong one", "$.cronExpression", {"cronExpression": "0 0 * * *"}),
    (
        "or a wrong one",
        "$.cronSchedules[0].cronExpression",
        {"cronSchedules": [{"cronExpression": "0 0 25 * * *"}]},
    ),
    ("a zone that there is not", "$.zoneId", {"zoneId": "Europe/Atlantis"}),
    (
        "a zone that there is not",
        "$.cronSchedules[0].zoneId",
        {"cronSchedules": [_CRON | {"zoneId": "Europe/Atlantis"}]},
    ),
    ("a name that is blank", "$.name", {"name": " "}),
    ("longer than 255 characters", "$.name", {"name": "s" * 256}),
    ("has a slash", "$.name", {"name": "a/b"}),
    ("is `search`", "$.name", {"name": "search"}),
    ("an end before the start", "$.scheduleEndTime", {"scheduleEndTime": 999}),
    ("a time before 1970", "$.scheduleStartTime", {"scheduleStartTime": -1}),
    ("a time before 1970", "$.scheduleEndTime", {"scheduleEndTime": -1}),
    ("more than 100 expressions or tags", "$.cronSchedules", {"cronSchedules": [_CRON] * 101}),
    ("more than 100 expressions or tags", "$.tags", {"tags": [_TAG] * 101}),
    ("a tag without its key", "$.tags[0].key", {"tags": [{"value": "v"}]}),
    ("an `overlapPolicy` that there is not", "$.overlapPolicy", {"overlapPolicy": "QUEUE"}),
    ("that is absent", "$.startWorkflowRequest", {"startWorkflowRequest": None}),
    ("could start nothing", "$.startWorkflowRequest.name", {"startWorkflowRequest": {}}),
    (
        "could start nothing",
        "$.startWorkflowRequest.priority",
        {"startWorkflowRequest": _START | {"priority": 100}},
    ),
    (
        "`businessTime` in it",
        "$.startWorkflowRequest.businessTime",
        {"startWorkflowRequest": _START | {"businessTime": "2026-01-01"}},
    ),
]


@pytest.mark.parametrize(
    ("row", "place", "differs"), CASES, ids=[f"{row} {place}" for row, place, _ in CASES]
)
def test_what_a_row_says_a_schedule_is_refused_for_is_refused_there(
    row: str, place: str, differs: Json
) -> None:
    assert row in _SECTION
    definitions = DefinitionReader()
    assert read_schedule(RIGHT, definitions).name == "s"
    with pytest.raises(InvalidInput) as refused:
        read_schedule(RIGHT | differs, definitions)
    assert place in [each.path for each in refused.value.violations]


#: What is in turn put in the place of each member.
_ODD: tuple[Any, ...] = (
    *(None, "", " ", "x", "a/b", "x" * 300, "0 0 6 * * *", "search", "2026-01-01"),
    *(-1, 0, 1, 99, 2**40, 2**70, 1.5, True, [], [None], ["x"], [{}] * 101),
    *({}, {"name": "w"}, {"key": 1}),
)
_PLACES = {re.sub(r"\d+", "N", place) for _, place, _ in CASES}


def _odd(value: Any) -> Iterator[Any]:
    """The value with one thing in it put in another's place."""
    if isinstance(value, dict):
        for name, member in value.items():
            for other in (*_ODD, *_odd(member)):
                yield value | {name: other}
    elif isinstance(value, list):
        for other in (*_ODD, *_odd(value[0])):
            yield [other]


def _of_another_kind(message: str) -> bool:
    """A row of its own says, in words, that kinds of values are not cast."""
    kinds = "a list|a string|an object|a whole number|true or false"
    return re.match(rf"must be (?:{kinds})|must fit into 64 bits", message) is not None


def test_every_place_that_is_refused_is_in_a_row() -> None:
    refused: dict[str, str] = {}
    for odd in _odd(RIGHT):
        try:
            read_schedule(odd, DefinitionReader())
        except InvalidInput as error:
            for each in error.violations:
                if not _of_another_kind(each.message):
                    refused.setdefault(re.sub(r"\d+", "N", each.path), each.message)
    assert {place: said for place, said in refused.items() if place not in _PLACES} == {}
