"""A function's parameters, filled by name from a task's input and checked against their
annotations.

Nothing is coerced and nothing is guessed: an input is of the annotated type or it is refused, by a
sentence that names its key. What JSON has no type for is read from its text (``sdk.scalars``).
``null`` counts as absent unless the annotation admits None, because that is what a reference to
something absent resolves to. Inputs that no parameter asks for are ignored.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import (
    Annotated,
    Literal,
    NewType,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from typing import Any as AnyType

from conductor_py.errors import ConfigurationError
from conductor_py.model import json as model_json
from conductor_py.sdk import scalars
from conductor_py.sdk.task import Task

#: Takes the JSON value and its key for messages; raises ``InputError``.
Reader: TypeAlias = Callable[[object, str], object]

_NAMES: Mapping[type, str] = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


#: Characters of a text that a refusal shows.
_SHOWN = 40


class InputError(Exception):
    """An input is missing or not of the annotated type; the message names its key."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Parameter:
    name: str
    read: Reader
    required: bool
    admits_null: bool


#: The dataclasses of one signature, so that each is compiled once.
_Known: TypeAlias = dict[type, list[_Parameter]]


class Inputs:
    """The compiled signature of one worker function."""

    def __init__(self, function: Callable[..., object]) -> None:
        """Compile the signature; raises ``ConfigurationError`` for one that inputs cannot fill."""
        code = _code_of(function)
        hints, named = _hints(code), code.__qualname__
        known: _Known = {}
        self._parameters: list[_Parameter] = []
        self._task_parameters: list[str] = []
        self._rest: Reader | None = None
        for name, parameter in inspect.signature(function).parameters.items():
            annotation = hints.get(name, AnyType)
            if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
                raise ConfigurationError(f"parameter {name} of {named} cannot be filled by name")
            if annotation is Task:
                self._task_parameters.append(name)
                continue
            required = parameter.default is parameter.empty
            try:
                compiled = _parameter(name, annotation, known, required=required)
            except ConfigurationError as error:
                message = f"parameter {name} of {named}: {error.message}"
                raise ConfigurationError(message) from error
            if parameter.kind is parameter.VAR_KEYWORD:
                self._rest = compiled.read
            else:
                self._parameters.append(compiled)

    def arguments(self, task: Task, given: Mapping[str, object]) -> dict[str, object]:
        """Return the keyword arguments for this task; raises ``InputError``."""
        arguments = _filled(self._parameters, given, "")
        if self._rest is not None:
            named = {parameter.name for parameter in self._parameters}
            named.update(self._task_parameters)
            for key, value in given.items():
                if key not in named:
                    arguments[key] = self._rest(value, key)
        arguments.update(dict.fromkeys(self._task_parameters, task))
        return arguments


