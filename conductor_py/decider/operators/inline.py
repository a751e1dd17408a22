"""INLINE: runs a script over its input; the output is ``{"result": value}``."""

from __future__ import annotations

from conductor_py.decider import control, scheduling
from conductor_py.decider.need import Evaluated, Refusal, ScriptWanted, digest
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus

SCRIPTS = frozenset({"javascript", "graaljs"})


def open_(ws: Workspace, spot: Spot) -> None:
    """Open and run."""
    value = resolve_input(ws, spot, ws.next_seq)
    attempt = control.create(
        ws,
        spot,
        type_="INLINE",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
        **scheduling.policies(spot.node.task.task_definition, ws.now_ms),
    )
    _run(ws, spot, attempt, value)


def resume(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Run again, after the delay of a retry."""
    _run(ws, spot, attempt, ws.document(f"i:{attempt.seq}"))


def _run(ws: Workspace, spot: Spot, attempt: Attempt, value: JsonObject) -> None:
    evaluator = value.get("evaluatorType") or "javascript"
    expression = value.get("expression")
    if not isinstance(expression, str) or not expression.strip():
        found: Evaluated | Refusal = Refusal("INLINE needs a non-empty 'expression'")
    elif evaluator == "value-param":
        found = Evaluated(value.get(expression))
    else:
        key = f"{spot.key}:inline:{attempt.retry_count}"
        found = evaluate(ws, key, str(evaluator), expression, value)
    if isinstance(found, Evaluated):
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output={"result": found.value})
        return
    status = TaskStatus.FAILED_WITH_TERMINAL_ERROR if found.terminal else TaskStatus.FAILED
    control.finish(ws, spot, attempt, status, output={"error": found.reason}, reason=found.reason)


def evaluate(
    ws: Workspace, place: str, evaluator: str, expression: str, value: JsonObject
) -> Evaluated | Refusal:
    """Ask for the value of a script; an unknown evaluator is refused."""
    if evaluator not in SCRIPTS:
        if evaluator == "python":
            return Refusal(
                "The evaluator 'python' is not supported: a Python script cannot be kept from"
                " doing harm; use 'javascript'"
            )
        known = ", ".join(sorted({*SCRIPTS, "value-param"}))
        return Refusal(f"Unknown evaluator '{evaluator}'; known are {known}")
    key = f"script:{place}:{digest([expression, value])}"
    found = ws.answer(key, ScriptWanted(evaluator, expression, value))
    return found if isinstance(found, (Evaluated, Refusal)) else Refusal("no evaluation")
