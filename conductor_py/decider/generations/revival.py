"""Revival: successors of attempts that a new generation makes anew, and what an end had dropped.

A task is opened afresh by its own operator, which finds here what it succeeds. Joins are counted
anew by their references, loops go on in the iteration they were in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conductor_py.decider import adoption, control, joins, operators, skipping
from conductor_py.decider.graph import (
    ancestry,
    follower,
    joining,
    lifted,
    open_iteration,
    preceding,
)
from conductor_py.decider.need import Read
from conductor_py.decider.operators import do_while, join
from conductor_py.decider.plan import CONTAINERS, Plan
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.execution import Attempt, JoinState, LoopState, Vector
from conductor_py.model.places import place_key

_PIECE = 500
_JOINS = frozenset({"JOIN", "EXCLUSIVE_JOIN"})


def loops_of(ws: Workspace, spot: Spot) -> list[Spot]:
    """The loops around a place, innermost first."""
    if not spot.node.loops:
        return []
    return [each for each in ancestry(ws, spot)[1:] if each.node.task.type == "DO_WHILE"]


def chose(ws: Workspace, attempt: Attempt) -> bool:
    """Whether a task chose a branch that has tasks."""
    if attempt.type not in {"SWITCH", "DECISION"}:
        return False
    return "hasChildren" in ws.document(f"i:{attempt.seq}")


# -- forgotten -------------------------------------------------------------------------------------


def read_pointers(ws: Workspace, attempts: Sequence[Attempt]) -> None:
    """Read together what ``forget`` looks at."""
    names = {f"r:{each.ref}" for each in attempts}
    names |= {f"r:{place_key(each.ref, each.vector)}" for each in attempts}
    ws.together((name, Read(name)) for name in sorted(names) if name not in ws.pointers)


def forget(ws: Workspace, attempt: Attempt) -> None:
    """Let an attempt stay listed, and its place be as if nothing had come there."""
    ws.put(replace(attempt, superseded=True, redo=0))
    place = place_key(attempt.ref, attempt.vector)
    for name in {f"r:{attempt.ref}", f"r:{place}"}:
        changed = ws.pointers.get(name)
        pointed = changed if changed is not None else ws.field(name)
        if pointed == attempt.seq:
            ws.pointers[name] = 0
    if attempt.type in CONTAINERS:
        ws.states[f"j:{place}"] = None
    elif attempt.type == "FORK" and (fork := ws.spot_of(attempt)) is not None:
        _forget_prepared(ws, fork)


def _forget_prepared(ws: Workspace, fork: Spot) -> None:
    """Let a join that was not opened yet count no more for what a fork had opened."""
    join = joining(fork.plan, fork.node)
    if join is None:
        return
    name = "j:" + Spot(fork.plan, join, fork.vector).key
    state = ws.state(name, JoinState)
    if state is not None and not state.seq:
        ws.states[name] = None


# -- made anew -------------------------------------------------------------------------------------


def renew(ws: Workspace, step: Step) -> None:
    """Make the successor of the attempt whose number the step names."""
    before = ws.attempt(int(step.ref))
    at = ws.spot_of(before) if before is not None and before.redo else None
    if before is None or at is None:
        return
    spot = lifted(ws, at)
    container = before.type in CONTAINERS
    ws.count_open(spot.node.loops, spot.vector, -1, container=container)
    ws.put(replace(before, redo=0))
    if control.in_ended_loop(ws, spot):
        return
    task = replace(spot.node.task, start_delay=0)
    spot = Spot(spot.plan, replace(spot.node, task=task), spot.vector)
    target = step.kind in {"renew_target", "adopt"}
    retries = before.retry_count + (0 if target else 1)
    if step.kind in {"adopt", "resume_child"}:  # as the type that it was resolved to
        adoption.adopt(ws, at, before, retries, resume=step.kind == "resume_child")
        return
    ws.renewed[spot.key] = (before, retries)
    if target:
        give(ws, spot)
    if before.type in _JOINS:
        _reopen_join(ws, spot)
    elif spot.node.task.type == "DO_WHILE" and not target and not ws.plan.is_dag:
        do_while.reopen(ws, spot, before)
    elif not skipping.prohibited(ws, spot):
        if before.type == "FORK":
            _forget_prepared(ws, spot)
        operators.open_(ws, spot)
    ws.renewed.pop(spot.key, None)
    ws.given.pop(spot.key, None)


def give(ws: Workspace, spot: Spot) -> None:
    """Let the task that a rerun begins with have the input that was given for it, if any."""
    if "redo" in ws.documents or ws.state("redo", object) is not None:
        ws.given[spot.key] = ws.document("redo")
        ws.documents.pop("redo", None)
        ws.states["redo"] = None


def _reopen_join(ws: Workspace, spot: Spot) -> None:
    ws.states["j:" + spot.key] = None
    fragment = fragment_before(ws, spot)
    if fragment is None or spot.node.task.type == "EXCLUSIVE_JOIN":
        operators.open_(ws, spot)
        return
    ws.states["j:" + spot.key] = counted(ws, spot, fragment)
    join.open_join(ws, spot, fragment.branches)


def fragment_before(ws: Workspace, spot: Spot) -> Plan | None:
    """The branches that a join waits for, when they came as data."""
    node = preceding(spot.plan, spot.node.ref)
    if node is None or node.task.type != "FORK_JOIN_DYNAMIC":
        return None
    fork = Spot(spot.plan, node, spot.vector)
    seq = ws.newest(node.ref, spot.vector)
    attempt = ws.attempt(seq) if seq else None
    # One that failed has brought nothing; an earlier generation may have.
    return ws.fragment_of(fork) if attempt is not None and _forks(fork, attempt) else None


def counted(ws: Workspace, spot: Spot, fragment: Plan) -> JoinState:
    """Count the settled branches of a dynamic fork anew."""
    found = join.newest(ws, spot, fragment.branches)
    state = JoinState(seq=0, expected=len(fragment.branches))
    for ref, attempt in found.items():
        body: tuple[WorkflowTask, ...] = (fragment.nodes[ref].task,)
        settled = _settled(ws, fragment, body, attempt.vector)
        if settled is not None:
            state = joins.count_in(state, settled)
    return state


def _settled(
    ws: Workspace, plan: Plan, body: tuple[WorkflowTask, ...], vector: Vector
) -> Attempt | None:
    """The attempt with which a list of tasks has settled; a choice settles with what it chose."""
    while body:
        ref = body[-1].task_reference_name
        seq = ws.newest(ref, vector)
        attempt = ws.attempt(seq) if seq else None
        if attempt is None or not join.has_settled(attempt):
            return None
        if not chose(ws, attempt):
            return attempt
        body = branch_of(ws, plan.nodes[ref].task, attempt)
    return None


def branch_of(ws: Workspace, task: WorkflowTask, attempt: Attempt) -> tuple[WorkflowTask, ...]:
    """The branch that a task chose."""
    case = str(ws.document(f"i:{attempt.seq}").get("case"))
    return task.decision_cases.get(case) or task.default_case


# -- kept ------------------------------------------------------------------------------------------


def followed(ws: Workspace, attempt: Attempt, spot: Spot) -> list[str]:
    """The pointers that ``replay`` looks at, all but those of a dynamic fork's branches."""
    if not _goes_on(ws, spot):
        return []
    return ["r:" + each.key for each in _nexts(ws, attempt, spot)]


