"""Fields of data pipelines: nothing is guessed, so a misspelt setting never has a silent effect.

A string is a string, a number a number, and a member that is not known is an error that lists those
that are. ``null`` means absent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from marshmallow import RAISE, fields

from conductor_py.pipelines.kinds import Form, Setting
from conductor_py.wire.fields import (
    Choice,
    Payload,
    WireField,
    WireSchema,
    many,
    members,
)

_SIZE = re.compile(r"(\d{1,15})(?:\.(\d{1,3}))?\s*(B|KB|MB|GB|TB)", re.IGNORECASE)
_UNITS: Final = {"B": 0, "KB": 10, "MB": 20, "GB": 30, "TB": 40}
_MOST: Final = 2**63
_SECRET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")


def strict_text(value: object) -> str:
    """Read a string that is not empty."""
    if not isinstance(value, str):
        raise ValueError("must be a string")  # noqa: TRY004 - one kind of error
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def strict_number(value: object) -> float:
    """Read a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("must be a number")
    return value


def strict_whole(value: object) -> int:
    """Read an integer of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a whole number")  # noqa: TRY004 - one kind of error
    if not -_MOST <= value < _MOST:
        raise ValueError("must fit into 64 bits")
    return value


def strict_flag(value: object) -> bool:
    """Read a boolean."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")  # noqa: TRY004 - one kind of error
    return value


def size(value: object) -> int:
    """Read bytes: a whole number, or one with a unit of 1024 bytes each (``64MB``)."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        whole, fraction, unit = match[1], match[2] or "0", match[3].upper()
        bytes_ = int((int(whole) + int(fraction) / 10 ** len(fraction)) * (1 << _UNITS[unit]))
    elif isinstance(value, int) and not isinstance(value, bool):
        bytes_ = value
    else:
        raise ValueError("must be bytes as a number, or with a unit, such as '64MB'")
    if not 0 < bytes_ < _MOST:
        raise ValueError("must be more than 0 bytes and fit into 64 bits")
    return bytes_


def secret_or_text(value: object) -> str | dict[str, str]:
    """Read a string, or ``{"secret": "name"}``, which stays what it is."""
    if not isinstance(value, dict):
        return strict_text(value)
    name = value.get("secret")
    if set(value) != {"secret"} or not isinstance(name, str) or not _SECRET_NAME.fullmatch(name):
        raise ValueError('must be a string, or {"secret": "<name>"}')
    return {"secret": name}


def option(value: object) -> str:
    """Read an option of a library: a scalar, as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(strict_number(value))
    if not isinstance(value, str):
        raise ValueError("must be a string, a number or a boolean")  # noqa: TRY004
    return value


def _pair(value: object) -> tuple[str, str]:
    found = many(value, strict_text)
    if len(found) != 2:
        raise ValueError("must be a pair of columns")
    return found[0], found[1]


def _some(found: Any) -> Any:  # noqa: ANN401 - a list or an object
    if not found:
        raise ValueError("must not be empty")
    return found


def _secret_option(value: object) -> str | dict[str, str]:
    return secret_or_text(value) if isinstance(value, dict) else option(value)


class Strict(WireField):
    """A field that is read by one function, within bounds if given."""

    def __init__(
        self,
        read: Callable[[Any], Any],
        form: Mapping[str, Any],
        *,
        least: float | None = None,
        most: float | None = None,
        **more: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(**more)
        self.read, self.described, self.least, self.most = read, form, least, most

    def load(self, value: Any) -> Any:  # noqa: ANN401
        found = self.read(value)
        if self.least is not None and found < self.least:
            raise ValueError(f"must not be less than {self.least}")
        if self.most is not None and found > self.most:
            raise ValueError(f"must not be more than {self.most}")
        return found

    def json_schema(self) -> dict[str, Any]:
        bounds = {"minimum": self.least, "maximum": self.most}
        return dict(self.described) | {k: v for k, v in bounds.items() if v is not None}


_TEXT: Final = {"type": "string", "minLength": 1}
_REFERENCE: Final = {
    "type": "object",
    "properties": {"secret": {"type": "string"}},
    "required": ["secret"],
    "additionalProperties": False,
}
_SECRET: Final = {"anyOf": [_TEXT, _REFERENCE]}
_SCALAR: Final = {"type": ["string", "number", "boolean"]}
_SIZED: Final = {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "string"}]}
_PAIR: Final = {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}


