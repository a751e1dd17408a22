"""What a passed deadline means for an attempt and for an execution.

Order as in Conductor: total timeout, attempt timeout, poll timeout, response timeout. Each decision
that ends an attempt because time passed names the claim it saw (``ClaimSeen``), so that an
extension that came in between wins.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import control, ending, publishing, scheduling
from conductor_py.decider.plan import CONTAINERS
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.decision import ClaimSeen
from conductor_py.model.definitions import TaskDef
from conductor_py.model.execution import Attempt, ClaimSide
from conductor_py.model.ids import task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.places import wire_ref
from conductor_py.model.status import TaskStatus, WorkflowStatus


def check_execution(ws: Workspace) -> None:
    """End the execution when its own timeout has passed and its policy says so."""
    if ws.over or not ws.due_at or ws.now_ms < ws.due_at:
        return
    ws.due_at = 0
    definition = ws.plan.definition
    seconds, policy = definition.timeout_seconds, definition.timeout_policy
    passed = f"timeout of {seconds} s passed, policy {policy}"
    if policy == "TIME_OUT_WF":
        ending.end(ws, WorkflowStatus.TIMED_OUT, f"Workflow timed out: {passed}")
        return
    publishing.alert(ws, f"timeout:{ws.header.generation}", {"reason": f"Workflow: {passed}"})


def check_attempt(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Act on the timer of an attempt that a worker takes.

    The firing is only a hint: what counts is the claim as it is now, which the commit compares. A
    decision that does nothing but move the timer is guarded in the same way, else it could take
    the timer of a claim that came in between.
    """
    claim = ws.claim(attempt.seq)
    if claim.closed:
        return
    due = _due(ws, spot, attempt, claim)
    if due is None:
        _rearm(ws, spot, attempt, claim)
        return
    reason, policy, bit = due
    if policy == "ALERT_ONLY":
        alerted = replace(attempt, alerted=attempt.alerted | bit)
        ws.put(alerted)
        _alert(ws, attempt, bit, reason)
        _rearm(ws, spot, alerted, claim)
        return
    guard(ws, attempt, claim)
    if policy == "LOST":
        _lose(ws, spot, attempt, claim, reason)
        return
    _time_out(ws, spot, attempt, policy, reason, claim.worker)


def check_started(ws: Workspace, spot: Spot, attempt: Attempt) -> bool:
    """Act on the timeouts of an attempt that no worker takes; whether nothing is left to do: one
    has ended it, or the result of another hand will. Whatever follows is guarded as above.
    """
    claim = ws.claim(attempt.seq)
    if claim.closed:
        return True
    guard(ws, attempt, claim)
    definition = spot.node.task.task_definition
    total, ends = _started_deadlines(attempt)
    passed = (total and ws.now_ms >= total, ends and ws.now_ms >= ends)
    if definition is None or not any(passed):
        return False
    policy = definition.timeout_policy
    reason = _total(definition, policy) if passed[0] else _own(attempt, policy)
    if policy == "ALERT_ONLY":
        seen = scheduling.TOTAL_ALERTED if passed[0] else 0
        seen |= scheduling.TASK_ALERTED if passed[1] else 0
        ws.put(replace(attempt, alerted=attempt.alerted | seen))
        _alert(ws, attempt, seen, reason)
        return False
    _time_out(ws, spot, attempt, policy, reason, "")
    return True


def _alert(ws: Workspace, attempt: Attempt, bit: int, passed: str) -> None:
    ref = wire_ref(attempt.ref, attempt.vector)
    facts: JsonObject = {
        "taskId": task_id(ws.id, attempt.seq),
        "taskDefName": attempt.definition,
        "referenceTaskName": ref,
        "reason": f"Task {ref}: {passed}",
    }
    publishing.alert(ws, f"{attempt.seq}:{bit}", facts)


def started_deadline(attempt: Attempt) -> int:
    """When an attempt that no worker takes times out; 0: never."""
    return min((at for at in _started_deadlines(attempt) if at), default=0)


def watch(ws: Workspace, attempt: Attempt) -> None:
    """Arm the timer of an attempt that no worker takes, when it can time out."""
    ends = started_deadline(attempt)
    if ends:
        ws.timers[attempt.seq] = ends


def _started_deadlines(attempt: Attempt) -> tuple[int, int]:
    """Ends of the total timeout and of its own, which runs only once it has started."""
    total = 0 if attempt.alerted & scheduling.TOTAL_ALERTED else attempt.deadline
    running = attempt.timeout_ms and attempt.started_at and not attempt.start_at
    timed = running and not attempt.alerted & scheduling.TASK_ALERTED
    return total, attempt.started_at + attempt.timeout_ms if timed else 0


