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

from conductor_py.decider import (
    admission,
    bodies,
    control,
    ending,
    gates,
    idle,
    notices,
    operators,
    parents_word,
    pausing,
    scheduling,
    schemas,
    skipping,
    timeouts,
    watching,
)
from conductor_py.decider.generations import generations, jumping, revival, takeback, walks
from conductor_py.decider.need import Missing, Need, Request
from conductor_py.decider.operations import give_up, operate
from conductor_py.decider.operators import do_while, exclusive_join, fork_join_dynamic, sub_workflow
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Execution, Limits, Spot, Step, Workspace
from conductor_py.model.decision import Decision
from conductor_py.model.event import (
    RUN,
    Admitted,
    ChildEnded,
    ChildRevived,
    Claimed,
    Continue,
    DeadlinePassed,
    Event,
    Operation,
    ResultReported,
    Started,
)
from conductor_py.model.execution import Attempt, Header, Vector
from conductor_py.model.status import TaskStatus, WorkflowStatus

_NO_LIMITS = Limits()
_SHRINKING = frozenset({"forget", "forget_back", "cancel"})
_BEHIND = {"loop": 1, "jump": 2, "take_back": 2}


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
    # Results that were accepted before count; an operation finds what the timeout has left.
    asked = next((n for n, event in enumerate(events) if isinstance(event, Operation)), len(events))
    for event in events[:asked]:
        _attempt(missing, _consume, ws, event)
    _attempt(missing, timeouts.check_execution, ws)
    for event in events[asked:]:
        _attempt(missing, _consume, ws, event)
    rounds = complete = 0
    while True:
        while ws.agenda and not (ws.full or pausing.is_paused(ws)) and rounds < limits.rounds:
            rounds += 1
            _attempt(missing, _take, ws, ws.agenda.popleft())
            if not missing:
                complete = rounds
        if missing:
            return Need(missing, complete)
        if ws.agenda:
            _cut(ws)
        _attempt(missing, idle.conclude, ws)
        _attempt(missing, _tell, ws, execution.header, events)
        if missing:
            return Need(missing)
        if not ws.agenda:
            return ws.decision()


def abandon(
    plan: Plan, execution: Execution, events: Sequence[Event], now_ms: int, reason: str
) -> Decision:
    """End an execution that cannot be decided, without reading more of it: a defect of ours costs
    this one, with a reason, and no other.
    """
    ws = Workspace(plan, execution, now_ms, _NO_LIMITS)
    if ws.over:
        ending.pass_over_piece(ws)
    else:
        ending.cut(ws, WorkflowStatus.FAILED, reason, output={})
    give_up(ws, events, reason)
    with suppress(Missing):
        notices.collect_own(ws, execution.header, events)
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
    if parents_word.is_overtaken(ws, event) or generations.defers(ws, event):
        return
    match event:
        case Operation():
            operate(ws, event)
        case Continue():
            _continue(ws, event)
        case Started():
            _start(ws)
        case Claimed():
            ws.attempt(event.seq)  # `notices` tells of it
        case Admitted():
            if admission.answered(ws, admitted=event.admitted):
                _begin(ws)
        case ChildRevived():
            generations.child_revived(ws, event)
        case ResultReported() | DeadlinePassed() | ChildEnded():
            _about_attempt(ws, event)


def _about_attempt(ws: Workspace, event: ResultReported | DeadlinePassed | ChildEnded) -> None:
    if ws.over:
        return
    attempt = ws.attempt(event.seq)
    if isinstance(event, ChildEnded) and attempt is not None and not attempt.open:
        # Another attempt may have adopted the child since that names this one.
        attempt = ws.attempt(ws.newest(attempt.ref, attempt.vector))
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
            sub_workflow.heard(ws, spot, attempt, event)
        case DeadlinePassed():
            if pausing.is_paused(ws) and not _waited(ws, attempt):
                ws.agenda.append(Step("deadline", spot.plan, attempt.ref, attempt.vector))
            else:
                _deadline(ws, spot, attempt)


def _waited(ws: Workspace, attempt: Attempt) -> bool:
    """Whether the instant of a WAIT has come: it ends at its time, paused or not."""
    return bool(attempt.wait_until) and not attempt.start_at and ws.now_ms >= attempt.wait_until


def _result(ws: Workspace, spot: Spot, attempt: Attempt, event: ResultReported) -> None:
    claim = ws.claim(attempt.seq)
    if event.status.terminal:
        ending.leave_child(ws, attempt, f"Its task was reported {event.status.value}")
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
        scheduling.put_off(ws, spot, attempt, event.callback_after_s),
        recalled=0,
        worker=event.worker or attempt.worker,
        reason=event.reason,
    )
    if attempt.queue and attempt.async_complete:
        began = claim.first_at or ws.now_ms
        again = replace(again, queue="", status=TaskStatus.IN_PROGRESS, started_at=began)
    if again.queue:
        scheduling.offer(
            ws, spot, again, attempt.queue, again.callback_after_s * 1000, claim.first_at
        )
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
    if timeouts.check_started(ws, spot, attempt):
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
    refused = schemas.workflow_input_refusal(ws)
    if refused is not None:
        ending.end(ws, WorkflowStatus.FAILED, refused, output={})
    elif admission.enter(ws):
        _begin(ws)


