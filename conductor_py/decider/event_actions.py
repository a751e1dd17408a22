"""What an event handler makes of a message: the pure part of it.

Expressions read the payload itself: ``${order.id}`` is the member ``id`` of its member ``order``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conductor_py.decider.expressions.expressions import MISSING, Missing, compile_template, resolve
from conductor_py.model.json import JsonValue
from conductor_py.model.json_bounds import MAX_VALUES, has_more, values_of
from conductor_py.model.json_text import read_json
from conductor_py.records import dataclass

_MAX_DEPTH = 100


@dataclass(slots=True)
class _Room:
    """How many values the texts of a message may still become."""

    left: int = MAX_VALUES


def expanded(value: JsonValue) -> JsonValue:
    """Parse texts that hold a JSON object or list, through all maps; texts that stand in a list
    stay (Conductor), and so do those that no request could hold: with more values, all together,
    with half of a surrogate pair, with an infinite number.
    """
    return _expanded(value, 0, _Room())


def _expanded(value: JsonValue, depth: int, room: _Room) -> JsonValue:
    if depth >= _MAX_DEPTH:
        return value
    if isinstance(value, str):
        return _parsed(value, depth, room)
    if isinstance(value, Mapping):
        return {key: _expanded(item, depth + 1, room) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [
            item if isinstance(item, str) else _expanded(item, depth + 1, room) for item in value
        ]
    return value


def _parsed(text: str, depth: int, room: _Room) -> JsonValue:
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        document = text.encode()
    except UnicodeEncodeError:
        return text
    if has_more(document, room.left):
        return text
    room.left = max(0, room.left - values_of(document))
    try:
        found = read_json(text)
    except ValueError:
        return text
    return _expanded(found, depth + 1, room)


def resolved(value: JsonValue, payload: JsonValue, most: int) -> JsonValue:
    """Resolve the expressions of an action against a payload; ``TooLarge`` when what they make
    takes more than ``most`` bytes.
    """

    def lookup(root: str, member: str) -> JsonValue | Missing:
        found = _member(payload, root)
        return found if not member or found is MISSING else _member(found, member)

    return resolve(compile_template(value), lookup, task_id=None, most=most)


def _member(value: JsonValue | Missing, name: str) -> JsonValue | Missing:
    return value.get(name, MISSING) if isinstance(value, Mapping) else MISSING


def holds(value: JsonValue) -> bool:
    """Read the value of a condition: a number holds above zero, anything else when it is there."""
    if value is None or isinstance(value, bool):
        return bool(value)
    return value > 0 if isinstance(value, (int, float)) else True
