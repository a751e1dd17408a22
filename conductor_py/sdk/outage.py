"""Failures that repeat while something is away: said once when they begin, and once when they end.

A worker tries again every few seconds, for hours if it must. The first failure of a kind is news,
and so is the end; what lies between says nothing new.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from conductor_py.errors import ConductorError


class Outage:
    """What has been said of one kind of call since it last succeeded; threads may share it."""

    def __init__(self, log: logging.Logger, failing: str, over: str) -> None:
        """``failing`` and ``over`` are the sentences for the beginning and the end."""
        self._log = log
        self._failing = failing
        self._over = over
        self._lock = threading.Lock()
        self._said: set[str] = set()

    def failed(self, error: Exception, facts: Mapping[str, object]) -> None:
        """Warn of an error whose kind is new in this outage; others are for debugging.

        The kind is the code of a ``ConductorError``. Any other error nobody expected: its class is
        the kind, and its traceback is shown.
        """
        if isinstance(error, ConductorError):
            kind, reason, cause = error.code, error.message, None
        else:
            kind = type(error).__name__
            reason, cause = f"{kind}: {error}", error
        with self._lock:
            level = logging.DEBUG if kind in self._said else logging.WARNING
            self._said.add(kind)
        self._log.log(level, self._failing, exc_info=cause, extra={**facts, "error": reason})

    def ended(self, facts: Mapping[str, object]) -> None:
        """Say that calls succeed again, if one has failed."""
        if not self._said:  # the common case, and free of the lock
            return
        with self._lock:
            was_out = bool(self._said)
            self._said.clear()
        if was_out:
            self._log.info(self._over, extra=dict(facts))
