"""JSON Schema: whether a document satisfies a schema, at a bounded cost and without a network.

Both are written by users. Every keyword that is looked at is charged to a budget, patterns are
matched in linear time, and nothing is fetched: a ``$ref`` reaches into its own schema only.
``format`` is a remark, as the standard has it. Nothing here raises for what a user wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

import orjson
from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from conductor_py.codec.nesting import plain
from conductor_py.decider.expressions.linear_regex import Regex, compile_regex
from conductor_py.engine.definitions.schema_references import named
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass

MAX_SCHEMA: Final = 256 * 1024
"""Bytes of a schema."""

MAX_STEPS: Final = 500_000
"""Keywords, and characters of patterns, that one check may look at."""

_MOST: Final = 10
_LONGEST: Final = 300
#: What is done a step where it takes little: members looked through, values compared, characters
#: that are written for a comparison or in a message.
_LOOKED_THROUGH: Final = 32
_COMPARED: Final = 8
_WRITTEN: Final = 256
_NAMING: Final = frozenset({"required", "additionalProperties", "dependentRequired"})
_DRAFTS: Final = (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
_Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that a document or a schema has wrong: where (``$.a[0]``) and a sentence."""

    path: str
    message: str


class _TooCostly(Exception):
    """The budget of a check is spent."""


_steps: ContextVar[list[int]] = ContextVar("steps")


def faults(schema: JsonObject, document: object) -> tuple[Fault, ...]:
    """List what keeps a document from satisfying a schema, at most ten; empty when it does.

    A schema that cannot be used is itself the fault.
    """
    try:
        text = orjson.dumps(schema, default=plain)
        checker = _checker(text)
        if isinstance(checker, Fault):
            return (Fault("$", f"its schema cannot be used: {checker.path}: {checker.message}"),)
        value = orjson.loads(orjson.dumps(document, default=plain))
        return tuple(_found(checker, value))
    except _TooCostly:
        return (Fault("$", "takes too long to check against its schema"),)
    except Unresolvable as unknown:
        return (Fault("$", f"the schema refers to '{unknown.ref[:200]}', which is not in it"),)
    except RecursionError:
        return (Fault("$", "cannot be checked: its schema, or a part of it, refers to itself"),)
    except (TypeError, ValueError, AttributeError, KeyError) as broken:
        return (Fault("$", f"cannot be checked against its schema, which is none: {broken}"),)


def schema_fault(schema: JsonObject) -> Fault | None:
    """Say why a schema cannot be used; ``None`` when it can."""
    try:
        checker = _checker(orjson.dumps(schema, default=plain))
    except TypeError as broken:
        return Fault("$", f"is not JSON: {broken}")
    return checker if isinstance(checker, Fault) else None


def _found(checker: Any, value: object) -> Iterator[Fault]:  # noqa: ANN401 - made at run time
    with _budget():
        for number, error in enumerate(checker.iter_errors(value), 1):
            yield Fault(error.json_path, _sentence(error))
            if number == _MOST:
                return


def _sentence(error: ValidationError) -> str:
    if error.validator in _NAMING:
        return str(error.message)[:_LONGEST]
    wanted = orjson.dumps(error.validator_value, default=str)[:200].decode(errors="replace")
    return f"does not satisfy '{error.validator}': {wanted}"


@lru_cache(maxsize=256)
def _checker(text: bytes) -> Any:  # noqa: ANN401 - made at run time
    if len(text) > MAX_SCHEMA:
        return Fault("$", f"the schema is larger than {MAX_SCHEMA} bytes")
    schema = orjson.loads(text)
    if isinstance(schema, dict) and not isinstance(schema.get("$schema", ""), str):
        return Fault("$.$schema", "must be a text that names a draft of JSON Schema")
    try:
        draft = validator_for(schema, default=Draft202012Validator)
        if draft not in _BOUNDED:
            return Fault("$.$schema", "must name a draft of JSON Schema from 4 to 2020-12")
        # Not by ``check_schema``, which knows no budget.
        for broken in _found(_BOUNDED[draft](draft.META_SCHEMA), schema):
            return Fault(broken.path, f"is no JSON Schema: {broken.message}")
        for complaint in _refused(schema):
            return complaint
    except _TooCostly:
        return Fault("$", "takes too long to check")
    except (RecursionError, TypeError, ValueError) as broken:
        return Fault("$", f"is no JSON Schema: {type(broken).__name__}")
    return _BOUNDED[draft](schema, registry=Registry())