def replay(ws: Workspace, attempt: Attempt, spot: Spot) -> None:
    """Open what follows a kept attempt and has not been reached."""
    if not _goes_on(ws, spot):
        return
    missing = [each for each in _nexts(ws, attempt, spot) if not control.arrived(ws, each)]
    forks = _forks(spot, attempt)
    brought = ws.fragment_of(spot) if forks else None
    if brought is not None and brought.branches:
        last = Spot(brought, brought.nodes[brought.branches[-1]], spot.vector)
        if not control.arrived(ws, last):
            ws.agenda.append(Step("fill", brought, "0", spot.vector))
    for each in missing:
        if each.node.task.type in _JOINS and forks:
            _prepare(ws, spot, each, brought)
            if brought is not None:
                ws.agenda.append(Step("join_of", brought, each.node.ref, each.vector))
                continue
        ws.agenda.append(Step("open", each.plan, each.node.ref, each.vector))


def _prepare(ws: Workspace, fork: Spot, at: Spot, brought: Plan | None) -> None:
    """Count anew for a join that its fork has prepared and that was not opened."""
    if brought is None:
        join.prepare_join(ws, fork, at.node, frozenset())
    else:
        ws.states["j:" + at.key] = counted(ws, at, brought)


def _nexts(ws: Workspace, attempt: Attempt, spot: Spot) -> list[Spot]:
    """What opens after an attempt has settled, or together with it."""
    task = spot.node.task
    if attempt.type == "TERMINATE" and not control.leads_on(spot, attempt):
        return []
    if chose(ws, attempt):
        heads = [branch_of(ws, task, attempt)[:1]]
    elif _forks(spot, attempt):
        heads = [branch[:1] for branch in task.fork_tasks]
    else:
        heads = []
    found = [
        Spot(spot.plan, spot.plan.nodes[head.task_reference_name], spot.vector)
        for tasks in heads
        for head in tasks
    ]
    following = None if chose(ws, attempt) else follower(ws, spot)
    return found if following is None else [*found, following]


def _forks(spot: Spot, attempt: Attempt) -> bool:
    """Whether a task has opened branches."""
    return attempt.type == "FORK" and not control.leads_on(spot, attempt)


def _goes_on(ws: Workspace, spot: Spot) -> bool:
    """Whether every loop around opens, or is open, in the iteration of the place."""
    for loop in loops_of(ws, spot):
        state = ws.state("j:" + loop.key, LoopState)
        attempt = ws.attempt(state.seq) if state is not None else None
        if state is None or attempt is None or not (attempt.open or attempt.redo):
            return False
        if state.iteration != open_iteration(spot.vector, len(loop.node.loops)):
            return False
    return True


def fill(ws: Workspace, step: Step) -> None:
    """Open those branches of a dynamic fork that are missing, from a cursor on."""
    first = int(step.ref)
    refs = step.plan.branches[first : first + _PIECE]
    spots = [Spot(step.plan, step.plan.nodes[ref], step.vector) for ref in refs]
    names = ["r:" + spot.key for spot in spots]
    ws.together((name, Read(f">a {name}")) for name in names if name not in ws.pointers)
    for spot in spots:
        if not control.arrived(ws, spot):
            ws.agenda.append(Step("open", spot.plan, spot.node.ref, spot.vector))
    if first + _PIECE < len(step.plan.branches):
        ws.agenda.append(Step("fill", step.plan, str(first + _PIECE), step.vector))
