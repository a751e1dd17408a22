"""Wake-ups in memory: the reference implementation of the port."""

from __future__ import annotations

import time
from collections.abc import Mapping

from conductor_py.adapters.memory.space import MemorySpace


class MemoryWakeups:
    """``Wakeups`` in memory: whoever publishes counts the topic's ticket up."""

    def __init__(self, space: MemorySpace) -> None:
        """Listen to the space."""
        self._space = space
        self._closed = False

    def wait(self, topic: str, timeout_s: float, seen: int) -> int:
        deadline = time.monotonic() + timeout_s
        with self._space.woken:
            while self._space.tickets[topic] <= seen and not self._closed:
                left = deadline - time.monotonic()
                if left <= 0 or not self._space.woken.wait(left):
                    break
            return self._space.tickets[topic]

    def ticket(self, topic: str) -> int:
        with self._space.woken:
            return self._space.tickets[topic]

    def tickets(self, topic: str) -> tuple[int, ...]:
        # Who publishes does not say where: every partition may be meant.
        return (self.ticket(topic),) * len(self._space.partitions)

    def wait_any(self, seen: Mapping[str, int], timeout_s: float) -> None:
        tickets = self._space.tickets
        with self._space.woken:
            self._space.woken.wait_for(
                lambda: self._closed or any(tickets[topic] > at for topic, at in seen.items()),
                timeout_s,
            )

    def wait_turn(self, topic: str, timeout_s: float, seen: int) -> bool:
        tickets, waiter = self._space.tickets, object()
        with self._space.woken:
            if tickets[topic] > seen:
                return True
            waiting = self._space.turns[topic]
            waiting.append(waiter)
            self._space.woken.wait_for(lambda: self._closed or waiter not in waiting, timeout_s)
            is_turn = waiter not in waiting
            if not is_turn:
                waiting.remove(waiter)
            return is_turn or self._closed or tickets[topic] > seen

    def wake_one(self, topic: str) -> None:
        with self._space.woken:
            self._space.wake_one(topic)
            self._space.woken.notify_all()

    def wake(self, topic: str) -> None:
        self._space.publish(topic)

    def close(self) -> None:
        with self._space.woken:
            self._closed = True
            self._space.woken.notify_all()
