"""The page on compatibility names what a schedule is refused for and Conductor takes."""

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