def _time_out(  # noqa: PLR0917 - whose, by which policy, why
    ws: Workspace, spot: Spot, attempt: Attempt, policy: str, reason: str, worker: str
) -> None:
    if policy == "TIME_OUT_WF":
        ended = replace(attempt, status=TaskStatus.TIMED_OUT, reason=reason, ended_at=ws.now_ms)
        ws.count_open(spot.node.loops, spot.vector, -1, container=attempt.type in CONTAINERS)
        ws.put(ended)
        control.close(ws, attempt)
        ending.leave_child(ws, attempt, reason)
        ending.fail(ws, ended)
        return
    ending.leave_child(ws, attempt, reason)
    control.finish(ws, spot, attempt, TaskStatus.TIMED_OUT, reason=reason, worker=worker)


def _due(
    ws: Workspace, spot: Spot, attempt: Attempt, claim: ClaimSide
) -> tuple[str, str, int] | None:
    """Which deadline has passed, in a sentence, what its policy says, and its bit of ``alerted``
    (0: it has none); ``None`` when none has.
    """
    definition = spot.node.task.task_definition
    policy = definition.timeout_policy if definition else "RETRY"
    now, alerted = ws.now_ms, attempt.alerted
    if attempt.deadline and now >= attempt.deadline and not alerted & scheduling.TOTAL_ALERTED:
        return _total(definition, policy), policy, scheduling.TOTAL_ALERTED
    timed = attempt.timeout_ms and claim.first_at
    if (
        timed
        and now >= claim.first_at + attempt.timeout_ms
        and not alerted & scheduling.TASK_ALERTED
    ):
        return _own(attempt, policy), policy, scheduling.TASK_ALERTED
    if not claim.held:
        poll_by = _poll_by(ws, spot, attempt)
        if poll_by and now >= poll_by and not alerted & scheduling.POLL_ALERTED:
            seconds = definition.poll_timeout_seconds if definition else 0
            said = f"poll timeout of {seconds} s passed, policy {policy}"
            said = f"{said}: no worker took the task from queue {attempt.queue}"
            return said, policy, scheduling.POLL_ALERTED
        return None
    if now < claim.until:
        return None
    if claim.leased:
        return _lost(ws, attempt, claim)
    said = f"response timeout of {attempt.response_timeout_ms // 1000} s passed, policy RETRY"
    return f"{said}: nothing was heard of worker {claim.worker or 'unknown'}", "RETRY", 0


def _lost(ws: Workspace, attempt: Attempt, claim: ClaimSide) -> tuple[str, str, int]:
    lost = f"worker {claim.worker or 'unknown'} is lost"
    silent_s = (claim.until - claim.updated_at) // 1000
    ended = f"its lease ended, {silent_s} s after it was last heard of"
    if attempt.lost < ws.limits.lost:
        return f"{lost}: {ended}", "LOST", 0
    return f"{lost}, and {attempt.lost} before it: {ended}, policy RETRY", "RETRY", 0


def _total(definition: TaskDef | None, policy: str) -> str:
    seconds = definition.total_timeout_seconds if definition else 0
    return f"total timeout of {seconds} s over all tries passed, policy {policy}"


def _own(attempt: Attempt, policy: str) -> str:
    return f"timeout of {attempt.timeout_ms // 1000} s passed, policy {policy}"


def _poll_by(ws: Workspace, spot: Spot, attempt: Attempt) -> int:
    """The end of the poll timeout; it begins anew when the execution is resumed."""
    definition = spot.node.task.task_definition
    resumed = ws.header.last_retried_at
    if not attempt.poll_by or definition is None or attempt.scheduled_at >= resumed:
        return attempt.poll_by
    return max(attempt.poll_by, resumed + (definition.poll_timeout_seconds or 0) * 1000)


def guard(ws: Workspace, attempt: Attempt, claim: ClaimSide) -> None:
    """Let the commit be refused when a poll, an extension or a result has come to the claim."""
    ws.guards.append(ClaimSeen(seq=attempt.seq, claim=claim.claim, until=claim.until))


def _lose(ws: Workspace, spot: Spot, attempt: Attempt, claim: ClaimSide, reason: str) -> None:
    canceled = replace(
        attempt,
        status=TaskStatus.CANCELED,
        reason=reason,
        ended_at=ws.now_ms,
        worker=claim.worker,
    )
    ws.count_open(spot.node.loops, spot.vector, -1, container=False)
    control.close(ws, attempt)
    control.again(ws, spot, canceled, delay_ms=0, lost=True)


def _rearm(ws: Workspace, spot: Spot, attempt: Attempt, claim: ClaimSide) -> None:
    """Move the timer to the next deadline that has not been acted on."""
    guard(ws, attempt, claim)
    alerted = attempt.alerted
    deadlines = [attempt.deadline if not alerted & scheduling.TOTAL_ALERTED else 0]
    if claim.first_at and attempt.timeout_ms and not alerted & scheduling.TASK_ALERTED:
        deadlines.append(claim.first_at + attempt.timeout_ms)
    if claim.held:
        deadlines.append(claim.until)
    elif not alerted & scheduling.POLL_ALERTED:
        deadlines.append(_poll_by(ws, spot, attempt))
    ws.timers[attempt.seq] = min((at for at in deadlines if at), default=0)
