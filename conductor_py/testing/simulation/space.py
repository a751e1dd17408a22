"""The store of a simulated deployment: the memory adapters' state, in virtual time.

It tells who sleeps when something falls due earlier than they think, and who waits when something
is published; and it can lose its tail, as a Redis that was killed does.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from conductor_py.adapters.memory.ordered import ScoreSet
from conductor_py.adapters.memory.space import MemorySpace

Alarm = Callable[[int], None]
"""Told an instant, by the store's clock in ms, at which something is due."""

_STATE = (
    "partitions",
    "workflows",
    "tasks",
    "schemas",
    "tags",
    "schedules",
    "revision",
    "events",
)


class DueSet(ScoreSet):
    """Members by due time; every one that is put rings the alarm."""

    __slots__ = ("_alarm",)

    def __init__(self, alarm: Alarm) -> None:
        """Begin empty."""
        super().__init__()
        self._alarm = alarm

    def put(self, member: str, score: int) -> None:
        """Add a member or move it."""
        super().put(member, score)
        self._alarm(score)

    def __deepcopy__(self, memo: dict[int, Any]) -> DueSet:
        """Copy the members; the alarm is the world's."""
        twin = DueSet(self._alarm)
        twin.scores = dict(self.scores)
        twin._heap = list(self._heap)
        return twin


class SimulatedSpace(MemorySpace):
    """See the module."""

    def __init__(
        self,
        partitions: int,
        clock: Callable[[], int],
        *,
        alarm: Alarm,
        published: Callable[[str], None],
    ) -> None:
        """Begin empty."""
        super().__init__(partitions, clock)
        self._published = published
        for partition in self.partitions:
            partition.timers = _DueSets(alarm)
            partition.outbox = DueSet(alarm)
        self.schedules.due = DueSet(alarm)

    def publish(self, topic: str) -> None:
        """Wake whoever waits for a topic."""
        super().publish(topic)
        self._published(topic)

    def next_due_ms(self) -> int | None:
        """Find the earliest instant at which a timer or an effect is due; ``None``: nothing is."""
        heads = [
            head[0]
            for partition in self.partitions
            for due in (*partition.timers.values(), partition.outbox)
            if (head := due.first()) is not None
        ]
        return min(heads, default=None)

    def sizes(self) -> dict[str, int]:
        """Count what there is of everything that could grow."""
        parts = self.partitions
        lanes = [lane for p in parts for lane in (*p.ready.values(), *p.delayed.values())]
        return {
            "executions": sum(len(p.executions) for p in parts),
            "plans": sum(len(p.plans) for p in parts),
            "queue entries": sum(map(len, lanes)),
            "timers": sum(len(due) for p in parts for due in p.timers.values()),
            "permits": sum(len(held) for p in parts for held in p.permits.values()),
            "effects": sum(len(p.outbox) for p in parts),
            "listed as running": sum(len(ids) for p in parts for ids in p.running.values()),
            "records of schedules": sum(map(len, self.schedules.records.values())),
        }

    def saved(self) -> dict[str, Any]:
        """Copy everything that is stored."""
        return copy.deepcopy({name: getattr(self, name) for name in _STATE})

    def go_back(self, saved: dict[str, Any]) -> None:
        """Be as it was when it was saved; what came later is lost."""
        for name, value in saved.items():
            setattr(self, name, value)
        self.life += 1


class _DueSets(defaultdict[str, ScoreSet]):
    def __init__(self, alarm: Alarm) -> None:
        super().__init__()
        self._alarm = alarm

    def __missing__(self, key: str) -> ScoreSet:
        found = self[key] = DueSet(self._alarm)
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> _DueSets:
        twin = _DueSets(self._alarm)
        for key, due in self.items():
            twin[key] = copy.deepcopy(due, memo)
        return twin


__all__ = ["SimulatedSpace"]
