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
"""For how long an answer is good: then it is asked anew."""
_SLOW_S: Final = 60.0
"""For how long it is told while the next question has no answer: a server may be slow."""
_WAIT_S: Final = 0.5
_REQUEST_S: Final = 5.0
_SILENT: Final = "The search server has not answered yet"
_HANGS: Final = "The search server does not answer"


def asked(settings: ElasticsearchSettings) -> Callable[[], object]:
    """Make a question that is sent once, to a server of which nothing else is known."""
    client = ProcessLocal(lambda: connect(settings))

    def ask() -> None:
        with wrapped():
            once = client.get().options(request_timeout=_REQUEST_S, max_retries=0)
            once.indices.exists(index=EXECUTIONS.name(settings.prefix))

    return ask


class Liveness:
    """What the last question has found, for a few seconds. Safe for threads."""

    def __init__(
        self, ask: Callable[[], object], *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """``ask`` raises ``StoreUnavailable`` when the server is away."""
        self._ask = ask
        self._monotonic = monotonic
        self._told = threading.Condition()
        self._asked_s: float | None = None
        self._answered_s = float("-inf")
        self._problem = _SILENT

    def check(self) -> None:
        """Raise what is wrong (``StoreUnavailable``). Where nothing is known that is new, those who
        ask wait for half a second, unless the question has no answer for too long.
        """
        with self._told:
            if self._asked_s is None and not self._is_new():
                threading.Thread(target=self._find_out, name="search-health", daemon=True).start()
                self._asked_s = self._monotonic()
            problem = _HANGS if self._hangs() else self._problem_soon()
        if problem:
            raise StoreUnavailable(problem)

    def _problem_soon(self) -> str:
        is_told = self._told.wait_for(self._is_new, _WAIT_S)
        return self._problem if is_told or self._age_s() < _SLOW_S else _SILENT

    def _is_new(self) -> bool:
        return self._age_s() < _EVERY_S

    def _age_s(self) -> float:
        return self._monotonic() - self._answered_s

    def _hangs(self) -> bool:
        return self._asked_s is not None and self._monotonic() - self._asked_s > _REQUEST_S

    def _find_out(self) -> None:
        problem = _SILENT
        try:
            self._ask()
            problem = ""
        except StoreUnavailable as away:
            problem = away.message
        finally:
            with self._told:
                self._problem, self._asked_s = problem, None
                self._answered_s = self._monotonic()
                self._told.notify_all()
