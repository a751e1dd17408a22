"""The verbs of the API, as events: one file a verb, and the table that names them.

Each answers whoever asked; ``None`` says that the answer comes with a later decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from conductor_py.decider import ending
from conductor_py.decider.adoption import is_asked_by_parent
from conductor_py.decider.need import Missing
from conductor_py.decider.operations.force_success import force_success
from conductor_py.decider.operations.jump import jump
from conductor_py.decider.operations.message import message
from conductor_py.decider.operations.pause import pause
from conductor_py.decider.operations.remove import remove
from conductor_py.decider.operations.requeue import requeue
from conductor_py.decider.operations.rerun import rerun
from conductor_py.decider.operations.reset_callbacks import reset_callbacks
from conductor_py.decider.operations.restart import restart
from conductor_py.decider.operations.resume import resume
from conductor_py.decider.operations.retry import retry
from conductor_py.decider.operations.signal import signal
from conductor_py.decider.operations.skip import skip
from conductor_py.decider.operations.take_on import take_on
from conductor_py.decider.operations.taken_over import taken_over
from conductor_py.decider.operations.terminate import terminate
from conductor_py.decider.operations.upgrade import upgrade
from conductor_py.decider.operations.variables import variables
from conductor_py.decider.operations.watch import watch
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Event, Operation

Verb = Callable[[Workspace, Operation], Answer | None]

VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        "force_success": force_success,
        "jump": jump,
        "message": message,
        "pause": pause,
        "remove": remove,
        "requeue": requeue,
        "rerun": rerun,
        "reset_callbacks": reset_callbacks,
        "restart": restart,
        "resume": resume,
        "retry": retry,
        "signal": signal,
        "skip": skip,
        "take_on": take_on,
        "taken_over": taken_over,
        "terminate": terminate,
        "upgrade": upgrade,
        "variables": variables,
        "watch": watch,
    }
)


_ON_ITS_WAY_OUT = frozenset({"remove", "terminate"})
"""What an execution that is being removed still listens to."""


def operate(ws: Workspace, operation: Operation) -> None:
    """Carry out an operation and answer it."""
    verb = VERBS.get(operation.name)
    if ws.header.forget and operation.name not in _ON_ITS_WAY_OUT:
        answer: Answer | None = Answer(
            operation=operation.id,
            error="NOT_FOUND",
            message=f"No such workflow found by id: {ws.id}",
        )
        if is_asked_by_parent(operation):
            ending.tell_parent_again(ws)
    elif verb is None:
        answer = Answer(
            operation=operation.id,
            error="INVALID_INPUT",
            message=f"Unknown operation '{operation.name}'",
        )
    else:
        answer = verb(ws, operation)
    if answer is not None:
        ws.answers.append(answer)


def give_up(ws: Workspace, events: Sequence[Event], reason: str) -> None:
    """Answer what cannot be carried out. A parent that has asked for it is told of the end; of the
    output only what is known.
    """
    for event in events:
        if isinstance(event, Operation):
            ws.answers.append(Answer(operation=event.id, error="CONFLICT", message=reason))
        if is_asked_by_parent(event):
            try:
                ending.tell_parent_again(ws)
            except Missing:
                ending.tell_parent(ws, reason, {})
