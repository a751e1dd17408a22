"""Deciding under a lock that is not the lease inside the store.

What came in is durable before anybody asks for the lock, so missing it costs no wake-up: whoever
has it takes the event along, or the timer, which is put to within a moment, brings a sweeper. A
lock that was lost is reported and gone on without, because the version keeps the commit correct.
Without the comparison of versions nothing is decided that the lock is not known to cover.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final

from conductor_py.errors import StoreFailure, StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.lock import Lock
from conductor_py.ports.store import WHATEVER_COMES, ExecutionStore, Loaded

_LOG = logging.getLogger(__name__)
_SOONEST_MS: Final = 100


class _Turn(Enum):
    """How asking for the lock ended."""

    AT_ONCE = "AT_ONCE"
    WAITED = "WAITED"
    MISSED = "MISSED"
    UNLOCKED = "UNLOCKED"  # the service is away, and the version guards the commit


class Locking:
    """Holds the lock of an execution while somebody decides on it. Safe for threads."""

    def __init__(
        self,
        lock: Lock,
        store: ExecutionStore,
        *,
        fencing: bool,
        wait_ms: int,
        lease_ms: int,
    ) -> None:
        """``wait_ms`` is how long those wait for the lock who can wait."""
        self._lock = lock
        self._store = store
        self._fencing = fencing
        self._wait_ms = wait_ms
        self._lease_ms = lease_ms
        self._again_ms = max(wait_ms // 2, _SOONEST_MS)
        self._away = False

    @contextmanager
    def over(self, loaded: Loaded, holder: str, *, patient: bool) -> Iterator[Loaded | None]:
        """Hold the lock while what was loaded is decided; yields what there is to decide by now.

        ``None``: another decides. Raises ``StoreUnavailable`` when the lock's service is away and
        nothing else would keep two deciders apart.
        """
        execution = loaded.execution
        turn = self._take(execution, holder, self._wait_ms if patient else 0)
        if turn is _Turn.MISSED:
            self._store.postpone(execution, holder, WHATEVER_COMES, self._again_ms)
            yield None
            return
        with self._held(execution, holder, turn):
            if self._fencing and turn is not _Turn.WAITED:
                yield loaded
            else:
                yield self._as_of_now(loaded, holder)

    @contextmanager
    def taking_up(self, execution: ExecutionId, holder: str) -> Iterator[Loaded | None]:
        """Hold the lock while what an execution is owed is decided; yields it, ``None`` for
        nothing, or when another decides. Does not wait.
        """
        turn = self._take(execution, holder, 0)
        if turn is _Turn.MISSED:
            self._store.postpone(execution, holder, WHATEVER_COMES, self._again_ms)
            yield None
            return
        with self._held(execution, holder, turn):
            yield self._store.acquire(execution, holder, self._lease_ms)

    def holds(self, execution: ExecutionId, holder: str) -> bool:
        """Prolong the lock; whether it is still held, as far as anybody can know."""
        try:
            return self._lock.renew(execution, holder, lease_ms=self._lease_ms)
        except StoreFailure as away:
            self._notice_away(away)
            return False

    def more(self, execution: ExecutionId, holder: str) -> Loaded | None:
        """What there is to decide when another one has decided meanwhile; nothing without the lock.
        That one's commit has set the timer.
        """
        if not self.holds(execution, holder):
            return None
        return self._store.acquire(execution, holder, self._lease_ms)

    def covers(self, execution: ExecutionId, holder: str) -> bool:
        """Whether a decision may be committed as far as the lock is concerned. With the comparison
        of versions it always may.
        """
        if self._fencing or self.holds(execution, holder):
            return True
        _report_lost(execution, "before the commit, which is not made")
        return False

    def _take(self, execution: ExecutionId, holder: str, wait_ms: int) -> _Turn:
        lease_ms = self._lease_ms
        try:
            turn = _Turn.MISSED
            if self._lock.acquire(execution, holder, wait_ms=0, lease_ms=lease_ms):
                turn = _Turn.AT_ONCE
            elif wait_ms and self._lock.acquire(
                execution, holder, wait_ms=wait_ms, lease_ms=lease_ms
            ):
                turn = _Turn.WAITED
        except StoreFailure as away:
            self._notice_away(away)
            if not self._fencing:
                raise StoreUnavailable(
                    f"What was accepted is decided later: {away.message}"
                ) from away
            return _Turn.UNLOCKED
        if self._away:
            self._away = False
            _LOG.warning("The lock service is back", extra={"action": "lock_back"})
        return turn

    @contextmanager
    def _held(self, execution: ExecutionId, holder: str, turn: _Turn) -> Iterator[None]:
        try:
            yield
        finally:
            if turn is not _Turn.UNLOCKED:
                self._give_up(execution, holder)

    def _give_up(self, execution: ExecutionId, holder: str) -> None:
        try:
            kept = self._lock.release(execution, holder)
        except StoreFailure as away:
            self._notice_away(away)
            _report_lost(execution, "or may have been: its service went away; it ends by itself")
            return
        if not kept:
            _report_lost(execution, "before it was given up")

    def _as_of_now(self, loaded: Loaded, holder: str) -> Loaded | None:
        """What to decide now that the lock is held: somebody may have decided since it was loaded.

        What is still so is not loaded again: the timer that brought it may be its only reason.
        """
        found = self._store.load(loaded.execution, ["h"])
        if found is None:
            return None
        if found[0] == loaded.version:
            return loaded
        return self._store.acquire(loaded.execution, holder, self._lease_ms)

    def _notice_away(self, why: StoreFailure) -> None:
        """Say that the service of the locks is away, once until it is back."""
        if self._away:
            return
        self._away = True
        what = "goes on, versions keep it correct" if self._fencing else "waits for it"
        _LOG.warning(
            "The lock service does not answer",
            extra={"action": "lock_away", "why": why.message, "deciding": what},
        )


def _report_lost(execution: ExecutionId, when: str) -> None:
    _LOG.warning(
        "The lock on an execution was lost while it was decided",
        extra={"action": "lock_lost", "workflow_id": execution, "when": when},
    )
