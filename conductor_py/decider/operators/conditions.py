"""CONDITIONS: looks at what became of the tasks before it, and chooses between its two sides.

Its edges come in labelled ``test``; those that go out are labelled ``success`` and ``failure``. The
condition is a tree; without one all of them must have succeeded:

    {"relation": "AND", "items": [{"task": "load", "status": "SUCCESS"},
                                  {"relation": "OR", "items": [...]}]}

A task that could not run, because something before it had failed, is a FAILURE; one that was not
chosen is neither.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider import control, outcomes
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.json import JsonValue
from conductor_py.model.status import TaskStatus

_MEANT = {"SUCCESS": frozenset({"OK"}), "FAILURE": frozenset({"FAILED", "BLOCKED"})}
_SHOWN = {"OK": "SUCCESS", "FAILED": "FAILURE", "BLOCKED": "FAILURE", "SKIPPED": "SKIPPED"}


def open_(ws: Workspace, spot: Spot) -> None:
    """Judge at once."""
    gate = spot.node.gate
    became = outcomes.outcomes(ws, gate.tests if gate is not None else ())
    condition = spot.node.task.input_parameters.get("condition")
    holds = _holds(condition, became) if condition else set(became.values()) <= {"OK"}
    attempt = control.create(
        ws,
        spot,
        type_="CONDITIONS",
        status=TaskStatus.COMPLETED,
        input_=spot.node.task.input_parameters,
        output={
            "conditionResult": holds,
            "statuses": {ref: _SHOWN.get(found, found) for ref, found in became.items()},
        },
    )
    control.settle(ws, spot, attempt)


def _holds(condition: JsonValue, became: Mapping[str, str]) -> bool:
    if not isinstance(condition, Mapping):
        return False
    items = condition.get("items")
    if isinstance(items, (list, tuple)):
        found = (_holds(item, became) for item in items)
        return any(found) if condition.get("relation") == "OR" else all(found)
    meant = _MEANT.get(str(condition.get("status", "SUCCESS")), frozenset())
    return became.get(str(condition.get("task"))) in meant
