"""Fields of the HTTP forms: as lenient as Conductor's mapper where that is harmless, else strict.

A number is taken for a string, a numeric string for a number, a fraction is cut, an empty string is
zero, ``"true"`` and ``1`` are true. A list for an object, an unknown name of an enum or a number
beyond 64 bits is an error with its path. ``null`` means absent (``WireSchema``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, pre_load

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.definition_form import camel_case
from conductor_py.model.json import JsonValue

INT64 = 2**63
TEN_YEARS_S = 315_576_000
"""The longest delay or timeout that is taken: no sum of instants outgrows what a store holds."""
FOR_EVER_S = 2**31 - 1
"""The ``callbackAfterSeconds`` of a WAIT without an end; clients send it back with results."""
_NUMBER = re.compile(r"\s*([+-]?\d{1,19})(?:\.\d*)?\s*")
_TRUE = frozenset({"true", "1"})
_FALSE = frozenset({"false", "0", ""})


class Key(str):
    """A member name that users chose: written ``['name']`` in a path."""

    __slots__ = ()


def whole(value: object) -> int:
    """Read an integer of at most 64 bits; ``ValueError`` says what is wrong."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value or "0")
        value = int(match[1]) if match else value
    if isinstance(value, float) and math.isfinite(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        message = "must be a whole number"
        raise ValueError(message)  # noqa: TRY004 - one kind of error
    if not -INT64 <= value < INT64:
        message = "must fit into 64 bits"
        raise ValueError(message)
    return value


def scalar_text(value: object) -> str:
    """Read a string; numbers and booleans are written out."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    message = "must be a string"
    raise ValueError(message)


class WireField(fields.Field[Any]):
    """A field whose ``load`` raises ``ValueError``, and which knows its JSON Schema."""

    form: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    def load(self, value: Any) -> Any:  # noqa: ANN401 - whatever JSON there is
        """Read the value."""
        return value

    def json_schema(self) -> dict[str, Any]:
        """Describe the field; a default of the model is added by the caller."""
        return dict(self.form)

    def _deserialize(
        self,
        value: Any,  # noqa: ANN401
        attr: str | None,
        data: Mapping[str, Any] | None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        try:
            return self.load(value)
        except ValueError as error:
            if isinstance(error, ValidationError):
                raise
            raise ValidationError(str(error)) from error


class Text(WireField):
    """A string."""

    form: ClassVar[Mapping[str, Any]] = {"type": "string"}

    def load(self, value: Any) -> str:  # noqa: ANN401
        return scalar_text(value)


class Whole(WireField):
    """An integer, with bounds if given."""

    def __init__(
        self,
        *,
        least: int | None = None,
        most: int | None = None,
        **more: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(**more)
        self.least, self.most = least, most

    def load(self, value: Any) -> int:  # noqa: ANN401
        number = whole(value)
        if self.least is not None and number < self.least:
            message = f"must not be less than {self.least}"
            raise ValueError(message)
        if self.most is not None and number > self.most:
            message = f"must not be more than {self.most}"
            raise ValueError(message)
        return number

    def json_schema(self) -> dict[str, Any]:
        bounds = {"minimum": self.least, "maximum": self.most}
        return {"type": "integer"} | {k: v for k, v in bounds.items() if v is not None}


class Flag(WireField):
    """A boolean."""

    form: ClassVar[Mapping[str, Any]] = {"type": "boolean"}

    def load(self, value: Any) -> bool:  # noqa: ANN401
        if isinstance(value, bool):
            return value
        if isinstance(value, int | str):
            word = str(value).strip().lower()
            if word in _TRUE or word in _FALSE:
                return word in _TRUE
        message = "must be true or false"
        raise ValueError(message)


class Choice(WireField):
    """One of a few upper-case names; ``make`` turns the name into what the model wants."""

    def __init__(
        self,
        names: Sequence[str] | type[StrEnum],
        *,
        make: Callable[[str], Any] = str,
        **more: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(**more)
        self.names = tuple(str(name) for name in names)
        self.make = make

    def load(self, value: Any) -> Any:  # noqa: ANN401
        if not isinstance(value, str) or value not in self.names:
            message = f"must be one of {', '.join(self.names)}"
            raise ValueError(message)
        return self.make(value)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.names)}


class Payload(WireField):
    """A JSON object whose content is the user's."""

    form: ClassVar[Mapping[str, Any]] = {"type": "object", "additionalProperties": True}

    def load(self, value: Any) -> Any:  # noqa: ANN401
        if not isinstance(value, dict):
            message = "must be an object"
            raise ValueError(message)  # noqa: TRY004 - one kind of error
        return value


class TextMap(Payload):
    """An object of strings."""

    form: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": {"type": "string"},
    }

    def load(self, value: Any) -> dict[str, str]:  # noqa: ANN401
        return _each(super().load(value), scalar_text, Key)


class Texts(WireField):
    """A list of strings."""

    form: ClassVar[Mapping[str, Any]] = {"type": "array", "items": {"type": "string"}}

    def load(self, value: Any) -> tuple[str, ...]:  # noqa: ANN401
        return many(value, scalar_text)


class Wholes(WireField):
    """A list of whole numbers."""

    form: ClassVar[Mapping[str, Any]] = {"type": "array", "items": {"type": "integer"}}

    def load(self, value: Any) -> tuple[int, ...]:  # noqa: ANN401
        return many(value, whole)


