"""A set of members ordered by score, the shape of a queue, of timers and of an outbox.

A heap with lazy deletion: the dictionary is the truth, an entry of the heap that disagrees with it
is skipped.
"""

from __future__ import annotations

import heapq


class ScoreSet:
    """Members with integer scores; equal scores are ordered by member, as in Redis."""

    __slots__ = ("_heap", "scores")

    def __init__(self) -> None:
        """Begin empty."""
        self.scores: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []

    def put(self, member: str, score: int) -> None:
        """Add a member or move it."""
        if self.scores.get(member) != score:
            self.scores[member] = score
            heapq.heappush(self._heap, (score, member))

    def put_earlier(self, member: str, score: int) -> None:
        """Add a member, or move it when that is earlier."""
        if self.scores.get(member, score) >= score:
            self.put(member, score)

    def drop(self, member: str) -> bool:
        """Remove a member; tells whether it was there."""
        return self.scores.pop(member, None) is not None

    def first(self) -> tuple[int, str] | None:
        """Read the lowest score and its member."""
        while self._heap:
            score, member = self._heap[0]
            if self.scores.get(member) == score:
                return score, member
            heapq.heappop(self._heap)
        return None

    def upto(self, score: int, limit: int) -> list[str]:
        """List up to ``limit`` members whose score is not above ``score``, lowest first."""
        found: list[tuple[int, str]] = []
        while len(found) < limit:
            head = self.first()
            if head is None or head[0] > score:
                break
            heapq.heappop(self._heap)
            if not found or found[-1] != head:
                found.append(head)
        for head in found:
            heapq.heappush(self._heap, head)
        return [member for _, member in found]

    def __len__(self) -> int:
        return len(self.scores)
