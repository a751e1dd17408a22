"""What is sent to executions of other partitions: no commit reaches them, an effect does."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conductor_py.codec.event import dump_event
from conductor_py.codec.execution import dump_json
from conductor_py.engine.decisions.precedence import due_of
from conductor_py.model.decision import Send
from conductor_py.model.event import ChildEnded, ChildRevived, Event, Operation
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.store import Effect

_REASON: Final = 1_000
"""Characters of it that are told."""


def is_abroad(sender: ExecutionId, send: Send) -> bool:
    """Whether what is sent is for an execution of another partition than the sender's."""
    return partition_of(ExecutionId(send.execution)) != partition_of(sender)


def post(sender: ExecutionId, send: Send) -> Effect:
    """Make the effect that brings it there. Whose child has ended asks it how; a reason is cut."""
    event = send.event
    match event:
        case ChildEnded():
            event, about = replace(event, reason=None, output={}), f"ended:{event.child_generation}"
        case ChildRevived():
            about = f"revived:{event.child_generation}"
        case Operation():
            reason, about = str(event.arguments.get("reason") or "")[:_REASON], event.id
            event = replace(event, arguments={**event.arguments, "reason": reason})
        case _:
            raise AssertionError(event)
    return posted(sender, send.execution, event, about)


def posted(sender: ExecutionId, to: str, event: Event, about: str) -> Effect:
    """Make the effect that brings an event to an execution of any partition, as it is; ``about``
    tells it from others of its sender.
    """
    document = {"kind": "post", "to": to, "event": dump_event(event).decode()}
    return Effect(id=f"{sender}:post:{about}", document=dump_json(document), due_ms=due_of("post"))
