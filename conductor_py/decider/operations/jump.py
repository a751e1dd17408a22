"""Jump: a running execution goes on at a task that it has not reached yet."""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider.generations import generations
from conductor_py.decider.graph import ancestry, joining
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.execution import NO_LOOP, LoopState, Vector, Walk, vector_append
from conductor_py.model.status import WorkflowStatus


def jump(ws: Workspace, operation: Operation) -> Answer:
    """Jump to the reference ``ref``, with ``taskInput`` in place of its input.

    A conflict unless the execution is RUNNING, what stands around the task is under way, and the
    task itself has not been reached.
    """
    ref = str(operation.arguments.get("ref") or "")
    if ws.status is not WorkflowStatus.RUNNING:
        message = f"Workflow {ws.id} is {ws.status.value}, a RUNNING one can jump to a task."
        return generations.refusal(operation, "CONFLICT", message)
    if ws.plan.is_dag:
        message = f"Workflow {ws.id} is a DAG: nothing runs before what leads to it."
        return generations.refusal(operation, "CONFLICT", message)
    if ref not in ws.plan.nodes:
        message = f"The definition has no task of reference '{ref}'"
        return generations.refusal(operation, "INVALID_INPUT", message)
    if ws.header.walk or ws.state("walk", Walk) is not None:
        message = f"Workflow {ws.id} is under way to another task; try again."
        return generations.refusal(operation, "CONFLICT", message)
    vector = _vector(ws, ref)
    obstacle = _obstacle(ws, ref, vector)
    if vector is None or obstacle is not None:
        return generations.refusal(operation, "CONFLICT", obstacle or "")
    given = operation.arguments.get("taskInput")
    has_input = isinstance(given, Mapping) and bool(given)
    if isinstance(given, Mapping) and has_input:
        ws.documents["redo"] = given
    walk = Walk(kind="jump", last=ws.next_seq, ref=ref, vector=vector, given=has_input)
    ws.states["walk"] = walk
    ws.agenda.append(Step("jump", ws.plan, "", NO_LOOP))
    return Answer(operation=operation.id)


def _vector(ws: Workspace, ref: str) -> Vector | None:
    """The present iteration of the loops around a task; ``None`` when one of them is not open."""
    vector = NO_LOOP
    for loop in ws.plan.nodes[ref].loops:
        key = "j:" + Spot(ws.plan, ws.plan.nodes[loop], vector).key
        state = ws.state(key, LoopState)
        attempt = ws.attempt(state.seq) if state is not None else None
        if state is None or attempt is None or not attempt.open:
            return None
        vector = vector_append(vector, state.iteration)
    return vector


def _obstacle(ws: Workspace, ref: str, vector: Vector | None) -> str | None:
    """Why the jump cannot be."""
    if vector is None:
        return f"Task '{ref}' stands in a loop that is not under way"
    around = ancestry(ws, Spot(ws.plan, ws.plan.nodes[ref], vector))
    seq = ws.newest(ref, vector)
    attempt = ws.attempt(seq) if seq else None
    if attempt is not None and not attempt.ahead:
        return f"Task '{ref}' has been reached already; rerun goes back to a task"
    for depth, spot in enumerate(around[1:]):
        if not ws.newest(spot.node.ref, spot.vector) or not _entered(ws, spot, around[depth]):
            return f"Task '{ref}' stands in '{spot.node.ref}', which is not under way"
    return None


def _entered(ws: Workspace, holder: Spot, inner: Spot) -> bool:
    """Whether the body that ``inner`` stands in is under way."""
    if holder.node.task.type not in {"SWITCH", "DECISION"}:
        is_fork = holder.node.task.type == "FORK_JOIN"
        join = joining(holder.plan, holder.node) if is_fork else None
        if join is None:
            return True
        seq = ws.newest(join.ref, holder.vector)
        attempt = ws.attempt(seq) if seq else None
        return attempt is None or attempt.open
    seq = ws.newest(holder.node.ref, holder.vector)
    case = str(ws.document(f"i:{seq}").get("case"))
    task = holder.node.task
    body = task.decision_cases.get(case) or task.default_case
    return any(one.task_reference_name == inner.node.ref for one in body)
