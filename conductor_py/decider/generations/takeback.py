"""Taking back: a child began anew whose task has settled, and the execution around it goes on.

What has followed the task had the output of a run that is no more: it is forgotten, and canceled
where it is open, in pages; branches beside it go on. Then the task waits for its child again.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import adoption, control, ending, joins
from conductor_py.decider.generations import jumping, revival, unfinished
from conductor_py.decider.graph import Standing, ancestry, open_iteration, standing
from conductor_py.decider.need import Read
from conductor_py.decider.operators import do_while
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.execution import NO_LOOP, Attempt, JoinState, LoopState, Walk
from conductor_py.model.status import TaskStatus


def order(ws: Workspace, attempt: Attempt) -> None:
    """Take back what has followed a settled attempt, once nothing else is under way."""
    ws.header = replace(ws.header, revised=True)
    ws.states["walk"] = Walk(kind="take_back", last=ws.next_seq, target=attempt.seq)
    ws.agenda.append(Step("take_back", ws.plan, "", NO_LOOP))


def holds(ws: Workspace, loop: Spot) -> bool:
    """Whether a loop is not to go on, because something in it is about to be taken back."""
    walk = ws.state("walk", Walk) if ws.header.revised else None
    if walk is None or walk.kind != "take_back":
        return False
    target = _target(ws, walk)
    return target is not None and loop.key in {each.key for each in _loops_around(ws, target)}


def keeps_back(ws: Workspace, attempt: Attempt) -> bool:
    """Whether nobody is to be told of an end, which a pause has put off, because it is about to be
    taken back.
    """
    walk = ws.state("walk", Walk) if ws.header.revised else None
    if walk is None or walk.kind != "take_back" or walk.target != attempt.seq:
        return False
    ws.states["walk"] = replace(walk, untold=True)
    return True


def begin(ws: Workspace, step: Step) -> None:
    """Let the task, and loops around it, be as if they had not settled, and begin the walk, unless
    what came meanwhile has made it pointless.
    """
    walk = ws.state("walk", Walk)
    if walk is None or walk.kind != "take_back" or ws.header.walk:
        return
    if not jumping.begins(ws, step):
        return
    target, attempt = _target(ws, walk), unfinished.newest_at_target(ws, walk)
    if target is None or attempt is None or attempt.open:
        ws.states["walk"] = None
        if walk.untold and attempt is not None and (spot := ws.spot_of(attempt)) is not None:
            control.conclude(ws, spot, attempt)
        return
    if not walk.untold:
        _uncount(ws, target, attempt)
    ws.put(replace(attempt, superseded=True))
    ws.tail = False
    for loop in reversed(_loops_around(ws, target)):
        do_while.go_back(ws, loop, open_iteration(target.vector, len(loop.node.loops)))
        before = control.newest_at(ws, loop)
        if before is not None and not before.open:
            _uncount(ws, loop, before)
            ws.put(replace(before, superseded=True))
    jumping.walk(ws)


def _reopen(ws: Workspace, loop: Spot) -> None:
    """Let a loop go on: one that has ended has a successor."""
    before = control.newest_at(ws, loop)
    if before is None or before.open:
        do_while.show(ws, loop)
        return
    ws.renewed[loop.key] = (before, before.retry_count)
    do_while.reopen(ws, loop, before)
    ws.renewed.pop(loop.key, None)


def is_within(ws: Workspace, spot: Spot) -> bool:
    """Whether every loop around goes on, or has ended by itself, in the iteration that the place
    belongs to or in a later one.
    """
    for loop in _loops_around(ws, spot):
        state = ws.state("j:" + loop.key, LoopState)
        within = state is not None and _goes_on(ws, state)
        number = open_iteration(spot.vector, len(loop.node.loops))
        if state is None or not within or state.iteration < number:
            return False
    return True


def _loops_around(ws: Workspace, spot: Spot) -> list[Spot]:
    loops = revival.loops_of(ws, spot)
    names = ("j:" + loop.key for loop in loops)
    ws.together((name, Read(name)) for name in names if name not in ws.states)
    return loops


def _goes_on(ws: Workspace, state: LoopState) -> bool:
    loop = ws.attempt(state.seq)
    return loop is not None and (ws.over or loop.open or loop.status is TaskStatus.COMPLETED)


def _target(ws: Workspace, walk: Walk) -> Spot | None:
    """The place of the task, if it still counts."""
    attempt = ws.attempt(walk.target)
    spot = ws.spot_of(attempt) if attempt is not None else None
    return spot if spot is not None and is_within(ws, spot) else None


def look(ws: Workspace, walk: Walk, page: list[tuple[Attempt, Spot]]) -> None:
    """Take back a page of what has followed."""
    target = _target(ws, walk)
    if target is None:
        return
    around = ancestry(ws, target)
    revival.read_pointers(ws, [attempt for attempt, _ in page])
    for attempt, spot in page:
        stands = standing(ws, spot, around)
        if jumping.is_passed_over(attempt):
            _open_again(ws, attempt, spot, stands, around)
            continue
        if stands is not Standing.AFTER:
            if attempt.vector:  # a later iteration may be the newest so far
                ws.pointers[f"r:{attempt.ref}"] = attempt.seq
            continue
        if attempt.open:
            control.cancel(
                ws,
                spot,
                attempt,
                f"Task {target.node.ref}, which comes before this one, runs again",
            )
        else:
            _uncount(ws, spot, attempt)
        revival.forget(ws, ws.attempt(attempt.seq) or attempt)


def _open_again(
    ws: Workspace, attempt: Attempt, spot: Spot, stands: Standing, around: list[Spot]
) -> None:
    """Let what a jump has passed over be as if nothing had come there: it is reached again behind
    the task, and opened beside it where it is waited for again.
    """
    if stands is Standing.AFTER:
        revival.forget(ws, attempt)
    elif stands is Standing.BESIDE and jumping.comes_again(ws, spot, around):
        revival.forget(ws, attempt)
        ws.agenda.append(Step("open", spot.plan, spot.node.ref, spot.vector))


def land(ws: Workspace, walk: Walk) -> None:
    """Open again what waits for the branches around the task, and let the task wait for its child,
    by what it and the loops around read now.
    """
    target, settled = _target(ws, walk), unfinished.newest_at_target(ws, walk)
    if target is None or settled is None or settled.open:
        return
    for loop in reversed(_loops_around(ws, target)):
        _reopen(ws, loop)
    for spot in ancestry(ws, target)[1:]:
        attempt = control.newest_at(ws, spot)
        if attempt is not None and not attempt.open:
            revival.replay(ws, attempt, spot)
    adoption.adopt(ws, target, settled, settled.retry_count, resume=False)
    for loop in _loops_around(ws, target):
        ws.agenda.append(Step("loop", loop.plan, loop.node.ref, loop.vector))


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
    if spot.node.task.permissive and _was_noted(attempt):
        ending.take_back_failure(ws, ending.reason_of(attempt))


def _was_noted(attempt: Attempt) -> bool:
    """Whether the failure of a permissive task counted: one that was canceled has none."""
    return not attempt.status.successful and attempt.status is not TaskStatus.CANCELED
