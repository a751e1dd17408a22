"""The life of an attempt: created, ended, settled; and what follows from that.

``finish`` is the one way for an attempt to end. A reference *settles* when its newest attempt has
ended and no retry is outstanding; joins and loops count settled references. What follows is put on
the agenda, never called, so that nesting costs no stack and a decision can be cut anywhere between
two steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conductor_py.decider import caching, ending, gates, hiding, joins, retries, scheduling, schemas
from conductor_py.decider.pausing import is_paused
from conductor_py.decider.plan import CONTAINERS, Node, Plan
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.execution import (
    Attempt,
    Document,
    LoopState,
    Vector,
    vector_append,
    vector_prefix,
)
from conductor_py.model.places import place_key
from conductor_py.model.status import TaskStatus
from conductor_py.records import changed, made


class Refused(Exception):
    """The attempt being opened has failed already: what it was given is larger than allowed, or
    cannot be had.
    """


def create(
    ws: Workspace,
    spot: Spot,
    *,
    type_: str,
    status: TaskStatus,
    definition: str = "",
    input_: Document | None = None,
    output: Document | None = None,
    started: bool = True,
    **facts: Any,  # noqa: ANN401 - attributes of `Attempt`, checked by its constructor
) -> Attempt:
    """Make the next attempt at ``spot``: state, pointers, counts; the caller adds queue entry or
    timer.

    Raises ``Refused`` when input or output are larger than allowed, or the input names a parameter
    that is nowhere: the attempt has failed then.
    """
    seq = ws.next_seq
    ws.next_seq = seq + 1
    refused = ws.refused("i", seq, spot.node.ref)
    if refused is not None:
        input_ = {}
    refused = refused or ws.unresolved.pop(spot.key, None)
    refused = refused or schemas.input_refusal(ws, spot, input_)
    refused = refused or ws.refused("o", seq, spot.node.ref)
    if refused is not None:
        output, status = None, TaskStatus.IN_PROGRESS
    facts |= _succession(*ws.renewed.pop(spot.key, (None, 0)))
    attempt = made(
        Attempt,
        seq=seq,
        ref=spot.node.ref,
        vector=spot.vector,
        plan=spot.plan.hash,
        type=type_,
        definition=definition or type_,
        status=status,
        generation=ws.header.generation,
        scheduled_at=ws.now_ms,
        first_scheduled_at=ws.now_ms,
        started_at=ws.now_ms if started else 0,
        ended_at=ws.now_ms if status.terminal else 0,
        **facts,
    )
    ws.put(attempt)
    point(ws, attempt)
    if input_ is not None:
        ws.documents[f"i:{seq}"] = input_
    if output is not None:
        ws.documents[f"o:{seq}"] = output
    if not status.terminal:
        ws.count_open(spot.node.loops, spot.vector, 1, container=type_ in CONTAINERS)
    if refused is not None:
        finish(ws, spot, attempt, TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=refused)
        raise Refused
    return attempt


def _succession(before: Attempt | None, retries: int) -> dict[str, int]:
    """What an attempt takes over from the one that a new generation makes anew. The task of a
    rerun, which is no retry, begins another line.
    """
    if before is None:
        return {}
    found = {"retried_seq": before.seq, "retry_count": retries}
    return found | {"root": before.root or before.seq} if retries > before.retry_count else found


def arrived(ws: Workspace, spot: Spot) -> bool:
    """Whether a place has been reached already: it is not opened again."""
    if not ws.header.revised:
        return False
    attempt = newest_at(ws, spot)
    return attempt is not None and attempt.vector == spot.vector and not attempt.ahead


def newest_at(ws: Workspace, spot: Spot) -> Attempt | None:
    """The newest attempt at a place."""
    seq = ws.newest(spot.node.ref, spot.vector)
    return ws.attempt(seq) if seq else None


def point(ws: Workspace, attempt: Attempt) -> None:
    """Make an attempt the newest of its reference."""
    ws.pointers[f"r:{attempt.ref}"] = attempt.seq
    if attempt.vector:
        ws.pointers[f"r:{attempt.ref}#{attempt.vector}"] = attempt.seq


def finish(
    ws: Workspace,
    spot: Spot,
    attempt: Attempt,
    status: TaskStatus,
    *,
    output: Document | None = None,
    reason: str | None = None,
    ended_at: int = 0,
    worker: str = "",
) -> None:
    """End an attempt, then retry it, settle its reference, or end the execution."""
    if not attempt.open:
        return
    ended = changed(
        attempt,
        status=status,
        reason=attempt.reason if reason is None and not status.successful else reason,
        ended_at=ended_at or ws.now_ms,
        worker=worker or attempt.worker,
    )
    if output is not None:
        ws.documents[f"o:{attempt.seq}"] = output
        refused = ws.refused("o", attempt.seq, attempt.ref)
        if refused is not None:
            ws.documents[f"o:{attempt.seq}"] = {}
            ended = replace(ended, status=TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=refused)
    if ended.status.successful:
        refused = schemas.output_refusal(ws, spot, attempt)
        if refused is not None:
            ended = replace(ended, status=TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=refused)
    if ended.reason:
        ended = changed(ended, reason=hiding.shown(ws, ended.reason, attempt))
    ws.count_open(spot.node.loops, spot.vector, -1, container=attempt.type in CONTAINERS)
    ws.put(ended)
    close(ws, attempt)
    caching.keep(ws, spot, ended)
    if attempt.type == "DO_WHILE":
        leave_body(ws, spot)
    conclude(ws, spot, ended)


def close(ws: Workspace, attempt: Attempt) -> None:
    """Take back whatever queue entry, timer or permit an attempt has."""
    ws.offered.pop(attempt.seq, None)
    ws.timers.pop(attempt.seq, None)
    if attempt.seq < ws.header.next_seq:
        ws.ended.append(attempt.seq)


def cancel(ws: Workspace, spot: Spot, attempt: Attempt, reason: str) -> None:
    """End an attempt that nobody waits for any more; nothing follows from it."""
    ws.count_open(spot.node.loops, spot.vector, -1, container=attempt.type in CONTAINERS)
    canceled = replace(
        attempt, status=TaskStatus.CANCELED, reason=reason, ended_at=ws.now_ms, start_at=0
    )
    ws.put(canceled)
    close(ws, attempt)
    ending.leave_child(ws, attempt, reason)


def leave_body(ws: Workspace, spot: Spot) -> None:
    """A loop ends: what is still open in its present iteration is cancelled."""
    state = ws.state("j:" + spot.key, LoopState)
    if state is None or not state.iteration or state.open_attempts <= 0:
        return
    ws.states["j:" + spot.key] = replace(state, closed=True)
    inner = vector_append(spot.vector, state.iteration)
    ws.agenda.append(Step("cancel", spot.plan, f"0:{spot.node.ref}", inner))


def conclude(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Go on from an attempt that has just ended; nothing follows inside a loop that has ended, nor
    while the execution is paused.
    """
    if is_paused(ws):
        ws.agenda.append(Step("conclude", spot.plan, attempt.ref, attempt.vector))
        return
    if ws.over or in_ended_loop(ws, spot):
        return
    if attempt.status.successful:
        settle(ws, spot, attempt)
    elif not retries.may_retry(spot.node.task, attempt):
        _settle_failed(ws, spot, attempt)
    elif attempt.deadline and ws.now_ms >= attempt.deadline:
        if ws.plan.is_dag:
            _settle_failed(ws, spot, attempt)
            return
        # An exhausted total timeout ends the execution even for optional tasks, as in Conductor.
        ending.fail(ws, attempt)
    else:
        delay = retries.delay_ms(spot.node.task.task_definition, attempt, ws.id)
        again(ws, spot, attempt, delay_ms=delay)


