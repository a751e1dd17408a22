"""Stored form of an execution's message queue: the numbers of its messages and who waits."""

from __future__ import annotations

from typing import Any

import orjson

from conductor_py.model.execution import MessageQueue


def dump_message_queue(queue: MessageQueue) -> dict[str, Any]:
    """The fields of the JSON object it is stored as."""
    return {
        "gen": queue.generation,
        "first": queue.first,
        "next": queue.next,
        "at": queue.pushed_at,
        "w": list(queue.waiting),
    }


def load_message_queue(stored: bytes) -> MessageQueue:
    """Read it."""
    fields: dict[str, Any] = orjson.loads(stored)
    return MessageQueue(
        generation=fields["gen"],
        first=fields["first"],
        next=fields["next"],
        pushed_at=fields["at"],
        waiting=tuple(fields["w"]),
    )
