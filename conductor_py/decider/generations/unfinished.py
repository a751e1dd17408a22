"""Recoveries that have not come to their target yet, and what an end that cuts one off leaves to
the next.
"""

from __future__ import annotations

from conductor_py.decider.workspace import Workspace
from conductor_py.model.execution import NO_LOOP, Attempt, Walk


def is_ahead(ws: Workspace, walk: Walk) -> bool:
    """Whether the task that a recovery begins with has yet to run in this generation, or a child
    that began anew has yet to be waited for.
    """
    if walk.kind == "take_back":
        return True  # it waits when all that followed is taken back
    if walk.kind != "revive" or walk.scope or not (walk.target or walk.ref):
        return False
    newest = newest_at_target(ws, walk)
    return newest is None or newest.generation != ws.header.generation


def of_target(walk: Walk, attempt: Attempt) -> str:
    """How the target of a recovery is made anew. The child that an adoption was for, which an end
    has cut off, may have ended with the parent.
    """
    if not walk.adopts:
        return "renew_target"
    if not walk.cut_off:
        return "adopt"
    return "resume_child" if walk.resumes or attempt.status.successful else "renew_target"


def newest_at_target(ws: Workspace, walk: Walk) -> Attempt | None:
    """The newest attempt at the place of a walk's target."""
    target = ws.attempt(walk.target) if walk.target else None
    ref, vector = (target.ref, target.vector) if target is not None else (walk.ref, NO_LOOP)
    seq = ws.newest(ref, vector)
    return ws.attempt(seq) if seq else None