def again(ws: Workspace, spot: Spot, failed: Attempt, *, delay_ms: int, lost: bool = False) -> None:
    """Make the next attempt. A lost worker's attempt keeps its retry count and counts as lost
    instead.
    """
    ws.put(replace(failed, superseded=True))
    seq = ws.next_seq
    ws.next_seq = seq + 1
    attempt = replace(
        failed,
        seq=seq,
        status=TaskStatus.SCHEDULED,
        generation=ws.header.generation,
        scheduled_at=ws.now_ms,
        retry_count=failed.retry_count if lost else failed.retry_count + 1,
        lost=failed.lost + 1 if lost else failed.lost,
        retried_seq=failed.seq,
        root=failed.root or failed.seq,
        superseded=False,
        started_at=0,
        ended_at=0,
        worker="",
        child=None,
        followed=False,
        callback_after_s=delay_ms // 1000,
        delay_s=delay_ms // 1000,
        wait_until=0,
        start_at=0,
        alerted=0,
        recalled=0,
    )
    ws.count_open(spot.node.loops, spot.vector, 1, container=attempt.type in CONTAINERS)
    refused = ws.refused("i", seq, attempt.ref)
    if refused is None:
        # Its own reference is the attempt before it, as long as nothing points here.
        attempt, refused = scheduling.renew_input(ws, spot, attempt)
    point(ws, attempt)
    if refused is None:
        scheduling.offer_again(ws, spot, attempt, delay_ms)
        return
    ws.documents[f"i:{seq}"] = {}
    finish(ws, spot, attempt, TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=refused)


