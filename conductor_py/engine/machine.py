"""What a process has of the machine it runs on: a clock to wait by, waiting, and chance.

Nothing else of the engine reads these, so that a simulation can hand in its own.
"""

from __future__ import annotations

import secrets
import time


class Machine:
    """The real one."""

    def monotonic(self) -> float:
        """Read a clock that only goes forward, in seconds: how long something took or may take."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def token(self, size: int) -> str:
        """Draw ``size`` random bytes, as hex digits: names that nobody has used or can guess."""
        return secrets.token_hex(size)


REAL_MACHINE = Machine()
