"""The bodies of requests that act on executions under way: skip, and update of state."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StateUpdate, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.records import dataclass, field
from conductor_py.wire.fields import Choice, Many, One, Payload, Text, Whole, WireSchema, load
from conductor_py.wire.requests import MAX_REASON, RESULT_STATUSES, TASK_LOG, put_off_s

_NOTHING: Final[JsonObject] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRequest:
    """What a skipped task is said to have got and given."""

    task_input: JsonObject = field(default_factory=lambda: _NOTHING)
    task_output: JsonObject = field(default_factory=lambda: _NOTHING)


class SkipTaskRequestForm(WireSchema):
    """Input and output of a task that is skipped."""

    model = SkipRequest

    task_input = Payload()
    task_output = Payload()


class StateTaskResultForm(WireSchema):
    """What becomes of the task that an update of state names."""

    status = Choice(RESULT_STATUSES, make=TaskStatus)
    output_data = Payload()
    reason_for_incompletion = Text()
    callback_after_seconds = Whole()
    worker_id = Text()
    logs = Many(lambda: TASK_LOG)
    task_id = Text()
    workflow_instance_id = Text()


class WorkflowStateUpdateForm(WireSchema):
    """Variables to merge, and the result of an open task."""

    task_reference_name = Text()
    task_result = One(lambda: _STATE_RESULT)
    variables = Payload()


_SKIP: WireSchema = SkipTaskRequestForm()
_STATE_RESULT: WireSchema = StateTaskResultForm()
_STATE: WireSchema = WorkflowStateUpdateForm()

FORMS: tuple[WireSchema, ...] = (_SKIP, _STATE, _STATE_RESULT)
"""The forms of this module, for the published schemas."""


def read_skip(body: JsonObject) -> SkipRequest:
    """Read the request to skip a task."""
    found: SkipRequest = load(_SKIP, dict(body))
    return found


def read_state(body: JsonObject) -> StateUpdate:
    """Read the update of an execution's state."""
    members: dict[str, Any] = load(_STATE, dict(body))
    ref, result = members.get("task_reference_name") or "", members.get("task_result")
    if bool(ref) != bool(result):
        lacking = "taskResult" if ref else "taskReferenceName"
        message = "must be given: taskReferenceName and taskResult belong together"
        raise InvalidInput(violations=(Violation(path=f"$.{lacking}", message=message),))
    return StateUpdate(
        ref=ref,
        result=_result(result) if result else None,
        variables=members.get("variables") or _NOTHING,
    )


def _result(members: Mapping[str, Any]) -> TaskResult:
    reason = members.get("reason_for_incompletion")
    return TaskResult(
        workflow_id="",
        task_id="",
        status=members.get("status") or TaskStatus.COMPLETED,
        output=members.get("output_data") or _NOTHING,
        reason=reason[:MAX_REASON] if reason else None,
        worker=members.get("worker_id") or "",
        callback_after_s=put_off_s(members.get("callback_after_seconds")),
        logs=members.get("logs") or (),
    )
