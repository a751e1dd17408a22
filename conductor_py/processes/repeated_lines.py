"""Log lines that say the same again and again: one in a while, with how many were left out.

The same is what has the same words, the same facts and the same error: a line that tells of another
execution is another line. Of a few libraries it is the sentence, whatever stands in it, since they
count in theirs. Only warnings and what is worse are held back. The last line of those held back is
shown later, with the time at which it was said.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from copy import copy
from typing import Final, TextIO

from conductor_py.records import dataclass

_EVERY_S: Final = 30.0
_MOST_KNOWN: Final = 1_000
_BESIDE: Final = "left_out"
#: Libraries that tell of each try, with its number or the address of what they tried.
_COUNTING: Final = ("elastic_transport", "urllib3")

Facts = Callable[[logging.LogRecord], Mapping[str, object]]


@dataclass(slots=True)
class _Known:
    """A line that was shown: until when the same is held back, how many were, and the last one."""

    until: float
    left_out: int = 0
    last: logging.LogRecord | None = None


class RepeatedLines(logging.Filter):
    """Lets the first of the same lines through, and one in half a minute. Safe for threads."""

    def __init__(self, facts: Facts, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """``facts`` reads what stands beside the sentence of a record."""
        super().__init__()
        self._facts = facts
        self._monotonic = monotonic
        # What the collector ends meanwhile may log.
        self._lock = threading.RLock()
        self._known: dict[Hashable, _Known] = {}
        self._due: list[tuple[logging.LogRecord, int]] = []
        self._next = math.inf

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is shown; ``left_out`` is how many were not since the last one. One
        that cannot be read or compared is shown: logging raises nothing.
        """
        if record.levelno < logging.WARNING:
            return True
        try:
            return self._is_shown(record)
        except Exception:  # noqa: BLE001 - whatever a program logs
            return True

    def overdue(self, *, all_of_them: bool = False) -> Iterator[logging.LogRecord]:
        """The last of each line that was held back and was not said again after its time;
        ``all_of_them``: also before that time.
        """
        now = self._monotonic()
        if now < self._next and not all_of_them:
            return
        with self._lock:
            due, self._due = self._due, []
            held = [each for each in list(self._known.values()) if each.last is not None]
            for each in held:
                if each.last is not None and (all_of_them or each.until <= now):
                    due.append((each.last, each.left_out - 1))
                    each.until, each.left_out, each.last = now + _EVERY_S, 0, None
            self._next = min((each.until for each in held if each.last), default=math.inf)
        for last, left_out in due:
            if left_out:
                setattr(last, _BESIDE, left_out)
            yield last

    def _is_shown(self, record: logging.LogRecord) -> bool:
        is_counting = record.name.partition(".")[0] in _COUNTING
        if is_counting and record.levelno < logging.ERROR:
            _shorten(record)
        said = str(record.msg) if is_counting else self._said(record)
        key = (record.name, record.levelno, said)
        now = self._monotonic()
        with self._lock:
            known = self._known.pop(key, _Known(until=-math.inf))
            is_shown = now >= known.until
            self._known[key] = _Known(until=now + _EVERY_S) if is_shown else known
            if is_shown and len(self._known) > _MOST_KNOWN:
                self._forget(next(iter(self._known)))
        if is_shown:
            if known.left_out:
                setattr(record, _BESIDE, known.left_out)
            return True
        kept = _kept(record)  # what is logged writes itself: never while others wait
        with self._lock:
            known.left_out, known.last = known.left_out + 1, kept
            self._next = min(self._next, known.until)
        return False

    def _forget(self, key: Hashable) -> None:
        """Make room; what was held back of it is shown with the next line."""
        known = self._known.pop(key)
        if known.last is not None:
            self._due.append((known.last, known.left_out - 1))
            self._next = -math.inf

    def _said(self, record: logging.LogRecord) -> tuple[str, ...]:
        error = record.exc_info[1] if record.exc_info else None
        facts = str(sorted(self._facts(record).items()))
        return (record.getMessage(), repr(type(error)), str(error), facts)


class SparingHandler(logging.StreamHandler[TextIO]):
    """Writes each line that is not repeated, and what was held back when its time is over: before
    the next line of whatever kind, or when the process ends.
    """

    def __init__(self, stream: TextIO, lines: RepeatedLines) -> None:
        """Write to a stream what the lines let through."""
        super().__init__(stream)
        self._lines = lines
        self.addFilter(lines)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, and before it what is overdue."""
        for each in self._lines.overdue():
            super().emit(each)
        super().emit(record)

    def close(self) -> None:
        """Write what is held back still."""
        for each in self._lines.overdue(all_of_them=True):
            super().emit(each)
        super().close()


def _kept(record: logging.LogRecord) -> logging.LogRecord:
    """A copy without the traceback, which holds all that its functions hold."""
    kept = copy(record)
    kept.msg, kept.args = record.getMessage(), ()
    _shorten(kept)
    return kept


def _shorten(record: logging.LogRecord) -> None:
    """Show what happened, and not where in the code."""
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        record.__dict__.setdefault("error", f"{type(error).__name__}: {error}")
    record.exc_info = record.exc_text = None
