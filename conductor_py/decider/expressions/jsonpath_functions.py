"""The functions of JSONPath.

``length() size() keys() first() last() index(n) concat(..) append(..)`` and the aggregates
``min() max() sum() avg() stddev()``, which take the numbers of a list and of the arguments and
answer with a double, as in Jayway. A function that cannot be applied to a value answers
``MISSING``; none throws and none changes what it is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from conductor_py.decider.expressions.java_text import text_of
from conductor_py.decider.expressions.jsonpath_operators import MISSING, Missing, Spend, items_of
from conductor_py.model.json import JsonValue


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _deviation(numbers: Sequence[float]) -> float:
    mean = _mean(numbers)
    return math.sqrt(_mean([(number - mean) ** 2 for number in numbers]))


AGGREGATES: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "min": min,
    "max": max,
    "sum": math.fsum,
    "avg": _mean,
    "stddev": _deviation,
}


def call(
    name: str, value: JsonValue | Missing, arguments: Sequence[JsonValue], spend: Spend
) -> JsonValue | Missing:
    """Apply a function to a value; MISSING stands for the document itself or for nothing. ``spend``
    is charged for what is made of texts.
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
        return len(value) if isinstance(value, str | Sequence | Mapping) else MISSING
    if name == "keys":
        return list(value) if isinstance(value, Mapping) else MISSING
    if items is None:
        return MISSING
    return _of_list(name, items, arguments)


def _joined(values: Sequence[JsonValue], spend: Spend) -> str:
    """Join texts; what is made stays in memory, and costs ten times as much as what is read."""
    texts: list[str] = []
    for value in values:
        if value is not None:
            texts.append(text_of(value))
            spend(1 + len(texts[-1]) // 10)
    return "".join(texts)


def _of_list(
    name: str, items: Sequence[JsonValue], arguments: Sequence[JsonValue]
) -> JsonValue | Missing:
    if name == "append":
        return [*items, *arguments]
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
        numbers = [
            float(value)
            for value in values
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        return float(AGGREGATES[name](numbers)) if numbers else MISSING
    except (OverflowError, ValueError):
        return MISSING
