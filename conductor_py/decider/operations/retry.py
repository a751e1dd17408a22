"""Retry: what failed, timed out or was canceled in an execution that has ended is tried again."""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import ending
from conductor_py.decider.adoption import is_asked_by_parent
from conductor_py.decider.generations import generations, unfinished
from conductor_py.decider.need import Read
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.execution import Attempt, Ending, Walk
from conductor_py.model.ids import split_task_id
from conductor_py.model.status import WorkflowStatus

_PIECE = 500
_NOTHING = "There are no retryable tasks! Use restart if you want to attempt entire workflow again."


def retry(ws: Workspace, operation: Operation) -> Answer | None:
    """Begin a generation in which every task that ended unsuccessfully gets a new attempt; with
    ``resume`` failed children are retried rather than started anew. What is asked of a
    ``generation`` is not done to a later one: it was done, and comes again.
    """
    if not ws.over:
        message = f"Workflow {ws.id} is {ws.status.value}, only one that has ended can be retried."
        return generations.refusal(operation, "NOT_FOUND", message)
    if generations.waits(ws, operation):
        return None
    later = operation.arguments.get("generation", ws.header.generation) != ws.header.generation
    if later or ws.status is WorkflowStatus.COMPLETED or _ended_itself(ws):
        return _nothing(ws, operation)
    cut_off = _cut_off(ws)
    if ws.status is not WorkflowStatus.TIMED_OUT and not (cut_off or _held_back(ws)):
        cursor = operation.arguments.get("cursor")
        last = cursor if isinstance(cursor, int) else ws.next_seq
        first = max(ws.header.first_seq, last - _PIECE)
        if not _any_failed(ws, range(first, last)):
            if first <= ws.header.first_seq:
                return _nothing(ws, operation)
            arguments = {**operation.arguments, "cursor": first}
            ws.continues.append(replace(operation, arguments=arguments))
            return None
    resumes = operation.arguments.get("resume") is True
    walk = cut_off or Walk(kind="revive", last=0)
    generations.begin(ws, replace(walk, last=ws.next_seq, resumes=resumes))
    return Answer(operation=operation.id)


def _nothing(ws: Workspace, operation: Operation) -> Answer:
    """A parent that asked for it waits for the child's end: it is told of that end again."""
    if is_asked_by_parent(operation):
        ending.tell_parent_again(ws)
    return generations.refusal(operation, "CONFLICT", _NOTHING)


def _any_failed(ws: Workspace, seqs: range) -> bool:
    ws.together((f"a:{s}", Read(f"a:{s}")) for s in seqs if s < ws.header.next_seq)
    return any(_failed(ws.attempt(seq)) for seq in seqs)


def _cut_off(ws: Workspace) -> Walk | None:
    """What goes on with a recovery that an end has cut off. A DAG that failed by itself has gone by
    its gates: what they say of the target holds.
    """
    walk = ws.state("walk", Walk)
    if walk is None:
        return None
    if walk.kind == "take_back":
        taking = Walk(kind="revive", last=0, target=walk.target, forgets=True)
        return replace(taking, adopts=True, cut_off=True)
    by_itself = ws.plan.is_dag and ws.status is WorkflowStatus.FAILED
    if by_itself or not ws.header.revised or not unfinished.is_ahead(ws, walk):
        return None
    return replace(walk, cut_off=True)


def _held_back(ws: Workspace) -> bool:
    """Whether only a part of a DAG was run again: what it held back may not have failed."""
    walk = ws.state("walk", Walk) if ws.plan.is_dag and ws.header.revised else None
    return walk is not None and bool(walk.scope)


def _failed(attempt: Attempt | None) -> bool:
    if attempt is None or attempt.redo or attempt.superseded:
        return attempt is not None and attempt.redo > 0  # made anew by nobody when an end came
    return not attempt.status.successful


def _ended_itself(ws: Workspace) -> bool:
    """Whether a TERMINATE task ended it: tried again, it would only do so again."""
    end = ws.state("end", Ending)
    if end is None or end.failed_task is None:
        return False
    attempt = ws.attempt(split_task_id(end.failed_task)[1])
    return attempt is not None and attempt.type == "TERMINATE" and attempt.status.successful
