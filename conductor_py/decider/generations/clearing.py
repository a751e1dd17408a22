"""Clearing: attempts that a restart has put out of sight are deleted, in pages."""

from __future__ import annotations

from conductor_py.decider.need import Read
from conductor_py.decider.workspace import Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.places import place_key


def clear(ws: Workspace, seqs: range) -> None:
    """Delete attempts that a restart has put out of sight, and what points to them."""
    ws.together((f"a:{seq}", Read(f"a:{seq}")) for seq in seqs if seq not in ws.attempts)
    for seq in seqs:
        attempt = ws.attempts.pop(seq, None) or ws.field(f"a:{seq}")
        ws.states.update(dict.fromkeys(f"{kind}:{seq}" for kind in "aciop"))
        for document in (f"i:{seq}", f"o:{seq}"):
            ws.documents.pop(document, None)
        if isinstance(attempt, Attempt):
            place = place_key(attempt.ref, attempt.vector)
            for kind in "jd":
                ws.states[f"{kind}:{place}"] = None
            ws.pointers[f"r:{attempt.ref}"] = ws.pointers[f"r:{place}"] = 0