def _code_of(function: Callable[..., object]) -> Callable[..., object]:
    """The function in which the parameters of a callable are annotated."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type) or hasattr(function, "__qualname__"):
        return function
    return type(function).__call__


def _hints(subject: Callable[..., object]) -> dict[str, object]:
    module = sys.modules.get(subject.__module__)
    own = dict(vars(module)) if module is not None else {}
    names = {**vars(model_json), **own}  # JsonObject refers to names of its module
    if names["JsonValue"] is model_json.JsonValue:
        names["JsonValue"] = AnyType  # it is recursive, and any value of a task is one
    try:
        return get_type_hints(subject, globalns=names, include_extras=True)
    except (NameError, TypeError, SyntaxError) as error:
        raise ConfigurationError(
            f"the annotations of {subject.__qualname__} cannot be read: {error}; "
            "their types must be importable from its module at run time"
        ) from error


def _parameter(name: str, annotation: object, known: _Known, *, required: bool) -> _Parameter:
    return _Parameter(
        name=name,
        read=_reader(annotation, known),
        required=required,
        admits_null=_admits_null(annotation),
    )


def _filled(
    parameters: Sequence[_Parameter], given: Mapping[str, object], prefix: str
) -> dict[str, object]:
    arguments: dict[str, object] = {}
    for parameter in parameters:
        value = given.get(parameter.name)
        key = f"{prefix}{parameter.name}"
        if parameter.name not in given or (value is None and not parameter.admits_null):
            if parameter.required:
                absent = "null" if parameter.name in given else "missing"
                raise InputError(f"input '{key}' is required and is {absent}")
            continue
        arguments[parameter.name] = parameter.read(value, key)
    return arguments


def _admits_null(annotation: object) -> bool:
    if get_origin(annotation) in {Union, types.UnionType}:
        return any(_admits_null(member) for member in get_args(annotation))
    if get_origin(annotation) is Annotated:
        return _admits_null(get_args(annotation)[0])
    return annotation in {AnyType, object, None, type(None)}


def _reader(annotation: object, known: _Known) -> Reader:
    """Compile one annotation."""
    if annotation in {AnyType, object}:
        return lambda value, _key: value
    if annotation in {None, type(None)}:
        return _exactly(type(None))
    if isinstance(annotation, NewType):
        return _reader(annotation.__supertype__, known)
    origin = get_origin(annotation)
    if origin is not None:
        return _generic_reader(annotation, known)
    if isinstance(annotation, type):
        return _class_reader(annotation, known)
    raise ConfigurationError(f"an input cannot be checked against the annotation {annotation!r}")


def _class_reader(kind: type, known: _Known) -> Reader:
    if kind in {str, bool, int}:
        return _exactly(kind)
    if kind is float:
        return _number
    if kind in scalars.KINDS:
        return _scalar(kind)
    if kind in {list, Sequence}:
        return _exactly(list)
    if kind in {dict, Mapping}:
        return _exactly(dict)
    if kind is tuple:
        return _array_of(_reader(object, known), tuple)
    if issubclass(kind, Enum):
        return _member_of(kind)
    if dataclasses.is_dataclass(kind):
        return _object_of(kind, known)
    raise ConfigurationError(f"an input cannot be checked against the class {kind.__qualname__}")


def _generic_reader(annotation: object, known: _Known) -> Reader:
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _reader(members[0], known)
    if origin is Literal:
        return _one_of(members)
    if origin in {Union, types.UnionType}:
        return _any_of(members, known)
    if origin in {list, Sequence}:
        return _array_of(_reader(members[0], known), list)
    if origin is tuple and len(members) == 2 and members[1] is Ellipsis:
        return _array_of(_reader(members[0], known), tuple)
    if origin in {dict, Mapping} and members[0] is str:
        return _map_of(_reader(members[1], known))
    raise ConfigurationError(f"an input cannot be checked against the annotation {annotation!r}")


def _refuse(key: str, expected: str, value: object, shown: str | None = None) -> InputError:
    found = shown or _NAMES.get(type(value), type(value).__name__)
    return InputError(f"input '{key}' must be {expected}, not {found}")


def _exactly(kind: type) -> Reader:
    def read(value: object, key: str) -> object:
        if type(value) is not kind:
            raise _refuse(key, _NAMES[kind], value)
        return value

    return read


def _number(value: object, key: str) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refuse(key, _NAMES[float], value)
    return float(value)


def _scalar(kind: type) -> Reader:
    def read(value: object, key: str) -> object:
        try:
            return scalars.read(kind, value)
        except ValueError as error:
            found = repr(value[:_SHOWN]) if isinstance(value, str) else None
            raise _refuse(key, str(error), value, found) from None

    return read


def _member_of(kind: type[Enum]) -> Reader:
    def read(value: object, key: str) -> object:
        try:
            return kind(value)
        except ValueError:
            allowed = ", ".join(repr(member.value) for member in kind)
            raise InputError(f"input '{key}' must be one of {allowed}") from None

    return read


def _one_of(allowed: tuple[object, ...]) -> Reader:
    def read(value: object, key: str) -> object:
        for literal in allowed:
            if type(literal) is type(value) and literal == value:
                return value
        raise InputError(f"input '{key}' must be one of {', '.join(map(repr, allowed))}")

    return read


def _any_of(members: tuple[object, ...], known: _Known) -> Reader:
    readers = [_reader(member, known) for member in members if member is not type(None)]
    nullable = len(readers) < len(members)

    def read(value: object, key: str) -> object:
        if value is None and nullable:
            return None
        refusals: list[str] = []
        for reader in readers:
            try:
                return reader(value, key)
            except InputError as error:
                refusals.append(str(error))
        raise InputError("; or ".join(refusals))

    return read


def _array_of(item: Reader, build: type[list[object] | tuple[object, ...]]) -> Reader:
    def read(value: object, key: str) -> object:
        if not isinstance(value, list):
            raise _refuse(key, _NAMES[list], value)
        return build(item(entry, f"{key}[{index}]") for index, entry in enumerate(value))

    return read


def _map_of(item: Reader) -> Reader:
    def read(value: object, key: str) -> object:
        if not isinstance(value, dict):
            raise _refuse(key, _NAMES[dict], value)
        return {name: item(entry, f"{key}.{name}") for name, entry in value.items()}

    return read


def _object_of(kind: type, known: _Known) -> Reader:
    fields = known.get(kind)
    if fields is None:
        fields = known[kind] = []  # known before its fields are: a dataclass may contain itself
        fields.extend(_fields_of(kind, known))

    def read(value: object, key: str) -> object:
        if not isinstance(value, dict):
            raise _refuse(key, _NAMES[dict], value)
        arguments = _filled(fields, value, f"{key}.")
        try:
            return kind(**arguments)
        except (TypeError, ValueError) as error:  # the class's own __post_init__ objects
            raise InputError(f"input '{key}' was refused: {error}") from error

    return read


def _fields_of(kind: type, known: _Known) -> list[_Parameter]:
    hints = _hints(kind)
    return [
        _parameter(
            field.name,
            hints[field.name],
            known,
            required=field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
        if field.init
    ]
