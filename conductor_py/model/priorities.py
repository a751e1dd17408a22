"""How urgent work is, and the place in a queue that follows from it.

A workflow's priority is Conductor's number, 0 to 99, larger first; DolphinScheduler's five names
stand for numbers with room between them. A task's is one of the names. An order of queues says how
both and the age of what waits make up one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from conductor_py.records import dataclass

MOST_URGENT: Final = 99
NAMES: Final = ("HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST")
WORKFLOW_PRIORITIES: Final[Mapping[str, int]] = MappingProxyType(
    dict(zip(NAMES, (90, 70, 50, 30, 10), strict=True))
)
"""What a workflow's priority means that is given by name; one that is not given is 0."""

_TASK_LEVELS: Final[Mapping[str, int]] = MappingProxyType(
    {name: level for level, name in enumerate(NAMES, start=-2)}
)
"""How far behind a task without a priority, which is as one of MEDIUM."""

_LEVELS: Final = len(NAMES)
_SPREAD: Final = 8
_FOR_EVER_MS: Final = 2**41
"""70 years: the wait that makes up for a point of priority where priorities are absolute. Places
are sums of a hundred such waits at most, spread: below 2^53, exact in the double of a sorted set.
"""
QUEUED_AT_ONCE: Final = 32
"""Entries of one millisecond that keep their order without being moved behind the next one: where
the task goes first, places are below 2^48, which leaves five bits for it.
"""


def named_priority(value: object) -> int | None:
    """The number a name stands for; ``None`` for what is not one of the names."""
    return WORKFLOW_PRIORITIES.get(value) if isinstance(value, str) else None


def enqueued_at(place: float) -> int:
    """When an entry was queued, if it is one of a MEDIUM task under ``STRICT``."""
    return int(place) % _FOR_EVER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOrder:
    """What goes first among what waits in one queue.

    The larger priority of the workflow; then the more urgent task, then who came first. With
    ``instance_first``: then the older execution, and within it the more urgent task. Each wait of
    ``ageing_ms`` counts as much as a point of a workflow's priority, a fifth of it as much as a
    level of a task's, so that nothing waits for ever; 0: priorities are absolute.
    """

    instance_first: bool = False
    ageing_ms: int = 0

    def place(
        self,
        priority: int,
        task_priority: str | None,
        *,
        created_ms: int,
        enqueued_ms: int,
        nth: int = 0,
    ) -> float:
        """The place of an entry, smaller first, below 2^53; it does not change while it waits.

        ``nth`` entries were queued before it at the same time, and go first. With
        ``instance_first``, where the numbers leave no room for it, those have no order.
        """
        step = min(self.ageing_ms or _FOR_EVER_MS, _FOR_EVER_MS)
        behind = MOST_URGENT - priority
        level = _TASK_LEVELS.get(task_priority or "", 0)
        if self.instance_first:
            return (created_ms + behind * step) * _SPREAD + level
        place = enqueued_ms + (behind * _LEVELS + level) * step // _LEVELS
        return place + nth / QUEUED_AT_ONCE if nth else place


STRICT: Final = QueueOrder()
