"""Locks on executions as nodes of a ZooKeeper session: gone when it ends, and after their lease.

A node of its own name a lock, and no queue of waiters: nothing is left over of the millions of
executions that were locked once, and whoever waits gives up soon anyway.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from conductor_py.adapters.process_local import ProcessLocal
from conductor_py.adapters.zookeeper.session import Session
from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.records import dataclass

_LOG = logging.getLogger(__name__)
_LOOK_S: Final = 0.5


class ZookeeperLock:
    """``Lock`` in ZooKeeper. Each process connects at its first lock; no connection is shared with
    a forked one.
    """

    def __init__(
        self,
        hosts: str,
        *,
        namespace: str = "conductor",
        session_ms: int = 10_000,
        connect_ms: int = 3_000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``hosts`` as ZooKeeper writes them: ``one:2181,two:2181/root``; ``namespace`` begins the
        path of every node. A process that is gone keeps its locks for ``session_ms``.
        """
        connect = partial(Session, hosts, namespace, session_ms=session_ms, connect_ms=connect_ms)
        self._locks = ProcessLocal(lambda: _Locks(connect, monotonic))

    def acquire(self, execution: ExecutionId, holder: str, *, wait_ms: int, lease_ms: int) -> bool:
        return self._locks.get().acquire(execution, holder, wait_ms, lease_ms)

    def renew(self, execution: ExecutionId, holder: str, *, lease_ms: int) -> bool:
        return self._locks.get().renew(execution, holder, lease_ms)

    def release(self, execution: ExecutionId, holder: str) -> bool:
        return self._locks.get().release(execution, holder)

    def close(self) -> None:
        """End the session of this process, and its locks."""
        self._locks.get().close()


@dataclass(slots=True)
class _Held:
    """A lock of this process: whose, under which anchor, and until when."""

    holder: str
    anchor: str
    until: float


class _Locks:
    """What one process holds, and what it may have left in ZooKeeper without knowing."""

    def __init__(self, connect: Callable[..., Session], monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._mutex = threading.Lock()
        self._held: dict[ExecutionId, _Held] = {}
        self._doubtful: dict[ExecutionId, bytes] = {}
        self._who = f"{socket.gethostname()} {os.getpid()}"
        self._session = connect(on_lost=self._lost)
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="lock-leases", daemon=True).start()

    def acquire(self, execution: ExecutionId, holder: str, wait_ms: int, lease_ms: int) -> bool:
        deadline = time.monotonic() + wait_ms / 1000
        while True:
            self._clear(execution)
            if self._take(execution, holder, lease_ms):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            gone = threading.Event()
            if self._session.is_there(execution, gone.set):
                gone.wait(left)

    def renew(self, execution: ExecutionId, holder: str, lease_ms: int) -> bool:
        now = self._monotonic()
        with self._mutex:
            held = self._held.get(execution)
            if held is None or held.holder != holder or held.until <= now:
                return False
            held.until = now + lease_ms / 1000
        return self._session.lives(held.anchor)

    def release(self, execution: ExecutionId, holder: str) -> bool:
        with self._mutex:
            held = self._held.get(execution)
            if held is None or held.holder != holder:
                return False
            del self._held[execution]
        return self._give_up(execution, held)

    def close(self) -> None:
        self._closed.set()
        self._session.close()

    def look(self) -> None:
        """Give up what has outlived its lease, and what may have been left over."""
        now = self._monotonic()
        with self._mutex:
            over = [(name, held) for name, held in self._held.items() if held.until <= now]
            for name, _ in over:
                del self._held[name]
            doubtful = tuple(self._doubtful)
        for name, held in over:
            _LOG.warning(
                "The lease of a lock ended before the decision did",
                extra={"action": "lock_lease_ended", "workflow_id": name},
            )
            self._give_up(name, held)
        for name in doubtful:
            self._clear(name)

    def _take(self, execution: ExecutionId, holder: str, lease_ms: int) -> bool:
        if execution in self._held:  # by another thread of this process
            return False
        value = self._value(holder)
        try:
            anchor = self._session.create(execution, value)
        except StoreUnavailable:
            self._doubtful[execution] = value
            raise
        if not anchor:
            return False
        with self._mutex:
            self._held[execution] = _Held(holder, anchor, self._monotonic() + lease_ms / 1000)
        return True

    def _give_up(self, execution: ExecutionId, held: _Held) -> bool:
        try:
            return self._session.delete(execution, held.anchor)
        except StoreUnavailable:
            self._doubtful[execution] = self._value(held.holder)
            raise

    def _clear(self, execution: ExecutionId) -> None:
        """Remove a node of ours that nobody holds: it was made, or not removed, behind a connection
        that broke. Another session has ended with all its nodes.
        """
        value = self._doubtful.get(execution)
        if value is None:
            return
        if self._session.value(execution) == value:
            self._session.delete(execution, self._session.anchor())
        self._doubtful.pop(execution, None)

    def _value(self, holder: str) -> bytes:
        return f"{self._who} {holder}".encode()

    def _lost(self) -> None:
        _LOG.warning(
            "The session with ZooKeeper has ended, and the locks with it",
            extra={"action": "lock_session_lost", "locks": len(self._held)},
        )

    def _watch(self) -> None:
        """One of the loops that must survive: what goes wrong is logged and tried again."""
        while not self._closed.wait(_LOOK_S):
            try:
                self.look()
            except StoreUnavailable:
                continue
            except Exception:  # noqa: BLE001 - this loop must survive
                _LOG.exception("Leases cannot be looked at", extra={"action": "lock_look_failed"})
