"""Generations: how a restart, a retry, a rerun or a revived child begins one.

An operation on what has ended waits until the clean-up after that end is done. Beginning a
generation is one small change of the header; whatever has to look at all attempts is left to a walk
(``decider.walks``). What a generation resets stands here and nowhere else (A-41).
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import ending, gates, pausing
from conductor_py.decider.generations import takeback
from conductor_py.decider.need import PresenceWanted
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.decision import Answer, Send
from conductor_py.model.event import ChildRevived, Continue, Event, Operation
from conductor_py.model.execution import NO_LOOP, Attempt, Walk
from conductor_py.model.status import WorkflowStatus

_UNDEFERRED = frozenset({"terminate", "remove", "watch"})


def defers(ws: Workspace, event: Event) -> bool:
    """Put an event behind a walk whose first pass is under way: until that ends nothing is counted;
    whether it was.
    """
    if not ws.header.walk or ws.header.surveyed or ws.over or isinstance(event, Continue):
        return False
    if isinstance(event, Operation) and event.name in _UNDEFERRED:
        return False
    ws.continues.append(event)
    return True


def waits(ws: Workspace, event: Operation | ChildRevived) -> bool:
    """Put an event behind the clean-up after an end; whether it was."""
    if not (ws.over and ws.drain):
        return False
    ws.continues.append(event)
    return True


def refusal(operation: Operation, error: str, message: str) -> Answer:
    """The answer that refuses an operation."""
    return Answer(operation=operation.id, error=error, message=message)


def begin(ws: Workspace, walk: Walk, *, through: str = "") -> None:
    """Begin a generation whose ``walk`` decides what becomes of the attempts there are;
    ``through`` is that of ``ChildRevived``.

    Reset: status, reason, failed task, output, end time, the workflow's timeout, all counts. What
    waited for admission when it ended waits no longer: it may have ended in this same decision.
    """
    timeout_ms = ws.plan.definition.timeout_seconds * 1000
    ws.header = replace(
        ws.header,
        generation=ws.header.generation + 1,
        last_retried_at=ws.now_ms,
        walk=ws.header.first_seq,
        surveyed=False,
        revised=True,
        awaits_admission=False,
    )
    ws.status = WorkflowStatus.RUNNING
    ws.ended_at = ws.drain = 0
    ws.due_at = ws.now_ms + timeout_ms if timeout_ms > 0 else 0
    ws.open_attempts = ws.containers = ws.pending = ws.permissive_failures = 0
    ws.tail = False
    ws.final = 0
    ws.scope = None
    ws.states["end"] = None
    ws.states["walk"] = walk
    ws.documents["output"] = {}
    ws.order("index")
    if ws.plan.is_dag and walk.kind != "restart":
        ws.header = replace(ws.header, walk=0)
        gates.begin(ws)
    else:
        ws.agenda.append(Step("walk", ws.plan, "", NO_LOOP))
    if ws.header.parent is not None:
        _tell_parent(ws, ws.header.parent, through)


def _tell_parent(ws: Workspace, parent: str, through: str) -> None:
    """Tell the parent of a new generation, unless it is gone for good."""
    if ws.answer(f"present:{parent}", PresenceWanted(parent)) is not True:
        return
    revived = ChildRevived(
        seq=ws.header.parent_seq,
        child=ws.id,
        child_generation=ws.header.generation,
        through=through,
    )
    ws.sends.append(Send(execution=parent, event=revived))


def begin_anew(ws: Workspace, plan: Plan) -> None:
    """Begin a generation in which nothing has happened yet: no attempt exists for any reader, the
    variables are those of the definition. The walk only clears up.
    """
    if plan.hash != ws.plan.hash:
        ws.plan = plan
        ws.plans[plan.hash] = None
    begin(ws, Walk(kind="restart", last=ws.next_seq))
    ws.header = replace(
        ws.header,
        plan=plan.hash,
        version=plan.definition.version,
        first_seq=ws.next_seq,
        fragments=-len(ws.hashes),
        former=(),
        revised=False,
        skips=False,
    )
    ws.forgotten = 0
    ws.documents["vars"] = plan.definition.variables


def child_revived(ws: Workspace, event: ChildRevived) -> None:
    """A child began a generation: the task that waited for it waits again, and what has followed it
    comes after it again; in a generation of its own when this execution has ended.

    In an earlier iteration of a loop the later ones follow. Not when the task was optional, or
    another attempt has taken its place (Conductor).
    """
    if ws.header.forget or waits(ws, event):
        return
    newest, spot = _waiting(ws, event)
    if newest is None and not ws.over:
        _end_forgotten(ws, event)
    if newest is None or spot is None or parted(ws, event):
        return
    if ws.over:
        walk = Walk(
            kind="revive",
            last=ws.next_seq,
            target=newest.seq,
            forgets=True,
            adopts=True,
            resumes=True,
        )
        begin(ws, walk, through="" if event.through == ws.id else event.through)
    elif newest.open or newest.redo == ws.header.generation:
        return
    elif ws.state("walk", Walk) is None:
        takeback.order(ws, newest)
    elif pausing.is_paused(ws):
        ws.agenda.append(Step("revived", ws.plan, str(newest.seq), NO_LOOP))
    else:
        ws.continues.append(event)


def _end_forgotten(ws: Workspace, event: ChildRevived) -> None:
    """End a child whose task was taken back: that will start another one."""
    attempt = ws.attempt(event.seq)
    if attempt is None or attempt.seq < ws.header.first_seq or not attempt.superseded:
        return
    reason = f"Task {attempt.ref} of the workflow above runs again, with another"
    ending.leave_child(ws, attempt, reason, nth=event.child_generation)


def leave_revived(ws: Workspace, seq: int, child_generation: int, *, through: str) -> None:
    """End a child that has begun a generation of which this execution will not hear, unless no task
    would have waited for it again.
    """
    attempt = ws.attempt(seq)
    if attempt is None or attempt.child is None:
        return
    event = ChildRevived(
        seq=seq, child=attempt.child, child_generation=child_generation, through=through
    )
    if not ws.over:
        _end_forgotten(ws, event)
    if not parted(ws, event):
        reason = f"Workflow {ws.id} does not wait for it any more"
        ending.leave_child(ws, attempt, reason, nth=child_generation)


def parted(ws: Workspace, event: ChildRevived) -> str:
    """Why no task waits again for a child that begins a generation; empty when one does.

    What comes behind a task of a DAG has been told: only a recovery of the DAG takes that back.
    """
    newest, spot = _waiting(ws, event)
    if newest is None or spot is None or newest.child != event.child:
        return "the task that waited for it has run again since, or was left out"
    if spot.node.task.optional:
        return f"task {newest.ref} is optional"
    if ws.plan.is_dag and newest.vector:
        return f"task {newest.ref} stands in a loop of a DAG, which runs again as a whole"
    if ws.plan.is_dag and not newest.open and not ws.over:
        return f"its DAG has gone on behind task {newest.ref} and has not ended yet"
    if ws.plan.is_dag and not newest.open and not event.through:
        return "its DAG has ended, and is taken up again by its own id alone"
    if not ws.over and not takeback.is_within(ws, spot):
        return f"the loop around task {newest.ref} has ended before its body did"
    return ""


def _waiting(ws: Workspace, event: ChildRevived) -> tuple[Attempt | None, Spot | None]:
    """The newest attempt at the place of the one that waited for a child."""
    attempt = ws.attempt(event.seq)
    seq = ws.newest(attempt.ref, attempt.vector) if attempt is not None else 0
    newest = ws.attempt(seq) if seq else None
    return newest, ws.spot_of(newest) if newest is not None else None


def child_is_back(ws: Workspace, step: Step) -> None:
    """Go on with what a pause has postponed."""
    attempt = ws.attempt(int(step.ref))
    if attempt is not None and attempt.child is not None:
        event = ChildRevived(seq=attempt.seq, child=attempt.child, child_generation=0)
        child_revived(ws, event)
