"""How long to wait before the next try: exponential with jitter, pure.

The random number is an argument: the caller owns the generator.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """A schedule of growing pauses: ``base_ms`` doubled at each try, never above ``cap_ms``."""

    base_ms: int = 100
    cap_ms: int = 5_000
    tries: int = 4  # the first sending included; only bounded callers look at it

    def delay_ms(self, failures: int, chance: float) -> int:
        """Return the pause after the given number of failures (1 or more); ``chance`` is in [0, 1).

        Half of the pause is fixed, half is jitter: many clients spread out and none comes back at
        once.
        """
        doublings = min(failures - 1, 30)
        full = min(self.cap_ms, self.base_ms << doublings)
        return full // 2 + int(full / 2 * chance)
