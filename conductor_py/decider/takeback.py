"""Taking back: a child began anew whose task has settled, and the execution around it goes on.

What has followed the task had the output of a run that is no more: it is forgotten, and canceled
where it is open, in pages; branches beside it go on. Then the task waits for its child again.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import adoption, control, joins, jumping, revival
from conductor_py.decider.graph import Standing, ancestry, at_tail, open_iteration, standing
from conductor_py.decider.need import Read
from conductor_py.decider.operators import do_while
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.execution import NO_LOOP, Attempt, JoinState, LoopState, Walk

_FORKS = frozenset({"FORK_JOIN", "FORK_JOIN_DYNAMIC"})


def order(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Let the task of a settled attempt wait for its child again, and take back what has followed
    it once nothing else is under way. Until then no iteration, nor the execution, ends by it.
    """
    _uncount(ws, spot, attempt)
    ws.put(replace(attempt, superseded=True))
    ws.header = replace(ws.header, revised=True)
    ws.tail = False
    for loop in reversed(_loops_around(ws, spot)):
        _unset_tail(ws, loop)
        _reopen(ws, loop)
    adoption.adopt(ws, spot, attempt, attempt.retry_count, resume=False)
    ws.states["walk"] = Walk(kind="take_back", last=ws.next_seq, target=attempt.seq)
    ws.agenda.append(Step("take_back", ws.plan, "", NO_LOOP))


def _reopen(ws: Workspace, loop: Spot) -> None:
    """Let a loop that has ended go on in its last iteration."""
    seq = ws.newest(loop.node.ref, loop.vector)
    before = ws.attempt(seq) if seq else None
    if before is None or before.open:
        return
    _uncount(ws, loop, before)
    ws.put(replace(before, superseded=True))
    ws.renewed[loop.key] = (before, before.retry_count)
    do_while.reopen(ws, loop, before)
    ws.renewed.pop(loop.key, None)


def begin(ws: Workspace, step: Step) -> None:
    """Begin the walk, unless what came meanwhile has made it pointless."""
    walk = ws.state("walk", Walk)
    if walk is None or walk.kind != "take_back" or ws.header.walk:
        return
    if _target(ws, walk) is None:
        ws.states["walk"] = None
        return
    jumping.begin(ws, step)


def is_current(ws: Workspace, spot: Spot) -> bool:
    """Whether every loop around is in the iteration that the place belongs to, or has ended with
    it.
    """
    for loop in _loops_around(ws, spot):
        state = ws.state("j:" + loop.key, LoopState)
        within = state is not None and _goes_on(ws, state)
        number = open_iteration(spot.vector, len(loop.node.loops))
        if state is None or not within or state.iteration != number:
            return False
    return True


def _loops_around(ws: Workspace, spot: Spot) -> list[Spot]:
    loops = revival.loops_of(ws, spot)
    names = ("j:" + loop.key for loop in loops)
    ws.together((name, Read(name)) for name in names if name not in ws.states)
    return loops


def _goes_on(ws: Workspace, state: LoopState) -> bool:
    loop = ws.attempt(state.seq)
    return loop is not None and (ws.over or loop.open or loop.status.successful)


def _target(ws: Workspace, walk: Walk) -> Spot | None:
    """The place of the task, if it still counts."""
    attempt = ws.attempt(walk.target)
    spot = ws.spot_of(attempt) if attempt is not None else None
    return spot if spot is not None and is_current(ws, spot) else None


def look(ws: Workspace, walk: Walk, page: list[tuple[Attempt, Spot]]) -> None:
    """Take back a page of what has followed."""
    target = _target(ws, walk)
    if target is None:
        return
    around = ancestry(ws, target)
    revival.read_pointers(ws, [attempt for attempt, _ in page])
    for attempt, spot in page:
        if standing(ws, spot, around) is not Standing.AFTER:
            continue
        if attempt.open:
            control.cancel(ws, spot, attempt, f"What it follows runs again: {target.node.ref}")
        else:
            _uncount(ws, spot, attempt)
        revival.forget(ws, ws.attempt(attempt.seq) or attempt)


def land(ws: Workspace, walk: Walk) -> None:
    """Open again what waits for the branches around the task, and what follows it if it has
    settled meanwhile.
    """
    target = _target(ws, walk)
    if target is None:
        return
    for depth, spot in enumerate(ancestry(ws, target)):
        seq = ws.newest(spot.node.ref, spot.vector)
        attempt = ws.attempt(seq) if seq else None
        is_fork = spot.node.task.type in _FORKS
        if attempt is not None and not attempt.open and (is_fork or not depth):
            revival.replay(ws, attempt, spot)


def _uncount(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Let a settled attempt of an execution that goes on count no more."""
    for key in joins.keys(ws, spot):
        join = ws.state(key, JoinState)
        if join is not None and not join.closed:
            ws.states[key] = replace(
                join,
                settled=max(join.settled - 1, 0),
                failed=tuple(seq for seq in join.failed if seq != attempt.seq),
                errors=tuple(seq for seq in join.errors if seq != attempt.seq),
            )
    if spot.node.task.permissive and not attempt.status.successful:
        ws.permissive_failures = max(ws.permissive_failures - 1, 0)
    end = at_tail(ws, spot)
    if isinstance(end, Spot):
        _unset_tail(ws, end)
    elif end:
        ws.tail = False


def _unset_tail(ws: Workspace, loop: Spot) -> None:
    state = ws.state("j:" + loop.key, LoopState)
    if state is not None:
        ws.states["j:" + loop.key] = replace(state, tail=False)
