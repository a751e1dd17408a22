"""The messages sent to an execution, until a task pulls them.

Pushing, pulling and completing the task that waited are one commit each (A-59): a message is in the
queue or in the output of one task, never in both or in neither. The queue is bounded in number, and
forgotten when nothing was pushed for its time to live, or when another generation began.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider.need import Read
from conductor_py.decider.workspace import Workspace
from conductor_py.model.execution import MessageQueue
from conductor_py.model.json import JsonObject

_FIELD = "messages"
MAX_WAITING = 1000


def queue_of(ws: Workspace) -> MessageQueue:
    """The queue as it stands now; what is too old, or of another generation, is dropped from it."""
    queue = ws.state(_FIELD, MessageQueue)
    if queue is None:
        return MessageQueue(generation=ws.header.generation)
    same = queue.generation == ws.header.generation
    if same and (
        queue.first == queue.next or ws.now_ms < queue.pushed_at + ws.limits.message_ttl_ms
    ):
        return queue
    for number in range(queue.first, queue.next):
        _forget(ws, number)
    waiting = queue.waiting if same else ()
    emptied = replace(queue, generation=ws.header.generation, first=queue.next, waiting=waiting)
    ws.states[_FIELD] = emptied
    return emptied


def push(ws: Workspace, message: JsonObject) -> bool:
    """Append a message; false when the queue is full."""
    queue = queue_of(ws)
    if queue.next - queue.first >= ws.limits.messages:
        return False
    ws.documents[f"m:{queue.next}"] = message
    ws.states[_FIELD] = replace(queue, next=queue.next + 1, pushed_at=ws.now_ms)
    return True


def pull(ws: Workspace, most: int) -> list[JsonObject]:
    """Take out up to ``most`` messages, oldest first."""
    queue = queue_of(ws)
    numbers = range(queue.first, min(queue.next, queue.first + most))
    fields = [f"m:{number}" for number in numbers]
    ws.together((name, Read(name)) for name in fields if name not in ws.documents)
    messages = [ws.document(name) for name in fields]
    for number in numbers:
        _forget(ws, number)
    if numbers:
        ws.states[_FIELD] = replace(queue, first=numbers.stop)
    return messages


def wait(ws: Workspace, seq: int) -> bool:
    """Let an attempt wait for the next message; false when too many wait already."""
    queue = queue_of(ws)
    waiting = queue.waiting
    if len(waiting) >= MAX_WAITING:
        waiting = _still_open(ws, waiting)
    if len(waiting) >= MAX_WAITING:
        return False
    ws.states[_FIELD] = replace(queue, waiting=(*waiting, seq))
    return True


def _still_open(ws: Workspace, seqs: tuple[int, ...]) -> tuple[int, ...]:
    """Those that have not ended while they waited (timed out, canceled, skipped)."""
    ws.together((f"a:{seq}", Read(f"a:{seq}")) for seq in seqs if seq not in ws.attempts)
    found = (ws.attempt(seq) for seq in seqs)
    return tuple(one.seq for one in found if one is not None and one.open)


def next_waiting(ws: Workspace) -> int:
    """Take out the attempt that has waited longest; 0 when none waits."""
    queue = queue_of(ws)
    if not queue.waiting:
        return 0
    ws.states[_FIELD] = replace(queue, waiting=queue.waiting[1:])
    return queue.waiting[0]


def _forget(ws: Workspace, number: int) -> None:
    if ws.documents.pop(f"m:{number}", None) is None:
        ws.states[f"m:{number}"] = None
