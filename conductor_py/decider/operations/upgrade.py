"""Upgrade: an execution under way goes on under another version of its definition."""

from __future__ import annotations

import json
from collections.abc import Mapping

from conductor_py.decider.generations import generations, upgrading
from conductor_py.decider.need import PlanWanted
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.execution import Walk
from conductor_py.model.json import JsonObject


def upgrade(ws: Workspace, operation: Operation) -> Answer | None:
    """Go on under ``plan`` unless something open does not map to it: the answer ``VIOLATIONS``
    lists what. With ``dryRun`` nothing else is done. It waits for the pieces of a large decision:
    a branch that is still to be opened looks like one that the new version has added.
    """
    if ws.over:
        message = f"Workflow {ws.id} is {ws.status.value}, only one under way can be upgraded."
        return generations.refusal(operation, "CONFLICT", message)
    if ws.header.continues and not ws.header.walk:
        ws.continues.append(operation)
        return None
    if ws.header.walk or ws.state("walk", Walk) is not None:
        message = f"Workflow {ws.id} is being taken up again or elsewhere; try again."
        return generations.refusal(operation, "CONFLICT", message)
    wanted = str(operation.arguments.get("plan"))
    plan = ws.plan if wanted == ws.plan.hash else ws.answer(f"plan:{wanted}", PlanWanted(wanted))
    if not isinstance(plan, Plan):
        message = "The new version went away meanwhile; try again."
        return generations.refusal(operation, "CONFLICT", message)
    if plan is ws.plan:
        return Answer(operation=operation.id)
    if plan.is_dag or ws.plan.is_dag:
        message = f"Workflow {ws.id} or its new version is a DAG, which is not upgraded under way."
        return generations.refusal(operation, "CONFLICT", message)
    if len(ws.header.former) >= upgrading.MOST_UPGRADES or plan.hash in ws.header.former:
        message = (
            f"Workflow {ws.id} has been upgraded {len(ws.header.former)} times: it cannot go back"
            f" to a version that it has left, nor be upgraded more than {upgrading.MOST_UPGRADES}"
            " times."
        )
        return generations.refusal(operation, "CONFLICT", message)
    found = upgrading.obstacles(ws, plan)
    if found:
        listed = [{"path": each.path, "message": each.message} for each in found]
        return generations.refusal(operation, "VIOLATIONS", json.dumps(listed))
    if operation.arguments.get("dryRun") is not True:
        outputs, given = _object(operation, "taskOutput"), _object(operation, "workflowInput")
        upgrading.upgrade(ws, plan, outputs, given)
    return Answer(operation=operation.id)


def _object(operation: Operation, name: str) -> JsonObject:
    value = operation.arguments.get(name)
    return value if isinstance(value, Mapping) else {}
