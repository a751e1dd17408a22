"""Patterns of the names of objects: ``*`` and ``?`` stay within a step, ``**`` does not, and
``**/`` is any number of whole steps.

A pattern comes from whoever writes a pipeline, and names from whoever writes into the bucket. The
engine of regular expressions tries all ways to divide a name among the wildcards: with ten of them
one name of a thousand letters would hold it for good. Few wildcards are left to it, because it is
fast; for more the set of places in the pattern is walked in step with the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

_PART: Final = re.compile(r"\*(?=\*\*/)|\*\*/|\*\*|\*|[^*]", re.DOTALL)
_MEANT: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
#: Two wildcards divide a name of 1,024 bytes, the longest there is, in half a million ways at most.
_FEW: Final = 2


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return what tells whether a name matches as a whole."""
    parts = _PART.findall(pattern)
    if sum(part.startswith("*") for part in parts) <= _FEW:
        form = re.compile("".join(_MEANT.get(part) or re.escape(part) for part in parts), re.DOTALL)
        return lambda name: form.fullmatch(name) is not None
    # Steps have two places: before the first one, where they may be passed over, and within.
    places = [place for part in parts for place in (("may", "**/") if part == "**/" else (part,))]
    return partial(_walk, tuple(places))


def _walk(places: tuple[str, ...], name: str) -> bool:
    here = _free(places, [0])
    for char in name:
        here = _free(places, (to for at in here for to in _after(places, at, char)))
        if not here:
            return False
    return len(places) in here


def _free(places: tuple[str, ...], begin: Iterable[int]) -> set[int]:
    """Add the places that are reached without reading anything."""
    found: set[int] = set()
    pending = list(begin)
    while pending:
        at = pending.pop()
        if at in found:
            continue
        found.add(at)
        place = places[at] if at < len(places) else ""
        if place in ("*", "**", "may"):
            pending.append(at + 1)
        if place == "may":
            pending.append(at + 2)
    return found


def _after(places: tuple[str, ...], at: int, char: str) -> tuple[int, ...]:
    place = places[at] if at < len(places) else ""
    if place == "**":
        return (at,)
    if place == "**/":
        return (at, at + 1) if char == "/" else (at,)
    if place == "*":
        return (at,) if char != "/" else ()
    return (at + 1,) if place == char or (place == "?" and char != "/") else ()
