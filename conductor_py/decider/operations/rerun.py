"""Rerun: an execution that has ended goes on from one of its tasks, or from its beginning.

What follows the task on the static graph is forgotten and done again; what stands beside it stays
as it is, and is tried again where it had failed. Variables stay as they are now; from the beginning
they are those of the definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conductor_py.decider import generations
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.execution import Walk


def rerun(ws: Workspace, operation: Operation) -> Answer | None:
    """Begin a generation from the attempt ``seq``, with ``taskInput`` in place of its input; or,
    without it, from the beginning.
    """
    arguments = operation.arguments
    if not ws.over:
        message = f"Workflow {ws.id} is {ws.status.value}, only one that has ended can be rerun."
        return generations.refusal(operation, "CONFLICT", message)
    if generations.waits(ws, operation):
        return None
    seq = arguments.get("seq")
    if isinstance(seq, int):
        refused = _from_task(ws, operation, seq)
        if refused is not None:
            return refused
    else:
        generations.begin_anew(ws, ws.plan)
    given, correlation = arguments.get("workflowInput"), arguments.get("correlationId")
    if isinstance(given, Mapping) and given:
        ws.documents["input"] = given
    if isinstance(correlation, str) and correlation:
        ws.header = replace(ws.header, correlation_id=correlation)
    return Answer(operation=operation.id)


def _from_task(ws: Workspace, operation: Operation, seq: int) -> Answer | None:
    attempt = ws.attempt(seq)
    newest = ws.newest(attempt.ref, attempt.vector) if attempt is not None else 0
    target = ws.attempt(newest) if newest else None
    if target is None or target.vector != (attempt.vector if attempt else ""):
        message = f"Task {ws.id}-{seq} is not one of the present run of its workflow"
        return generations.refusal(operation, "INVALID_INPUT", message)
    if target.ahead:
        message = f"Task {ws.id}-{seq} was skipped before the workflow came to it"
        return generations.refusal(operation, "INVALID_INPUT", message)
    if ws.spot_of(target) is None:
        message = f"Task {ws.id}-{seq}: the definition has no task '{target.ref}' any more"
        return generations.refusal(operation, "INVALID_INPUT", message)
    if ws.plan.is_dag and target.vector:
        message = f"Task {ws.id}-{seq} stands in a loop of a DAG, which runs again as a whole"
        return generations.refusal(operation, "INVALID_INPUT", message)
    given = operation.arguments.get("taskInput")
    has_input = isinstance(given, Mapping) and bool(given)
    if isinstance(given, Mapping) and has_input:
        ws.documents["redo"] = given
    else:
        ws.states["redo"] = None
    walk = Walk(kind="revive", last=ws.next_seq, target=target.seq, forgets=True, given=has_input)
    generations.begin(ws, walk)
    return None
