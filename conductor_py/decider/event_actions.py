"""What an event handler makes of a message: the pure part of it.

Expressions read the payload itself: ``${order.id}`` is the member ``id`` of its member ``order``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from conductor_py.decider.expressions import MISSING, Missing, compile_template, resolve
from conductor_py.model.json import JsonValue

_MAX_DEPTH = 100


def expanded(value: JsonValue) -> JsonValue:
    """Parse texts that hold a JSON object or list, through all maps; texts that stand in a list
    stay (Conductor).
    """
    return _expanded(value, 0)


def _expanded(value: JsonValue, depth: int) -> JsonValue:
    if depth >= _MAX_DEPTH:
        return value
    if isinstance(value, str):
        return _parsed(value, depth)
    if isinstance(value, Mapping):
        return {key: _expanded(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [item if isinstance(item, str) else _expanded(item, depth + 1) for item in value]
    return value


def _parsed(text: str, depth: int) -> JsonValue:
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        found: JsonValue = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return text
    return _expanded(found, depth + 1)


def _no_number(name: str) -> None:
    raise ValueError(name)


def resolved(value: JsonValue, payload: JsonValue) -> JsonValue:
    """Resolve the expressions of an action against a payload."""

    def lookup(root: str, member: str) -> JsonValue | Missing:
        found = _member(payload, root)
        return found if not member or found is MISSING else _member(found, member)

    return resolve(compile_template(value), lookup, task_id=None)


def _member(value: JsonValue | Missing, name: str) -> JsonValue | Missing:
    return value.get(name, MISSING) if isinstance(value, Mapping) else MISSING


def holds(value: JsonValue) -> bool:
    """Read the value of a condition: a number holds above zero, anything else when it is there."""
    if value is None or isinstance(value, bool):
        return bool(value)
    return value > 0 if isinstance(value, (int, float)) else True
