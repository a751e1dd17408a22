"""Lists of what is stored: an entry that cannot be read is left out and told, it hides no other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import orjson

from conductor_py.errors import StoreUnavailable
from conductor_py.model.json import JsonObject
from conductor_py.model.json_bounds import is_heavy

_LOG = logging.getLogger(__name__)
_S = TypeVar("_S")
_T = TypeVar("_T")

BeforeHeavy = Callable[[], object]
"""Called before a document is parsed that takes much memory; what it raises ends the list."""


def nothing() -> None:
    """Do not wait before what is heavy."""


def readable(what: str, stored: Iterable[tuple[str, _S]], read: Callable[[_S], _T]) -> Iterator[_T]:
    """Read entries by name, without those that ``read`` cannot read. ``what`` they are is said."""
    for name, entry in stored:
        try:
            found = read(entry)
        except StoreUnavailable:
            raise
        except Exception as broken:  # noqa: BLE001 - whatever a damaged one raises costs it alone
            _LOG.warning(
                "What is stored cannot be read and is left out of a list",
                extra={
                    "action": "entry_unreadable",
                    "kind": what,
                    "entry": name[:200],
                    "error": f"{type(broken).__name__}: {broken}"[:200],
                },
            )
            continue
        yield found


def enumerated(stored: Iterable[_S]) -> Iterator[tuple[str, _S]]:
    """Name entries that have no name by their numbers."""
    return ((str(number), entry) for number, entry in enumerate(stored))


def document_named(stored: bytes) -> JsonObject:
    """Read a document that says its name; ``TypeError`` or ``ValueError`` for none."""
    document = orjson.loads(stored)
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        raise TypeError("it is no object with a name")
    return document


def told_each(
    what: str,
    stored: Iterable[tuple[str, bytes]],
    told: Callable[[JsonObject], _T],
    before_heavy: BeforeHeavy = nothing,
) -> Iterator[_T]:
    """Read documents that say their names, and give what is ``told`` of each. One is parsed after
    the other: all of a list would take many times its bytes.
    """
    for name, entry in stored:
        if is_heavy(entry):
            before_heavy()
        for document in readable(what, ((name, entry),), document_named):
            yield told(document)
