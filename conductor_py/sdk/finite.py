"""Numbers that JSON does not have: NaN and the infinities, found wherever they stand in a value."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from math import isfinite, isnan
from typing import Final

_PLAIN: Final = frozenset({str, int, bool, type(None)})


def stranger(value: object) -> str | None:
    """Tell where the first number is that JSON has not, and which it is, such as
    ``$.a[2] is NaN``; None when there is none. The value must not hold itself.
    """
    if not _holds_one(value):
        return None
    todo = [("$", value)]
    while todo:
        path, found = todo.pop()
        if isinstance(found, float) and not isfinite(found):
            name = "NaN" if isnan(found) else "Infinity" if found > 0 else "-Infinity"
            return f"{path} is {name}"
        todo += reversed([(path + step, inner) for step, inner in members(found)])
    return None


def _holds_one(value: object) -> bool:
    """Tell the same without saying where: most values hold none, and are looked at all the same."""
    todo: list[object] = [value]
    while todo:
        found = todo.pop()
        inner: Iterable[object]
        # What is iterated over is a copy: another thread may be at work on the value.
        if type(found) is dict:
            inner = tuple(found.values())
        elif type(found) is list or type(found) is tuple:
            inner = tuple(found)
        elif type(found) is float:
            inner = (found,)
        else:
            inner = [each for _, each in members(found)]
        for each in inner:
            kind = type(each)
            if kind is float:
                if not isfinite(each):  # type: ignore[arg-type]  # it is a float
                    return True
            elif kind not in _PLAIN:
                todo.append(each)
    return False


def members(value: object) -> Iterator[tuple[str, object]]:
    """What is written of a value as its members, each with the step of the path to it."""
    if isinstance(value, Mapping):
        for name, each in tuple(value.items()):
            yield (f".{name}" if str(name).isidentifier() else f"['{name}']"), each
    elif isinstance(value, list | tuple):
        for index, each in enumerate(tuple(value)):
            yield f"[{index}]", each
    elif isinstance(value, Enum):
        yield "", value.value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        written = (each for each in dataclasses.fields(value) if not each.name.startswith("_"))
        for field in written:
            yield f".{field.name}", getattr(value, field.name, None)
