"""JOIN: waits until the references it names have settled; counted by the commits that settle them,
never scanned.
"""

from __future__ import annotations

from collections.abc import Iterable

from conductor_py.decider import control
from conductor_py.decider.need import Read
from conductor_py.decider.plan import Node
from conductor_py.decider.workspace import Spot, Step, Workspace, place_key
from conductor_py.model.execution import NO_LOOP, Attempt, JoinState
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Open the join; when a fork has prepared it, its count goes on."""
    refs = tuple(dict.fromkeys(spot.node.task.join_on))
    open_join(ws, spot, refs)


def open_join(ws: Workspace, spot: Spot, refs: tuple[str, ...]) -> None:
    """Open the join of ``refs`` at ``spot``."""
    key = "j:" + spot.key
    prepared = ws.state(key, JoinState)
    if prepared is None or prepared.seq or prepared.closed:
        prepared = _count_settled(ws, spot, refs, refs)
    attempt = control.create(
        ws,
        spot,
        type_=spot.node.task.type,
        definition=spot.node.task.type,
        status=TaskStatus.IN_PROGRESS,
        input_={"joinOn": list(refs)},
    )
    ws.states[key] = JoinState(
        seq=attempt.seq,
        expected=prepared.expected,
        settled=prepared.settled,
        failed=prepared.failed,
        errors=prepared.errors,
    )
    if prepared.settled >= prepared.expected:
        ws.agenda.append(Step("join", spot.plan, key, NO_LOOP))


def prepare_join(ws: Workspace, fork: Spot, join: Node, inside: frozenset[str]) -> None:
    """Let a join count from the moment its fork opens; references outside the fork may have settled
    before.
    """
    refs = tuple(dict.fromkeys(join.task.join_on))
    spot = Spot(fork.plan, join, fork.vector)
    outside = tuple(ref for ref in refs if ref not in inside)
    ws.states["j:" + spot.key] = _count_settled(ws, spot, refs, outside)


def _count_settled(
    ws: Workspace, spot: Spot, refs: tuple[str, ...], looked_up: Iterable[str]
) -> JoinState:
    known = [ref for ref in looked_up if _exists(ws, spot, ref)]
    pointers = {ref: "r:" + place_key(ref, spot.vector) for ref in known}
    ws.together((p, Read(f">a {p}")) for p in pointers.values() if p not in ws.pointers)
    attempts = [
        found
        for ref in known
        if (seq := ws.newest(ref, spot.vector)) and (found := ws.attempt(seq)) is not None
    ]
    settled = [attempt for attempt in attempts if _has_settled(attempt)]
    errors = [a.seq for a in settled if a.status is TaskStatus.COMPLETED_WITH_ERRORS]
    failed = [a.seq for a in settled if not a.status.successful]
    return JoinState(
        seq=0,
        expected=sum(1 for ref in refs if _exists(ws, spot, ref)),
        settled=len(settled),
        failed=tuple(failed),
        errors=tuple(errors),
    )


def _exists(ws: Workspace, spot: Spot, ref: str) -> bool:
    """A reference that no plan knows can never settle: it counts as SKIPPED."""
    return ref in spot.plan.nodes or ref in ws.plan.nodes


def _has_settled(attempt: Attempt) -> bool:
    return attempt.status.terminal and not attempt.superseded
