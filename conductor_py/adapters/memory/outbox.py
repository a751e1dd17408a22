"""The outbox in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from conductor_py.adapters.memory.late import EFFECTS, note_late
from conductor_py.adapters.memory.space import Aside, MemorySpace, Partition
from conductor_py.ports.damage import FIRST_MS, LONGEST_MS
from conductor_py.ports.outbox import Pending, can_wait
from conductor_py.ports.touched import EFFECT

_TAKING_OUT: Final = frozenset({"remove", "forget"})


class MemoryOutbox:
    """``Outbox`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def take(
        self, partition: int, limit: int, lease_ms: int, *, patience_ms: int = 0
    ) -> tuple[Pending, ...]:
        with self._space.lock:
            state, now = self._space.partition(partition), self._space.clock()
            due = state.outbox.upto(now - patience_ms, limit)
            if patience_ms:
                newer = state.outbox.upto(now, len(state.outbox))[len(due) :]
                urgent = [effect for effect in newer if not can_wait(effect)]
                due = [*due, *urgent][:limit]
            early = (state.effects[effect][0] for effect in due if _is_early(state, effect))
            note_late(state, EFFECTS, min(early, default=now), now)
            for effect in due:
                state.outbox.put(effect, now + lease_ms)
            return self.read(partition, due)

    def due(self) -> tuple[int, ...]:
        with self._space.lock:
            now = self._space.clock()
            heads = [partition.outbox.first() for partition in self._space.partitions]
            return tuple(at for at, head in enumerate(heads) if head is not None and head[0] <= now)

    def next_due_ms(self, partition: int) -> int:
        with self._space.lock:
            head = self._space.partition(partition).outbox.first()
            return head[0] if head else 0

    def life(self, _partition: int) -> str:
        return f"life {self._space.life}"

    def confirm(self, partition: int, done: Sequence[tuple[str, int]], life: str = "") -> int:
        with self._space.lock:
            if life not in {"", self.life(partition)}:
                return 0
            state, gone = self._space.partition(partition), 0
            for effect, stamp in done:
                if effect in state.effects and state.effects[effect][0] == stamp:
                    execution, _, kind = effect.rpartition(":")
                    stored = state.executions.get(execution) if kind in _TAKING_OUT else None
                    if stored is not None and stored.stands_as_of(stamp):
                        continue
                    oldest = state.touched.first() if effect == EFFECT else None
                    if oldest is not None:
                        gather_ms = orjson.loads(state.effects[effect][1]).get("gather", 0)
                        state.outbox.put(effect, oldest[0] + gather_ms)
                        continue
                    del state.effects[effect]
                    state.outbox.drop(effect)
                    state.aside.pop(effect, None)
                    gone += 1
            return gone

    def postpone(self, partition: int, later: Sequence[tuple[str, int, int]]) -> int:
        with self._space.lock:
            state, moved = self._space.partition(partition), 0
            for effect, stamp, due_ms in later:
                if effect in state.effects and state.effects[effect][0] == stamp:
                    state.outbox.put(effect, due_ms)
                    state.aside.pop(effect, None)
                    moved += 1
            return moved

    def put_aside(self, partition: int, unreadable: Sequence[tuple[str, int, str]]) -> int:
        with self._space.lock:
            state, now, aside = self._space.partition(partition), self._space.clock(), 0
            for effect, stamp, problem in unreadable:
                if effect in state.effects and state.effects[effect][0] == stamp:
                    before = state.aside.get(effect)
                    tries = before.tries + 1 if before else 1
                    again = now + min(FIRST_MS * 2 ** min(tries - 1, 20), LONGEST_MS)
                    since = before.since_ms if before else now
                    state.aside[effect] = Aside(since, tries, again, problem[:200])
                    state.outbox.put(effect, again)
                    aside += 1
            return aside

    def order(self, partition: int, effects: Sequence[tuple[str, bytes]]) -> int:
        with self._space.lock:
            state, now, new = self._space.partition(partition), self._space.clock(), 0
            for effect, document in effects:
                if effect not in state.effects:
                    state.effects[effect] = (now, document)
                    state.outbox.put(effect, now)
                    new += 1
            self._space.publish(f"e:{partition}")
            return new

    def size(self, partition: int) -> int:
        with self._space.lock:
            return len(self._space.partition(partition).outbox)

    def read(self, partition: int, ids: Sequence[str]) -> tuple[Pending, ...]:
        with self._space.lock:
            effects = self._space.partition(partition).effects
            return tuple(
                Pending(id=effect, stamp=effects[effect][0], document=effects[effect][1])
                for effect in ids
                if effect in effects
            )


def _is_early(partition: Partition, effect: str) -> bool:
    """Whether it was ordered with a head start."""
    stamp, _ = partition.effects.get(effect, (0, b""))
    return partition.outbox.scores[effect] < stamp - 1_000
