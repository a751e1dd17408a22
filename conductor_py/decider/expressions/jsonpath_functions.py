"""The functions of JSONPath.

``length() size() keys() first() last() index(n) concat(..) append(..)`` and the aggregates
``min() max() sum() avg() stddev()``, which take the numbers of a list and of the arguments and
answer with a double, as in Jayway. What has no length and no keys has null for them, and nothing is
appended to what is no list; whoever asks for the elements or the numbers of something that has none
asks for what cannot be: ``Inapplicable``, and the whole path is null. No function changes what it
is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from conductor_py.decider.expressions.java_text import text_of
from conductor_py.decider.expressions.jsonpath_operators import (
    MISSING,
    Missing,
    Spend,
    is_number,
    items_of,
)
from conductor_py.model.json import JsonValue


class Inapplicable(Exception):
    """A function or a filter is asked of what it cannot be applied to."""


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _deviation(numbers: Sequence[float]) -> float:
    # By this formula, or the last digit is another than there.
    count = len(numbers)
    variance = sum(number * number for number in numbers) / count - _mean(numbers) ** 2
    return math.sqrt(max(variance, 0.0))


AGGREGATES: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "avg": _mean,
    "stddev": _deviation,
}


def call(
    name: str, value: JsonValue | Missing, arguments: Sequence[JsonValue], spend: Spend
) -> JsonValue | Missing:
    """Apply a function to a value; MISSING stands for the document itself or for nothing. ``spend``
    is charged for what is made of texts. Raises ``Inapplicable``.
    """
    items = None if value is MISSING else items_of(value)
    if name in AGGREGATES:
        return _aggregate(name, [*(items or ()), *_flat(arguments)])
    if name == "concat":
        own = [item for item in items or () if isinstance(item, str)]
        return _joined((*own, *_flat(arguments)), spend)
    if value is MISSING:
        return MISSING
    if name in ("length", "size"):
        measured = value if isinstance(value, Mapping) else items
        return None if measured is None else len(measured)
    if name == "keys":
        return list(value) if isinstance(value, Mapping) else None
    if name == "append":
        return value if items is None else [*items, *arguments]
    if items is None:
        raise Inapplicable
    return _element(name, items, arguments)


def _joined(values: Sequence[JsonValue], spend: Spend) -> str:
    """Join texts; what is made stays in memory, and costs ten times as much as what is read."""
    texts: list[str] = []
    for value in values:
        if value is not None:
            texts.append(text_of(value))
            spend(1 + len(texts[-1]) // 10)
    return "".join(texts)


def _element(
    name: str, items: Sequence[JsonValue], arguments: Sequence[JsonValue]
) -> JsonValue | Missing:
    position: JsonValue = {"first": 0, "last": -1}.get(name)
    if name == "index" and arguments:
        position = arguments[0]
    if not isinstance(position, int) or isinstance(position, bool):
        return MISSING
    return items[position] if -len(items) <= position < len(items) else MISSING


def _flat(arguments: Sequence[JsonValue]) -> list[JsonValue]:
    flat: list[JsonValue] = []
    for argument in arguments:
        items = items_of(argument)
        flat.extend((argument,) if items is None else items)
    return flat


def _aggregate(name: str, values: Sequence[JsonValue]) -> float | Missing:
    try:
        numbers = [float(value) for value in values if is_number(value)]
        found = float(AGGREGATES[name](numbers)) if numbers else None
    except (OverflowError, ValueError):
        return MISSING
    if found is None:
        raise Inapplicable
    # Beyond what a double holds there is no number that JSON could tell.
    return found if math.isfinite(found) else MISSING
