"""Joins and gates counted anew: what their counts would be, had all that settled been looked at
again.

decide never does this: it counts what settles, once. An audit compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator

from conductor_py.decider import outcomes
from conductor_py.decider.generations import revival
from conductor_py.decider.operators import join
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Execution, Limits, Workspace
from conductor_py.model.definitions import ORDER
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


def gates_anew(plan: Plan, execution: Execution, now_ms: int) -> Iterator[tuple[str, str]]:
    """The fields of a DAG in which something else is counted than has become of its tasks, with a
    sentence each. Nothing may wait to be decided.
    """
    ws = Workspace(plan, execution, now_ms, _NO_LIMITS)
    nodes = {ref: node.gate for ref, node in plan.nodes.items() if node.gate is not None}
    became = {ref: outcomes.outcome(ws, plan.nodes[ref]) for ref in nodes}
    known = sum(map(bool, became.values()))
    if known != execution.header.final:
        yield "h", f"of {execution.header.final} tasks the end is counted, of {known} it is known"
    told = dict.fromkeys(nodes, 0)
    leading = dict.fromkeys(nodes, 0)
    for ref, gate in nodes.items():
        for edge in gate.after:
            told[edge.post_task] += bool(became[ref])
            leading[edge.post_task] += edge.label != ORDER and not became[ref]
    for ref, gate in nodes.items():
        state = outcomes.state_of(ws, ref)
        concluded = bool(state.verdict and gate.before)
        wanted = 0 < gate.before == told[ref]
        # What somebody has forced opens again what others had only waited for.
        wanted = wanted or (concluded and gate.ordered > 0 and not leading[ref])
        if (state.told, concluded) != (told[ref], wanted):
            yield f"g:{ref}", f"{state.told} are counted ({state.verdict}), {told[ref]} have ended"
