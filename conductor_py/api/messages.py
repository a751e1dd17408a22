"""Messages: sent to an execution for its tasks to pull."""

from __future__ import annotations

from flask import Blueprint

from conductor_py.api.answers import Answer, text
from conductor_py.api.front import Front, blueprint
from conductor_py.errors import InvalidInput, Violation


def messages(front: Front) -> Blueprint:
    """Make the endpoint ``/api/workflow/<workflow_id>/messages``."""

    def push(workflow_id: str) -> Answer:
        message = front.body()
        if not isinstance(message, dict):
            raise InvalidInput(violations=(Violation(path="$", message="must be an object"),))
        return text(front.engine.messages.push(workflow_id, message))

    return blueprint("messages", "/api/workflow", (("POST", "/<workflow_id>/messages", push),))
