"""Wake-ups: hints that something became ready. Losing one costs a fallback poll, never
correctness.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

FAMILY: Final = "#"
"""Ends the topic that every topic wakes which goes on from there."""
KINDS: Final = frozenset("eoqx")
"""The first letters of topics that are published; any other topic is the process's own."""


class Wakeups(Protocol):
    """Waiting for what commits publish: queue names as ``q:<queue>``, answered operations as
    ``o:<operation id>``, executions that ended or were answered as ``x:<execution id>``, effects
    that were ordered as ``e:<partition>``. What wakes ``q:<queue>#<definition>`` wakes
    ``q:<queue>#`` as well: who waits for that hears of every such queue, known to it or not.
    """

    def wait(self, topic: str, timeout_s: float, seen: int) -> int:
        """Block until ``topic`` was published after the ticket ``seen``, or ``timeout_s`` passed;
        returns a new ticket.
        """

    def ticket(self, topic: str) -> int:
        """Take a ticket before looking, so that what is published between looking and waiting is
        not missed.
        """

    def tickets(self, topic: str) -> tuple[int, ...]:
        """Take a ticket for each partition: it grows when the topic was published there."""

    def wait_any(self, seen: Mapping[str, int], timeout_s: float) -> None:
        """Block until one of the topics was published after its ticket, or ``timeout_s`` passed."""

    def wait_turn(self, topic: str, timeout_s: float, seen: int) -> bool:
        """As ``wait``, for those of whom one is enough: what is published wakes one of them in each
        process, who came last, as an old wait may be that of somebody who has gone. Whether it was
        published, or the turn was passed on; who is told so and does not take all that is there
        passes it on.
        """

    def wake_one(self, topic: str) -> None:
        """Pass the turn on to another who waits for it in this process."""

    def wake(self, topic: str) -> None:
        """Wake who waits for ``topic`` in this process."""

    def close(self) -> None:
        """Wake everybody and stop listening."""