class NumberOrText(WireField):
    """An integer, or text that an expression may make one of; an empty one says nothing."""

    form: ClassVar[Mapping[str, Any]] = {"type": ["integer", "string"]}

    def load(self, value: Any) -> int | str | None:  # noqa: ANN401
        is_text = isinstance(value, str) and ("$" in value or not value)
        return value or None if is_text else whole(value)


def many(value: object, load: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Load every element of a list; the error names the elements that are wrong."""
    if not isinstance(value, list):
        message = "must be a list"
        raise ValueError(message)  # noqa: TRY004 - one kind of error
    return tuple(_each(dict(enumerate(value)), load, int).values())


def members(value: object, load: Callable[[Any], Any]) -> dict[str, Any]:
    """Load every member of an object; the error names the members that are wrong."""
    if not isinstance(value, dict):
        message = "must be an object"
        raise ValueError(message)  # noqa: TRY004 - one kind of error
    return _each(value, load, Key)


def _each(
    values: Mapping[Any, Any], load: Callable[[Any], Any], key: Callable[[Any], Any]
) -> dict[Any, Any]:
    loaded, wrong = {}, {}
    for name, value in values.items():
        try:
            loaded[name] = load(value)
        except ValidationError as error:
            wrong[key(name)] = error.messages
        except ValueError as error:
            wrong[key(name)] = [str(error)]
    if wrong:
        raise ValidationError(wrong)
    return loaded


class WireSchema(Schema):
    """A form of the HTTP interface. Unknown members are ignored, ``null`` means absent."""

    class Meta:
        """Settings that marshmallow reads."""

        unknown = EXCLUDE

    model: Callable[..., Any] | None = None
    """What a loaded form becomes; ``None``: its members."""

    error_messages = {"type": "must be an object"}  # noqa: RUF012 - marshmallow's own interface

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Name the member as Conductor does."""
        field_obj.data_key = field_obj.data_key or camel_case(field_name)
        field_obj.error_messages["required"] = "must be given"

    @pre_load
    def _without_nulls(self, data: Any, **_: Any) -> Any:  # noqa: ANN401
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value is not None}

    @post_load
    def _made(self, data: dict[str, Any], **_: Any) -> Any:  # noqa: ANN401
        return data if self.model is None else self.model(**data)


class One(WireField):
    """An object of another form; the form may be named before it exists."""

    def __init__(self, schema: Callable[[], WireSchema], **more: Any) -> None:  # noqa: ANN401
        super().__init__(**more)
        self.schema_of = schema

    def load(self, value: Any) -> Any:  # noqa: ANN401
        return self.schema_of().load(value)

    def json_schema(self) -> dict[str, Any]:
        return {"$ref": reference(self.schema_of())}


class Many(One):
    """A list of objects of another form."""

    def load(self, value: Any) -> Any:  # noqa: ANN401
        return many(value, super().load)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": super().json_schema()}


class Kept(One):
    """An object that is checked against another form and kept as it was sent."""

    def load(self, value: Any) -> Any:  # noqa: ANN401
        super().load(value)
        return value


class Lists(Many):
    """A list of lists of objects of another form."""

    def load(self, value: Any) -> Any:  # noqa: ANN401
        return many(value, super().load)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": super().json_schema()}


class Cases(Many):
    """Lists of objects of another form, by names that users chose."""

    def load(self, value: Any) -> Any:  # noqa: ANN401
        return members(value, super().load)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": super().json_schema()}


def reference(schema: WireSchema) -> str:
    """Name a schema in the way of JSON Schema."""
    return f"#/components/schemas/{type(schema).__name__.removesuffix('Form')}"


def load(schema: WireSchema, data: object) -> Any:  # noqa: ANN401 - what the schema makes
    """Load a form; ``InvalidInput`` carries everything that is wrong, with paths."""
    try:
        return schema.load(data)  # type: ignore[arg-type]  # anything but an object is refused
    except ValidationError as error:
        found = tuple(_flattened(error.messages, "$", data))
        raise InvalidInput(violations=found) from error
    except RecursionError as error:
        raise InvalidInput("The body is nested too deeply.") from error


def _flattened(messages: Any, path: str, data: Any) -> list[Violation]:  # noqa: ANN401
    if not isinstance(messages, dict):
        return [
            Violation(path=path, message=str(message), invalid_value=_shown(data))
            for message in messages
        ]
    found: list[Violation] = []
    for key, inner in messages.items():
        if key == "_schema":
            found += _flattened(inner, path, data)
        else:
            found += _flattened(inner, path + step(key), _inside(data, key))
    return found


def step(key: object) -> str:
    """Write one step of a JSON path."""
    if isinstance(key, int):
        return f"[{key}]"
    return f"['{key}']" if isinstance(key, Key) else f".{key}"


def texts_in(value: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    """List the texts in a value, each with its path."""
    # A stack and not recursion: values may be nested as deep as a body may be.
    stack: list[tuple[str, JsonValue]] = [(path, value)]
    while stack:
        here, found = stack.pop()
        if isinstance(found, str):
            yield here, found
        elif isinstance(found, list | tuple):
            stack += [(here + step(index), inner) for index, inner in enumerate(found)]
        elif isinstance(found, Mapping):
            stack += [(here + step(_member(name)), inner) for name, inner in found.items()]


def _member(name: str) -> str:
    return name if name.isidentifier() else Key(name)


def _inside(data: Any, key: Any) -> Any:  # noqa: ANN401
    if isinstance(data, dict):
        return data.get(key)
    return data[key] if isinstance(data, list) and isinstance(key, int) else None


def _shown(value: object) -> str | None:
    return scalar_text(value)[:200] if isinstance(value, str | int | float) else None
