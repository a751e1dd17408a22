"""Query parameters: empty and the literal ``None`` mean absent, lists repeat or use commas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from conductor_py.errors import InvalidInput, Violation
from conductor_py.wire.business_times import read_business
from conductor_py.wire.fields import whole
from conductor_py.wire.priorities import Priority

_PRIORITY = Priority()
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})
_UNSIGNED = re.compile(r"[0-9]{1,9}")
_SIGNED = re.compile(r"-?[0-9]{1,18}")


class Arguments(Protocol):
    """The query of a request."""

    def get(self, key: str, /) -> str | None:
        """Read the first value."""

    def getlist(self, key: str, /) -> list[str]:
        """Read all values."""


def text(arguments: Arguments, name: str, default: str = "") -> str:
    """Read a text."""
    value = arguments.get(name)
    return value if value and value != "None" else default


def number(
    arguments: Arguments,
    name: str,
    default: int = 0,
    *,
    least: int | None = None,
    most: int | None = None,
) -> int:
    """Read a whole number; ``InvalidInput`` when it is none or out of bounds."""
    value = text(arguments, name)
    if not value:
        return default
    try:
        found = whole(value)
    except ValueError as error:
        raise wrong(name, str(error), value) from error
    if least is not None and found < least:
        raise wrong(name, f"must not be less than {least}", value)
    if most is not None and found > most:
        raise wrong(name, f"must not be more than {most}", value)
    return found


def business(arguments: Arguments) -> tuple[int, str]:
    """Read the business time of a start and its zone, ``businessTime`` and ``zoneId``; 0 and an
    empty text where none is named.
    """
    found = read_business(text(arguments, "businessTime"), text(arguments, "zoneId"), "")
    if isinstance(found, Violation):
        raise wrong(found.path, found.message, found.invalid_value or "")
    return found


def priority(arguments: Arguments, name: str) -> int:
    """Read a workflow's priority, a number or a name; 0 when there is none."""
    value = text(arguments, name)
    try:
        return _PRIORITY.load(value or 0)
    except ValueError as error:
        raise wrong(name, str(error), value) from error


def flag(arguments: Arguments, name: str, *, default: bool = False) -> bool:
    """Read a boolean."""
    value = text(arguments, name).strip().lower()
    if not value:
        return default
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    raise wrong(name, "must be true or false", value)


def choice(arguments: Arguments, name: str, names: Sequence[str]) -> str:
    """Read one of several words, the first of them when there is none."""
    value = text(arguments, name) or names[0]
    if value not in names:
        raise wrong(name, f"must be one of {', '.join(names)}", value)
    return value


def texts(arguments: Arguments, name: str) -> tuple[str, ...]:
    """Read a list: the parameter repeated, or its values separated by commas."""
    values = (part.strip() for value in arguments.getlist(name) for part in value.split(","))
    return tuple(value for value in values if value and value != "None")


def number_segment(
    name: str, value: str, message: str = "must be a whole number", *, signed: bool = False
) -> int:
    """Read a whole number that is a part of the path, of 9 digits at most; with ``signed`` of 18,
    one minus before them.
    """
    if not (_SIGNED if signed else _UNSIGNED).fullmatch(value):
        raise wrong_segment(name, message, value)
    return int(value)


def wrong(name: str, message: str, value: str | None = None) -> InvalidInput:
    """Make the error of a query parameter."""
    return InvalidInput(
        violations=(Violation(path=f"?{name}", message=message, invalid_value=value),)
    )


def wrong_segment(name: str, message: str, value: str) -> InvalidInput:
    """Make the error of a part of the path, named as the interface names it: ``{name}``."""
    return InvalidInput(
        violations=(Violation(path=f"{{{name}}}", message=message, invalid_value=value),)
    )