def _refused(schema: object) -> Iterator[Fault]:
    """List what the standard allows and we do not: patterns that no bound can be given to."""
    pending: list[tuple[str, object]] = [("$", schema)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, list):
            pending += [(f"{path}[{index}]", one) for index, one in enumerate(item)]
        if not isinstance(item, dict):
            continue
        pending += [(f"{path}.{name}", one) for name, one in item.items()]
        patterns = [item["pattern"]] if isinstance(item.get("pattern"), str) else []
        if isinstance(item.get("patternProperties"), dict):
            patterns += item["patternProperties"]
            if "unevaluatedProperties" in item:
                yield Fault(path, "must not have patternProperties and unevaluatedProperties both")
        for pattern in patterns:
            compiled = _alternatives(pattern)
            if isinstance(compiled, str):
                yield Fault(path, f"has the pattern '{pattern[:100]}': {compiled}")


# -- keywords --------------------------------------------------------------------------------------


@contextmanager
def _budget() -> Iterator[None]:
    token = _steps.set([MAX_STEPS])
    try:
        yield
    finally:
        _steps.reset(token)


def _spend(steps: int) -> None:
    left = _steps.get()
    left[0] -= steps
    if left[0] < 0:
        raise _TooCostly


def _charged(keyword: _Keyword) -> _Keyword:
    def check(
        validator: Any,  # noqa: ANN401
        wanted: Any,  # noqa: ANN401
        instance: Any,  # noqa: ANN401
        schema: Any,  # noqa: ANN401
    ) -> Iterator[ValidationError]:
        size = len(instance) if isinstance(instance, list | dict) else 0
        listed = len(wanted) if isinstance(wanted, list | dict) else 0
        _spend(1 + size // 8 + listed // _LOOKED_THROUGH)
        try:
            for error in keyword(validator, wanted, instance, schema) or ():
                _spend(1 + len(error.message) // _WRITTEN)  # it has the whole value in it
                error.message = error.message[:_LONGEST]
                yield error
        except Unresolvable as unknown:
            raise named(unknown, wanted) from None

    return check


def _compared(keyword: _Keyword) -> _Keyword:
    """Charge what a value is compared with."""

    def check(
        validator: Any,  # noqa: ANN401
        wanted: Any,  # noqa: ANN401
        instance: Any,  # noqa: ANN401
        schema: Any,  # noqa: ANN401
    ) -> Iterator[ValidationError]:
        _spend(_nodes(wanted) // _COMPARED)
        yield from keyword(validator, wanted, instance, schema) or ()

    return check


def _enum(keyword: _Keyword) -> _Keyword:
    """Look texts up among the values, a hundred times as quick as they are compared."""
    compared = _compared(keyword)

    def check(
        validator: Any,  # noqa: ANN401
        wanted: Any,  # noqa: ANN401
        instance: Any,  # noqa: ANN401
        schema: Any,  # noqa: ANN401
    ) -> Iterator[ValidationError]:
        if not isinstance(instance, str):
            yield from compared(validator, wanted, instance, schema) or ()
        elif instance not in wanted:
            yield ValidationError("is none of these")

    return check


def _as_it_is(keyword: _Keyword) -> _Keyword:
    return keyword


def _nodes(value: object) -> int:
    count, pending = 0, [value]
    while pending:
        each = pending.pop()
        count += 1
        if isinstance(each, list | dict):
            pending += each.values() if isinstance(each, dict) else each
    return count


def _pattern(
    _validator: Any,  # noqa: ANN401
    pattern: Any,  # noqa: ANN401
    instance: Any,  # noqa: ANN401
    _schema: Any,  # noqa: ANN401
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError("does not match")


def _pattern_properties(
    validator: Any,  # noqa: ANN401
    patterns: Any,  # noqa: ANN401
    instance: Any,  # noqa: ANN401
    _schema: Any,  # noqa: ANN401
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, inner in patterns.items():
            for name, value in instance.items():
                if _matches(pattern, name):
                    yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any,  # noqa: ANN401
    wanted: Any,  # noqa: ANN401
    instance: Any,  # noqa: ANN401
    schema: Any,  # noqa: ANN401
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [
        name
        for name in instance
        if name not in named and not any(_matches(pattern, name) for pattern in patterns)
    ]
    if isinstance(wanted, dict):
        for name in extras:
            yield from validator.descend(instance[name], wanted, path=name)
    elif not wanted and extras:
        shown = ", ".join(f"'{name[:50]}'" for name in extras[:5])
        yield ValidationError(f"has members that are not allowed: {shown}")


def _unique_items(
    _validator: Any,  # noqa: ANN401
    wanted: Any,  # noqa: ANN401
    instance: Any,  # noqa: ANN401
    _schema: Any,  # noqa: ANN401
) -> Iterator[ValidationError]:
    if wanted and isinstance(instance, list) and len(set(map(_text, instance))) < len(instance):
        yield ValidationError("has equal items")


def _any_of(
    validator: Any,  # noqa: ANN401
    wanted: Any,  # noqa: ANN401
    instance: Any,  # noqa: ANN401
    _schema: Any,  # noqa: ANN401
) -> Iterator[ValidationError]:
    if not any(_satisfies(validator, instance, one) for one in wanted):
        yield ValidationError("satisfies none of these")


def _one_of(
    validator: Any,  # noqa: ANN401
    wanted: Any,  # noqa: ANN401
    instance: Any,  # noqa: ANN401
    _schema: Any,  # noqa: ANN401
) -> Iterator[ValidationError]:
    satisfied = (one for one in wanted if _satisfies(validator, instance, one))
    if next(satisfied, None) is None or next(satisfied, None) is not None:
        yield ValidationError("does not satisfy one of these alone")


def _satisfies(validator: Any, instance: Any, schema: Any) -> bool:  # noqa: ANN401
    """Whether nothing is wrong: what all is wrong would have to be kept."""
    return next(iter(validator.descend(instance, schema)), None) is None


def _text(item: object) -> bytes:
    text = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
    _spend(len(text) // _WRITTEN)
    return text


def _matches(pattern: str, text: str) -> bool:
    compiled = _alternatives(pattern)
    if isinstance(compiled, str):
        return False
    return any(regex.matches(text, _spend) for regex in compiled)


@lru_cache(maxsize=1024)
def _alternatives(pattern: str) -> tuple[Regex, ...] | str:
    """Compile a pattern, which may match anywhere in a text; a sentence when that is refused."""
    compiled: list[Regex] = []
    for part in _split(pattern):
        body = part.removeprefix("^")
        before = "" if part.startswith("^") else ".*"
        anchored = body.endswith("$") and not body.endswith("\\$")
        body = body.removesuffix("$") if anchored else body
        regex = compile_regex(f"{before}(?:{body}){'' if anchored else '.*'}", "s")
        if isinstance(regex, str):
            return regex
        compiled.append(regex)
    return tuple(compiled)


def _split(pattern: str) -> list[str]:
    """Cut a pattern at the bars that stand in no group and no class."""
    parts, depth, in_class, start, at = [], 0, False, 0, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and not depth:
            parts.append(pattern[start:at])
            start = at + 1
        at += 1
    return [*parts, pattern[start:]]


_OVERRIDDEN: Mapping[str, _Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
    "anyOf": _any_of,
    "oneOf": _one_of,
}
_WRAPPED: Mapping[str, Callable[[_Keyword], _Keyword]] = {"enum": _enum, "const": _compared}
_BOUNDED: Mapping[Any, Any] = {
    draft: extend(  # type: ignore[no-untyped-call]
        draft,
        validators={
            name: _charged(_WRAPPED.get(name, _as_it_is)(_OVERRIDDEN.get(name, check)))
            for name, check in draft.VALIDATORS.items()
        },
    )
    for draft in _DRAFTS
}
