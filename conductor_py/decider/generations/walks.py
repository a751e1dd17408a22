"""Walks over all attempts, in pages: what a new generation makes of those there are.

The first pass decides the fate of each place by its newest attempt: forgotten, made anew, or kept;
it counts what will be open. Until it ends, every other event waits. The second pass makes anew and
looks whether what follows the kept ones was ever reached: an end drops what it cuts off.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import control, gates
from conductor_py.decider.generations import clearing, jumping, revival, takeback, unfinished
from conductor_py.decider.graph import Standing, ancestry, at_tail, lifted, open_iteration, standing
from conductor_py.decider.need import PlanWanted, Read
from conductor_py.decider.plan import CONTAINERS
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.event import RUN
from conductor_py.model.execution import NO_LOOP, Attempt, LoopState, Walk
from conductor_py.model.status import TaskStatus

_PIECE = 500
_BEHIND = frozenset({"loop", RUN})
"""Steps that wait for a walk."""
_CHOICES = frozenset({"SWITCH", "DECISION"})


def go_on(ws: Workspace) -> None:
    """Look at the next page of a walk."""
    walk = ws.state("walk", Walk)
    if walk is None or not ws.header.walk:
        return
    first = ws.header.walk
    end = min(first + max(1, min(_PIECE, ws.limits.attempts)), walk.last)
    if walk.kind == "restart":
        clearing.clear(ws, range(first, end))
    elif walk.kind == "jump":
        jumping.cancel_page(ws, walk, [a for a, _ in _page(ws, first, end)])
    elif walk.kind == "take_back":
        takeback.look(ws, walk, _page(ws, first, end, passed_over=True))
    elif ws.header.surveyed:
        _revive(ws, walk, first, end)
    else:
        _survey(ws, walk, first, end)
    if end < walk.last or _brings_its_target(ws, walk):
        ws.header = replace(ws.header, walk=end)
    elif walk.kind == "revive" and not ws.header.surveyed and ws.header.first_seq < walk.last:
        ws.header = replace(ws.header, walk=ws.header.first_seq, surveyed=True)
    else:
        _finish(ws, walk)
        return
    ws.agenda.append(Step("walk", ws.plan, "", NO_LOOP))
    if len(ws.attempts) + len(ws.states) > ws.limits.attempts:
        ws.cut_here = True


def _brings_its_target(ws: Workspace, walk: Walk) -> bool:
    """Whether a step that does not itself wait for the walk may still come to its target."""
    revives = walk.kind == "revive" and ws.header.surveyed
    steps = revives and any(step.kind not in _BEHIND for step in ws.agenda)
    return steps and unfinished.is_ahead(ws, walk)


def comes_first(ws: Workspace, step: Step) -> bool:
    """Put a step behind a walk, which may take back what it is about; whether there is one."""
    if not ws.header.walk or all(each.kind != "walk" for each in ws.agenda):
        return False
    ws.agenda.append(step)
    return True


def _finish(ws: Workspace, walk: Walk) -> None:
    ws.header = replace(ws.header, walk=0, surveyed=False)
    ws.states["walk"] = None
    if walk.kind == "jump":
        jumping.land(ws, walk)
    elif walk.kind == "take_back":
        takeback.land(ws, walk)
    elif ws.plan.is_dag:
        gates.begin(ws)
    elif ws.plan.first is None:
        ws.tail = True
    elif walk.kind == "restart" or walk.last == ws.header.first_seq:
        ws.agenda.append(Step("open", ws.plan, ws.plan.first, NO_LOOP))


# -- pages -----------------------------------------------------------------------------------------


def _page(
    ws: Workspace, first: int, end: int, *, passed_over: bool = False
) -> list[tuple[Attempt, Spot]]:
    """The attempts of a page that count for their places, with those; and, if asked for, the ones
    that a jump has left in theirs.
    """
    ws.together(
        (f"a:{s}", Read(f"a:{s}"))
        for s in range(first, min(end, ws.header.next_seq))
        if s not in ws.attempts
    )
    found = [ws.attempt(seq) for seq in range(first, end)]
    there = [attempt for attempt in found if attempt is not None and not attempt.ahead]
    if passed_over:
        attempts = _in_their_places(ws, there)
    else:
        attempts = [attempt for attempt in there if not jumping.is_passed_over(attempt)]
    known = {ws.plan.hash, *ws.header.former}
    plans = {attempt.plan for attempt in attempts} - known
    ws.together((f"plan:{plan}", PlanWanted(plan)) for plan in plans)
    spots = [(attempt, ws.spot_of(attempt)) for attempt in attempts]
    page = [(attempt, lifted(ws, spot)) for attempt, spot in spots if spot is not None]
    _read_around(ws, page)
    return page


def _in_their_places(ws: Workspace, attempts: list[Attempt]) -> list[Attempt]:
    """Without those whose places another has taken, or that were forgotten."""
    revival.read_pointers(ws, [each for each in attempts if jumping.is_passed_over(each)])
    return [
        each
        for each in attempts
        if not jumping.is_passed_over(each) or ws.newest(each.ref, each.vector) == each.seq
    ]


def _read_around(ws: Workspace, page: list[tuple[Attempt, Spot]]) -> None:
    """Read together what is asked of each: the loops around, and how choices ended."""
    loops = dict.fromkeys(
        "j:" + loop.key for _, spot in page for loop in revival.loops_of(ws, spot)
    )
    loops |= dict.fromkeys("j:" + spot.key for a, spot in page if a.type == "DO_WHILE")
    ws.together((name, Read(name)) for name in loops if name not in ws.states)
    states = [ws.state(name, LoopState) for name in loops]
    seqs = {state.seq for state in states if state is not None} - ws.attempts.keys()
    ws.together((f"a:{s}", Read(f"a:{s}")) for s in seqs if s < ws.header.next_seq)
    chosen = (f"i:{a.seq}" for a, _ in page if a.type in _CHOICES)
    ws.together((name, Read(name)) for name in chosen if name not in ws.documents)


# -- first pass ------------------------------------------------------------------------------------


def _survey(ws: Workspace, walk: Walk, first: int, end: int) -> None:
    page = _page(ws, first, end, passed_over=walk.forgets)
    target = _target(ws, walk)
    if walk.forgets:
        revival.read_pointers(ws, [attempt for attempt, _ in page])
    for attempt, spot in page:
        stands = standing(ws, spot, target) if target else Standing.BESIDE
        if walk.forgets and stands in {Standing.AFTER, Standing.INSIDE}:
            revival.forget(ws, attempt)
        elif jumping.is_passed_over(attempt) and not _comes_again(
            ws, attempt, spot, stands, target
        ):
            continue
        elif _made_anew(ws, attempt, spot, stands, target):
            _count(ws, attempt, spot, stands, target)
        else:
            _keep(ws, walk, attempt, spot)


def _target(ws: Workspace, walk: Walk) -> list[Spot]:
    attempt = ws.attempt(walk.target) if walk.target else None
    spot = ws.spot_of(attempt) if attempt is not None else None
    return ancestry(ws, spot) if spot is not None else []


def _comes_again(
    ws: Workspace, attempt: Attempt, spot: Spot, stands: Standing, target: list[Spot]
) -> bool:
    """Whether what a jump has passed over is to be done now."""
    if stands is Standing.BESIDE:
        return jumping.comes_again(ws, spot, target)
    return stands is Standing.AT or (stands is Standing.AROUND and attempt.type == "DO_WHILE")


def _made_anew(
    ws: Workspace, attempt: Attempt, spot: Spot, stands: Standing, target: list[Spot]
) -> bool:
    if stands is Standing.AT:
        return True
    if stands is Standing.AROUND and spot.node.task.type == "DO_WHILE":
        return True  # one that a jump has passed over, too
    if attempt.status.successful and not attempt.redo and not _failed_inside(ws, attempt, spot):
        return False
    return all(_again(ws, loop, spot, target) for loop in revival.loops_of(ws, spot))


def _failed_inside(ws: Workspace, attempt: Attempt, spot: Spot) -> bool:
    """Whether an optional loop has ended because a permissive task in it failed: that one is tried
    again, which takes its loop.
    """
    if attempt.type != "DO_WHILE" or attempt.status is not TaskStatus.COMPLETED_WITH_ERRORS:
        return False
    state = ws.state("j:" + spot.key, LoopState)
    return state is not None and state.closed and state.seq == attempt.seq


def _again(ws: Workspace, loop: Spot, spot: Spot, target: list[Spot]) -> bool:
    """Whether a loop opens again in the iteration that a place belongs to."""
    state = ws.state("j:" + loop.key, LoopState)
    attempt = ws.attempt(state.seq) if state is not None else None
    if state is None or attempt is None:
        return False
    stands = standing(ws, loop, target) if target else Standing.BESIDE
    number = _iteration(loop, state, stands, target)
    if number != open_iteration(spot.vector, len(loop.node.loops)):
        return False
    return _made_anew(ws, attempt, loop, stands, target)


def _iteration(loop: Spot, state: LoopState, stands: Standing, target: list[Spot]) -> int:
    if stands is Standing.AROUND:
        return open_iteration(target[0].vector, len(loop.node.loops))
    return state.iteration


def _count(
    ws: Workspace, attempt: Attempt, spot: Spot, stands: Standing, target: list[Spot]
) -> None:
    """Count what will be made anew as open already."""
    for loop in revival.loops_of(ws, spot):
        around = standing(ws, loop, target) if target else Standing.BESIDE
        _reset_loop(ws, loop, around, target)
    if attempt.type == "DO_WHILE":
        _reset_loop(ws, spot, stands, target)
    ws.put(replace(attempt, superseded=True, redo=ws.header.generation))
    ws.count_open(spot.node.loops, spot.vector, 1, container=attempt.type in CONTAINERS)


def _reset_loop(ws: Workspace, loop: Spot, stands: Standing, target: list[Spot]) -> None:
    name = "j:" + loop.key
    state = ws.state(name, LoopState)
    if state is not None and state.generation != ws.header.generation:
        ws.states[name] = replace(
            state,
            iteration=_iteration(loop, state, stands, target),
            open_attempts=0,
            tail=False,
            closed=False,
            generation=ws.header.generation,
            failed=0,
        )


def _keep(ws: Workspace, walk: Walk, attempt: Attempt, spot: Spot) -> None:
    if attempt.redo:  # in an iteration that is over by now: nothing takes its place
        ws.put(replace(attempt, superseded=False, redo=0))
    if walk.forgets and attempt.vector:
        ws.pointers[f"r:{attempt.ref}"] = attempt.seq
    if not attempt.status.successful:
        return  # in an iteration that is over: it cannot be tried again, and fails nothing any more
    if not control.leads_on(spot, attempt) or revival.chose(ws, attempt):
        return
    end = at_tail(ws, spot)
    if isinstance(end, Spot):
        _reach_tail(ws, walk, spot, end)
    elif end:
        ws.tail = True


def _reach_tail(ws: Workspace, walk: Walk, spot: Spot, loop: Spot) -> None:
    target = _target(ws, walk)
    if _again(ws, loop, spot, target):
        stands = standing(ws, loop, target) if target else Standing.BESIDE
        _reset_loop(ws, loop, stands, target)
        name = "j:" + loop.key
        state = ws.state(name, LoopState)
        if state is not None:
            ws.states[name] = replace(state, tail=True)


# -- second pass -----------------------------------------------------------------------------------


def _revive(ws: Workspace, walk: Walk, first: int, end: int) -> None:
    page = _page(ws, first, end)
    ws.together(
        (name, Read(f">a {name}"))
        for attempt, spot in page
        if not attempt.redo
        for name in revival.followed(ws, attempt, spot)
        if name not in ws.pointers
    )
    for attempt, spot in page:
        if attempt.redo:
            kind = "renew"
            if walk.target and _is_target(ws, walk, attempt):
                kind = unfinished.of_target(walk, attempt)
            elif walk.resumes and attempt.child:
                kind = "resume_child"
            ws.agenda.append(Step(kind, ws.plan, str(attempt.seq), NO_LOOP))
        elif attempt.status.successful:
            revival.replay(ws, attempt, spot)


def _is_target(ws: Workspace, walk: Walk, attempt: Attempt) -> bool:
    target = ws.attempt(walk.target)
    return target is not None and (target.ref, target.vector) == (attempt.ref, attempt.vector)
