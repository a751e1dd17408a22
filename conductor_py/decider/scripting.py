"""Scripts of tasks and of conditions: asked for, never run here."""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import timeouts
from conductor_py.decider.need import Evaluated, Later, Refusal, ScriptWanted, digest
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.event import RUN, Continue
from conductor_py.model.execution import Attempt
from conductor_py.model.json import JsonObject

_JAVASCRIPT = ("graaljs", "javascript")
_MOST_LINES = 1_000
"""Lines that a decision keeps of what its scripts print: it is one commit, whatever they print."""


def evaluate(
    ws: Workspace, place: str, evaluator: str, expression: str, value: JsonObject
) -> Evaluated | Refusal:
    """Ask for the value of a condition's script; an unknown evaluator is refused."""
    wanted = script(evaluator, expression, value)
    if isinstance(wanted, Refusal):
        return wanted
    return _answered(ws.answer(_key(place, wanted), wanted))


def evaluate_task(
    ws: Workspace,
    spot: Spot,
    attempt: Attempt,
    wanted: ScriptWanted | Refusal,
    *,
    opening: bool,
) -> Evaluated | Refusal | None:
    """Ask for the value of a task's script.

    ``None`` when it takes long and the task is just ``opening``: the task is seen to run from this
    commit on, and its continuation asks again.
    """
    if isinstance(wanted, Refusal):
        return wanted
    key = _key(f"{spot.key}:{attempt.retry_count}", wanted)
    if opening:
        found = ws.answer(f"opening:{key}", replace(wanted, opening=True))
        if not isinstance(found, Later):
            return _printed(ws, attempt, _answered(found))
        timeouts.watch(ws, attempt)
        ws.continues.append(_later(ws, spot))
        return None
    return _printed(ws, attempt, _answered(ws.answer(key, wanted)))


def _printed(ws: Workspace, attempt: Attempt, found: Evaluated | Refusal) -> Evaluated | Refusal:
    """Keep what a task's script has printed, as lines of the task's log; a decision keeps so many
    of all its tasks, and of each one how many it has left out.
    """
    lines, room = found.lines, max(_MOST_LINES - len(ws.logs), 0)
    if len(lines) > room:
        lines = (*lines[:room], f"… and {len(lines) - room} more lines")
    ws.logs += [(attempt.seq, line) for line in lines]
    return found


def script(evaluator: str, expression: str, value: JsonObject) -> ScriptWanted | Refusal:
    """A JavaScript program with its input; what another evaluator would run is refused."""
    if evaluator in _JAVASCRIPT:
        return ScriptWanted(evaluator, expression, value)
    if evaluator == "python":
        return Refusal(
            "The evaluator 'python' is not supported: a Python script cannot be kept from"
            " doing harm; use 'javascript'"
        )
    known = ", ".join(sorted({*_JAVASCRIPT, "value-param"}))
    return Refusal(f"Unknown evaluator '{evaluator}'; known are {known}")


def _later(ws: Workspace, spot: Spot) -> Continue:
    return Continue(
        generation=ws.header.generation,
        kind=RUN,
        plan=spot.plan.hash,
        ref=spot.node.ref,
        vector=spot.vector,
    )


def _key(place: str, wanted: ScriptWanted) -> str:
    return f"script:{place}:{wanted.evaluator}:{digest([wanted.expression, wanted.input])}"


def _answered(found: object) -> Evaluated | Refusal:
    return found if isinstance(found, (Evaluated, Refusal)) else Refusal("no evaluation")
