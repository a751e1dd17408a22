"""Measures that can be added up from round to round: one aggregate, by itself.

A sum of sums is a sum, and so are counts. What a quotient of two sums becomes, or a count of what
is distinct, cannot be told from what it was a round before.
"""

from __future__ import annotations

import re
from typing import Final

from conductor_py.pipelines.chance import COMMENT, TEXT
from conductor_py.records import dataclass

NEEDED: Final = (
    "must be count, sum, min, max or avg of something, by itself and not distinct, beside emit:"
    " running; compute others from such measures in a map behind it"
)
_BEGIN: Final = re.compile(r"\s*(count|sum|min|max|avg)\s*\(", re.IGNORECASE)
_FILTER: Final = re.compile(r"\s*filter\s*\(\s*where\b", re.IGNORECASE)
#: In a raw text a backslash is one.
_PART: Final = re.compile(rf"\b[rR](?:'[^']*'|\"[^\"]*\")|{TEXT}|\w+|.", re.DOTALL)
_DISTINCT: Final = re.compile(rf"(?:\s|--[^\n]*\n|{COMMENT})*distinct\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """An aggregate: its name in lower case, what stands in its brackets, and behind them."""

    kind: str
    argument: str
    condition: str = ""

    def as_kind(self, kind: str) -> str:
        """Return the SQL of another aggregate of the same rows."""
        return f"{kind}({self.argument}){self.condition}"


def read_measure(text: str) -> Measure | None:
    """Return the one aggregate that an SQL expression is; ``None`` for anything else."""
    begin = _BEGIN.match(text)
    end = begin and _closed(text, begin.end())
    if begin is None or end is None:
        return None
    argument, rest = text[begin.end() : end], text[end + 1 :]
    condition = _FILTER.match(rest)
    closed = _closed(rest, condition.end()) if condition else -1
    if closed is None or rest[closed + 1 :].strip() or _DISTINCT.match(argument):
        return None
    return Measure(kind=begin[1].lower(), argument=argument, condition=rest.rstrip())


def _closed(text: str, at: int) -> int | None:
    """Return where the bracket that is open there is closed."""
    depth = 1
    while part := _PART.match(text, at):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if depth == 0:
            return at
        at = part.end()
    return None
