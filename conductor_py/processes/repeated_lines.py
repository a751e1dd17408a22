"""Log lines that say the same again and again: one in a while, with how many were left out.

The same is what has the same words and the same facts: a line that tells of another execution is
another line. Of libraries it is the sentence, whatever stands in it, since they count in theirs.
Only warnings and what is worse are held back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Final

_EVERY_S: Final = 30.0
_MOST_KNOWN: Final = 1_000
_OURS: Final = "conductor_"
_BESIDE: Final = "left_out"


class RepeatedLines(logging.Filter):
    """Lets the first of the same lines through, and one in half a minute. Safe for threads."""

    def __init__(
        self,
        facts: Callable[[logging.LogRecord], Mapping[str, object]],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``facts`` reads what stands beside the sentence of a record."""
        super().__init__()
        self._facts = facts
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: dict[Hashable, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is shown; ``left_out`` is how many were not since the last one."""
        if record.levelno < logging.WARNING:
            return True
        is_ours = record.name.startswith(_OURS)
        if not is_ours:
            _shorten(record)
        said = self._said(record) if is_ours else record.msg
        key = (record.name, record.levelno, said)
        now = self._monotonic()
        with self._lock:
            until, left_out = self._known.pop(key, (0.0, 0))
            shown = now >= until
            self._known[key] = (now + _EVERY_S, 0) if shown else (until, left_out + 1)
            if len(self._known) > _MOST_KNOWN:
                del self._known[next(iter(self._known))]
        if shown and left_out:
            setattr(record, _BESIDE, left_out)
        return shown

    def _said(self, record: logging.LogRecord) -> str:
        error = repr(record.exc_info[1]) if record.exc_info else ""
        return f"{record.getMessage()} {error} {sorted(self._facts(record).items())}"


def _shorten(record: logging.LogRecord) -> None:
    """A library's warning shows what happened, and not where in its code."""
    if record.exc_info and record.exc_info[1] is not None and record.levelno < logging.ERROR:
        error = record.exc_info[1]
        record.error = f"{type(error).__name__}: {error}"
        record.exc_info = record.exc_text = None
