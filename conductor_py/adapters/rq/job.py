"""The one kind of job: a batch of effect ids of one partition.

A job names this module's ``run`` and carries strings and a number. Who carries the effects out is
said in the worker's process, before it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

Handler = Callable[[int, Sequence[str]], object]

NAME: Final = f"{__name__}.run"
_handlers: list[Handler] = []


def handle_with(handler: Handler) -> None:
    """Let ``handler`` carry out what this process takes from the queue."""
    _handlers[:] = [handler]


def run(partition: int, ids: Sequence[str]) -> None:
    """Carry out the effects of those ids; what it does not confirm comes again."""
    (handler,) = _handlers
    handler(partition, ids)
