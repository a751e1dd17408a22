"""``DamageStore`` in memory: no byte of it is damaged."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.ports.damage import Damaged


class MemoryDamage:
    """Nothing is ever damaged."""

    def listed(self) -> Sequence[Damaged]:
        return ()

    def retry(self, entry: str) -> bool:
        return False

    def drop(self, entry: str) -> bool:
        return False

    def mend(self) -> Sequence[str]:
        return ()
