"""What happened, as a number to compare runs by and, where somebody asks, in words."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from conductor_py.records import dataclass, field
from conductor_py.testing.simulation.loop import SECOND


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened, and when (microseconds)."""

    at: int
    who: str
    what: str

    def __str__(self) -> str:
        """Write it as a line."""
        return f"t={self.at / SECOND:9.4f} s  {self.who:<12} {self.what}"


@dataclass(slots=True)
class Journal:
    """The checksum of everything; the words only with ``keeps``."""

    keeps: bool = False
    checksum: int = 0
    entries: list[Entry] = field(default_factory=list)

    def note(self, at: int, who: str, what: str) -> None:
        """Write down what somebody did."""
        self.count(at, who, what)
        if self.keeps:
            self.entries.append(Entry(at, who, what))

    def call(self, at: int, who: str, what: str, outcome: str, words: Callable[[], str]) -> None:
        """Write down a call; its words are made only when they are kept."""
        self.count(at, who, f"{what} {outcome}")
        if self.keeps:
            said = words()
            if said:
                self.entries.append(Entry(at, who, said))

    def count(self, at: int, who: str, what: str) -> None:
        """Add to the checksum."""
        self.checksum = zlib.crc32(f"{at} {who} {what}".encode(), self.checksum)


@contextmanager
def silence() -> Iterator[None]:
    """Let the engine log nothing: what goes wrong is meant to."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