def _begin(ws: Workspace) -> None:
    if ws.plan.is_dag:
        gates.begin(ws)
    elif ws.plan.first is None:
        ws.tail = True
    elif not ws.over:
        ws.agenda.append(Step("open", ws.plan, ws.plan.first, Vector("")))


def _continue(ws: Workspace, event: Continue) -> None:
    if event.generation != ws.header.generation:
        return
    if event.kind == "drain":
        ending.drain(ws)
        return
    ws.pending = max(ws.pending - event.counted, 0)
    if event.kind == "postponed":
        pausing.take_up(ws)
        return
    plan = None if ws.over else ws.plan_of(event.plan)
    if plan is not None:
        ws.agenda.append(Step(event.kind, plan, event.ref, Vector(event.vector)))


# -- steps -----------------------------------------------------------------------------------------


def _take(ws: Workspace, step: Step) -> None:
    if ws.over:
        return
    if ws.overgrown and step.kind not in _SHRINKING:
        reason = f"More than {ws.limits.tasks} tasks (conductor.limits.tasksPerExecution)"
        ending.end(ws, WorkflowStatus.FAILED, reason)
        return
    with suppress(control.Refused):
        _STEPS[step.kind](ws, step)


def _open(ws: Workspace, step: Step) -> None:
    node = step.plan.nodes.get(step.ref)
    spot = Spot(step.plan, node, step.vector) if node is not None else None
    if spot is None or control.in_ended_loop(ws, spot) or control.arrived(ws, spot):
        return
    if skipping.skipped(ws, spot) or skipping.prohibited(ws, spot):
        return
    operators.open_(ws, spot)


def _open_named(ws: Workspace, step: Step) -> None:
    """Open the task that a recovery begins with, which has no attempt to succeed to."""
    spot = Spot(step.plan, step.plan.nodes[step.ref], step.vector)
    revival.give(ws, spot)
    _open(ws, step)
    ws.given.pop(spot.key, None)


def _run(ws: Workspace, step: Step) -> None:
    if not walks.comes_first(ws, step):
        operators.run(ws, *_newest(ws, step))


def _check_loop(ws: Workspace, step: Step) -> None:
    """Look whether an iteration is over; later, if a walk or a pause holds back some of it."""
    node = step.plan.nodes.get(step.ref)
    if walks.comes_first(ws, step):
        return
    if ws.header.walk or pausing.is_behind(ws):
        _continue_later(ws, step)
    elif node is not None and not takeback.holds(ws, Spot(step.plan, node, step.vector)):
        do_while.check(ws, step.plan, step.ref, step.vector)


def _conclude_attempt(ws: Workspace, step: Step) -> None:
    spot, attempt = _newest(ws, step)
    if spot is None or attempt is None or attempt.open or takeback.keeps_back(ws, attempt):
        return
    control.conclude(ws, spot, attempt)


def _check_deadline(ws: Workspace, step: Step) -> None:
    spot, attempt = _newest(ws, step)
    if spot is not None and attempt is not None and attempt.open:
        _deadline(ws, spot, attempt)


def _newest(ws: Workspace, step: Step) -> tuple[Spot | None, Attempt | None]:
    node = step.plan.nodes.get(step.ref)
    seq = ws.newest(step.ref, step.vector)
    return Spot(step.plan, node, step.vector) if node else None, ws.attempt(seq) if seq else None


_STEPS: Mapping[str, Callable[[Workspace, Step], None]] = MappingProxyType(
    {
        "open": _open,
        "open_named": _open_named,
        "branches": fork_join_dynamic.more_branches,
        "join_of": lambda ws, step: fork_join_dynamic.join_of(ws, step.plan, step.ref, step),
        "join": lambda ws, step: exclusive_join.close_either(ws, step.ref, released=False),
        "released": lambda ws, step: exclusive_join.close_either(ws, step.ref, released=True),
        "cancel": bodies.cancel,
        "forget": bodies.forget,
        "forget_back": bodies.forget,
        "loop": _check_loop,
        "conclude": _conclude_attempt,
        "deadline": _check_deadline,
        RUN: _run,
        "roots": gates.open_roots,
        "gate": gates.act,
        "tell": gates.tell,
        "walk": lambda ws, _: walks.go_on(ws),
        "fill": revival.fill,
        "jump": jumping.begin,
        "take_back": takeback.begin,
        "revived": generations.child_is_back,
        **dict.fromkeys(("renew", "renew_target", "adopt", "resume_child"), revival.renew),
    }
)


def _cut(ws: Workspace) -> None:
    """Leave the rest of the agenda to continuations of the same commit, or to a resume. What gives
    way to others comes behind them, else it gives way for ever.
    """
    if pausing.is_paused(ws):
        pausing.postpone_agenda(ws)
    for step in sorted(ws.agenda, key=lambda step: _BEHIND.get(step.kind, 0)):
        _continue_later(ws, step)
    ws.agenda.clear()


def _continue_later(ws: Workspace, step: Step) -> None:
    later = Continue(
        generation=ws.header.generation,
        kind=step.kind,
        plan=step.plan.hash,
        ref=step.ref,
        vector=step.vector,
    )
    ws.pending += later.counted
    ws.continues.append(later)


# -- the end of a pass -----------------------------------------------------------------------------


def _tell(ws: Workspace, before: Header, events: Sequence[Event]) -> None:
    """The decision is complete: tell those who wait, and those who listen."""
    if not ws.agenda:
        watching.tell(ws)
        notices.collect(ws, before, events)
