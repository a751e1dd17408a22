"""Force success: a failed task of a DAG counts as done, because somebody says so.

What has ended never changes: the failed attempt is succeeded by one that has completed. An
execution that has ended unsuccessfully goes on in a new generation, in which what could not run
does. One that runs goes on in its own, unless something behind the task has run because it failed:
that would have to run again, and is left to the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conductor_py.decider import control, gates, outcomes, scopes
from conductor_py.decider.generations import generations
from conductor_py.decider.plan import Node
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.execution import Attempt, Walk
from conductor_py.model.requests import FORCED
from conductor_py.model.status import TaskStatus, WorkflowStatus

_LONGEST_REASON = 500


def force_success(ws: Workspace, operation: Operation) -> Answer | None:
    """Let the task ``ref`` count as done, with ``output`` or what it has; ``by`` and ``reason``
    say who wants that, and why.
    """
    ref = str(operation.arguments.get("ref") or "")
    node = ws.plan.nodes.get(ref)
    refused = _unknown(ws, ref, node)
    if refused or node is None:
        return generations.refusal(operation, "INVALID_INPUT", refused)
    if generations.waits(ws, operation):
        return None
    refused = _untimely(ws)
    if refused:
        return generations.refusal(operation, "CONFLICT", refused)
    if not ws.over and _is_telling(ws, ref):
        ws.continues.append(operation)
        return None
    seq = ws.newest(ref)
    failed = ws.attempt(seq) if seq else None
    refused = _not_failed(ws, node, failed)
    if refused or failed is None:
        return generations.refusal(operation, "CONFLICT", refused)
    too_large = ws.refused("o", ws.next_seq, ref)
    if too_large is not None:
        return generations.refusal(operation, "PAYLOAD_TOO_LARGE", too_large)
    return _force(ws, operation, node, failed)


def _is_telling(ws: Workspace, ref: str) -> bool:
    """Whether a task, or one behind it, has yet to tell, or to carry out, what became of it."""
    if ws.pending:
        return True
    steps = [step for step in ws.agenda if step.kind in {"tell", "gate", "roots"}]
    if not steps:
        return False
    region = {ref, *scopes.behind(ws.plan, (ref,))}
    return any(step.kind == "roots" or step.ref.rpartition(":")[2] in region for step in steps)


def _force(ws: Workspace, operation: Operation, node: Node, failed: Attempt) -> Answer:
    if ws.over:
        walk = Walk(kind="revive", last=ws.next_seq, target=ws.next_seq, ref=node.ref, scope=FORCED)
        generations.begin(ws, walk)
        _succeed(ws, operation, failed)
        return Answer(operation=operation.id)
    behind = gates.take_back(ws, node, failed)
    if behind:
        message = (
            f"Task {behind} has been chosen because {node.ref} failed, and would have to run again:"
            f" wait until workflow {ws.id} has ended, or terminate it."
        )
        return generations.refusal(operation, "CONFLICT", message)
    _succeed(ws, operation, failed)
    gates.settled(ws, node)
    return Answer(operation=operation.id)


def _succeed(ws: Workspace, operation: Operation, failed: Attempt) -> None:
    """Make the attempt that has completed. Nothing is checked: somebody has looked at it."""
    seq = ws.next_seq
    ws.next_seq = seq + 1
    # A recovery that was cut off may have been about to make it anew.
    ws.put(replace(failed, superseded=True, redo=0))
    attempt = Attempt(
        seq=seq,
        ref=failed.ref,
        vector=failed.vector,
        plan=failed.plan,
        type=failed.type,
        definition=failed.definition,
        status=TaskStatus.COMPLETED,
        generation=ws.header.generation,
        scheduled_at=ws.now_ms,
        first_scheduled_at=failed.first_scheduled_at,
        started_at=ws.now_ms,
        ended_at=ws.now_ms,
        retry_count=failed.retry_count,
        lost=failed.lost,
        retried_seq=failed.seq,
        root=failed.root or failed.seq,
        reason=_reason(operation),
        child=failed.child,
        followed=failed.followed,
    )
    ws.put(attempt)
    control.point(ws, attempt)
    given = operation.arguments.get("output")
    ws.documents[f"i:{seq}"] = ws.raw_document(f"i:{failed.seq}")
    ws.documents[f"o:{seq}"] = (
        given if isinstance(given, Mapping) else ws.raw_document(f"o:{failed.seq}")
    )
    if failed.type == "DO_WHILE":
        ws.states[f"j:{failed.ref}"] = None


def _reason(operation: Operation) -> str:
    by, why = operation.arguments.get("by"), operation.arguments.get("reason")
    said = f": {why}" if isinstance(why, str) and why else ""
    name = by if isinstance(by, str) and by else "an operator"
    return f"forced by {name}{said}"[:_LONGEST_REASON]


# -- refusals --------------------------------------------------------------------------------------


def _unknown(ws: Workspace, ref: str, node: Node | None) -> str:
    if not ws.plan.is_dag:
        return (
            f"Workflow {ws.id} is no DAG: retry tries again what failed, skip passes over what has"
            " not run."
        )
    if node is None:
        return f"The definition has no task '{ref}'"
    if node.loops:
        return f"Task {ref} stands in a loop: force the loop, '{node.loops[0]}'."
    return ""


def _untimely(ws: Workspace) -> str:
    if ws.status is WorkflowStatus.PAUSED:
        return f"Workflow {ws.id} is PAUSED: resume it first."
    if ws.status is WorkflowStatus.COMPLETED:
        return f"Workflow {ws.id} is COMPLETED: rerun does one of its tasks again."
    if not ws.over and ws.plan.definition.failure_strategy == "END":
        return f"Workflow {ws.id} ends on its first failure: wait until it has ended."
    return ""


def _not_failed(ws: Workspace, node: Node, attempt: Attempt | None) -> str:
    if attempt is None:
        return f"Task {node.ref} has not run: force what it waits for, or rerun from it."
    if attempt.status.successful:
        return f"Task {node.ref} is {attempt.status.value} already."
    if attempt.open or (not ws.over and outcomes.outcome(ws, node) != "FAILED"):
        return f"Task {node.ref} may still succeed: only what has failed for good can be forced."
    return ""
