"""What stands in an iteration of a loop: cancelled when the loop ends before it, forgotten when the
loop keeps its last iterations only.

Both go through the iteration in pieces: the tasks of the definition, then what loops inside have
repeated and what dynamic forks inside have brought, each as a step of its own. A step names a loop
and one of its iterations, or a fragment and the iteration that brought it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from conductor_py.decider import control
from conductor_py.decider.need import Read
from conductor_py.decider.plan import Node, Plan
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.execution import Attempt, LoopState, Vector, vector_append
from conductor_py.model.places import place_key

_PIECE = 500
_LONGEST_CHAIN = 1000
_MOST_FIELDS = 20_000
_BACK = "forget_back"
"""The kind of a step that forgets an iteration and those before it."""

_Treat = Callable[[Workspace, Spot, Attempt], None]


def cancel(ws: Workspace, step: Step) -> None:
    """Cancel what is open in an iteration."""
    _each(ws, step, _cancel)


def forget(ws: Workspace, step: Step) -> None:
    """Delete every record of an iteration."""
    _each(ws, step, _forget)


def step_of(kind: str, plan: Plan, loop: str, vector: Vector) -> Step:
    """The step for an iteration of a loop (``vector`` includes it); without a loop, for all of a
    fragment.
    """
    return Step(kind, plan, f"0:{loop}", vector)


def _each(ws: Workspace, step: Step, treat: _Treat) -> None:
    start, _, loop = step.ref.partition(":")
    nodes = _inside(step.plan, loop)
    last = int(start) + _PIECE
    piece = nodes[int(start) : last]
    pointers = ("r:" + place_key(node.ref, step.vector) for node in piece)
    ws.together((p, Read(f">a {p}")) for p in pointers if p not in ws.pointers)
    for node in piece:
        seq = ws.newest(node.ref, step.vector)
        attempt = ws.attempt(seq) if seq else None
        spot = ws.spot_of(attempt) if attempt else None
        if attempt is not None and spot is not None:
            _go_inside(ws, step, Spot(step.plan, node, step.vector), attempt)
            treat(ws, spot, attempt)
    if last < len(nodes):
        ws.agenda.append(replace(step, ref=f"{last}:{loop}"))
        ws.cut_here = True
    elif step.kind == _BACK:
        _go_back(ws, step, loop)
    if len(ws.states) > _MOST_FIELDS:
        ws.cut_here = True


def _go_back(ws: Workspace, step: Step, loop: str) -> None:
    """Go on with the iteration before, one step at a time however many there are."""
    outer, _, number = step.vector.rpartition(".")
    if int(number) > 1:
        before = vector_append(Vector(outer), int(number) - 1)
        ws.agenda.append(step_of(_BACK, step.plan, loop, before))


def _inside(plan: Plan, loop: str) -> Sequence[Node]:
    """The tasks directly in a loop; of a fragment those that stand in no loop of its own."""
    if loop:
        return [node for node in plan.nodes.values() if node.loops[-1:] == (loop,)]
    own = {node.ref for node in plan.nodes.values() if node.task.type == "DO_WHILE"}
    return [node for node in plan.nodes.values() if not own.intersection(node.loops[-1:])]


def _go_inside(ws: Workspace, step: Step, spot: Spot, attempt: Attempt) -> None:
    """Put what a task has repeated, or brought, on the agenda."""
    kind, plan, vector = step.kind, step.plan, step.vector
    if spot.node.task.type == "DO_WHILE":
        state = ws.state("j:" + spot.key, LoopState)
        present = state.iteration if state else 0
        if state is not None and kind == "cancel" and attempt.open:
            ws.states["j:" + spot.key] = replace(state, closed=True)
        if present:
            inner = "cancel" if kind == "cancel" else _BACK
            ws.agenda.append(step_of(inner, plan, spot.node.ref, vector_append(vector, present)))
    elif spot.node.task.type == "FORK_JOIN_DYNAMIC":
        fragment = ws.fragment_of(spot)
        if fragment is not None:
            inner = "cancel" if kind == "cancel" else "forget"
            ws.agenda.append(step_of(inner, fragment, "", vector))


def _cancel(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    if attempt.open:
        control.cancel(ws, spot, attempt, "The loop around it has ended")


def _forget(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """The attempt and those that it retried, with the pointers and states of the iteration."""
    one: Attempt | None = attempt
    for _ in range(_LONGEST_CHAIN):
        if one is None or one.open:
            break
        for kind in "aiocp":
            name = f"{kind}:{one.seq}"
            ws.documents.pop(name, None)
            ws.states[name] = None
        ws.attempts.pop(one.seq, None)
        ws.forgotten += 1
        one = ws.attempt(one.retried_seq) if one.retried_seq else None
    for kind in "rjd":
        name = f"{kind}:{spot.key}"
        ws.pointers.pop(name, None)
        ws.hashes.pop(name, None)
        ws.states[name] = None
