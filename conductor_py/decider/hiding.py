"""Hiding: reasons without the values of masked fields, before they are kept and go to others: the
parent, the failure workflow, who listens. An execution without masked fields pays for one look.
"""

from __future__ import annotations

from conductor_py.decider.workspace import Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.masking import Masker, values_in


def shown(ws: Workspace, reason: str, attempt: Attempt | None = None) -> str:
    """Give a reason without what stands in masked fields of the execution, and of the attempt
    that it is about.
    """
    names = ws.plan.definition.masked_fields
    if not names or not reason:
        return reason
    fields = ["input", "vars"]
    if attempt is not None:
        fields += [f"i:{attempt.seq}", f"o:{attempt.seq}"]
    documents = [ws.document(name) for name in fields]
    return Masker(value for each in documents for value in values_in(each, names)).reason(reason)
