"""How long to wait before the next try: exponential with jitter, pure.

The random number is an argument: the caller owns the generator.
"""

from __future__ import annotations

from typing import Final

from conductor_py.records import dataclass

RECONNECT_CAP_MS: Final = 3_000
"""The longest pause of a worker that waits for its server: work lies there when it is back, and a
poll that is refused costs next to nothing.
"""


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

    def asked_ms(self, failures: int, chance: float, retry_after_s: int) -> int:
        """Return the pause when the server said how long to stay away: no shorter than that, up to
        the cap, and up to half as long again, so that those it sent away do not come back together.
        """
        asked = min(retry_after_s * 1000, self.cap_ms)
        return max(self.delay_ms(failures, chance), asked + int(asked / 2 * chance))
