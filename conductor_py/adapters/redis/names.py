"""Names and numbers that many share, as they are read: whatever bytes stand there are nobody else's
trouble.

A disk, a restored dump or an operator can leave bytes that are no UTF-8. What is only shown is
shown with them escaped, what would be looked up by its name is passed over: no such name is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from conductor_py.adapters.redis.connection import Reply

_DIGITS: Final = 20
_BEYOND: Final = 1 << 63


def shown(name: bytes) -> str:
    r"""Read a name for people; a byte that is no text is written ``\xff``."""
    return name.decode(errors="backslashreplace")


def name_of(name: bytes) -> str | None:
    """Read a name that something is looked up by; ``None`` for bytes that are no text."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def names_of(names: Sequence[bytes]) -> Iterator[str]:
    """Read names, without those that are no text."""
    for raw in names:
        name = name_of(raw)
        if name is not None:
            yield name


def pairs_of(flat: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
    """Read a flat list of names and values, without names that are no text."""
    for at in range(0, len(flat), 2):
        name = name_of(flat[at])
        if name is not None:
            yield name, flat[at + 1]


def fields_of(flat: Sequence[Reply]) -> dict[str, Any]:
    """Read a flat list of names and values, each name as it is shown."""
    each = iter(flat)
    return {shown(name): value for name, value in zip(each, each, strict=True)}


def number_of(text: bytes) -> int | None:
    """Read a stored number of 63 bits; ``None`` for what is none."""
    number = int(text) if text.isdigit() and len(text) <= _DIGITS else _BEYOND
    return number if number < _BEYOND else None


def score_of(text: bytes) -> int:
    """Read a score of a sorted set, as far as an instant can be."""
    score = float(text)
    return int(min(max(score, -_BEYOND), _BEYOND))
