"""What an effect orders must be there before anybody carries it out: for each kind the members that
its document cannot lack. An effect without them is put aside, and costs its batch nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import orjson

from conductor_py.errors import NotFound
from conductor_py.model.ids import is_execution_id, split_task_id
from conductor_py.ports.outbox import OF_EXECUTIONS, Pending

_MOST: Final = 2**53


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST


def _is_task(value: object) -> bool:
    try:
        return isinstance(value, str) and is_execution_id(split_task_id(value)[0])
    except NotFound:
        return False


_FORMS: Final[Mapping[str, Mapping[str, Callable[[object], bool]]]] = MappingProxyType(
    {
        "post": {
            "to": lambda value: isinstance(value, str) and is_execution_id(value),
            "event": _is_text,
        },
        "start": {"task": _is_task},
        "admit": {"key": _is_text, "limit": _is_number},
        "notify": {"number": _is_number, "at": _is_number},
        "publish": {"message": _is_text, "event": _is_text, "at": _is_number},
        "discard": {"path": _is_text, "at": _is_number},
    }
)
_OF_CHILDREN: Final = ("plan", "name", "key", "strategy", "ref", "admittedUnder")
"""What the start of a child names as well; ``plan`` says that it is one."""


def read_order(effect: Pending) -> tuple[str, str]:
    """Tell the kind of an effect and what is wrong with its document, empty: nothing."""
    try:
        order = orjson.loads(effect.document)
    except ValueError as broken:
        return "", f"the stored effect is no JSON: {broken}"
    kind = order.get("kind") if isinstance(order, dict) else None
    if not isinstance(kind, str) or not kind:
        return "", "the stored effect does not say its kind"
    return kind, _problem(kind, effect, order)


def _problem(kind: str, effect: Pending, order: Mapping[str, Any]) -> str:
    if kind in OF_EXECUTIONS and not is_execution_id(effect.id.split(":", 1)[0]):
        return f"the id of an effect of kind {kind} names no execution"
    wrong = [
        name for name, is_whole in _FORMS.get(kind, {}).items() if not is_whole(order.get(name))
    ]
    if kind == "start" and "plan" in order:
        wrong += [name for name in _OF_CHILDREN if not _is_text(order.get(name))]
    if kind == "notify" and not (_is_text(order.get("path")) or "payload" in order):
        wrong.append("payload")
    return f"the stored effect lacks {', '.join(wrong)}" if wrong else ""
