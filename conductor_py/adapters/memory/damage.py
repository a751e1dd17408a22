"""``DamageStore`` in memory: no byte is damaged, but an effect may lack what it should say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conductor_py.adapters.memory.space import MemorySpace, Partition
from conductor_py.ports.damage import Damaged
from conductor_py.ports.store import Effect

_SET: Final = "outbox"


class MemoryDamage:
    """The effects that were put aside."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def listed(self) -> Sequence[Damaged]:
        with self._space.lock:
            found = [
                Damaged(
                    entry=f"{number} {_SET} {effect}",
                    since_ms=aside.since_ms,
                    tries=aside.tries,
                    again_ms=aside.again_ms,
                    problem=aside.problem,
                )
                for number, partition in enumerate(self._space.partitions)
                for effect, aside in partition.aside.items()
            ]
        return sorted(found, key=lambda one: (one.since_ms, one.entry))

    def retry(self, entry: str) -> bool:
        with self._space.lock:
            partition, effect = self._taken(entry)
            if partition is not None and effect in partition.effects:
                partition.outbox.put(effect, self._space.clock())
            return partition is not None

    def drop(
        self,
        entry: str,
        *,
        header: bytes = b"",
        workflow: str = "",
        admitted: bytes = b"",
        post: Effect | None = None,
    ) -> bool:
        with self._space.lock:
            partition, effect = self._taken(entry)
            if partition is not None:
                partition.effects.pop(effect, None)
                partition.outbox.drop(effect)
            return partition is not None

    def mend(self) -> Sequence[str]:
        return ()

    def _taken(self, entry: str) -> tuple[Partition | None, str]:
        """Find one and forget that it is damaged; ``None`` when it is not known as such."""
        number, _, rest = entry.partition(" ")
        set_, _, effect = rest.partition(" ")
        partitions = self._space.partitions
        if set_ != _SET or not number.isdecimal() or int(number) >= len(partitions):
            return None, effect
        partition = partitions[int(number)]
        known = partition.aside.pop(effect, None)
        return (partition if known else None), effect
