"""Joins counted anew: what their counts would be, had all that settled been looked at again.

decide never does this: it counts what settles, once. An audit compares the two.
"""

from __future__ import annotations

from conductor_py.decider import revival
from conductor_py.decider.operators import join
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Execution, Limits, Workspace
from conductor_py.model.execution import JoinState

_NO_LIMITS = Limits()


def join_anew(
    plan: Plan, execution: Execution, now_ms: int, key: str
) -> tuple[JoinState, JoinState] | None:
    """The state of the open JOIN in the field ``key``, as it is and as it is counted anew; ``None``
    when there is none. Raises ``Missing`` when a document that it needs is stored apart.
    """
    ws = Workspace(plan, execution, now_ms, _NO_LIMITS)
    found = join.opened(ws, key)
    if found is None:
        return None
    state, attempt, spot = found
    if attempt.type != "JOIN" or attempt.generation != execution.header.generation:
        return None
    fragment = revival.fragment_before(ws, spot)
    if fragment is not None:
        return state, revival.counted(ws, spot, fragment)
    refs = tuple(join.names(ws.document(f"i:{attempt.seq}").get("joinOn")))
    return state, join.count_settled(ws, spot, refs, refs)
