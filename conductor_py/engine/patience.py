"""How long what cannot be delivered is tried again: each wait as long as all before it, up to a
bound, until it is given up and said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conductor_py.ports.outbox import Pending
from conductor_py.records import dataclass, field

DAY_MS = 24 * 3_600_000
BATCH_MS = 5_000
"""After this time a batch of deliveries begins no more of them: what is behind it waits as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Waits grow with age from ``first_ms`` to ``most_ms``; ``give_up_ms`` ends them."""

    first_ms: int = 1_000
    most_ms: int = 300_000
    give_up_ms: int = DAY_MS

    def again_at(self, since_ms: int, now_ms: int) -> int | None:
        """When to try again what is wanted since ``since_ms``; ``None``: no more."""
        age = now_ms - since_ms
        if age >= self.give_up_ms:
            return None
        return now_ms + min(max(age, self.first_ms), self.most_ms)


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of effects: done with, or to be tried again at an instant, or ``long``: to be
    gone on with for a while when the others of the batch have been dealt with. What is in none of
    these comes again when its lease ends.
    """

    done: list[Pending] = field(default_factory=list)
    later: list[tuple[Pending, int]] = field(default_factory=list)
    long: list[Pending] = field(default_factory=list)


EffectHandler = Callable[[int, Sequence[Pending]], Handled]
"""Carries out effects of one kind and partition. ``StoreUnavailable`` leaves what it has not
answered for.
"""
