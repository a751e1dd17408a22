"""Wake-ups: hints that something became ready. Losing one costs a fallback poll, never
correctness.
"""

from __future__ import annotations

from typing import Protocol


class Wakeups(Protocol):
    """Waiting for what commits publish: queue names as ``q:<queue>``, answered operations as
    ``o:<operation id>``, executions that ended or were answered as ``x:<execution id>``, effects
    that were ordered as ``e:<partition>``.
    """

    def wait(self, topic: str, timeout_s: float, seen: int) -> int:
        """Block until ``topic`` was published after the ticket ``seen``, or ``timeout_s`` passed;
        returns a new ticket.
        """

    def ticket(self, topic: str) -> int:
        """Take a ticket before looking, so that what is published between looking and waiting is
        not missed.
        """

    def close(self) -> None:
        """Wake everybody and stop listening."""
