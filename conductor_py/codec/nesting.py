"""How deep a document may be nested.

JSON is written 254 levels deep and no deeper. A document is shown inside of others (a task's output
in its execution, that in the input of a failure workflow, that in a list), so it may use less. What
grows from value to value, as a loop that wraps a variable does, meets this bound first, and costs
its own task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

NESTING: Final = 214
"""Objects and lists within each other."""

_ABOVE: Final = 254 - NESTING


def plain(value: object) -> object:
    """Serialise what orjson does not know: any mapping or sequence of the model."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (tuple, frozenset)):
        return list(value)
    raise TypeError


def dump_nested(value: object) -> bytes:
    """Serialise a value that may be nested ``NESTING`` levels; ``TypeError`` says what is wrong."""
    try:
        stored = orjson.dumps(value, default=plain)
        # Counting brackets is far cheaper than looking, and enough for all but large documents.
        if len(stored) > 2 * NESTING and stored.count(b"[") + stored.count(b"{") > NESTING:
            orjson.dumps(_wrapped(value), default=plain)
    except TypeError as refused:
        if "ecursion" not in str(refused):
            raise
        raise TypeError(f"it is nested more than {NESTING} levels deep") from refused
    return stored


def _wrapped(value: object) -> object:
    """Let the writer itself count, from as many levels down as are to stay free."""
    for _ in range(_ABOVE):
        value = [value]
    return value
