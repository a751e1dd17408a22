"""SWITCH: chooses a branch once, by an input value or a script, and is done at once."""

from __future__ import annotations

from conductor_py.decider import control, joins
from conductor_py.decider.expressions.expressions import text_of
from conductor_py.decider.need import Evaluated, Refusal
from conductor_py.decider.references import resolve_input
from conductor_py.decider.scripting import evaluate
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Evaluate the expression and open the branch of that name; only a missing name takes the
    default.
    """
    task = spot.node.task
    value = resolve_input(ws, spot, None)
    chosen = _choose(ws, spot, value)
    if isinstance(chosen, Refusal):
        refuse(ws, spot, "SWITCH", value, chosen.reason)
        return
    case = text_of(chosen.value)
    branch = task.decision_cases.get(case, task.default_case)
    output: JsonObject = {"evaluationResult": [case], "selectedCase": case}
    take(ws, spot, "SWITCH", value, case, branch, output)


def take(  # noqa: PLR0917 - what was chosen, and how it is shown
    ws: Workspace,
    spot: Spot,
    type_: str,
    value: JsonObject,
    case: str,
    branch: tuple[WorkflowTask, ...],
    output: JsonObject,
) -> None:
    """Record the choice and open its branch; without one go on behind the task."""
    input_ = {**value, "case": case, **({"hasChildren": "true"} if branch else {})}
    attempt = control.create(
        ws, spot, type_=type_, status=TaskStatus.COMPLETED, input_=input_, output=output
    )
    if not branch:
        control.settle(ws, spot, attempt)
        return
    joins.tell(ws, spot, attempt)
    first = branch[0].task_reference_name
    control.open_first(ws, [Step("open", spot.plan, first, spot.vector)])


def refuse(ws: Workspace, spot: Spot, type_: str, value: JsonObject, reason: str) -> None:
    """Fail the task: nothing could be chosen."""
    attempt = control.create(ws, spot, type_=type_, status=TaskStatus.IN_PROGRESS, input_=value)
    control.finish(ws, spot, attempt, TaskStatus.FAILED, reason=reason)


def _choose(ws: Workspace, spot: Spot, value: JsonObject) -> Evaluated | Refusal:
    task = spot.node.task
    expression = task.expression or ""
    if task.evaluator_type == "value-param":
        return Evaluated(value.get(expression))
    return evaluate(ws, f"{spot.key}:switch", task.evaluator_type or "", expression, value)
