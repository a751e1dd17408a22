"""The threads that run the tasks of one type: a fixed number of slots, each free or busy.

A thread begins when it is first needed and stays, so that what a function keeps per thread (a
connection) is used again. The threads are daemons: a function that does not end cannot keep the
process from ending.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)


class Slots:
    """A pool that tells how much it can take."""

    def __init__(self, name: str, size: int) -> None:
        """Start no thread yet."""
        self._name = name
        self._size = size
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._busy = 0
        self._threads = 0
        self._closed = False

    def wait_free(self, timeout_s: float) -> int:
        """Return the number of free slots, waiting for the first; 0 at the time's end or once
        closed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._busy < self._size, timeout_s)
            return 0 if self._closed else max(0, self._size - self._busy)

    def submit(self, job: Callable[[], object]) -> None:
        """Run the job on a slot; more jobs than slots wait in line.

        Raises ``RuntimeError`` when a thread for it is needed and cannot start; nothing is in line
        then.
        """
        with self._changed:
            if self._threads < min(self._busy + 1, self._size):
                name = f"conductor-{self._name}-{self._threads + 1}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
                self._threads += 1
            self._busy += 1
        self._jobs.put(job)

    @property
    def busy(self) -> int:
        """The number of jobs that run, or wait in line."""
        with self._changed:
            return self._busy

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until no job runs; tell whether that came about."""
        with self._changed:
            return self._changed.wait_for(lambda: self._busy == 0, max(0.0, timeout_s))

    def close(self) -> None:
        """Offer no free slot any more; threads end when their jobs are done."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            threads = self._threads
        for _ in range(threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException:  # noqa: BLE001 - one job must not take the slot with it
                _log.exception("a worker thread survived an error", extra={"action": "job_failed"})
            finally:
                with self._changed:
                    self._busy -= 1
                    self._changed.notify_all()
