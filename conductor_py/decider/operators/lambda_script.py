"""LAMBDA (deprecated, INLINE took its place): runs ``scriptExpression``, the body of a function,
over its input.
"""

from __future__ import annotations

from conductor_py.decider import control, scheduling, scripting
from conductor_py.decider.need import Evaluated, Refusal, ScriptWanted
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Open and run."""
    value = resolve_input(ws, spot, ws.next_seq)
    attempt = control.create(
        ws,
        spot,
        type_="LAMBDA",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
        **scheduling.policies(spot.node.task.task_definition, ws.now_ms),
    )
    _run(ws, spot, attempt, value, opening=True)


def program_of(body: str) -> str:
    """The program that runs the body of a function."""
    return f"(function () {{ {body}\n}})()"


def resume(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Run again, after the delay of a retry."""
    _run(ws, spot, attempt, ws.document(f"i:{attempt.seq}"), opening=True)


def run(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Ask once more: the script takes long, and the task is seen to run by now."""
    _run(ws, spot, attempt, ws.document(f"i:{attempt.seq}"), opening=False)


def _run(ws: Workspace, spot: Spot, attempt: Attempt, value: JsonObject, *, opening: bool) -> None:
    body = value.get("scriptExpression", spot.node.task.script_expression)
    if not isinstance(body, str) or not body.strip():
        found: Evaluated | Refusal | None = Refusal("LAMBDA needs a non-empty 'scriptExpression'")
    else:
        wanted = ScriptWanted("javascript", program_of(body), value)
        found = scripting.evaluate_task(ws, spot, attempt, wanted, opening=opening)
    if found is None:
        return
    if isinstance(found, Evaluated):
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output={"result": found.value})
        return
    output: JsonObject = {"error": found.reason}
    control.finish(ws, spot, attempt, TaskStatus.FAILED, output=output, reason=found.reason)
