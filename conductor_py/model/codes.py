"""Codes: whole numbers that name things before anybody has stored them, and how their bits are laid
out.

A code is an instant, the number of the worker that minted it, and a sequence number within the
instant, from the highest bit down. So codes of one layout are ordered by time, and a range of times
is a range of codes. Refused is what does not fit: nothing is ever cut off.
"""

from __future__ import annotations

import re
from typing import Final

from conductor_py.records import dataclass

EPOCH_MS: Final = 1_609_459_200_000
"""Codes count from 2021-01-01T00:00:00Z."""
MOST_CODES: Final = 1_000
"""Codes that are minted at a time."""
MOST_WORKER_BITS: Final = 12
"""Whoever leases a worker number looks at all of them."""

_MOST_BITS: Final = 63
_JSON_BITS: Final = 53
_LONGEST: Final = 19
_BITS: Final = re.compile(r"(\d{1,2})\s*/\s*(\d{1,2})\s*/\s*(\d{1,2})", re.ASCII)
_DECIMAL: Final = re.compile(r"0|[1-9]\d*", re.ASCII)
_RIGHT: Final = (
    "bits of time, worker and sequence such as 41/6/6: each at least 1, those of the worker at "
    f"most {MOST_WORKER_BITS}, together at most {_MOST_BITS}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLayout:
    """How many bits of a code tell what; times are epoch ms and count from ``epoch_ms``.

    ``ValueError`` says what would be a layout.
    """

    time_bits: int = 41
    worker_bits: int = 6
    sequence_bits: int = 6
    epoch_ms: int = EPOCH_MS

    def __post_init__(self) -> None:
        """Refuse what is no layout."""
        parts = (self.time_bits, self.worker_bits, self.sequence_bits)
        if min(parts) < 1 or self.worker_bits > MOST_WORKER_BITS or sum(parts) > _MOST_BITS:
            raise ValueError(_RIGHT)

    def __str__(self) -> str:
        """Write the bits as a setting has them."""
        return f"{self.time_bits}/{self.worker_bits}/{self.sequence_bits}"

    @property
    def bits(self) -> int:
        """How many bits a code has."""
        return self.time_bits + self._shift

    @property
    def workers(self) -> int:
        """How many workers can mint at once; they are numbered from 0."""
        return 1 << self.worker_bits

    @property
    def per_ms(self) -> int:
        """How many codes one worker has for each millisecond."""
        return 1 << self.sequence_bits

    @property
    def last_ms(self) -> int:
        """The last instant of which there are codes."""
        return self.epoch_ms + (1 << self.time_bits) - 1

    @property
    def is_exact_in_json(self) -> bool:
        """Whether readers that take numbers of JSON for doubles read every code exactly."""
        return self.bits <= _JSON_BITS

    def code(self, at_ms: int, worker: int, sequence: int) -> int:
        """Make a code; ``ValueError`` for a part that does not fit."""
        since = at_ms - self.epoch_ms
        if not 0 <= since < 1 << self.time_bits:
            raise ValueError(f"{at_ms} is no instant of {self} since {self.epoch_ms}")
        if not 0 <= worker < self.workers:
            raise ValueError(f"{worker} is no worker number of {self}")
        if not 0 <= sequence < self.per_ms:
            raise ValueError(f"{sequence} is no sequence number of {self}")
        return since << self._shift | worker << self.sequence_bits | sequence

    def first_at(self, at_ms: int) -> int:
        """Find the smallest number that a code of this instant or later can be. Those from
        ``first_at(a)`` on and below ``first_at(b)`` are all codes of a time from a on and before b,
        whatever a and b are.
        """
        since = min(max(at_ms - self.epoch_ms, 0), 1 << self.time_bits)
        return since << self._shift

    def time_of(self, code: int) -> int:
        """Read the instant out of a code, epoch ms."""
        return self.epoch_ms + (code >> self._shift)

    def worker_of(self, code: int) -> int:
        """Read the worker's number out of a code."""
        return code >> self.sequence_bits & self.workers - 1

    def sequence_of(self, code: int) -> int:
        """Read the sequence number out of a code."""
        return code & self.per_ms - 1

    def parse(self, value: str | int) -> int | None:
        """Read a code as it is sent, a decimal or a number; ``None`` when it is none of this
        layout. A code has one spelling: no sign, no blank, no zero in front.
        """
        if isinstance(value, str):
            if len(value) > _LONGEST or not _DECIMAL.fullmatch(value):
                return None
            value = int(value)
        is_code = not isinstance(value, bool) and 0 <= value < 1 << self.bits
        return value if is_code else None

    @property
    def _shift(self) -> int:
        return self.worker_bits + self.sequence_bits


DEFAULT_LAYOUT: Final = CodeLayout()
"""53 bits: exact in JSON, 64 codes a millisecond for each of 64 workers, until 2090."""


def layout_from(text: str) -> CodeLayout:
    """Read a layout as a setting has it: ``41/6/6``. ``ValueError`` says what would be right."""
    found = _BITS.fullmatch(text.strip())
    if found is None:
        raise ValueError(_RIGHT)
    time, worker, sequence = map(int, found.groups())
    return CodeLayout(time_bits=time, worker_bits=worker, sequence_bits=sequence)
