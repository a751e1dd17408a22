"""The operators of JSONPath filters, with Jayway's idea of equality.

A number and a text are equal when one reads as the other; what is missing is compared as null.
``<`` and its kin compare two numbers or two texts and are false for anything else. Operators
never throw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Final, TypeAlias, TypeGuard

from conductor_py.decider.expressions.java_text import text_of
from conductor_py.decider.expressions.linear_regex import Regex
from conductor_py.model.json import JsonValue


class Missing(Enum):
    """The type of ``MISSING``."""

    MISSING = auto()


MISSING: Final = Missing.MISSING
"""There is nothing there, not even a null."""

Spend: TypeAlias = Callable[[int], None]
Side: TypeAlias = "JsonValue | Regex"


def holds(operator: str, left: Side, right: Side, spend: Spend) -> bool:
    """Tell whether the operator holds between two sides; ``spend`` is charged for long ones."""
    if operator == "=~":
        return _matches(left, right, spend)
    if isinstance(left, Regex) or isinstance(right, Regex):
        return False
    if operator in _NEGATED:
        return not holds(_NEGATED[operator], left, right, spend)
    if operator in _ORDERED:
        return _ordered(operator, left, right, spend)
    test = _TESTS.get(operator)
    if test is None:
        return False
    # Lists and maps are compared with all that is in them.
    size = _whole_size if not (is_scalar(left) or is_scalar(right)) else _size
    if operator in _CROSSED:
        spend(size(left) * size(right))
    else:
        spend(size(left) + size(right))
    return test(left, right)


_NEGATED: Final = {"!=": "==", "!==": "===", "nin": "in"}
_CROSSED: Final = frozenset({"all", "anyof", "noneof", "subsetof"})
_ORDERED: Final = frozenset({"<", "<=", ">", ">="})


def is_list(value: JsonValue) -> bool:
    """Tell a list from a text, which Python calls a sequence too."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def items_of(value: JsonValue) -> Sequence[JsonValue] | None:
    """Return the elements of a list, None for anything else."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else None


def _size(value: JsonValue) -> int:
    """Estimate what looking at a value costs: texts are compared much faster than elements. Of a
    list or map its own texts count.
    """
    if isinstance(value, str):
        return text_cost(value)
    if not isinstance(value, Sequence | Mapping):
        return 1
    items = value.values() if isinstance(value, Mapping) else value
    return len(value) + 1 + sum(len(item) // 100 for item in items if isinstance(item, str))


def _whole_size(value: JsonValue) -> int:
    """Estimate what looking at a value and all below it costs."""
    size, pending = 0, [value]
    while pending:
        item = pending.pop()
        size += _size(item)
        if isinstance(item, Mapping):
            size += sum(len(key) // 100 for key in item)
            pending += (below for below in item.values() if not is_scalar(below))
        elif isinstance(item, Sequence) and not isinstance(item, str):
            pending += (below for below in item if not is_scalar(below))
    return size


def text_cost(text: str) -> int:
    """Estimate what reading a text costs, in nodes that are visited."""
    return 1 + len(text) // 100


def is_scalar(value: JsonValue) -> bool:
    """Tell what has nothing inside: a text, a number, a truth, a null."""
    return value is None or isinstance(value, str | int | float)


def _number(value: JsonValue) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        try:
            value = float(value) if len(value) <= 400 and "_" not in value else math.nan
        except ValueError:
            return None
    return None if math.isnan(value) else value


def _equal(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str) and isinstance(right, int | float):
        return left == text_of(right)
    if isinstance(left, int | float):
        number = _number(right)
        return number is not None and left == number
    lists = items_of(left), items_of(right)
    if lists[0] is not None and lists[1] is not None:
        return list(lists[0]) == list(lists[1])
    return left == right


def _same(left: JsonValue, right: JsonValue) -> bool:
    numbers = int | float
    if isinstance(left, numbers) and isinstance(right, numbers):
        return isinstance(left, bool) == isinstance(right, bool) and left == right
    return isinstance(left, str) == isinstance(right, str) and _equal(left, right)


def _ordered(operator: str, left: JsonValue, right: JsonValue, spend: Spend) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        spend(text_cost(left) + text_cost(right))
        order = (left > right) - (left < right)
    elif is_number(left) and is_number(right):
        order = (left > right) - (left < right)
    else:
        return False
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]


def is_number(value: JsonValue) -> TypeGuard[float]:
    """Tell a number from a truth, which Python calls a number too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _matches(left: Side, right: Side, spend: Spend) -> bool:
    if isinstance(left, Regex):
        left, right = right, left
    if not isinstance(right, Regex) or isinstance(left, Regex):
        return False
    items = items_of(left)
    spend(len(items or ()))
    return any(
        right.matches(text_of(item), spend)
        for item in ((left,) if items is None else items)
        if isinstance(item, str | int | float)
    )


def _in(left: JsonValue, right: JsonValue) -> bool:
    return any(_equal(left, item) for item in items_of(right) or ())


def _contains(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return _in(right, left)


def _has_size(left: JsonValue, right: JsonValue) -> bool:
    return isinstance(left, str | Sequence | Mapping) and _same(len(left), right)


def _is_empty(left: JsonValue, right: JsonValue) -> bool:
    return isinstance(left, str | Sequence | Mapping) and (not left) is right


def _all(left: JsonValue, right: JsonValue) -> bool:
    return (
        is_list(left) and is_list(right) and all(_in(item, left) for item in items_of(right) or ())
    )


def _subset(left: JsonValue, right: JsonValue) -> bool:
    return _all(right, left)


def _any(left: JsonValue, right: JsonValue) -> bool:
    return any(_in(item, right) for item in items_of(left) or ())


def _none(left: JsonValue, right: JsonValue) -> bool:
    return is_list(left) and not _any(left, right)


_TESTS: Final[dict[str, Callable[[JsonValue, JsonValue], bool]]] = {
    "==": _equal,
    "===": _same,
    "in": _in,
    "contains": _contains,
    "size": _has_size,
    "empty": _is_empty,
    "all": _all,
    "anyof": _any,
    "noneof": _none,
    "subsetof": _subset,
}
