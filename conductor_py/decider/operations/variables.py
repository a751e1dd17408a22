"""Variables: merged into those of the workflow, from outside."""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.json import JsonValue


def variables(ws: Workspace, operation: Operation) -> Answer:
    """Merge; an execution that has ended keeps what it has, and none gets more than is allowed."""
    if ws.over:
        return Answer(
            operation=operation.id,
            error="CONFLICT",
            message=f"Workflow {ws.id} has ended, its variables cannot be changed.",
        )
    refused = ws.known.get("oversize:vars")
    if isinstance(refused, str):
        return Answer(operation=operation.id, error="PAYLOAD_TOO_LARGE", message=refused)
    given = operation.arguments.get("variables")
    changes = given if isinstance(given, Mapping) else {}
    present = ws.document("vars")
    if operation.arguments.get("append"):
        changes = {name: _appended(present.get(name), value) for name, value in changes.items()}
    ws.documents["vars"] = {**present, **changes}
    return Answer(operation=operation.id)


def _appended(present: JsonValue, more: JsonValue) -> JsonValue:
    """A list grows by what is given, by its elements when that is a list; anything else is
    replaced.
    """
    if not isinstance(present, (list, tuple)):
        return more
    return [*present, *(more if isinstance(more, (list, tuple)) else (more,))]
