"""Locks on executions: who decides on one just now, where that is not the lease inside the store.

A lock saves work. It is never what makes a write safe: whoever has one cannot know that it still
does.
"""

from __future__ import annotations

from typing import Protocol

from conductor_py.model.ids import ExecutionId


class Lock(Protocol):
    """Exclusive locks by execution, for all processes that use the same service.

    ``holder`` names one decider and one turn of it; it is never used twice, so a lock need not be
    reentrant. A lock ends by itself: ``lease_ms`` after it was taken or renewed, and, when its
    process is gone, within a time that the service knows. Safe for threads, and usable in a process
    that was forked. Every method raises ``StoreUnavailable`` when the service does not answer.
    """

    def acquire(self, execution: ExecutionId, holder: str, *, wait_ms: int, lease_ms: int) -> bool:
        """Take the lock; false when another has it, for ``wait_ms`` (0: does not wait) at least."""

    def renew(self, execution: ExecutionId, holder: str, *, lease_ms: int) -> bool:
        """Prolong the lock; false when it was lost, or may have been."""

    def release(self, execution: ExecutionId, holder: str) -> bool:
        """Give the lock up; false when it was lost before. What another has by now stays."""
