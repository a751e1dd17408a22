"""Adoption: a new attempt goes on with the child of an older one instead of starting another.

What the child is at that moment is asked, not remembered: events about it may have come before
anybody waited for it again.
"""

from __future__ import annotations

from conductor_py.decider import control, operators, parents_word, scheduling, timeouts
from conductor_py.decider.need import ChildState, ChildStateWanted
from conductor_py.decider.operators import sub_workflow
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.decision import Send
from conductor_py.model.event import ChildRevived, Event, Operation
from conductor_py.model.execution import Attempt
from conductor_py.model.ids import ExecutionId, partition_of, task_id
from conductor_py.model.status import TaskStatus, WorkflowStatus

ASKED_BY_PARENT = "revive:"
"""What the ids of retries begin with that a parent asks of its child."""


def is_asked_by_parent(event: Event) -> bool:
    """Tell whether it is the retry of a child that its parent waits for."""
    return isinstance(event, Operation) and event.id.startswith(ASKED_BY_PARENT)


def is_awaited(event: Event) -> bool:
    """Tell whether it must not be lost when whom it is for leaves the store: the parent of a child
    that it has retried waits for that, and a child that has begun anew counts on its parent.
    """
    return isinstance(event, ChildRevived) or is_asked_by_parent(event)


def adopt(ws: Workspace, spot: Spot, before: Attempt, retries: int, *, resume: bool) -> None:
    """Wait for the child of ``before``; with ``resume`` retry one that failed. A child that is gone
    is started anew, and whom to follow is looked up anew.
    """
    ws.renewed[spot.key] = (before, retries)
    child = before.child
    if child is None or before.followed:
        operators.open_(ws, spot)
        return
    state = ws.answer(f"childstate:{child}:{before.seq}", ChildStateWanted(child))
    if not isinstance(state, ChildState) or state.leaves:
        operators.open_(ws, spot)
        return
    attempt = _open(ws, spot, before, child)
    word = {parents_word.WORD: parents_word.taking_over(attempt.seq)}
    if resume and state.status is not WorkflowStatus.COMPLETED:
        # One that still runs may have its termination in the inbox: the retry comes behind it.
        retry = Operation(
            id=f"{ASKED_BY_PARENT}{task_id(ws.id, attempt.seq)}",
            name="retry",
            arguments={"resume": True, "generation": state.generation, **word},
        )
        ws.sends.append(Send(execution=child, event=retry))
    elif state.status.terminal:
        sub_workflow.ended(ws, spot, attempt, child, state)
    elif partition_of(ExecutionId(child)) != partition_of(ws.id):
        identity = f"adopt:{task_id(ws.id, attempt.seq)}"
        taken = Operation(id=identity, name="taken_over", arguments=word)
        ws.sends.append(Send(execution=child, event=taken))


def _open(ws: Workspace, spot: Spot, before: Attempt, child: str) -> Attempt:
    attempt = control.create(
        ws,
        spot,
        type_="SUB_WORKFLOW",
        definition=before.definition,
        status=TaskStatus.IN_PROGRESS,
        input_=ws.raw_document(f"i:{before.seq}"),
        output={"subWorkflowId": child},
        child=child,
        **scheduling.policies(spot.node.task.task_definition, ws.now_ms),
    )
    timeouts.watch(ws, attempt)
    return attempt
