"""What others want of a running pipeline: it looks between rounds, and wakes when it waits."""

from __future__ import annotations

import threading
from enum import IntEnum


class Wish(IntEnum):
    """What is wanted; a greater one replaces a lesser one."""

    GO_ON = 0
    PAUSE = 1
    STOP = 2
    """After the running round, resumable."""
    STOP_NOW = 3
    """The running round is given up, resumable."""
    ABANDON = 4
    """End without a word: another pipeline's failure ended the job."""
    CANCEL = 5
    """For good, or the claim is lost."""


class Control:
    """One pipeline's; safe between threads."""

    def __init__(self) -> None:
        """Want nothing."""
        self._changed = threading.Condition()
        self._wish = Wish.GO_ON
        self._again = False

    @property
    def wish(self) -> Wish:
        """What is wanted now."""
        with self._changed:
            return self._wish

    @property
    def interrupts(self) -> bool:
        """Whether the running round is to be given up."""
        return self.wish >= Wish.STOP_NOW

    def want(self, wish: Wish) -> None:
        """Ask for it; from a pause one may go on, from anything greater not."""
        with self._changed:
            if wish > self._wish or self._wish is Wish.PAUSE:
                self._wish = wish
            self._changed.notify_all()

    def begin_again(self) -> None:
        """Ask for a restore after the running round (``failover: all``)."""
        with self._changed:
            self._again = True
            self._changed.notify_all()

    def take_again(self) -> bool:
        """Say whether a restore was asked for, and forget it."""
        with self._changed:
            again, self._again = self._again, False
            return again

    def rest(self, seconds: float) -> None:
        """Wait, or until something is wanted."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._again or self._wish > Wish.PAUSE, timeout=max(0.0, seconds)
            )
