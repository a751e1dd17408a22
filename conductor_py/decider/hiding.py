"""Hiding: reasons without the values of masked fields, before they are kept and go to others: the
parent, the failure workflow, who listens. An execution without masked fields pays for one look.
"""

from __future__ import annotations

from conductor_py.decider.workspace import Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.json import JsonObject
from conductor_py.model.masking import Masker, values_in


def shown(ws: Workspace, reason: str, attempt: Attempt | None = None) -> str:
    """Give a reason without what stands in masked fields of the execution, and of the attempt
    that it is about.
    """
    names = ws.plan.hides
    if not names or not reason:
        return reason
    masker = _of_execution(ws)
    if attempt is not None:
        own = (ws.document(f"{kind}:{attempt.seq}") for kind in "io")
        masker = masker.joined(value for each in own for value in values_in(each, names))
    return masker.reason(reason)


def _of_execution(ws: Workspace) -> Masker:
    """What takes out what the execution itself hides; one for all reasons of a decision, unless
    its variables change.
    """
    documents = ws.document("input"), ws.document("vars")
    if ws.hiding is None or not all(map(_same, documents, ws.hiding[0])):
        found = (value for each in documents for value in values_in(each, ws.plan.hides))
        ws.hiding = documents, Masker(found)
    return ws.hiding[1]


def _same(one: JsonObject, other: JsonObject) -> bool:
    return one is other or (not one and not other)
