"""Documents with one thing wrong, made of one that is right."""

import copy
from collections.abc import Iterator
from typing import Any

from tests.beside_java.server import Json

VALUES: tuple[Any, ...] = (
    None,
    "",
    " ",
    "abc",
    "7",
    "${x",
    -1,
    0,
    7,
    1.5,
    10**12,
    True,
    [],
    [None],
    {},
    {"a": None},
)


def mutated(document: Json) -> Iterator[Json]:
    """The document with one thing other than it is: another value, or none at all."""
    for *outer, last in _places(document):
        for value in (*VALUES, ...):
            changed = copy.deepcopy(document)
            inside: Any = changed
            for key in outer:
                inside = inside[key]
            if value is ...:
                del inside[last]
            else:
                inside[last] = copy.deepcopy(value)
            yield changed


def _places(document: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a document, outermost first."""
    entries = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document if isinstance(document, list) else ())
    )
    for key, inner in entries:
        yield (*place, key)
        yield from _places(inner, (*place, key))
