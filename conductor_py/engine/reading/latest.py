"""What a process remembers of the executions that it was last at: of each in one version, and of no
more than so many. What is taken out is the caller's alone.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

Fact = TypeVar("Fact")


class Latest(Generic[Fact]):
    """Facts about executions, the oldest forgotten first. Safe for threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._facts: dict[str, tuple[int, Fact]] = {}
        self._lock = threading.Lock()

    def put(self, execution: str, version: int, fact: Fact) -> None:
        """Remember what is known of this version; what was known of another is forgotten."""
        with self._lock:
            self._facts.pop(execution, None)
            self._facts[execution] = (version, fact)
            if len(self._facts) > self._most:
                del self._facts[next(iter(self._facts))]

    def pop(self, execution: str, version: int) -> Fact | None:
        """Take out what is remembered of this version, if anything is."""
        with self._lock:
            known, fact = self._facts.pop(execution, (version, None))
        return fact if known == version else None
