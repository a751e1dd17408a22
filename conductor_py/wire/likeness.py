"""Which of the known words was likely meant by one that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LIKENESS = 0.8
_FEW_LETTERS = 4


def nearest(name: str, known: Iterable[str], likeness: float) -> str | None:
    """The one that was likely meant: at so much likeness, or with one slip in it, which of a short
    word leaves less.
    """
    listed = list(known)
    near = get_close_matches(name, listed, n=1, cutoff=likeness)
    slips = (each for each in listed if _is_one_slip(name, each))
    return near[0] if near else next(slips, None)


def _is_one_slip(name: str, meant: str) -> bool:
    """Whether one letter is too much, lacks, is another, or has changed places with its neighbour;
    of less than four letters nearly every word is that.
    """
    if min(len(name), len(meant)) < _FEW_LETTERS or abs(len(name) - len(meant)) > 1:
        return False
    pairs = enumerate(zip(name, meant, strict=False))
    alike = next((at for at, (one, other) in pairs if one != other), min(len(name), len(meant)))
    rest, right = name[alike:], meant[alike:]
    turned = rest[:2] == right[1::-1] and rest[2:] == right[2:]
    return turned or rest[1:] == right[1:] or rest[1:] == right or rest == right[1:]
