"""Restart: an execution that has ended begins again from its first task, under the same id."""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider.generations import generations
from conductor_py.decider.need import PlanWanted
from conductor_py.decider.plan import Plan
from conductor_py.decider.starting import business_of
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.status import WorkflowStatus


def restart(ws: Workspace, operation: Operation) -> Answer | None:
    """Begin anew, with the plan that ``plan`` names or the execution's own; what has not ended is a
    conflict.
    """
    if not ws.over:
        message = (
            f"Workflow {ws.id} is {ws.status.value}, only one that has ended can be restarted."
        )
        return generations.refusal(operation, "CONFLICT", message)
    if ws.status is WorkflowStatus.COMPLETED and not ws.plan.definition.restartable:
        message = f"Workflow {ws.id} is COMPLETED and its definition is not restartable."
        return generations.refusal(operation, "NOT_FOUND", message)
    if generations.waits(ws, operation):
        return None
    wanted = operation.arguments.get("plan")
    plan = ws.plan
    if isinstance(wanted, str) and wanted != plan.hash:
        found = ws.answer(f"plan:{wanted}", PlanWanted(wanted))
        if not isinstance(found, Plan):
            message = "The latest definition went away meanwhile; try again."
            return generations.refusal(operation, "CONFLICT", message)
        plan = found
    generations.begin_anew(ws, plan)
    about, _ = business_of(ws.header)
    ws.header = replace(ws.header, created_at=ws.now_ms, last_retried_at=0, business_at=about)
    return Answer(operation=operation.id)
