"""What was answered, counted by kind, and what must not have been."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final

from tests.fuzz.framing import Raw
from tests.fuzz.requests import Request

LONGEST_S: Final = 30.0
LEAST_ACCEPTED: Final = 0.1
_TELLING: Final = 500
"""Of fewer answers chance decides."""
_MOST: Final = 40
_SHOWN: Final = 600
_PLANTED: Final = b'"code":"STORE_DAMAGED"'
_READ_ONLY: Final = b'"code":"READ_ONLY"'
"""Secrets are not written here: Conductor's answer is 501."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which step of which actor: with the seed, all that repeats a request."""

    actor: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; status 0 is no answer."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float

    @property
    def retry_after(self) -> bool:
        """Whether it says when to come again."""
        return "retry-after" in self.headers


@dataclass(slots=True, kw_only=True)
class Slowest:
    """The answer that took longest."""

    seconds: float = 0.0
    what: str = ""


@dataclass(slots=True)
class Findings:
    """Shared by all that send and watch."""

    damaged: bool = False
    planted: set[str] = field(default_factory=set)
    """The executions whose stored fields were damaged."""
    statuses: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: list[str] = field(default_factory=list)
    slowest: dict[str, Slowest] = field(default_factory=lambda: defaultdict(Slowest))
    slowest_health: Slowest = field(default_factory=Slowest)
    slowest_canary: Slowest = field(default_factory=Slowest)
    canaries: int = 0
    _seen: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def report(self, key: str, sentence: str) -> None:
        """Something is wrong; what is of one key is told once, and counted."""
        with self._lock:
            self._seen[key] += 1
            if self._seen[key] == 1 and len(self.wrong) < _MOST:
                self.wrong.append(f"{time.strftime('%H:%M:%S')} {sentence}")

    @property
    def count(self) -> int:
        """How often something was wrong."""
        return self._seen.total()

    def answered(self, sent: Request, answer: Answer, place: Place, base: str) -> None:
        """Judge an answer to a request."""
        what = f"{sent.method} {sent.route}"
        self._counted(sent.kind, answer, what)
        problem = self._problem(answer)
        if not problem and answer.status >= 400 and sent.method != "HEAD":
            problem = _unlike_an_error(answer)
        if problem:
            text = answer.body[:_SHOWN].decode("utf-8", "backslashreplace")
            self.report(
                f"{what} {problem}",
                f"actor {place.actor}, step {place.step}: {problem} "
                f"after {answer.seconds:.1f} s: {text}\n    {sent.curl(base)}",
            )

    def answered_raw(self, sent: Raw, answer: Answer, place: Place) -> None:
        """Judge what came back for bytes that are no request; nothing may."""
        self._counted("framing", answer, sent.name)
        if answer.status and (problem := self._problem(answer)):
            self.report(
                f"{sent.name} {problem}",
                f"actor {place.actor}, step {place.step}: {problem} for {sent.name}: "
                f"{sent.sent[:_SHOWN]!r}",
            )

    def _counted(self, kind: str, answer: Answer, what: str) -> None:
        with self._lock:
            self.statuses[kind][answer.status] += 1
            if answer.seconds > self.slowest[kind].seconds:
                self.slowest[kind] = Slowest(seconds=answer.seconds, what=what)

    def _problem(self, answer: Answer) -> str:
        if not answer.status:
            return "no answer"
        if answer.seconds > LONGEST_S:
            return f"an answer only after {LONGEST_S:.0f} s"
        if answer.status == 503:
            return "" if answer.retry_after else "503 without Retry-After"
        if answer.status == 500 and self.damaged and _PLANTED in answer.body:
            return ""
        if answer.status == 501 and _READ_ONLY in answer.body:
            return ""
        return f"status {answer.status}" if answer.status >= 500 else ""

    def least_accepted(self) -> tuple[float, str]:
        """Of which kind of requests the smallest part was accepted, and that part."""
        with self._lock:
            return min(
                (
                    (sum(n for status, n in counts.items() if 200 <= status < 300) / total, kind)
                    for kind, counts in self.statuses.items()
                    # What is no HTTP is rarely accepted.
                    if (total := counts.total()) >= _TELLING and kind != "framing"
                ),
                default=(1.0, "none"),
            )

    @property
    def refused_share(self) -> float:
        """Which part of all was answered 503: a server that refuses all shows nothing."""
        total = sum(counts.total() for counts in self.statuses.values())
        return sum(counts[503] for counts in self.statuses.values()) / max(total, 1)


def _unlike_an_error(answer: Answer) -> str:
    """What an error must say: its status in the envelope; the web server's own have no body."""
    if not answer.body:
        return ""
    if b'"status":%d' % answer.status in answer.body.replace(b": ", b":"):
        return ""
    return f"an error of {answer.status} without its envelope"
