"""The bodies of requests that take executions up again or elsewhere: rerun and upgrade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import (
    TASK_ONLY,
    TASK_POST,
    TASK_PRE,
    ForceRequest,
    RerunPreview,
    RerunRequest,
    UpgradeRequest,
)
from conductor_py.wire.answers import ValidationErrorForm
from conductor_py.wire.fields import (
    Choice,
    Flag,
    Many,
    Payload,
    Text,
    Texts,
    Whole,
    WireSchema,
    load,
)

MODES = (TASK_POST, TASK_ONLY, TASK_PRE)


class RerunWorkflowRequestForm(WireSchema):
    """Where a rerun begins, what of a DAG runs with it, and with which inputs. The path says which
    workflow.
    """

    re_run_from_workflow_id = Text(data_key="reRunFromWorkflowId")
    re_run_from_task_id = Text(data_key="reRunFromTaskId")
    re_run_from_task_reference_name = Text(data_key="reRunFromTaskReferenceName")
    mode = Choice(MODES)
    task_input = Payload()
    workflow_input = Payload()
    correlation_id = Text()


class ForceSuccessRequestForm(WireSchema):
    """What a failed task that counts as done is said to have given; who says so, and why."""

    output = Payload()
    by = Text()
    reason = Text()


class UpgradeWorkflowRequestForm(WireSchema):
    """Which version to go on under; without one the latest."""

    name = Text()
    version = Whole(least=1)
    task_output = Payload()
    workflow_input = Payload()


class RerunPreviewForm(WireSchema):
    """What a rerun would do: the references of the tasks that would run again, and of those that
    would not. ``stale`` are kept although what they read would be made anew.
    """

    runs_again = Texts(required=True)
    kept = Texts(required=True)
    stale = Texts(required=True)


class UpgradePreviewForm(WireSchema):
    """Whether an execution can go on under that version, and what does not map."""

    upgradable = Flag(required=True)
    validation_errors = Many(lambda: _VALIDATION_ERROR, required=True)


_VALIDATION_ERROR: WireSchema = ValidationErrorForm()
_RERUN: WireSchema = RerunWorkflowRequestForm()
_UPGRADE: WireSchema = UpgradeWorkflowRequestForm()
_FORCE: WireSchema = ForceSuccessRequestForm()

FORMS: tuple[WireSchema, ...] = (
    _RERUN,
    _UPGRADE,
    _FORCE,
    RerunPreviewForm(),
    UpgradePreviewForm(),
)
"""The forms of this module, for the published schemas."""


def read_rerun(body: JsonObject) -> RerunRequest:
    """Read the request to rerun: a task is named in one way, and what runs with it needs one."""
    members: dict[str, Any] = load(_RERUN, dict(body))
    task = members.get("re_run_from_task_id") or ""
    ref = members.get("re_run_from_task_reference_name") or ""
    if task and ref:
        raise _wrong("$.reRunFromTaskReferenceName", "must be absent: reRunFromTaskId is given")
    if "mode" in members and not (task or ref):
        raise _wrong("$.mode", "must be absent where neither task nor reference is given")
    return RerunRequest(
        from_task=task,
        from_ref=ref,
        mode=members.get("mode") or TASK_POST,
        task_input=members.get("task_input") or {},
        workflow_input=members.get("workflow_input") or {},
        correlation_id=members.get("correlation_id"),
    )


def read_force(body: JsonObject) -> ForceRequest:
    """Read the request to count a failed task as done."""
    members: dict[str, Any] = load(_FORCE, dict(body))
    return ForceRequest(
        output=members.get("output"),
        by=members.get("by") or "",
        reason=members.get("reason") or "",
    )


def preview_to_json(found: RerunPreview) -> dict[str, Any]:
    """Write what a rerun would do."""
    return {
        "runsAgain": list(found.runs_again),
        "kept": list(found.kept),
        "stale": list(found.stale),
    }


def upgrade_preview_to_json(found: Sequence[Violation]) -> dict[str, Any]:
    """Write what an upgrade would meet."""
    listed = [{"path": each.path, "message": each.message} for each in found]
    return {"upgradable": not found, "validationErrors": listed}


def _wrong(path: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message),))


def read_upgrade(body: JsonObject) -> UpgradeRequest:
    """Read the request to upgrade."""
    members: dict[str, Any] = load(_UPGRADE, dict(body))
    return UpgradeRequest(
        name=members.get("name") or "",
        version=members.get("version"),
        task_output=members.get("task_output") or {},
        workflow_input=members.get("workflow_input") or {},
    )
