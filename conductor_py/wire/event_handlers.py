"""The forms of event handlers and of what they did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.event_handlers import ActionStatus, ActionType, EventAction, EventHandler
from conductor_py.wire.fields import (
    Choice,
    Flag,
    Kept,
    Many,
    NumberOrText,
    Payload,
    Text,
    TextMap,
    Whole,
    WireSchema,
    load,
)

EVALUATORS = ("javascript", "graaljs", "value-param")
"""What can evaluate a condition."""

_MAX_NAME = 500
_MAX_ACTIONS = 100
_MAX_LIST = 1_000
_MAX_BYTES = 256 * 1024
"""Of a handler: each is read for each message of its event."""


class StartWorkflowActionForm(WireSchema):
    """Start a workflow; every text may hold expressions over the message."""

    name = Text(required=True)
    version = NumberOrText()
    correlation_id = Text()
    input = Payload()
    task_to_domain = TextMap()


class TaskDetailsForm(WireSchema):
    """Complete or fail a task, named by its id or by its workflow and reference."""

    workflow_id = Text()
    task_ref_name = Text()
    task_id = Text()
    output = Payload()
    reason_for_incompletion = Text()


class TerminateWorkflowForm(WireSchema):
    """End a workflow."""

    workflow_id = Text(required=True)
    termination_reason = Text()


class UpdateWorkflowVariablesForm(WireSchema):
    """Change variables of a workflow; with ``appendArray`` lists grow instead of being replaced."""

    workflow_id = Text(required=True)
    variables = Payload(required=True)
    append_array = Flag()


_START, _TASK = StartWorkflowActionForm(), TaskDetailsForm()
_TERMINATE, _UPDATE = TerminateWorkflowForm(), UpdateWorkflowVariablesForm()


class EventHandlerActionForm(WireSchema):
    """One action: its type, and an object that is named after the type."""

    action = Choice(ActionType, make=ActionType, required=True)
    start_workflow = Kept(lambda: _START, data_key="start_workflow")
    complete_task = Kept(lambda: _TASK, data_key="complete_task")
    fail_task = Kept(lambda: _TASK, data_key="fail_task")
    terminate_workflow = Kept(lambda: _TERMINATE, data_key="terminate_workflow")
    update_workflow_variables = Kept(lambda: _UPDATE, data_key="update_workflow_variables")
    expand_inline_json = Flag(data_key="expandInlineJSON")


_ACTION = EventHandlerActionForm()


class _Evaluator(Choice):
    """An evaluator; an empty name is none."""

    def load(self, value: Any) -> Any:  # noqa: ANN401
        return super().load(value) if value != "" else None


class EventHandlerForm(WireSchema):
    """What to do when a message of an event comes in."""

    name = Text(required=True)
    description = Text()
    event = Text(required=True)
    condition = Text()
    evaluator_type = _Evaluator(EVALUATORS)
    actions = Many(lambda: _ACTION, required=True)
    active = Flag()


class EventExecutionForm(WireSchema):
    """What became of one action of a handler on one message."""

    id = Text(required=True)
    message_id = Text(required=True)
    name = Text(required=True)
    event = Text(required=True)
    created = Whole(required=True)
    status = Choice(ActionStatus, required=True)
    action = Text()
    output = Payload()


_HANDLER, _EXECUTION = EventHandlerForm(), EventExecutionForm()

FORMS: tuple[WireSchema, ...] = (
    _HANDLER,
    _ACTION,
    _START,
    _TASK,
    _TERMINATE,
    _UPDATE,
    _EXECUTION,
)
"""The forms of this module, for the published schemas."""


def read_event_handler(body: object) -> EventHandler:
    """Read a handler, and check its form; its script is for the engine to check."""
    members: dict[str, Any] = load(_HANDLER, body)
    found = [*_named(members), *_actions(members)]
    if len(orjson.dumps(body)) > _MAX_BYTES:
        message = f"must not be larger than {_MAX_BYTES} bytes: let a message bring a large input"
        found.append(Violation(path="$", message=message))
    if found:
        raise InvalidInput(violations=tuple(found))
    actions = tuple(
        EventAction(
            action=action["action"],
            details=action[action["action"].value],
            expand_inline_json=action.get("expand_inline_json", False),
        )
        for action in members.pop("actions")
    )
    return EventHandler(actions=actions, **members)


def read_event_handlers(body: object) -> tuple[EventHandler, ...]:
    """Read one handler, or the list of them that some clients send; all, or none."""
    if not isinstance(body, list):
        return (read_event_handler(body),)
    if len(body) > _MAX_LIST:
        message = f"must not hold more than {_MAX_LIST} event handlers"
        raise InvalidInput(violations=(Violation(path="$", message=message),))
    found: list[Violation] = []
    handlers = []
    for at, each in enumerate(body):
        try:
            handlers.append(read_event_handler(each))
        except InvalidInput as wrong:
            found += [replace(one, path=f"$[{at}]{one.path[1:]}") for one in wrong.violations]
    names = [handler.name for handler in handlers]
    found += [
        Violation(path=f"$[{at}].name", message=f"'{handler.name}' stands in the list twice")
        for at, handler in enumerate(handlers)
        if handler.name in names[:at]
    ]
    if found:
        raise InvalidInput(violations=tuple(found))
    return tuple(handlers)


def _named(members: Mapping[str, Any]) -> list[Violation]:
    found = []
    for member in ("name", "event"):
        value = members[member]
        if not value.strip() or len(value) > _MAX_NAME or not value.isprintable():
            message = f"must be printable, not empty and not longer than {_MAX_NAME} characters"
            found.append(Violation(path=f"$.{member}", message=message, invalid_value=value[:200]))
    provider, _, queue = members["event"].partition(":")
    if not found and not (provider and queue):
        message = "must be of the form '<provider>:<queue>'"
        found.append(Violation(path="$.event", message=message, invalid_value=members["event"]))
    return found


def _actions(members: Mapping[str, Any]) -> list[Violation]:
    actions = members["actions"]
    if not 0 < len(actions) <= _MAX_ACTIONS:
        message = f"must hold at least one action, and not more than {_MAX_ACTIONS}"
        return [Violation(path="$.actions", message=message)]
    found = []
    for index, action in enumerate(actions):
        kind: ActionType = action["action"]
        details = action.get(kind.value)
        path = f"$.actions[{index}].{kind.value}"
        if details is None:
            found.append(Violation(path=path, message="must be given"))
        elif kind in _TARGETED and not _targeted(details):
            message = "must hold taskId, or workflowId and taskRefName"
            found.append(Violation(path=path, message=message))
    return found


_TARGETED = frozenset({ActionType.COMPLETE_TASK, ActionType.FAIL_TASK})


def _targeted(details: Mapping[str, Any]) -> bool:
    return bool(details.get("taskId")) or all(map(details.get, ("workflowId", "taskRefName")))
