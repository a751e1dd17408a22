"""The page on compatibility names what an event handler is refused for and Conductor takes."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.errors import InvalidInput
from conductor_py.model.event_handlers import ActionType
from conductor_py.ports.scripts import Scripts
from conductor_py.testing.engine import memory_engine
from conductor_py.wire.event_handlers import read_event_handler
from tests.docs.pages import page

Json = dict[str, Any]

_SECTION = page("docs/reference/compatibility.md").section("Events and notices")

_TASK: Json = {
    "workflowId": "w",
    "taskRefName": "r",
    "taskId": "t",
    "output": {"a": 1},
    "reasonForIncompletion": "x",
}
#: A handler with every member and every action.
RIGHT: Json = {
    "name": "h",
    "description": "d",
    "event": "conductor:x",
    "condition": "$.a == 1",
    "evaluatorType": "javascript",
    "active": False,
    "actions": [
        {
            "action": "start_workflow",
            "start_workflow": {
                "name": "w",
                "version": 1,
                "correlationId": "c",
                "input": {"a": "${x}"},
                "taskToDomain": {"a": "b"},
            },
            "expandInlineJSON": True,
        },
        {"action": "complete_task", "complete_task": _TASK},
        {"action": "fail_task", "fail_task": _TASK},
        {
            "action": "terminate_workflow",
            "terminate_workflow": {"workflowId": "w", "terminationReason": "x"},
        },
        {
            "action": "update_workflow_variables",
            "update_workflow_variables": {
                "workflowId": "w",
                "variables": {"a": [1]},
                "appendArray": True,
            },
        },
    ],
}


def _acting(kind: str, given: Json | None) -> Json:
    action = {"action": str(kind)} | ({} if given is None else {str(kind): given})
    return RIGHT | {"actions": [action]}


#: What a row says, the place that is refused, and a handler that is.
CASES: list[tuple[str, str, Json]] = [
    ("scripts are parsed when registered", "$.condition", RIGHT | {"condition": "$.a >"}),
    ("an evaluator that there is not", "$.evaluatorType", RIGHT | {"evaluatorType": "python"}),
    ("action `start_agent`", "$.actions[0].action", _acting("start_agent", {"name": "a"})),
    (
        "`start_workflow` without the `name` of one",
        "$.actions[0].start_workflow.name",
        _acting("start_workflow", {"version": 1}),
    ),
    ("`event` that is not `<provider>:<queue>`", "$.event", RIGHT | {"event": "conductor"}),
    ("a name or an event that is blank", "$.name", RIGHT | {"name": " "}),
    ("a name or an event that is blank", "$.event", RIGHT | {"event": " "}),
    ("not printable", "$.name", RIGHT | {"name": "a\nb"}),
    ("longer than 500 characters", "$.event", RIGHT | {"event": "a:" + "n" * 501}),
    ("an action without its type", "$.actions[0].action", RIGHT | {"actions": [{}]}),
    *(
        ("without the object that is named after it", f"$.actions[0].{kind}", _acting(kind, None))
        for kind in ActionType
    ),
    *(
        ("does not say which", f"$.actions[0].{kind}", _acting(kind, {"workflowId": "w"}))
        for kind in (ActionType.COMPLETE_TASK, ActionType.FAIL_TASK)
    ),
    *(
        ("without a `workflowId`", f"$.actions[0].{kind}.workflowId", _acting(kind, {}))
        for kind in (ActionType.TERMINATE_WORKFLOW, ActionType.UPDATE_WORKFLOW_VARIABLES)
    ),
    (
        "`update_workflow_variables` without `variables`",
        "$.actions[0].update_workflow_variables.variables",
        _acting("update_workflow_variables", {"workflowId": "w"}),
    ),
    ("`null` as an action", "$.actions[0]", RIGHT | {"actions": [None]}),
    (
        "or in `taskToDomain`",
        "$.actions[0].start_workflow.taskToDomain['a']",
        _acting("start_workflow", {"name": "w", "taskToDomain": {"a": None}}),
    ),
    ("a `description` that is no text", "$.description", RIGHT | {"description": {}}),
    ("more than 100 actions", "$.actions", RIGHT | {"actions": RIGHT["actions"] * 21}),
]


def reader(scripts: Scripts) -> Callable[[Json], object]:
    """What registers a handler, and forgets it."""
    events = memory_engine(scripts=scripts).engine.events

    def read(sent: Json) -> None:
        handler = read_event_handler(sent)
        events.register(handler)
        events.delete(handler.name)

    return read


@pytest.mark.parametrize(
    ("row", "place", "sent"), CASES, ids=[f"{row} {place}" for row, place, _ in CASES]
)
def test_what_a_row_says_a_handler_is_refused_for_is_refused_there(
    row: str, place: str, sent: Json
) -> None:
    assert row in _SECTION
    with closing(QuickJsScripts(workers=1)) as scripts:
        read = reader(scripts)
        read(RIGHT)
        with pytest.raises(InvalidInput) as refused:
            read(sent)
    assert place in [each.path for each in refused.value.violations]
