"""One scrape at a time: metrics are answered whatever else a process does, and read all queues.

Who asks meanwhile is given the text that is being written; so many wait for it, further ones are
refused at once. So scrapes, however many, hold a few threads and read the store once at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from typing import Final

from conductor_py.errors import Overloaded

MOST_WAITING: Final = 4
_WAIT_S: Final = 10.0


class Scrapes:
    """Writes one text for all who ask at the same time. Safe for threads."""

    def __init__(self, write: Callable[[], bytes], *, wait_s: float = _WAIT_S) -> None:
        """Who waits for a text that ``write`` is writing waits ``wait_s`` at most."""
        self._write = write
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._under_way: Future[bytes] | None = None
        self.waiting = 0

    def text(self) -> bytes:
        """Give the text; ``Overloaded``: too many wait for it already, or it takes too long."""
        mine: Future[bytes] = Future()
        with self._lock:
            under_way = self._under_way
            if under_way is None:
                self._under_way = mine
            elif self.waiting >= MOST_WAITING:
                raise Overloaded
            else:
                self.waiting += 1
        return self._written(mine) if under_way is None else self._awaited(under_way)

    def _written(self, mine: Future[bytes]) -> bytes:
        try:
            found = self._write()
        except BaseException as error:
            self._end()
            mine.set_exception(error)
            raise
        self._end()
        mine.set_result(found)
        return found

    def _end(self) -> None:
        with self._lock:
            self._under_way = None

    def _awaited(self, under_way: Future[bytes]) -> bytes:
        try:
            return under_way.result(self._wait_s)
        except TooLate:
            raise Overloaded from None
        finally:
            with self._lock:
                self.waiting -= 1
