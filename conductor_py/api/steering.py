"""Executions under way: pause, resume, skip, change, look at now, remove."""

from __future__ import annotations

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer, no_content
from conductor_py.api.front import Front, blueprint
from conductor_py.api.held import little
from conductor_py.wire.parameters import flag, text
from conductor_py.wire.steering import read_skip


def steering(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/workflow`` that act on one execution under way."""
    views = _Steering(front)
    return blueprint(
        "steering",
        "/api/workflow",
        (
            ("PUT", "/decide/<workflow_id>", little(views.decide)),
            ("PUT", "/<workflow_id>/pause", little(views.pause)),
            ("PUT", "/<workflow_id>/resume", little(views.resume)),
            ("PUT", "/<workflow_id>/skiptask/<ref>", little(views.skip)),
            ("POST", "/<workflow_id>/resetcallbacks", little(views.reset_callbacks)),
            ("POST", "/<workflow_id>/variables", little(views.variables)),
            ("DELETE", "/<workflow_id>/remove", little(views.remove)),
            ("DELETE", "/<workflow_id>/terminate-remove", little(views.terminate_and_remove)),
        ),
    )


class _Steering:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._executions = front.engine.executions
        self._steering = front.engine.steering

    def decide(self, workflow_id: str) -> Answer:
        self._steering.decide(workflow_id)
        return empty()

    def pause(self, workflow_id: str) -> Answer:
        self._steering.pause(workflow_id)
        return empty()

    def resume(self, workflow_id: str) -> Answer:
        self._steering.resume(workflow_id)
        return empty()

    def skip(self, workflow_id: str, ref: str) -> Answer:
        # Clients send the request as a body, as a query parameter that nobody reads, or not at all.
        wanted = read_skip(self._front.body_object())
        self._steering.skip(
            workflow_id, ref, task_input=wanted.task_input, task_output=wanted.task_output
        )
        return empty()

    def reset_callbacks(self, workflow_id: str) -> Answer:
        self._steering.reset_callbacks(workflow_id)
        return no_content()

    def variables(self, workflow_id: str) -> Answer:
        return json_answer(self._steering.set_variables(workflow_id, self._front.body_object()))

    def remove(self, workflow_id: str) -> Answer:
        archive = flag(request.args, "archiveWorkflow", default=True)
        self._steering.remove(workflow_id, archive=archive)
        return empty()

    def terminate_and_remove(self, workflow_id: str) -> Answer:
        archive = flag(request.args, "archiveWorkflow", default=True)
        self._executions.terminate(workflow_id, reason=text(request.args, "reason") or None)
        self._steering.remove(workflow_id, archive=archive)
        return empty()
