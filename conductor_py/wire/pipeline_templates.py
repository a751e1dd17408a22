"""Jobs inside of workflow definitions, where ``${…}`` may stand for what is known only later.

What is literal is checked when the definition is registered. What hangs on an expression, and a job
that is one expression, is checked by the worker, which has the values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.pipelines.checks import findings
from conductor_py.pipelines.wiring import wired
from conductor_py.wire.fields import load
from conductor_py.wire.pipelines import JOB, job_of

_STEP: Final = re.compile(r"\['(.*?)'\]|\[(\d+)\]|\.([^.\[]+)")
_WIRES: Final = frozenset({"id", "kind", "output", "input", "inputs", "read_as"})

_OPEN: Final = "${workflow.input}"
_CANDIDATES: Final = (_OPEN, [_OPEN], {"any": _OPEN}, [[_OPEN, _OPEN]], 1)
"""What stands in for an expression where a form cannot be read without something of its kind."""

_Place = tuple[str, ...]


def template_findings(body: object) -> tuple[Violation, ...]:
    """List what is wrong with the literal parts of a job; paths begin at the job."""
    if _is_open(body):
        return ()
    unknown = frozenset(_open_places(body, ()))
    members, found = _loaded(body)
    if found and unknown:
        found = tuple(each for each in found if not _hangs_on(each, unknown))
        if not found:
            members, found = _stood_in_for(body, unknown)
    if found or members is None or any(_WIRES & set(place) for place in unknown):
        return found
    job, found = wired(job_of(members))
    found = found or findings(job)
    return tuple(each for each in found if not _hangs_on(each, unknown))


def _stood_in_for(
    body: object, unknown: frozenset[_Place]
) -> tuple[dict[str, Any] | None, tuple[Violation, ...]]:
    """Read a form without its expressions, or with something in their place where it must be."""
    chosen: dict[_Place, object] = dict.fromkeys(unknown, None)
    for candidate in (*_CANDIDATES, None):
        members, missing = _loaded(_replaced(body, chosen))
        others = tuple(each for each in missing if not _hangs_on(each, unknown))
        if others or not missing:
            return members, others
        refused = {place for place in unknown if any(_is_at(each, place) for each in missing)}
        chosen |= dict.fromkeys(refused, candidate)
    return None, ()


def _loaded(body: object) -> tuple[dict[str, Any] | None, tuple[Violation, ...]]:
    try:
        return load(JOB, body), ()
    except InvalidInput as error:
        return None, error.violations


def _is_open(value: object) -> bool:
    return isinstance(value, str) and "${" in value.replace("$${", "")


def _open_places(value: object, here: _Place) -> Iterator[_Place]:
    if _is_open(value):
        yield here
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _open_places(inner, (*here, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _open_places(inner, (*here, str(index)))


def _hangs_on(violation: Violation, unknown: frozenset[_Place]) -> bool:
    return any(_is_at(violation, each) for each in unknown)


def _is_at(violation: Violation, place: _Place) -> bool:
    """Tell whether one of the two is the other, or inside of it."""
    found = tuple(_steps(violation.path))
    return found[: len(place)] == place or place[: len(found)] == found


def _steps(path: str) -> Iterator[str]:
    at = 1 if path.startswith("$") else 0
    while match := _STEP.match(path, at):
        yield match[1] or match[2] or match[3]
        at = match.end()
    if at < len(path):
        yield path[at:]


def _replaced(value: object, chosen: Mapping[_Place, object], here: _Place = ()) -> object:
    if here in chosen:
        return chosen[here]
    if isinstance(value, dict):
        return {name: _replaced(inner, chosen, (*here, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, chosen, (*here, str(at))) for at, inner in enumerate(value)]
    return value
