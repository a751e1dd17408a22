"""decide: from an execution and its events to what is to be done, or to what is still needed.

Pure and total. Events are taken in inbox order, then the agenda is worked off until nothing more
follows or the decision has reached its bound; the rest becomes continuations of the same commit. A
step whose inputs are not known is given up and its need is noted; the others go on only to collect
what they need as well, and the whole pass is then thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from conductor_py.decider import control, ending, operators, scheduling, timeouts
from conductor_py.decider.need import Missing, Need, Read, Request
from conductor_py.decider.operations import operate
from conductor_py.decider.operators import do_while, fork_join_dynamic, sub_workflow
from conductor_py.decider.plan import Node, Plan
from conductor_py.decider.workspace import Execution, Limits, Spot, Step, Workspace
from conductor_py.model.decision import Answer, Decision
from conductor_py.model.event import (
    ChildEnded,
    Continue,
    DeadlinePassed,
    Event,
    Operation,
    ResultReported,
    Started,
)
from conductor_py.model.execution import Attempt, JoinState, Vector
from conductor_py.model.status import TaskStatus, WorkflowStatus

_NO_LIMITS = Limits()
_MAX_AUDIT = 10_000


def decide(
    plan: Plan,
    execution: Execution,
    events: Sequence[Event],
    now_ms: int,
    limits: Limits = _NO_LIMITS,
) -> Decision | Need:
    """Decide on everything that happened up to ``now_ms`` (store time)."""
    ws = Workspace(plan, execution, now_ms, limits)
    missing: dict[str, Request] = {}
    _attempt(missing, timeouts.check_execution, ws)
    for event in events:
        _attempt(missing, _consume, ws, event)
    rounds = complete = 0
    while True:
        while ws.agenda and not ws.full and rounds < limits.rounds:
            rounds += 1
            _attempt(missing, _take, ws, ws.agenda.popleft())
            if not missing:
                complete = rounds
        if missing:
            return Need(missing, complete)
        if ws.agenda:
            _cut(ws)
        _attempt(missing, _conclude, ws)
        if missing:
            return Need(missing)
        if not ws.agenda:
            return ws.decision()


def abandon(
    plan: Plan, execution: Execution, events: Sequence[Event], now_ms: int, reason: str
) -> Decision:
    """End an execution that cannot be decided, without reading anything more of it.

    The executor's last resort: a defect of ours costs this execution, with a reason, and no other.
    """
    ws = Workspace(plan, execution, now_ms, _NO_LIMITS)
    ending.end(ws, WorkflowStatus.FAILED, reason, output={})
    for event in events:
        if isinstance(event, Operation):
            ws.answers.append(Answer(operation=event.id, error="CONFLICT", message=reason))
    return ws.decision()


def _attempt(missing: dict[str, Request], step: Callable[..., None], *args: object) -> None:
    """Run a step, or note what it lacks.

    After a step that was given up the state may not be what it will be; requests are therefore
    named by what they ask, so that an answer to a discarded question is never taken for another.
    """
    try:
        step(*args)
    except Missing as given_up:
        missing.update(given_up.requests)


# -- events ----------------------------------------------------------------------------------------


def _consume(ws: Workspace, event: Event) -> None:
    match event:
        case Operation():
            operate(ws, event)
        case Continue():
            _continue(ws, event)
        case Started():
            _start(ws)
        case ResultReported() | DeadlinePassed() | ChildEnded():
            _about_attempt(ws, event)


def _about_attempt(ws: Workspace, event: ResultReported | DeadlinePassed | ChildEnded) -> None:
    if ws.over:
        return
    attempt = ws.attempt(event.seq)
    if attempt is None or not attempt.open or attempt.generation != ws.header.generation:
        return
    spot = ws.spot_of(attempt)
    if spot is None:
        reason = f"The definition of task {attempt.ref} was lost"
        ending.fail(ws, replace(attempt, status=TaskStatus.FAILED, reason=reason))
        return
    match event:
        case ResultReported():
            _result(ws, spot, attempt, event)
        case ChildEnded():
            if attempt.child == event.child:
                sub_workflow.ended(ws, spot, attempt, event)
        case DeadlinePassed():
            _deadline(ws, spot, attempt)


def _result(ws: Workspace, spot: Spot, attempt: Attempt, event: ResultReported) -> None:
    claim = ws.claim(attempt.seq)
    if event.status.terminal:
        control.leave_child(ws, attempt, f"Its task was reported {event.status.value}")
        control.finish(
            ws,
            spot,
            attempt,
            event.status,
            reason=event.reason,
            ended_at=min(claim.updated_at or ws.now_ms, ws.now_ms),
            worker=event.worker,
        )
        return
    again = replace(
        attempt,
        callback_after_s=event.callback_after_s,
        worker=event.worker or attempt.worker,
        reason=event.reason,
    )
    if attempt.queue:
        delay_ms = event.callback_after_s * 1000
        scheduling.offer(ws, spot, again, attempt.queue, delay_ms, claim.first_at)
    else:
        ws.put(again)
        ws.reopened.append(attempt.seq)
        ends = timeouts.started_deadline(again)
        due = [at for at in (attempt.wait_until, attempt.start_at, ends) if at]
        if due:
            ws.timers[attempt.seq] = min(due)


def _deadline(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    if attempt.queue:
        timeouts.check_attempt(ws, spot, attempt)
        return
    if ws.claim(attempt.seq).closed or timeouts.check_started(ws, spot, attempt):
        return
    attempt = ws.attempts.get(attempt.seq, attempt)
    due = attempt.start_at or attempt.wait_until
    resume = operators.RESUMES.get(spot.node.task.type) if due and ws.now_ms >= due else None
    if resume is None:
        ends = timeouts.started_deadline(attempt)
        ws.timers[attempt.seq] = min((at for at in (due, ends) if at), default=0)
    else:
        began = ws.now_ms if attempt.start_at else attempt.started_at
        opened = replace(attempt, status=TaskStatus.IN_PROGRESS, started_at=began, start_at=0)
        ws.put(opened)
        ws.timers[attempt.seq] = 0
        resume(ws, spot, opened)


def _start(ws: Workspace) -> None:
    ws.order("index")
    if ws.plan.first is None:
        ws.tail = True
    elif not ws.over:
        ws.agenda.append(Step("open", ws.plan, ws.plan.first, Vector("")))


def _continue(ws: Workspace, event: Continue) -> None:
    if event.generation != ws.header.generation:
        return
    if event.kind == "drain":
        ending.drain(ws)
        return
    ws.pending = max(ws.pending - 1, 0)
    plan = None if ws.over else ws.plan_of(event.plan)
    if plan is not None:
        ws.agenda.append(Step(event.kind, plan, event.ref, Vector(event.vector)))


# -- steps -----------------------------------------------------------------------------------------


def _take(ws: Workspace, step: Step) -> None:
    if not ws.over:
        with suppress(control.Refused):
            _STEPS[step.kind](ws, step)


def _open(ws: Workspace, step: Step) -> None:
    node = step.plan.nodes.get(step.ref)
    spot = Spot(step.plan, node, step.vector) if node is not None else None
    if spot is not None and not control.in_ended_loop(ws, spot):
        operators.open_(ws, spot)


_STEPS: Mapping[str, Callable[[Workspace, Step], None]] = MappingProxyType(
    {
        "open": _open,
        "branches": fork_join_dynamic.more_branches,
        "join_of": lambda ws, step: fork_join_dynamic.join_of(ws, step.plan, step.ref, step),
        "join": lambda ws, step: control.close_join(ws, step.ref),
        "loop": lambda ws, step: do_while.check(ws, step.plan, step.ref, step.vector),
    }
)


def _cut(ws: Workspace) -> None:
    """Leave the rest of the agenda to continuations of the same commit."""
    for step in ws.agenda:
        ws.pending += 1
        ws.continues.append(
            Continue(
                generation=ws.header.generation,
                kind=step.kind,
                plan=step.plan.hash,
                ref=step.ref,
                vector=step.vector,
            )
        )
    ws.agenda.clear()


# -- the end of a pass -----------------------------------------------------------------------------


def _conclude(ws: Workspace) -> None:
    """Nothing follows any more: is the execution done, waiting, or out of anything to do?"""
    if ws.over or ws.status is WorkflowStatus.PAUSED or ws.pending or ws.open_attempts:
        return
    if ws.containers:
        _release_join(ws)
    elif ws.tail:
        ending.complete(ws)
    else:
        ending.end(ws, WorkflowStatus.FAILED, "Nothing left to do: no task is open or can follow")


def _release_join(ws: Workspace) -> None:
    """Only containers are open: what they still wait for can never come and counts as SKIPPED.

    Innermost first: what follows an inner join may be what the outer one waits for.
    """
    seqs = range(max(ws.header.first_seq, ws.next_seq - _MAX_AUDIT), ws.next_seq)
    ws.together((f"a:{s}", Read(f"a:{s}")) for s in seqs if s < ws.header.next_seq)
    waiting: list[tuple[int, int, Spot, JoinState]] = []
    for seq in seqs:
        attempt = ws.attempt(seq)
        if attempt is None or not attempt.open or attempt.type not in {"JOIN", "EXCLUSIVE_JOIN"}:
            continue
        spot = ws.spot_of(attempt)
        state = ws.state("j:" + spot.key, JoinState) if spot else None
        if spot is not None and state is not None and not state.closed:
            waiting.append((-_nesting(ws, spot), seq, spot, state))
    if not waiting:
        ending.end(ws, WorkflowStatus.FAILED, "Nothing left to do: a container waits for nothing")
        return
    _, _, spot, state = min(waiting, key=lambda found: found[:2])
    key = "j:" + spot.key
    ws.states[key] = replace(state, expected=state.settled)
    ws.agenda.append(Step("join", spot.plan, key, Vector("")))


def _nesting(ws: Workspace, spot: Spot) -> int:
    """How many containers a node stands in."""
    plan: Plan | None = spot.plan
    node: Node | None = spot.node
    depth = 0
    while plan is not None and node is not None:
        if node.container is not None:
            node = plan.nodes.get(node.container)
        elif plan.anchor:
            anchor = plan.anchor
            plan = ws.plan_of(plan.parent)
            node = plan.nodes.get(anchor) if plan else None
        else:
            break
        depth += 1
    return depth
