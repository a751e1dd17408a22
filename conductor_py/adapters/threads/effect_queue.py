"""``EffectQueue`` between threads of one process: the relay's batches wait here for those that
carry them out.

What waits is lost with the process, as the port allows: the outbox offers it again after its lease.
A batch that nobody has reached within its lease is dropped, since it is in a newer one by then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from conductor_py.adapters.front_turns import FrontTurns
from conductor_py.errors import StoreUnavailable
from conductor_py.records import dataclass

Handler = Callable[[int, Sequence[str]], object]

_READY: Final = 8
"""Batches that wait: enough to keep those who carry them out busy until the relay looks again."""
_PAUSE_S: Final = 0.2
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Batch:
    partition: int
    ids: Sequence[str]
    before_s: float


class ThreadEffectQueue:
    """Batches of effects on their way to threads of this process. Safe for threads."""

    def __init__(self, *, lease_ms: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        """``lease_ms`` is the outbox's."""
        self._lease_s = lease_ms / 1000
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._batches: deque[_Batch] = deque()
        self._turns = FrontTurns()
        self._closed = False

    def has_room(self) -> bool:
        return len(self._batches) < _READY

    def enqueue(self, partition: int, ids: Sequence[str]) -> None:
        self._put(partition, ids, goes_first=False)

    def enqueue_first(self, partition: int, ids: Sequence[str]) -> None:
        self._put(partition, ids, goes_first=self._turns.next_goes_first())

    def _put(self, partition: int, ids: Sequence[str], *, goes_first: bool) -> None:
        batch = _Batch(partition, tuple(ids), self._monotonic() + self._lease_s)
        with self._changed:
            (self._batches.appendleft if goes_first else self._batches.append)(batch)
            self._changed.notify()

    def carry_out(self, handler: Handler, stop: threading.Event) -> None:
        """Carry batches out until ``close``; any number of threads may. Nothing that ``handler``
        raises ends it: what is not confirmed comes again. After a store that is away comes a pause,
        which ``stop`` ends.
        """
        while (batch := self._taken()) is not None:
            try:
                handler(batch.partition, batch.ids)
            except StoreUnavailable as away:
                facts = {"action": "effects_later", "reason": away.message}
                _log.warning("A batch of effects comes again", extra=facts)
                stop.wait(_PAUSE_S)
            except Exception:  # noqa: BLE001 - a batch that fails must not stop the next
                facts = {"action": "effects_failed", "partition": str(batch.partition)}
                _log.exception("A batch of effects failed; they come again", extra=facts)

    def close(self) -> None:
        """Let those who carry out end after what they are at."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _taken(self) -> _Batch | None:
        """Wait for a batch that is worth carrying out; nothing when it is over."""
        with self._changed:
            while not self._closed:
                while self._batches:
                    batch = self._batches.popleft()
                    if self._monotonic() < batch.before_s:
                        return batch
                self._changed.wait()
        return None
