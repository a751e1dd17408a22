"""Executions taken up again or elsewhere: retry, restart, rerun, force success, jump, upgrade."""

from __future__ import annotations

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer, no_content, text
from conductor_py.api.front import Front, blueprint
from conductor_py.wire.parameters import flag
from conductor_py.wire.recovery import (
    preview_to_json,
    read_force,
    read_rerun,
    read_upgrade,
    upgrade_preview_to_json,
)

_UNFILLED = "{taskReferenceName}"
"""What the official SDKs leave in the path of a jump; they name the task in the query."""


def recovery(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/workflow`` that begin a generation, jump or upgrade."""
    views = _Recovery(front)
    return blueprint(
        "recovery",
        "/api/workflow",
        (
            ("POST", "/<workflow_id>/retry", views.retry),
            ("POST", "/<workflow_id>/restart", views.restart),
            ("POST", "/<workflow_id>/rerun", views.rerun),
            ("POST", "/<workflow_id>/tasks/<ref>/force-success", views.force_success),
            ("POST", "/<workflow_id>/jump/<ref>", views.jump),
            ("POST", "/<workflow_id>/upgrade", views.upgrade),
        ),
    )


class _Recovery:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._recovery = front.engine.recovery

    def retry(self, workflow_id: str) -> Answer:
        resume = flag(request.args, "resumeSubworkflowTasks")
        self._recovery.retry(workflow_id, resume_subworkflows=resume)
        return no_content()

    def restart(self, workflow_id: str) -> Answer:
        latest = flag(request.args, "useLatestDefinitions")
        self._recovery.restart(workflow_id, use_latest=latest)
        return no_content()

    def rerun(self, workflow_id: str) -> Answer:
        wanted = read_rerun(self._front.body_object())
        if flag(request.args, "dryRun"):
            return json_answer(preview_to_json(self._recovery.preview_rerun(workflow_id, wanted)))
        return text(self._recovery.rerun(workflow_id, wanted))

    def force_success(self, workflow_id: str, ref: str) -> Answer:
        wanted = read_force(self._front.body_object())
        self._recovery.force_success(workflow_id, ref, wanted)
        return empty()

    def jump(self, workflow_id: str, ref: str) -> Answer:
        if ref == _UNFILLED:
            ref = request.args.get("taskReferenceName") or ref
        self._recovery.jump(workflow_id, ref, self._front.body_object())
        return empty()

    def upgrade(self, workflow_id: str) -> Answer:
        wanted = read_upgrade(self._front.body_object())
        if flag(request.args, "dryRun"):
            found = self._recovery.check_upgrade(workflow_id, wanted)
            return json_answer(upgrade_preview_to_json(found))
        self._recovery.upgrade(workflow_id, wanted)
        return empty()
