"""Schemas and tags as users send them, and the forms of what is answered about named values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass
from conductor_py.wire.definition_reader import moved
from conductor_py.wire.definitions import SchemaDefForm
from conductor_py.wire.fields import Text, WireSchema, load
from conductor_py.wire.schedules import TagForm

_MOST = 100
_LONGEST_NAME = 255
_LONGEST_TAG = 1_000
"""Characters of each text of a tag: tags are read before executions are started."""
_SCHEMA = SchemaDefForm()
_TAG = TagForm()
_T = TypeVar("_T")


class EnvironmentVariableForm(WireSchema):
    """A value that definitions may read."""

    name = Text(required=True)
    value = Text(required=True)


class SecretForm(WireSchema):
    """A secret, without its value."""

    name = Text(required=True)


@dataclass(frozen=True, slots=True)
class CarriedTags:
    """What a definition brings along as its tags, to be added or to replace those that it has."""

    name: str
    tags: tuple[Mapping[str, str], ...]
    replaces: bool


FORMS: tuple[WireSchema, ...] = (EnvironmentVariableForm(), SecretForm())


def read_schemas(body: object) -> tuple[JsonObject, ...]:
    """Read a schema, or a list of them."""
    return _each(body, _schema)


def read_tags(body: object) -> tuple[Mapping[str, str], ...]:
    """Read a tag, or a list of them."""
    return _each(body, _tag)


def carried_tags(body: object) -> tuple[CarriedTags, ...]:
    """Read the ``tags`` in the JSON of a definition, or of a list of them, as some clients send
    them: with ``overwriteTags`` they replace those that are there. A member of that name that holds
    anything else than tags is somebody's own, and says nothing.
    """
    found: list[CarriedTags] = []
    for index, one in enumerate(body if isinstance(body, list) else (body,)):
        if not isinstance(one, Mapping) or not _are_tags(one.get("tags")):
            continue
        at = f"$[{index}].tags" if isinstance(body, list) else "$.tags"
        try:
            tags = read_tags(one["tags"])
        except InvalidInput as error:
            raise type(error)(error.message, violations=moved(error.violations, at)) from error
        found.append(CarriedTags(str(one.get("name")), tags, one.get("overwriteTags") is True))
    return tuple(found)


def _are_tags(member: object) -> bool:
    return isinstance(member, list) and all(
        isinstance(tag, Mapping) and isinstance(tag.get("key"), str) for tag in member
    )


def _schema(body: Any) -> JsonObject:  # noqa: ANN401 - any JSON value
    load(_SCHEMA, body)
    given: dict[str, Any] = {name: value for name, value in body.items() if value is not None}
    name = str(given.get("name", ""))
    if not name.strip() or len(name) > _LONGEST_NAME:
        raise _wrong("$.name", f"must be given, with at most {_LONGEST_NAME} characters")
    version = given.get("version", 1)
    if not isinstance(version, int) or not 0 < version < 10**9:
        raise _wrong("$.version", "must be a whole number from 1 on")
    return given


def _tag(body: Any) -> Mapping[str, str]:  # noqa: ANN401 - any JSON value
    if isinstance(body, dict) and type(body.get("value")) is int:  # of a rate limit
        body = {**body, "value": str(body["value"])}
    found: Mapping[str, str] = load(_TAG, body)
    for member, text in found.items():
        if len(text or "") > _LONGEST_TAG:
            raise _wrong(f"$.{member}", f"must not be longer than {_LONGEST_TAG} characters")
    return found


def _each(body: object, read: Callable[[Any], _T]) -> tuple[_T, ...]:
    if not isinstance(body, list):
        return (read(body),)
    if len(body) > _MOST:
        raise _wrong("$", f"must not hold more than {_MOST} entries")
    found: list[_T] = []
    for index, one in enumerate(body):
        try:
            found.append(read(one))
        except InvalidInput as error:
            raise type(error)(
                error.message, violations=moved(error.violations, f"$[{index}]")
            ) from error
    return tuple(found)


def _wrong(path: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message),))
