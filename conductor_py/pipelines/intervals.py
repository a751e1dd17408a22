"""Sets of small integers as sorted, disjoint intervals: ``0-611,613-702``.

A million splits that are finished mostly in order are a few bytes. Many intervals are packed: each
as its distance from the one before and its length, which deflate makes small, in ASCII after a
``z``. What is packed has one form only, as the text has.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, Self

from conductor_py.records import dataclass

_PACKED: Final = "z"
_FEW: Final = 64
"""So many intervals are written as text, which people can read."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """An immutable set; ``spans`` are inclusive, ascending, and never touch."""

    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Self:
        """Make the set of these numbers, in any order."""
        return cls(_merged((number, number) for number in sorted(set(numbers))))

    @classmethod
    def range(cls, first: int, after: int) -> Self:
        """Make the set of ``first`` up to, without, ``after``."""
        return cls(((first, after - 1),) if first < after else ())

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``str`` or ``packed`` writes; ``ValueError`` when it is not that."""
        if text.startswith(_PACKED):
            return cls(_unpacked(text[1:]))
        spans = []
        for part in filter(None, text.split(",")):
            first, dash, last = part.partition("-")
            spans.append((int(first), int(last) if dash else int(first)))
        made = cls(_merged(spans))
        if made.spans != tuple(spans):
            raise ValueError(f"intervals must ascend and not touch: {text!r}")
        return made

    def __str__(self) -> str:
        return ",".join(f"{a}-{b}" if a != b else str(a) for a, b in self.spans)

    def packed(self) -> str:
        """Write the set in less room: the text while intervals are few."""
        if len(self.spans) <= _FEW:
            return str(self)
        steps: list[int] = []
        before = -2
        for first, last in self.spans:
            steps += (first - before - 2, last - first)
            before = last
        return _PACKED + base64.b85encode(zlib.compress(_as_bytes(steps), 9)).decode()

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.spans)

    def __iter__(self) -> Iterator[int]:
        for first, last in self.spans:
            yield from range(first, last + 1)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self.spans, (number, float("inf"))) - 1
        return at >= 0 and self.spans[at][1] >= number

    def __or__(self, other: Intervals) -> Intervals:
        return Intervals(_merged(sorted((*self.spans, *other.spans))))

    def __sub__(self, other: Intervals) -> Intervals:
        kept: list[tuple[int, int]] = []
        holes = iter(other.spans)
        hole = next(holes, None)
        for first, last in self.spans:
            while hole is not None and hole[1] < first:
                hole = next(holes, None)
            while hole is not None and hole[0] <= last:
                if hole[0] > first:
                    kept.append((first, hole[0] - 1))
                first = hole[1] + 1  # noqa: PLW2901 - what is left of this span
                if first > last:
                    break
                hole = next(holes, None)
            if first <= last:
                kept.append((first, last))
        return Intervals(tuple(kept))

    def __and__(self, other: Intervals) -> Intervals:
        return self - (self - other)


#: The empty set.
NOTHING: Final = Intervals()


def _merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for first, last in spans:
        if last < first or first < 0:
            raise ValueError(f"no interval: {first}-{last}")
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)


def _unpacked(text: str) -> tuple[tuple[int, int], ...]:
    try:
        steps = _of_bytes(zlib.decompress(base64.b85decode(text)))
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"packed intervals are damaged: {error}") from error
    spans, before = [], -2
    for distance, more in zip(steps[::2], steps[1::2], strict=True):
        first = before + 2 + distance
        before = first + more
        spans.append((first, before))
    return tuple(spans)


def _as_bytes(numbers: list[int]) -> bytes:
    """Write numbers of seven bits a byte, the lowest first; all but the last of one have bit 8."""
    written = bytearray()
    for number in numbers:
        while number > 0x7F:
            written.append(number & 0x7F | 0x80)
            number >>= 7  # noqa: PLW2901 - what is left of it
        written.append(number)
    return bytes(written)


def _of_bytes(written: bytes) -> list[int]:
    numbers, number, shift = [], 0, 0
    for byte in written:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number, shift = 0, 0
    if shift:
        raise ValueError("packed intervals end in the middle of a number")
    return numbers
