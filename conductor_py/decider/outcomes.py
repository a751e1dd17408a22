"""Outcomes: what has become of the tasks of a DAG in the present generation, as far as is known.

A task that ran is OK or FAILED; one whose gate never let it run is SKIPPED or BLOCKED
(``decider.gates`` says when).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from conductor_py.decider.need import Read
from conductor_py.decider.plan import Node
from conductor_py.decider.workspace import Workspace
from conductor_py.model.execution import Attempt, GateState

RUN: Final = "RUN"
OK: Final = "OK"
FAILED: Final = "FAILED"
SKIPPED: Final = "SKIPPED"
BLOCKED: Final = "BLOCKED"


def state_of(ws: Workspace, ref: str) -> GateState:
    """What the gate of a task has been told in this generation."""
    state = ws.state(f"g:{ref}", GateState)
    if state is None or state.generation != ws.header.generation:
        named = state is not None and state.named and ws.header.revised
        return GateState(generation=ws.header.generation, named=named)
    return state


def outcome(ws: Workspace, node: Node) -> str:
    """What became of a task: OK, FAILED, SKIPPED or BLOCKED; empty while it is not known."""
    if node.gate is None:
        return ""
    if node.gate.before or ws.header.revised:
        verdict = state_of(ws, node.ref).verdict
        if verdict != RUN and (verdict or node.gate.before):
            return verdict
    attempt = newest(ws, node)
    if attempt is None or attempt.open or attempt.ahead:
        return ""
    if attempt.redo == ws.header.generation:
        return ""  # it is about to be made anew
    return OK if attempt.status.successful else FAILED


def outcomes(ws: Workspace, refs: Iterable[str]) -> dict[str, str]:
    """What became of several tasks, by reference."""
    nodes = [ws.plan.nodes[ref] for ref in refs]
    gates = (f"g:{node.ref}" for node in nodes)
    wanted = [(name, Read(name)) for name in gates if name not in ws.states]
    pointers = (f"r:{node.ref}" for node in nodes)
    wanted += [(name, Read(f">a {name}")) for name in pointers if name not in ws.pointers]
    ws.together(wanted)
    return {node.ref: outcome(ws, node) for node in nodes}


def newest(ws: Workspace, node: Node) -> Attempt | None:
    """The newest attempt of a task, of whatever generation."""
    seq = ws.newest(node.ref)
    return ws.attempt(seq) if seq else None
