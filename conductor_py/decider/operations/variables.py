"""Variables: merged into those of the workflow, from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.json import JsonValue

_KNOWN: Final = 100


def variables(ws: Workspace, operation: Operation) -> Answer:
    """Merge; an execution that has ended keeps what it has, and none gets more than is allowed.
    What appends is done once: an event that was carried out may come again much later.
    """
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
        done = _appended_before(ws)
        if operation.id in done:
            return Answer(operation=operation.id)
        ws.documents["by:append"] = {"by": [*done, operation.id][-_KNOWN:]}
        changes = {name: _appended(present.get(name), value) for name, value in changes.items()}
    ws.documents["vars"] = {**present, **changes}
    return Answer(operation=operation.id)


def _appended_before(ws: Workspace) -> Sequence[JsonValue]:
    """The ids of the newest operations that have appended."""
    done = ws.document("by:append").get("by")
    return done if isinstance(done, (list, tuple)) else ()


def _appended(present: JsonValue, more: JsonValue) -> JsonValue:
    """A list grows by what is given, by its elements when that is a list; anything else is
    replaced.
    """
    if not isinstance(present, (list, tuple)):
        return more
    return [*present, *(more if isinstance(more, (list, tuple)) else (more,))]
