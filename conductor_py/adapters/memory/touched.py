"""Touched attempts in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conductor_py.adapters.memory.space import MemorySpace, Partition
from conductor_py.model.ids import split_task_id, task_id
from conductor_py.ports.touched import EFFECT, Touch


def touch(partition: Partition, members: Iterable[str], gather_ms: int, now_ms: int) -> None:
    """Note attempts by task id, and order the effect that tells the index."""
    for member in members:
        partition.touched.put(member, now_ms)
    if EFFECT not in partition.effects:
        partition.effects[EFFECT] = (now_ms, b'{"kind":"tasks","gather":%d}' % gather_ms)
        partition.outbox.put(EFFECT, now_ms + gather_ms)


class MemoryTouchedTasks:
    """``TouchedTasks`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def look(self, partition: int, limit: int) -> tuple[Touch, ...]:
        with self._space.lock:
            touched = self._space.partition(partition).touched
            members = touched.upto(self._space.clock() - 1, limit)
            return tuple(_touch(member, touched.scores[member]) for member in members)

    def drop(self, partition: int, touches: Sequence[Touch]) -> None:
        with self._space.lock:
            touched = self._space.partition(partition).touched
            for each in touches:
                member = task_id(each.execution, each.seq)
                if touched.scores.get(member) == each.at_ms:
                    touched.drop(member)

    def size(self, partition: int) -> int:
        with self._space.lock:
            return len(self._space.partition(partition).touched)


def _touch(member: str, at_ms: int) -> Touch:
    execution, seq = split_task_id(member)
    return Touch(execution=execution, seq=seq, at_ms=at_ms)
