"""What is remembered of programs that took long or took a process down.

A program is on probation after that: it is not tried among the quick ones before a term has passed.
The term doubles with every such attempt in a row. A program that then ends quickly is forgotten.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from conductor_py.records import dataclass

_FIRST_TERM_S: Final = 60.0
_LONGEST_TERM_S: Final = 3600.0
_KEPT: Final = 4096


@dataclass(frozen=True, slots=True)
class _Probation:
    times: int
    until: float
    failed: bool


class LongPrograms:
    """Programs on probation, by language and text; the newest few thousand. Safe for threads."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Know none."""
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, _Probation] = OrderedDict()

    def has(self, language: str, source: str) -> bool:
        """Whether a program is on probation now."""
        if not self._known:
            return False
        found = self._known.get(_name(language, source))
        return found is not None and self._monotonic() < found.until

    def has_failed(self, language: str, source: str) -> bool:
        """Whether a program, given all its time, has failed before."""
        found = self._known.get(_name(language, source))
        return found is not None and found.failed

    def add(self, language: str, source: str, *, failed: bool | None = None) -> None:
        """Put a program on probation, for longer than the last time.

        ``failed``: whether it has, given all its time; ``None`` is what was known before.
        """
        name = _name(language, source)
        with self._lock:
            before = self._known.pop(name, None)
            times = before.times + 1 if before else 1
            term_s = min(_FIRST_TERM_S * 2 ** min(times - 1, 10), _LONGEST_TERM_S)
            if failed is None:
                failed = before is not None and before.failed
            self._known[name] = _Probation(times, self._monotonic() + term_s, failed)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def forgive(self, language: str, source: str) -> None:
        """Forget a program that has ended quickly."""
        if self._known:
            with self._lock:
                self._known.pop(_name(language, source), None)


def _name(language: str, source: str) -> bytes:
    text = f"{language}\0{source}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest()
