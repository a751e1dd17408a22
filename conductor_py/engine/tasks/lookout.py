"""The lookout: one thread that looks, for all long polls of a process that is alone with its store,
when one of them is to look at its queue, though nothing was published.

Without it each poll wakes up once a second for that.
"""

from __future__ import annotations

from threading import Event
from typing import Final

from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.engine.tasks.hub import Hub
from conductor_py.ports.wakeups import Wakeups

_TICK_S: Final = 1.0
"""What was changed, or falls due, is looked at so late at most."""

_ROUNDS: Final = 20
_ROUND_S: Final = 0.05


class Lookout:
    """Wakes those who wait for queues."""

    def __init__(self, hub: Hub, wakeups: Wakeups, machine: Machine = REAL_MACHINE) -> None:
        """Look out for who waits in ``hub``."""
        self._hub = hub
        self._wakeups = wakeups
        self._machine = machine

    def keep(self, stop: Event) -> None:
        """Look out until ``stop``, and wake everybody then."""
        self._hub.is_attended = True
        try:
            while not stop.wait(_TICK_S):
                self.look()
        finally:
            self._hub.is_attended = False
            self._wake_all()

    def look(self) -> None:
        """Let one look at each queue where it is time."""
        for queue, _ in self._hub.to_look_at():
            self._wakeups.wake_one(f"q:{queue}")

    def _wake_all(self) -> None:
        """Wake them again while there are some: one may have been about to wait."""
        for _ in range(_ROUNDS):
            waiting = self._hub.waiting()
            if not waiting:
                return
            for (queue, _), many in waiting:
                for _ in range(many):
                    self._wakeups.wake_one(f"q:{queue}")
            self._machine.pause(_ROUND_S)
