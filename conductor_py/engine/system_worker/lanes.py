"""The queues of system tasks that one worker serves, and how many calls each may have at once.

The queue of a type and those of its definitions with a limit share one set of slots; so do the
groups of an isolation group, whose slots are its own: a group that is slow holds up nobody else.

Peers that accept and say nothing may hold as many calls as there are slots, each until its
deadline. So a call that lasts leaves its slot to the next one, as long as there is room beside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from conductor_py.decider.scheduling import LIMITED
from conductor_py.ports.system_tasks import SystemTask
from conductor_py.records import dataclass, field


@dataclass(slots=True)
class Slots:
    """How many calls may be under way: ``size``, and up to ``beside`` more of those that have
    lasted for ``lasting_s``. Not safe from several threads. Instants are monotonic seconds.
    """

    size: int
    beside: int = 0
    lasting_s: float = 2.0
    _begun: dict[int, float] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def used(self) -> int:
        """How many calls are under way."""
        return len(self._begun)

    def begin(self, now: float) -> int:
        """Take a slot for a call, and number it: a task may come again before its call has left."""
        slot = next(self._numbers)
        self._begun[slot] = now
        return slot

    def end(self, slot: int) -> None:
        """Give it back."""
        del self._begun[slot]

    def free(self, now: float) -> int:
        """How many more may begin."""
        return self.size - self.used + min(self._lasting(now), self.beside)

    def frees_at(self, now: float) -> float:
        """When a slot is free for the time that its call has lasted; infinity when none will be."""
        lasting = self._lasting(now)
        if lasting >= min(self.beside, self.used):
            return math.inf
        return sorted(self._begun.values())[lasting] + self.lasting_s

    def _lasting(self, now: float) -> int:
        return sum(now - begun >= self.lasting_s for begun in self._begun.values())


@dataclass(slots=True, kw_only=True)
class Lane:
    """One queue. ``ticket`` is the wake-up seen last, ``look_at`` the monotonic second at which to
    look again without one.
    """

    queue: str
    task: SystemTask
    slots: Slots
    ticket: int = -1
    look_at: float = 0.0
    seen: int = -1
    """The last change to the store that its last look has seen; -1: it did not find the queue
    empty, or knows of something to come.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a worker serves: queues of the execution ``namespace`` without an isolation group and
    those of ``groups``; with ``every_group`` those of all groups and namespaces that there are.
    ``slots_beside`` is the room for calls that last; groups have none.
    """

    namespace: str = ""
    groups: tuple[str, ...] = ()
    every_group: bool = False
    slots: int = 16
    slots_beside: int = 0
    slots_of_a_group: int = 1


MOST_FOUND: Final = 1_000
"""Lanes beside the configured ones that stay when their queues have nothing: so they are served at
once when they have. Who starts a workflow can invent more.
"""


@dataclass(slots=True)
class Lanes:
    """The lanes of a worker; they grow as queues are found, and leave when there are too many."""

    tasks: Mapping[str, SystemTask]
    served: Served
    shared: Slots = field(init=False)
    by_queue: dict[str, Lane] = field(default_factory=dict)
    _groups: dict[str, Slots] = field(default_factory=dict)
    _configured: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Begin with the queues that are known without looking."""
        self.shared = Slots(self.served.slots, self.served.slots_beside)
        for task_type in self.tasks:
            self._add(task_type, self._name(task_type), self.shared)
            for group in self.served.groups:
                name = self._name(task_type, group)
                self._add(task_type, name, self._slots_of(name))
        self._configured = frozenset(self.by_queue)

    def topics(self) -> tuple[str, ...]:
        """What wakes the worker: each queue, and each family of queues with a limit."""
        bases = [queue for queue in self.by_queue if LIMITED not in queue]
        families = (f"q:{queue}{LIMITED}" for queue in bases)
        return (*(f"q:{queue}" for queue in self.by_queue), *families)

    def find(self, queues: Iterable[str]) -> None:
        """Serve those of these queues that are this worker's; they are all that have something."""
        named = self._configured.union(queues)
        for queue in named:
            if queue not in self.by_queue:
                self._find(queue)
        if len(self.by_queue) > len(self._configured) + MOST_FOUND:
            self._leave(named)

    def _leave(self, named: frozenset[str]) -> None:
        """Leave the lanes of other queues, and the slots that only they had."""
        for queue in self.by_queue.keys() - named:
            del self.by_queue[queue]
        served = {id(lane.slots) for lane in self.by_queue.values()}
        for base, slots in list(self._groups.items()):
            if not slots.used and id(slots) not in served:
                del self._groups[base]

    def in_use(self) -> int:
        """How many calls are under way."""
        return sum(slots.used for slots in (self.shared, *self._groups.values()))

    def _find(self, queue: str) -> None:
        base, limited, _ = queue.partition(LIMITED)
        known = self.by_queue.get(base)
        if known is not None and limited:
            self._add(known.task.task_type, queue, known.slots)
            return
        for task_type in self.tasks if self.served.every_group else ():
            if base.startswith((f"{task_type}@", f"{task_type}-")):
                self._add(task_type, queue, self._slots_of(base))

    def _add(self, task_type: str, queue: str, slots: Slots) -> None:
        self.by_queue[queue] = Lane(queue=queue, task=self.tasks[task_type], slots=slots)

    def _slots_of(self, base: str) -> Slots:
        return self._groups.setdefault(base, Slots(self.served.slots_of_a_group))

    def _name(self, task_type: str, group: str = "") -> str:
        name = f"{task_type}@{self.served.namespace}" if self.served.namespace else task_type
        return f"{name}-{group}" if group else name
