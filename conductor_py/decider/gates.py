"""Gates: when a task of a DAG runs, and what becomes of those behind one that failed.

Each task is told, once in a generation, what became of every task before it. When the last of its
edges has been told its gate has a *verdict*: it runs, it is SKIPPED (nothing that leads to it was
chosen), or it is BLOCKED (something before it failed). A verdict without a run is told on in the
same decision, so one failure reaches any depth at once and no task waits for what cannot come.

What passes along an edge, by its label and by what became of the task before:

    label                        OK                        FAILED   SKIPPED  BLOCKED
    ok                           live                      blocked  dead     blocked
    test, always                 live                      live     dead     live
    success, failure, case,      live if it was chosen,    blocked  dead     blocked
    default                      dead otherwise
    order                        nothing: it is waited for, and no more

And the verdict, by the rule of the task: ``ALL`` is BLOCKED by one blocked edge, else RUN if one
is live; ``ANY_LIVE`` is RUN if one is live, else BLOCKED if one is; ``ALL_DONE`` is RUN. A task
to which no edge leads but those of order runs. Nothing is concluded before every edge has been
told: what cleans up behind several tasks never begins while one of them still runs.

In a later generation the tasks are gone through again from the roots. One that is done is kept when
nothing before it has run again; so a recovery does what has to be done, and nothing else. What its
scope holds back (``decider.scopes``) counts by the record it has; without one it could not run.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import ending, scopes
from conductor_py.decider.generations import unfinished
from conductor_py.decider.graph import lifted
from conductor_py.decider.need import Read
from conductor_py.decider.outcomes import (
    BLOCKED,
    FAILED,
    OK,
    RUN,
    SKIPPED,
    newest,
    outcome,
    state_of,
)
from conductor_py.decider.plan import CONTAINERS, Gate, Node
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.definitions import ORDER, Relation
from conductor_py.model.execution import NO_LOOP, Attempt, GateState, Walk
from conductor_py.model.requests import FORCED, TASK_PRE
from conductor_py.model.status import TaskStatus, WorkflowStatus

_PIECE = 500
_WHOLE = Walk(kind="revive", last=0)
_CHOSEN = frozenset({"success", "failure", "case", "default"})


def begin(ws: Workspace) -> None:
    """Begin with the tasks that nothing comes before."""
    ws.final = 0
    ws.agenda.append(Step("roots", ws.plan, "0", NO_LOOP))


def open_roots(ws: Workspace, step: Step) -> None:
    """Let the roots run, in pieces from a cursor on."""
    last = int(step.ref) + _PIECE
    for ref in step.plan.roots[int(step.ref) : last]:
        ws.agenda.append(Step("gate", step.plan, ref, NO_LOOP))
    if last < len(step.plan.roots):
        ws.agenda.append(replace(step, ref=str(last)))
        ws.cut_here = True


def settled(ws: Workspace, node: Node) -> None:
    """A task has ended, or will never run: tell those behind it."""
    ws.final += 1
    if node.gate is not None and node.gate.after:
        ws.agenda.append(Step("tell", ws.plan, f"0:{node.ref}", NO_LOOP))


def tell(ws: Workspace, step: Step) -> None:
    """Tell the gates behind a task what became of it, in pieces from a cursor on."""
    cursor, _, ref = step.ref.partition(":")
    node = step.plan.nodes[ref]
    if node.gate is None:
        return
    first = int(cursor)
    edges = node.gate.after[first : first + _PIECE]
    names = dict.fromkeys(f"g:{edge.post_task}" for edge in edges)
    ws.together((name, Read(name)) for name in names if name not in ws.states)
    became = outcome(ws, node)
    chosen = choice_of(ws, node) if became == OK else ""
    fresh = _is_fresh(ws, node)
    for edge in edges:
        _count(ws, step, edge, passed(edge, node.gate, became, chosen), fresh=fresh)
    if first + _PIECE < len(node.gate.after):
        ws.agenda.append(replace(step, ref=f"{first + _PIECE}:{ref}"))
        ws.cut_here = True


def _count(ws: Workspace, step: Step, edge: Relation, passed: str, *, fresh: bool) -> None:
    gate = step.plan.nodes[edge.post_task].gate
    state = state_of(ws, edge.post_task)
    if gate is None or (state.verdict and edge.label != ORDER):
        return
    state = replace(
        state,
        told=state.told + 1,
        live=state.live + (passed == "live"),
        blocked=state.blocked + (passed == "blocked"),
        fresh=state.fresh or (fresh and edge.label != ORDER),
    )
    if state.told == gate.before and not state.verdict:
        state = replace(state, verdict=verdict_of(gate, state))
        ws.agenda.append(Step("gate", step.plan, edge.post_task, NO_LOOP))
    ws.states[f"g:{edge.post_task}"] = state


def verdict_of(gate: Gate, state: GateState) -> str:
    """What a gate concludes of what it has been told: RUN, SKIPPED or BLOCKED."""
    if gate.rule == "ALL_DONE" or gate.before == gate.ordered:
        return RUN
    if state.live and (gate.rule == "ANY_LIVE" or not state.blocked):
        return RUN
    return BLOCKED if state.blocked else SKIPPED


def passed(edge: Relation, gate: Gate, became: str, chosen: str) -> str:
    """What passes along an edge of a task: live, blocked or dead; nothing along one of order."""
    if edge.label == ORDER:
        return ""
    if became == SKIPPED:
        return "dead"
    if edge.label in {"test", "always"}:
        return "live"
    if became in {FAILED, BLOCKED}:
        return "blocked"
    if edge.label not in _CHOSEN or _name(edge, gate, chosen) == chosen:
        return "live"
    return "dead"


def _name(edge: Relation, gate: Gate, chosen: str) -> str:
    """What a choice must be for an edge to be live; the default is for what has no edge."""
    if edge.label == "default":
        named = any(_case(each) == chosen for each in gate.after)
        return "" if named else chosen
    return _case(edge)


def _case(edge: Relation) -> str:
    return f"case:{edge.case}" if edge.label == "case" else edge.label


def choice_of(ws: Workspace, node: Node) -> str:
    """The label of the edges that a logic node has chosen."""
    if node.task.type not in {"CONDITIONS", "SWITCH"}:
        return ""
    seq = ws.newest(node.ref)
    output = ws.document(f"o:{seq}")
    if node.task.type == "CONDITIONS":
        return "success" if output.get("conditionResult") is True else "failure"
    return f"case:{output.get('selectedCase')}"


def _is_fresh(ws: Workspace, node: Node) -> bool:
    attempt, state = newest(ws, node), state_of(ws, node.ref)
    if attempt is not None and state.verdict in {"", RUN}:
        return state.fresh or attempt.generation == ws.header.generation
    return state.fresh


# -- what follows from a verdict -------------------------------------------------------------------


def act(ws: Workspace, step: Step) -> None:
    """Carry out the verdict of a gate."""
    node = step.plan.nodes[step.ref]
    state = state_of(ws, node.ref)
    walk = (ws.state("walk", Walk) or _WHOLE) if ws.header.revised else None
    named = walk is not None and _named(ws, walk) == node.ref
    if walk is not None and scopes.holds(ws, walk, node.ref):
        _hold(ws, node, state)
        return
    forced = walk is not None and walk.scope == FORCED
    if walk is not None and state.verdict:
        state = _ruled(ws, node, state, now=named, forced=forced)
    if state.verdict in {SKIPPED, BLOCKED}:
        ends = state.fresh or not forced
        if state.verdict == BLOCKED and not _note_blocked(ws, node, ends=ends):
            return
        if ws.header.revised and (done := newest(ws, node)) is not None:
            _forget(ws, done)
        settled(ws, node)
        return
    before = newest(ws, node) if ws.header.revised else None
    if before is None or before.ahead:
        kind = "open_named" if named else "open"
        ws.agenda.append(Step(kind, step.plan, node.ref, NO_LOOP))
    elif walk is not None and before.generation != ws.header.generation:
        _take_up(ws, walk, node, before, fresh=state.fresh)
    elif named and forced:
        settled(ws, node)


def _note_blocked(ws: Workspace, node: Node, *, ends: bool) -> bool:
    """Count a task that cannot run as a failure; whether the execution goes on. What was kept from
    an earlier generation does not end it (``ends``).
    """
    reason = _cannot_run(node)
    if ends and ws.plan.definition.failure_strategy == "END":
        ending.end(ws, WorkflowStatus.FAILED, reason)
        return False
    ending.note_failure(ws, reason, only_first=True)
    return True


def take_back(ws: Workspace, node: Node, failed: Attempt) -> str:
    """Take back what the failure of a task has told, as if it had not ended yet: what could not run
    because of it is open again. When something behind it has run instead, its reference is
    answered, and nothing is changed. What has waited for no more than its end, and runs, goes on.
    """
    states: dict[str, GateState] = {}
    waited: list[str] = []
    told = [(node, FAILED)]
    for teller, became in told:
        if teller.gate is None:
            continue
        names = [edge.post_task for edge in teller.gate.after]
        ws.together((f"g:{n}", Read(f"g:{n}")) for n in names if f"g:{n}" not in ws.states)
        for edge in teller.gate.after:
            ref = edge.post_task
            if edge.label == ORDER:
                waited.append(ref)
                continue
            state = states.get(ref) or state_of(ws, ref)
            if state.verdict == BLOCKED:
                told.append((ws.plan.nodes[ref], BLOCKED))
            elif state.verdict:
                return ref
            was = passed(edge, teller.gate, became, "")
            states[ref] = replace(
                state,
                told=state.told - 1,
                live=state.live - (was == "live"),
                blocked=state.blocked - (was == "blocked"),
                verdict="",
            )
    ws.states.update({f"g:{ref}": state for ref, state in states.items()})
    _wait_again(ws, waited)
    ws.final -= len(told)
    if not _handled(node):
        ending.take_back_failure(ws, ending.reason_of(failed))
    for blocked_node, _ in told[1:]:
        ending.take_back_failure(ws, _cannot_run(blocked_node))
    return ""


def _wait_again(ws: Workspace, refs: list[str]) -> None:
    """Count no longer that these have been told; what has a verdict keeps it, and is told again."""
    for ref in refs:
        state = state_of(ws, ref)
        ws.states[f"g:{ref}"] = replace(state, told=state.told - 1)


def _cannot_run(node: Node) -> str:
    return f"Task {node.ref} cannot run: what comes before it has failed"


def goes_on(ws: Workspace, spot: Spot, attempt: Attempt) -> bool:
    """Whether a DAG goes on after the final failure of a task, which is noted unless it is
    handled.
    """
    if spot.node.loops or _handled(lifted(ws, spot).node):
        return True
    if ws.plan.definition.failure_strategy == "END":
        return False
    ending.note_failure(ws, ending.reason_of(attempt))
    return True


def conclude(ws: Workspace) -> bool:
    """End an execution of which nothing is open; false when a task is left of which it is not known
    what became.
    """
    if ws.final != len(ws.plan.definition.tasks):
        return False
    ending.complete(ws)
    return True


# -- later generations -----------------------------------------------------------------------------


def _named(ws: Workspace, walk: Walk) -> str:
    """The task that a recovery begins with; empty when it names none."""
    target = ws.attempt(walk.target) if walk.target and not walk.ref else None
    return walk.ref or (target.ref if target is not None else "")


def _ruled(ws: Workspace, node: Node, state: GateState, *, now: bool, forced: bool) -> GateState:
    """Let a task that was named run, or count as run, whatever its gate says, unless something
    before it has run again: that decides.
    """
    if state.verdict == RUN:
        state = replace(state, named=False)
    elif now or state.named:
        done = newest(ws, node)
        stays = now or (done is not None and not done.ahead)
        runs = (now and forced) or (stays and not state.fresh)
        state = replace(state, named=runs, verdict=RUN if runs else state.verdict)
    ws.states[f"g:{node.ref}"] = state
    return state


def _hold(ws: Workspace, node: Node, state: GateState) -> None:
    """Leave a task as it is, whatever leads to it now."""
    done = newest(ws, node)
    if done is not None and not done.ahead:
        verdict = RUN
        if done.redo:
            ws.put(replace(done, superseded=False, redo=0))
        if not done.status.successful and not _handled(node):
            ending.note_failure(ws, ending.reason_of(done))
    elif state.verdict == SKIPPED:
        verdict = SKIPPED
    else:
        verdict = BLOCKED
        reason = _cannot_run(node)
        if state.verdict != BLOCKED:
            reason = f"Task {node.ref} has not run: only a part of the workflow was run again"
        ending.note_failure(ws, reason, only_first=True)
    named = state.named and not state.fresh
    ws.states[f"g:{node.ref}"] = replace(state, verdict=verdict, named=named)
    settled(ws, node)


def _take_up(ws: Workspace, walk: Walk, node: Node, before: Attempt, *, fresh: bool) -> None:
    """Keep what a task has done, or do it again."""
    is_target = _named(ws, walk) == node.ref
    again = fresh or walk.scope == TASK_PRE
    cut_off = before.redo or before.status is TaskStatus.CANCELED
    left = walk.scope == FORCED and not cut_off
    kept = not is_target and not again and (left or is_kept(ws, node, before))
    if before.type == "DO_WHILE" and not kept:
        ws.states[f"j:{node.ref}"] = None
    if again and not is_target:
        _forget(ws, before)
        ws.agenda.append(Step("open", ws.plan, node.ref, NO_LOOP))
    elif kept:
        if not before.status.successful and not _handled(node):
            ending.note_failure(ws, ending.reason_of(before))
        settled(ws, node)
    else:
        kind = "renew"
        if is_target:
            kind = unfinished.of_target(walk, before)
        elif walk.resumes and before.child:
            kind = "resume_child"
        ws.put(replace(before, superseded=True, redo=ws.header.generation))
        ws.count_open((), NO_LOOP, 1, container=before.type in CONTAINERS)
        ws.agenda.append(Step(kind, ws.plan, str(before.seq), NO_LOOP))


def _forget(ws: Workspace, attempt: Attempt) -> None:
    ws.put(replace(attempt, superseded=True, redo=0))
    ws.pointers[f"r:{attempt.ref}"] = 0


def is_kept(ws: Workspace, node: Node, before: Attempt) -> bool:
    """What succeeded is not done again, nor what failed as somebody expected, who has run then;
    what was to be done again when an end came before it is.
    """
    if before.redo:
        return False
    if before.status.successful:
        return True
    if node.gate is None or not node.gate.handled or before.status is TaskStatus.CANCELED:
        return False
    plain = ("r:" + each.post_task for each in node.gate.after if each.label == "ok")
    ws.together((name, Read(name)) for name in plain if name not in ws.pointers)
    return all(ws.newest(each.post_task) for each in node.gate.after if each.label == "ok")


def _handled(node: Node) -> bool:
    return node.gate is not None and node.gate.handled