def _array(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(inner: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": inner}


_READ: Final[Mapping[Form, tuple[Callable[[Any], Any], Mapping[str, Any]]]] = {
    Form.TEXT: (strict_text, _TEXT),
    Form.SECRET: (secret_or_text, _SECRET),
    Form.WHOLE: (strict_whole, {"type": "integer"}),
    Form.NUMBER: (strict_number, {"type": "number"}),
    Form.FLAG: (strict_flag, {"type": "boolean"}),
    Form.SIZE: (size, _SIZED),
    Form.TEXTS: (lambda value: many(value, strict_text), _array(_TEXT)),
    Form.SECRETS: (lambda value: many(value, secret_or_text), _array(_SECRET)),
    Form.TEXT_MAP: (lambda value: members(value, strict_text), _object(_TEXT)),
    Form.OPTIONS: (lambda value: members(value, option), _object(_SCALAR)),
    Form.SECRET_OPTIONS: (
        lambda value: members(value, _secret_option),
        _object({"anyOf": [_SCALAR, _REFERENCE]}),
    ),
    Form.PAIRS: (lambda value: many(value, _pair), _array(_PAIR)),
    Form.OBJECT: (Payload().load, {"type": "object"}),
}


def field_of(setting: Setting) -> WireField:
    """Make the field of a setting. What is required must not be empty, either."""
    if setting.form is Form.CHOICE:
        return Choice(setting.choices, required=setting.required)
    read, form = _READ[setting.form]
    if setting.required and setting.form in {Form.TEXTS, Form.SECRETS, Form.TEXT_MAP, Form.PAIRS}:
        return Strict(lambda value: _some(read(value)), form, required=True)
    return Strict(read, form, least=setting.least, required=setting.required)


def a_text(**more: Any) -> Strict:  # noqa: ANN401 - arguments of a field
    """Make a field of a string."""
    return Strict(strict_text, _TEXT, **more)


def a_name(pattern: str, says: str, **more: Any) -> Strict:  # noqa: ANN401 - arguments of a field
    """Make a field of a string of a pattern, which ``says`` tells in words."""

    def read(value: object) -> str:
        found = strict_text(value)
        if not re.fullmatch(pattern, found):
            raise ValueError(f"must be {says}")
        return found

    return Strict(read, {"type": "string", "pattern": f"^{pattern}$"}, **more)


def a_whole(**more: Any) -> Strict:  # noqa: ANN401 - arguments of a field
    """Make a field of an integer."""
    return Strict(strict_whole, {"type": "integer"}, **more)


def a_number(**more: Any) -> Strict:  # noqa: ANN401 - arguments of a field
    """Make a field of a number."""
    return Strict(strict_number, {"type": "number"}, **more)


def a_flag() -> Strict:
    """Make a field of a boolean."""
    return Strict(strict_flag, {"type": "boolean"})


def a_size() -> Strict:
    """Make a field of bytes."""
    return Strict(size, _SIZED)


def a_map(read: Callable[[Any], Any], inner: Mapping[str, Any]) -> Strict:
    """Make a field of values by names that users chose."""
    return Strict(lambda value: members(value, read), _object(inner))


class StrictForm(WireSchema):
    """A form in which every member is known by the name that the model gives it."""

    class Meta:
        """Settings that marshmallow reads."""

        unknown = RAISE

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - arguments of a schema
        super().__init__(**more)
        known = ", ".join(sorted(field.data_key or name for name, field in self.fields.items()))
        self.error_messages["unknown"] = f"is not known here; known are {known}"

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Keep the name of the model."""
        field_obj.data_key = field_obj.data_key or field_name
        field_obj.error_messages["required"] = "must be given"
