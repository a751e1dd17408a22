"""Previews: what a rerun of a DAG that has ended would do, worked out without doing any of it.

A task *runs again* if it comes to it: what a choice or a failure before it will be is not known
yet, so nothing that may run is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider import gates, outcomes, scopes
from conductor_py.decider.generations import generations
from conductor_py.decider.need import Missing
from conductor_py.decider.operations.rerun import Beginning, beginning
from conductor_py.decider.plan import Node, Plan
from conductor_py.decider.workspace import Execution, Limits, Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.definitions import Relation
from conductor_py.model.event import ChildRevived, Operation
from conductor_py.model.execution import Attempt, GateState
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonValue
from conductor_py.model.requests import TASK_ONLY, RerunPreview

_NO_LIMITS = Limits()


def preview(
    plan: Plan, execution: Execution, arguments: Mapping[str, JsonValue], now_ms: int
) -> RerunPreview | Answer:
    """What the operation with these arguments would do, or why it would be refused. All fields of
    the execution must be known.
    """
    ws = Workspace(plan, execution, now_ms, _NO_LIMITS)
    found = beginning(ws, Operation(id="", name="rerun", arguments=arguments))
    if isinstance(found, Answer):
        return found
    refs = [task.task_reference_name for task in plan.definition.tasks]
    if not found.ref:
        return RerunPreview(runs_again=tuple(refs), kept=(), stale=())
    runs, ends = _divided(ws, found)
    records = {ref: record for ref in refs if (record := _record(ws, ref)) is not None}
    kept = [ref for ref in records if ref not in runs and ref not in ends]
    before = scopes.stale(plan, (each for ref, each in records.items() if ref not in ends))
    stale = {ref for ref in kept if records[ref].seq in before} | scopes.behind(plan, runs)
    return RerunPreview(
        runs_again=tuple(ref for ref in refs if ref in runs),
        kept=tuple(ref for ref in kept if ref not in stale),
        stale=tuple(ref for ref in kept if ref in stale),
    )


def parted(plan: Plan, execution: Execution, seq: int, child: ExecutionId) -> str:
    """Why the execution would not wait again for a child, which its attempt ``seq`` has waited for,
    if that began anew; empty when it would. ``Missing`` names the fields that it takes to tell.
    """
    ws = Workspace(plan, execution, 0, _NO_LIMITS)
    begun = ChildRevived(seq=seq, child=child, child_generation=0, through=execution.id)
    reason = generations.parted(ws, begun)
    return reason and (
        f"Workflow {execution.id} would not wait for its sub-workflow {child}: {reason}. Rerun the"
        " task by the id of the sub-workflow, or a task of this workflow."
    )


def _divided(ws: Workspace, found: Beginning) -> tuple[set[str], set[str]]:
    """The tasks that run again, and those that will not be reached, whatever they did before."""
    if found.scope == TASK_ONLY:
        return {found.ref}, set()
    if found.scope:
        return {found.ref, *scopes.before(ws.plan, found.ref)}, set()
    befores = scopes.leading_to(ws.plan)
    runs: set[str] = set()
    became: dict[str, str] = {}
    for ref in scopes.in_order(ws.plan):
        if ref == found.ref or not runs.isdisjoint(befores[ref]):
            runs.add(ref)
            continue
        node, record = ws.plan.nodes[ref], _record(ws, ref)
        verdict = _verdict(ws, node, befores[ref], became)
        if verdict != "RUN" and not (record is not None and outcomes.state_of(ws, ref).named):
            became[ref] = verdict
        elif record is not None and gates.is_kept(ws, node, record):
            became[ref] = "OK" if record.status.successful else "FAILED"
        else:
            runs.add(ref)
    return runs, {ref for ref, outcome in became.items() if outcome in {"SKIPPED", "BLOCKED"}}


def _verdict(ws: Workspace, node: Node, befores: list[str], became: Mapping[str, str]) -> str:
    """What the gate of a task concludes when all before it stays as it is."""
    if node.gate is None or not befores:
        return "RUN"
    tokens = [
        _token(ws, ws.plan.nodes[before], edge, became[before])
        for before in dict.fromkeys(befores)
        for edge in _edges(ws.plan.nodes[before], node.ref)
    ]
    state = GateState(generation=0, live=tokens.count("live"), blocked=tokens.count("blocked"))
    return gates.verdict_of(node.gate, state)


def _edges(node: Node, ref: str) -> list[Relation]:
    return [edge for edge in node.gate.after if edge.post_task == ref] if node.gate else []


def _token(ws: Workspace, node: Node, edge: Relation, became: str) -> str:
    if node.gate is None:
        return "dead"
    try:
        chosen = gates.choice_of(ws, node) if became == "OK" else ""
    except Missing:  # its output is large, and stored apart
        return "live"
    return gates.passed(edge, node.gate, became, chosen)


def _record(ws: Workspace, ref: str) -> Attempt | None:
    seq = ws.newest(ref)
    attempt = ws.attempt(seq) if seq else None
    return attempt if attempt is not None and not attempt.ahead else None
