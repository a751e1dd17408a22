"""The end of an execution: one cut, whatever its size.

Status and generation change at once; attempts that are still open *read* as CANCELED from then on,
and a draining continuation cleans up after them in pieces. The archive is ordered when that is
done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conductor_py.decider import failure_workflow, hiding, parents_word, pausing, schemas
from conductor_py.decider.expressions.expressions import TooLarge
from conductor_py.decider.generations import clearing, unfinished
from conductor_py.decider.need import Read
from conductor_py.decider.parameters import Reader
from conductor_py.decider.references import resolve_template
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Send
from conductor_py.model.event import ChildEnded, Continue, Operation
from conductor_py.model.execution import (
    Attempt,
    Document,
    Ending,
    External,
    PermissiveFailures,
    Walk,
)
from conductor_py.model.ids import ExecutionId, task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.places import wire_ref
from conductor_py.model.status import TaskStatus, WorkflowStatus

_PIECE = 500
_KEPT_REASONS = 20
_LONGEST_REASON = 500

_STATUS_OF = {
    TaskStatus.CANCELED: WorkflowStatus.TERMINATED,
    TaskStatus.TIMED_OUT: WorkflowStatus.TIMED_OUT,
}
_ENDED = {TaskStatus.CANCELED: "was canceled", TaskStatus.TIMED_OUT: "timed out"}
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def fail(ws: Workspace, attempt: Attempt) -> None:
    """End the execution because of an attempt that failed for good."""
    status = _STATUS_OF.get(attempt.status, WorkflowStatus.FAILED)
    end(ws, status, reason_of(attempt), failed=attempt)


def complete(ws: Workspace) -> None:
    """End the execution because everything is done; failed permissive tasks make it FAILED."""
    if not ws.permissive_failures:
        end(ws, WorkflowStatus.COMPLETED, None)
    else:
        end(ws, WorkflowStatus.FAILED, permissive_reason(ws))


def permissive_reason(ws: Workspace) -> str:
    """Why an execution fails that has gone past failures to its end."""
    other = "A task could not run" if ws.plan.is_dag else "A permissive task failed"
    return " ".join(_permissive(ws).reasons) or other


def note_permissive(ws: Workspace, attempt: Attempt) -> None:
    """Count the final failure of a permissive task, and keep its reason for the end."""
    note_failure(ws, reason_of(attempt))


def reason_of(attempt: Attempt) -> str:
    """Which task has failed, of which type, in which try, and why."""
    name = wire_ref(attempt.ref, attempt.vector)
    tries = f", {_ordinal(attempt.retry_count + 1)} try" if attempt.retry_count else ""
    said = f"Task {name} ({attempt.type}{tries}) {_ENDED.get(attempt.status, 'failed')}"
    return f"{said}: {attempt.reason}" if attempt.reason else said


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in {11, 12, 13} else _ORDINALS.get(number % 10, "th")
    return f"{number}{ending}"


def note_failure(ws: Workspace, reason: str, *, only_first: bool = False) -> None:
    """Count what makes an execution fail when everything else is done, and keep the reason;
    ``only_first``: unless there is one that says more.
    """
    ws.permissive_failures += 1
    noted = _permissive(ws)
    if len(noted.reasons) < (1 if only_first else _KEPT_REASONS):
        reasons = (*noted.reasons, reason[:_LONGEST_REASON])
        ws.states["permissive"] = replace(noted, reasons=reasons)


def take_back_failure(ws: Workspace, reason: str) -> None:
    """Count a failure that was noted no more."""
    ws.permissive_failures -= 1
    noted = _permissive(ws)
    reasons = list(noted.reasons)
    if reason[:_LONGEST_REASON] in reasons:
        reasons.remove(reason[:_LONGEST_REASON])
        ws.states["permissive"] = replace(noted, reasons=tuple(reasons))


def _permissive(ws: Workspace) -> PermissiveFailures:
    """What was noted in this generation."""
    noted = ws.state("permissive", PermissiveFailures)
    if noted is None or noted.generation != ws.header.generation:
        return PermissiveFailures(generation=ws.header.generation)
    return noted


def end(
    ws: Workspace,
    status: WorkflowStatus,
    reason: str | None,
    *,
    failed: Attempt | None = None,
    output: Document | None = None,
    rescue: bool = True,
) -> None:
    """Cut, after an unsuccessful end start the failure workflow (``rescue``), tell the parent."""
    if ws.over:
        return
    if reason:
        reason = hiding.shown(ws, reason, failed)
    result = output if output is not None else _output(ws, status, reason, failed)
    refused = ws.known.get("oversize:output")
    if isinstance(refused, str):
        status, reason, result = WorkflowStatus.FAILED, refused, {}
    if status is WorkflowStatus.COMPLETED:
        refused = schemas.workflow_output_refusal(ws, result)
        if refused is not None:
            status, reason = WorkflowStatus.FAILED, hiding.shown(ws, refused, failed)
    noted = result
    if rescue and status is not WorkflowStatus.COMPLETED:
        failed_task = task_id(ws.id, failed.seq) if failed else None
        note = failure_workflow.start(ws, status, reason, failed_task)
        if note is not None:
            whole = ws.payload(result.path) if isinstance(result, External) else result
            noted = failure_workflow.noted(whole, note)
    if ws.header.revised:
        _leave_revived(ws, reason)
    cut(ws, status, reason, failed=failed, output=noted, told=result)


def cut(
    ws: Workspace,
    status: WorkflowStatus,
    reason: str | None,
    *,
    failed: Attempt | None = None,
    output: Document,
    told: Document | None = None,
) -> None:
    """From here on nothing of this generation starts or completes. The parent is ``told`` the
    output without what was noted in it.
    """
    ws.status = status
    ws.ended_at = ws.now_ms
    ws.due_at = 0
    ws.documents["output"] = output
    failed_task = task_id(ws.id, failed.seq) if failed else None
    ws.states["end"] = Ending(reason=reason, failed_task=failed_task)
    ws.agenda.clear()
    ws.pending = 0
    first = _leave_walk(ws)
    uncleared = first < ws.header.first_seq
    if ws.open_attempts or ws.containers or pausing.is_behind(ws) or uncleared:
        ws.drain = first
        # What else waits (an operation that waits behind a clean-up) is not of this generation.
        kept = [event for event in ws.continues if not isinstance(event, Continue)]
        ws.continues = [*kept, Continue(generation=ws.header.generation, kind="drain")]
    else:
        finalize(ws)
    tell_parent(ws, reason, output if told is None else told)


def _leave_revived(ws: Workspace, reason: str | None) -> None:
    """End a child that began anew, and that nobody waits for yet."""
    walk = ws.state("walk", Walk)
    if walk is None or not (walk.adopts or walk.kind == "take_back"):
        return
    attempt = unfinished.newest_at_target(ws, walk) if unfinished.is_ahead(ws, walk) else None
    if attempt is None or attempt.open:
        return
    leave_child(ws, attempt, reason, nth=ws.header.generation)


def leave_child(ws: Workspace, attempt: Attempt, reason: str | None, *, nth: int = 0) -> None:
    """End the child of an attempt that does not wait for it any more, unless it is somebody else's;
    ``nth`` tells one time from the next.
    """
    if attempt.child is None or attempt.followed:
        return
    identity = f"cancel:{task_id(ws.id, attempt.seq)}" + (f":{nth}" if nth else "")
    arguments = {"reason": reason, parents_word.WORD: parents_word.leaving(ws.next_seq)}
    terminate = Operation(id=identity, name="terminate", arguments=arguments)
    ws.sends.append(Send(execution=ExecutionId(attempt.child), event=terminate))


def _leave_walk(ws: Workspace) -> int:
    """End a walk that is under way; from where on there is something to clean up. A restart's has
    yet to clear what lies before the execution's first attempt. A recovery's is kept: a retry goes
    on with it where it has not come to its target.
    """
    first = ws.header.first_seq
    if ws.header.walk:
        first = min(first, ws.header.walk)
        walk = ws.state("walk", Walk)
        if walk is not None and walk.kind not in {"revive", "take_back"}:
            ws.states["walk"] = None
        ws.header = replace(ws.header, walk=0, surveyed=False)
    return first


def drain(ws: Workspace) -> None:
    """Clean up after a cut end: cancel what was open, in pieces, then order the archive."""
    if not ws.drain:
        return
    reason = _ending(ws).reason
    last = min(ws.drain + _PIECE, ws.header.next_seq)
    clearing.clear(ws, range(ws.drain, min(last, ws.header.first_seq)))
    seqs = range(max(ws.drain, ws.header.first_seq), last)
    ws.together((f"a:{seq}", Read(f"a:{seq}")) for seq in seqs)
    for seq in seqs:
        attempt = ws.attempt(seq)
        if attempt is not None and attempt.open:
            _cancel(ws, attempt, reason)
        elif attempt is not None and attempt.redo and ws.status is WorkflowStatus.COMPLETED:
            # A TERMINATE was quicker than a recovery, with which no other goes on.
            ws.put(replace(attempt, superseded=False, redo=0))
    pausing.forget_piece(ws)
    _drained_up_to(ws, last)


def pass_over_piece(ws: Workspace) -> None:
    """Go on with a clean-up behind a piece that cannot be read: what stands in it keeps dead
    entries, which are dropped where they are found.
    """
    if ws.drain:
        ws.header = replace(ws.header, taken_up=ws.header.postponed)
        _drained_up_to(ws, min(ws.drain + _PIECE, ws.header.next_seq))


def _drained_up_to(ws: Workspace, last: int) -> None:
    if last < ws.header.next_seq or pausing.is_behind(ws):
        ws.drain = last
        ws.continues.append(Continue(generation=ws.header.generation, kind="drain"))
    else:
        ws.drain = 0
        ws.open_attempts = ws.containers = 0
        finalize(ws)


def finalize(ws: Workspace) -> None:
    """Order what follows a complete end: index and archive now, removal from the store later; or at
    once and without a trace.
    """
    if ws.header.forget:
        ws.order("forget")
        return
    ws.order("index")
    ws.order("remove")


def _cancel(ws: Workspace, attempt: Attempt, reason: str | None) -> None:
    ended_at = ws.header.ended_at or ws.now_ms
    ws.put(replace(attempt, status=TaskStatus.CANCELED, ended_at=ended_at))
    ws.ended.append(attempt.seq)
    because = reason or f"Parent workflow ended: {ws.status.value}"
    leave_child(ws, attempt, f"Parent workflow has been terminated with reason: {because}")


def _output(
    ws: Workspace, status: WorkflowStatus, reason: str | None, failed: Attempt | None
) -> Document:
    """The output template, resolved; without one the output of the attempt that failed, else, and
    when a loop failed, of the newest attempt. An output that tells of a failure may name it: one
    that completes says ``RUNNING``, as Conductor's does.
    """
    if not ws.plan.outputs.constant or ws.plan.definition.output_parameters:
        ending: JsonObject = {}
        if status is not WorkflowStatus.COMPLETED:
            ending = {"status": status.value, "reasonForIncompletion": reason}
        try:
            value = resolve_template(ws, ws.plan.outputs, Reader(ending=ending))
        except TooLarge as refused:
            ws.known = {**ws.known, "oversize:output": f"Workflow output {refused}"}
            return {}
        return value if isinstance(value, Mapping) else {}
    seq = ws.next_seq - 1 if failed is None or failed.type == "DO_WHILE" else failed.seq
    return ws.raw_document(f"o:{seq}") if seq >= ws.header.first_seq else {}


def tell_parent(ws: Workspace, reason: str | None, output: Document) -> None:
    """Tell the parent how this execution has ended."""
    header = ws.header
    if header.parent is None:
        return
    ended = ChildEnded(
        seq=header.parent_seq,
        child=ws.id,
        child_generation=header.generation,
        status=ws.status,
        reason=reason,
        output=output,
    )
    ws.sends.append(Send(execution=header.parent, event=ended))


def tell_parent_again(ws: Workspace) -> None:
    """Tell the parent once more: it waits again, and nothing else will come of its child."""
    tell_parent(ws, _ending(ws).reason, ws.raw_document("output"))


def _ending(ws: Workspace) -> Ending:
    return ws.state("end", Ending) or Ending()
