"""DECISION (deprecated, SWITCH took its place): chooses a branch by an input value or a script.

Unlike SWITCH a case whose list is empty takes the default (Conductor).
"""

from __future__ import annotations

from conductor_py.decider.expressions.expressions import text_of
from conductor_py.decider.need import Evaluated, Refusal
from conductor_py.decider.operators import switch
from conductor_py.decider.references import resolve_input
from conductor_py.decider.scripting import evaluate
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.json import JsonObject


def open_(ws: Workspace, spot: Spot) -> None:
    """Evaluate, and open the branch."""
    task = spot.node.task
    value = resolve_input(ws, spot, None)
    chosen = _choose(ws, spot, value)
    if isinstance(chosen, Refusal):
        switch.refuse(ws, spot, "DECISION", value, chosen.reason)
        return
    case = text_of(chosen.value)
    branch = task.decision_cases.get(case) or task.default_case
    switch.take(ws, spot, "DECISION", value, case, branch, {"caseOutput": [case]})


def _choose(ws: Workspace, spot: Spot, value: JsonObject) -> Evaluated | Refusal:
    task = spot.node.task
    if task.case_expression and task.case_expression.strip():
        return evaluate(ws, f"{spot.key}:case", "javascript", task.case_expression, value)
    return Evaluated(value.get(task.case_value_param or ""))
