"""The bodies of requests that take executions up again or elsewhere: rerun and upgrade."""

from __future__ import annotations

from typing import Any

from conductor_py.model.json import JsonObject
from conductor_py.model.requests import RerunRequest, UpgradeRequest
from conductor_py.wire.fields import Payload, Text, Whole, WireSchema, load


class RerunWorkflowRequestForm(WireSchema):
    """Where a rerun begins, and with which inputs. The path says which workflow."""

    re_run_from_workflow_id = Text(data_key="reRunFromWorkflowId")
    re_run_from_task_id = Text(data_key="reRunFromTaskId")
    task_input = Payload()
    workflow_input = Payload()
    correlation_id = Text()


class UpgradeWorkflowRequestForm(WireSchema):
    """Which version to go on under; without one the latest."""

    name = Text()
    version = Whole(least=1)
    task_output = Payload()
    workflow_input = Payload()


_RERUN: WireSchema = RerunWorkflowRequestForm()
_UPGRADE: WireSchema = UpgradeWorkflowRequestForm()

FORMS: tuple[WireSchema, ...] = (_RERUN, _UPGRADE)
"""The forms of this module, for the published schemas."""


def read_rerun(body: JsonObject) -> RerunRequest:
    """Read the request to rerun."""
    members: dict[str, Any] = load(_RERUN, dict(body))
    return RerunRequest(
        from_task=members.get("re_run_from_task_id") or "",
        task_input=members.get("task_input") or {},
        workflow_input=members.get("workflow_input") or {},
        correlation_id=members.get("correlation_id"),
    )


def read_upgrade(body: JsonObject) -> UpgradeRequest:
    """Read the request to upgrade."""
    members: dict[str, Any] = load(_UPGRADE, dict(body))
    return UpgradeRequest(
        name=members.get("name") or "",
        version=members.get("version"),
        task_output=members.get("task_output") or {},
        workflow_input=members.get("workflow_input") or {},
    )
