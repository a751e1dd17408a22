"""A clock that moves only when the test says so, or when something waits by it."""

from __future__ import annotations

from conductor_py.engine.machine import Machine

START_MS = 1_800_000_000_000


class FakeClock:
    """Epoch milliseconds, starting at a round instant in 2027."""

    def __init__(self, now_ms: int = START_MS) -> None:
        """Begin at ``now_ms``."""
        self.now_ms = now_ms

    def __call__(self) -> int:
        """Read the clock, epoch ms."""
        return self.now_ms

    def monotonic(self) -> float:
        """Read the clock in seconds, as ``time.monotonic`` would."""
        return self.now_ms / 1000

    def advance(self, *, seconds: float = 0, milliseconds: int = 0) -> None:
        """Let time pass."""
        self.now_ms += int(seconds * 1000) + milliseconds


class FakeMachine(Machine):
    """A machine on which a pause moves the fake clock, and nobody waits."""

    def __init__(self, clock: FakeClock) -> None:
        """Wait by ``clock``."""
        self._clock = clock

    def pause(self, seconds: float) -> None:
        """Let the fake clock go on."""
        self._clock.advance(seconds=seconds)
