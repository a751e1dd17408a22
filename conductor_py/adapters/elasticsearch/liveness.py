"""Whether the search server answers, told soon: what may hang is asked by a thread of its own, one
at a time, and every few seconds at most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings, connect, wrapped
from conductor_py.adapters.elasticsearch.indices import EXECUTIONS
from conductor_py.adapters.process_local import ProcessLocal
from conductor_py.errors import StoreUnavailable

_EVERY_S: Final = 5.0
_WAIT_S: Final = 0.5
_REQUEST_S: Final = 5.0
_SILENT: Final = "The search server has not answered yet"


def asked(settings: ElasticsearchSettings) -> Callable[[], object]:
    """Make a question that is sent once, to a server of which nothing else is known."""
    client = ProcessLocal(lambda: connect(settings))

    def ask() -> None:
        with wrapped():
            once = client.get().options(request_timeout=_REQUEST_S, max_retries=0)
            once.indices.exists(index=EXECUTIONS.name(settings.prefix))

    return ask


class Liveness:
    """What the last question has found. Safe for threads."""

    def __init__(
        self, ask: Callable[[], object], *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """``ask`` raises ``StoreUnavailable`` when the server is away."""
        self._ask = ask
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._answered = threading.Event()
        self._again_s = float("-inf")
        self._problem = _SILENT

    def check(self) -> None:
        """Raise what was wrong when it was asked last; the first to ask waits for half a second."""
        with self._lock:
            if self._monotonic() >= self._again_s:
                self._again_s = float("inf")
                threading.Thread(target=self._find_out, name="search-health", daemon=True).start()
        self._answered.wait(_WAIT_S)
        if self._problem:
            raise StoreUnavailable(self._problem)

    def _find_out(self) -> None:
        problem = _SILENT
        try:
            self._ask()
            problem = ""
        except StoreUnavailable as away:
            problem = away.message
        finally:
            self._problem = problem
            self._again_s = self._monotonic() + _EVERY_S
            self._answered.set()
