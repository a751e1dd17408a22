"""Rerun: an execution that has ended goes on from one of its tasks, or from its beginning.

What follows the task on the static graph is forgotten and done again; what stands beside it stays
as it is, and is tried again where it had failed. Of a DAG less may be run: the task alone, or with
what comes before it. Variables stay as they are now; from the beginning they are those of the
definition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from conductor_py.decider.generations import generations
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.execution import Walk
from conductor_py.model.requests import TASK_POST
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True)
class Beginning:
    """The task that a rerun begins with and its newest attempt, 0 when it has none; no reference:
    from the beginning. ``scope`` is that of ``Walk``.
    """

    ref: str = ""
    seq: int = 0
    scope: str = ""


def rerun(ws: Workspace, operation: Operation) -> Answer | None:
    """Begin a generation from the attempt ``seq`` or the reference ``ref``, with ``taskInput`` in
    place of its input; or, without either, from the beginning. ``mode`` says what runs with it,
    ``through`` by the id of which execution above this one it was asked for.
    """
    arguments = operation.arguments
    found = beginning(ws, operation)
    if isinstance(found, Answer):
        return found
    if generations.waits(ws, operation):
        return None
    if found.ref:
        _from_task(ws, operation, found)
    else:
        generations.begin_anew(ws, ws.plan)
    given, correlation = arguments.get("workflowInput"), arguments.get("correlationId")
    if isinstance(given, Mapping) and given:
        ws.documents["input"] = given
    if isinstance(correlation, str) and correlation:
        ws.header = replace(ws.header, correlation_id=correlation)
    return Answer(operation=operation.id)


def beginning(ws: Workspace, operation: Operation) -> Beginning | Answer:
    """What the operation names, or why it is refused."""
    if not ws.over:
        message = f"Workflow {ws.id} is {ws.status.value}, only one that has ended can be rerun."
        return generations.refusal(operation, "CONFLICT", message)
    seq, ref = operation.arguments.get("seq"), operation.arguments.get("ref")
    mode = str(operation.arguments.get("mode") or TASK_POST)
    if mode != TASK_POST and not ws.plan.is_dag:
        message = f"must be {TASK_POST}: only of a DAG less can be run than all behind a task"
        return _wrong(operation, "$.mode", message)
    scope = "" if mode == TASK_POST else mode
    if isinstance(seq, int):
        return _of_attempt(ws, operation, seq, scope)
    if isinstance(ref, str) and ref:
        return _of_reference(ws, operation, ref, scope)
    return Beginning()


def _of_reference(ws: Workspace, operation: Operation, ref: str, scope: str) -> Beginning | Answer:
    node = ws.plan.nodes.get(ref)
    refused = ""
    if node is None:
        refused = f"the definition has no task '{ref}'"
    elif ws.plan.is_dag and node.loops:
        refused = f"a loop of a DAG runs again as a whole: name '{node.loops[0]}'"
    else:
        newest = ws.newest(ref)
        if newest:
            return _of_attempt(ws, operation, newest, scope)
        if ws.plan.is_dag:
            return Beginning(ref=ref, scope=scope)
        refused = f"task '{ref}' has not run"
    return _wrong(operation, "$.reRunFromTaskReferenceName", refused)


def _of_attempt(ws: Workspace, operation: Operation, seq: int, scope: str) -> Beginning | Answer:
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
    return Beginning(ref=target.ref, seq=target.seq, scope=scope)


def _from_task(ws: Workspace, operation: Operation, found: Beginning) -> None:
    given = operation.arguments.get("taskInput")
    has_input = isinstance(given, Mapping) and bool(given)
    if isinstance(given, Mapping) and has_input:
        ws.documents["redo"] = given
    else:
        ws.states["redo"] = None
    walk = Walk(
        kind="revive",
        last=ws.next_seq,
        target=found.seq,
        forgets=True,
        given=has_input,
        ref=found.ref if ws.plan.is_dag else "",
        scope=found.scope,
    )
    generations.begin(ws, walk, through=str(operation.arguments.get("through") or ""))


def _wrong(operation: Operation, path: str, message: str) -> Answer:
    return generations.refusal(
        operation, "VIOLATIONS", json.dumps([{"path": path, "message": message}])
    )