def _settle_failed(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    task = spot.node.task
    if task.optional and not attempt.status.successful:
        attempt = replace(attempt, status=TaskStatus.COMPLETED_WITH_ERRORS)
        ws.put(attempt)
        settle(ws, spot, attempt)
    elif ws.plan.is_dag and gates.goes_on(ws, spot, attempt):
        settle(ws, spot, attempt)
    elif task.permissive and not ws.plan.is_dag:
        ending.note_permissive(ws, attempt)
        settle(ws, spot, attempt)
    else:
        ending.fail(ws, attempt)


def in_ended_loop(ws: Workspace, spot: Spot) -> bool:
    """Whether the loop around a spot has ended before its body did (a task of it failed)."""
    key = ws.loop_key(spot.node.loops, spot.vector)
    state = ws.state(key, LoopState) if key else None
    return state is not None and state.closed


def settle(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Tell the joins and the loop around, then go on to what follows."""
    node = spot.node
    joins.tell(ws, spot, attempt)
    if node.loops and not attempt.status.successful:
        fail_loop(ws, spot, attempt)
        return
    if leads_on(spot, attempt):
        advance(ws, spot, attempt)
    if node.loops:
        _look_at_loop(ws, spot)


def leads_on(spot: Spot, attempt: Attempt) -> bool:
    """Whether a settled task lets what follows it open. A fork has opened its join itself, and
    TERMINATE has ended everything, unless it failed or was not to be done.
    """
    done = attempt.status is TaskStatus.COMPLETED and not spot.node.task.prohibited
    return not (done and attempt.type in {"FORK", "TERMINATE"})


def _look_at_loop(ws: Workspace, spot: Spot) -> None:
    """The tail of the body may have settled before this attempt, when no join names its branch."""
    key = ws.loop_key(spot.node.loops, spot.vector)
    state = ws.state(key, LoopState) if key else None
    if state is None or not state.tail or state.open_attempts > 0:
        return
    ref = spot.node.loops[-1]
    plan: Plan | None = spot.plan
    while plan is not None and ref not in plan.nodes:
        plan = ws.plan_of(plan.parent) if plan.anchor else None
    if plan is not None:
        outer = vector_prefix(spot.vector, len(spot.node.loops) - 1)
        ws.agenda.append(Step("loop", plan, ref, outer))


def open_first(ws: Workspace, steps: list[Step]) -> None:
    """Put steps at the front of the agenda, in order: what a container opens together with
    itself.
    """
    ws.agenda.extendleft(reversed(steps))


def advance(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Put what follows a settled task, whose attempt it is, on the agenda."""
    plan: Plan | None = spot.plan
    node: Node | None = spot.node
    vector = spot.vector
    while plan is not None and node is not None:
        if node.following is not None:
            ws.agenda.append(Step("open", plan, node.following, vector))
            return
        if node.container is None:
            if node.gate is not None:
                gates.settled(ws, node)
                return
            if not plan.anchor:
                ws.tail = True
                return
            if joins.is_choice_branch(plan, node):
                joins.tell_chosen(ws, Spot(plan, node, vector), attempt)
            if plan.branches:
                return
            anchor = plan.anchor
            plan = ws.plan_of(plan.parent)
            node = plan.nodes.get(anchor) if plan else None
            continue
        holder = plan.nodes[node.container]
        if holder.task.type == "FORK_JOIN":
            return
        if holder.task.type == "DO_WHILE":
            reach_tail(ws, plan, holder, vector)
            return
        node = holder


def reach_tail(ws: Workspace, plan: Plan, loop: Node, vector: Vector) -> None:
    """Note that the last task of a loop's body has settled in this iteration."""
    outer = vector_prefix(vector, len(loop.loops))
    key = "j:" + place_key(loop.ref, outer)
    state = ws.state(key, LoopState)
    if state is not None and vector.rsplit(".", 1)[-1] == str(state.iteration):
        ws.states[key] = replace(state, tail=True)
        ws.agenda.append(Step("loop", plan, loop.ref, outer))


def fail_loop(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """A task in the body failed for good (permissive): the loop around it fails at once, or as soon
    as it is made anew.
    """
    outer = vector_prefix(spot.vector, len(spot.node.loops) - 1)
    key = "j:" + place_key(spot.node.loops[-1], outer)
    state = ws.state(key, LoopState)
    loop = ws.attempt(state.seq) if state else None
    place = ws.spot_of(loop) if loop else None
    if state is None or loop is None or place is None:
        return
    if loop.redo:
        ws.states[key] = replace(state, failed=attempt.seq)
    elif loop.open:
        ws.states[key] = replace(state, failed=attempt.seq, closed=True)
        ws.agenda.appendleft(Step("loop", place.plan, place.node.ref, outer))
