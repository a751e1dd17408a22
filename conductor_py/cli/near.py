"""Words that are likely misspelt: what may have been meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final

from conductor_py.cli.printing import say
from conductor_py.errors import Violation
from conductor_py.model.status import WorkflowStatus

_STATES: Final = re.compile(
    r"""\b(status|state)\s*(?:!?=|(?:NOT\s+)?IN\b)\s*(\([^()]*\)|"[^"]*"|'[^']*'|[^\s()]+)""",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\s,()'\"]+")
_LIKENESS: Final = 0.6


def warn(name: object, warnings: Iterable[Mapping[str, Any]]) -> None:
    """Tell on standard error what is accepted, but is probably a mistake."""
    for each in warnings:
        say(f"warning: {name}: {each.get('path')} {each.get('message')}", err=True)


def said_in_all(
    told: Iterable[Mapping[str, Any]], found: Iterable[Violation]
) -> list[Mapping[str, Any]]:
    """What was found without a server, and what that tells more: an older one tells less."""
    own = [{"path": each.path, "message": each.message} for each in found]
    known = {(each["path"], each["message"]) for each in own}
    more = [each for each in told if (each.get("path"), each.get("message")) not in known]
    return [*own, *more]


def warn_of(name: object, found: Iterable[Violation]) -> None:
    """Tell what was found without a server, as ``warn`` does."""
    warn(name, ({"path": each.path, "message": each.message} for each in found))


def warn_of_query(
    query: str, member: str = "status", states: type[StrEnum] = WorkflowStatus
) -> None:
    """Tell of each state in a search that is none, and which is nearest to it."""
    for note in _notes(query, member, [each.value for each in states]):
        say(f"warning: {note}", err=True)


def _notes(query: str, member: str, known: Sequence[str]) -> Iterator[str]:
    for found in _STATES.finditer(query):
        for word in _WORD.findall(found[2]):
            if found[1].lower() != member or word in known or "*" in word:
                continue
            near = get_close_matches(word.upper(), known, n=1, cutoff=_LIKENESS)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            yield f"{word} is no {member}; {meant}"
