"""Schemas: the registry, and what definitions name of it.

A definition may carry a JSON Schema itself (``data``) or name one that is registered; when it is
enforced, the start takes it into the snapshot, so that a later change reaches no execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import orjson

from conductor_py.codec.execution import dump_json
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.readable import BeforeHeavy, nothing, told_each
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.errors import InvalidInput, NotFound, Violation
from conductor_py.model.definitions import TaskDef, WorkflowDef, WorkflowTask, tasks_of
from conductor_py.model.execution import Document, External
from conductor_py.model.json import JsonObject
from conductor_py.ports.metadata import MetadataStore

_T = TypeVar("_T")

SchemaOf = Callable[[str, int | None], bytes | None]
"""(name, version) -> the registered SchemaDef, of the latest version for ``None``."""


class Schemas:
    """The verbs of the registry."""

    def __init__(
        self, metadata: MetadataStore, clock: StoreClock, forget: Callable[[], None]
    ) -> None:
        """``forget`` drops the snapshots that may hold an older version."""
        self._metadata = metadata
        self._clock = clock
        self._forget = forget

    def save(self, schemas: Sequence[JsonObject], *, new_version: bool) -> None:
        """Store schemas, in place of those of the same version, or each as its next version. One
        that cannot be used is found out where it is enforced.
        """
        for schema in schemas:
            name, version = str(schema["name"]), _version(schema)
            if new_version:
                latest = self._metadata.schema(name, None)
                version = 1 + (int(orjson.loads(latest)["version"]) if latest else 0)
            self._put(schema, name, version)
        self._forget()

    def _put(self, schema: JsonObject, name: str, version: int) -> None:
        before = self._metadata.schema(name, version)
        now = self._clock.now_ms()
        created = orjson.loads(before).get("createTime", now) if before else now
        times = {"createTime": created, "updateTime": now if before else 0}
        stamped = {"type": "JSON", **schema, "version": version, **times}
        self._metadata.put_schema(name, version, dump_json(stamped))

    def all(
        self, told: Callable[[JsonObject], _T], before_heavy: BeforeHeavy = nothing
    ) -> tuple[_T, ...]:
        """List what is ``told`` of every version of every schema."""
        stored = (
            (f"{name} {version}", document) for name, version, document in self._metadata.schemas()
        )
        return tuple(told_each("schema", stored, told, before_heavy))

    def one(self, name: str, version: int | None) -> JsonObject:
        """Read a schema (``NotFound``)."""
        stored = self._metadata.schema(name, version)
        if stored is None:
            raise _unknown(name, version)
        found: JsonObject = orjson.loads(stored)
        return found

    def delete(self, name: str, version: int | None) -> None:
        """Forget a version, or all of them (``NotFound``)."""
        versions = [number for other, number, _ in self._metadata.schemas() if other == name]
        gone = [
            self._metadata.delete_schema(name, one) for one in versions if version in {None, one}
        ]
        if not any(gone):
            raise _unknown(name, version)
        self._forget()


def _version(schema: JsonObject) -> int:
    found = schema.get("version", 1)
    return found if isinstance(found, int) else 1


def check_input(definition: WorkflowDef, given_input: Document, payloads: PayloadReader) -> None:
    """Refuse a start whose input does not satisfy its schema (``InvalidInput``, below ``$.input``),
    or is too large to be read (``PayloadTooLarge``).
    """
    given = definition.input_schema
    data = given.get("data") if given and given.get("type", "JSON") == "JSON" else None
    if not definition.enforce_schema or not isinstance(data, dict):
        return
    from conductor_py.engine.definitions.json_schema import faults  # noqa: PLC0415 - forty ms of a start, and few need it

    with payloads.place.scope():
        document: object = given_input
        if isinstance(given_input, External):
            document = payloads.value(given_input.path)
        found = faults(data, document)
    if found:
        raise InvalidInput(
            violations=tuple(
                Violation(path=f"$.input{fault.path[1:]}", message=fault.message) for fault in found
            )
        )


def unusable_schemas(definition: WorkflowDef) -> Iterator[Violation]:
    """List the schemas in a definition that cannot be used; whatever enforces one is refused."""
    yield from _unusable(definition, "$")
    for path, task in tasks_of(definition):
        if task.task_definition is not None:
            yield from _unusable(task.task_definition, f"{path}.taskDefinition")


def names_schema(definition: WorkflowDef) -> bool:
    """Whether a registered schema is part of the snapshot of a definition."""
    inline = (task.task_definition for _, task in tasks_of(definition))
    return any(_named(one) for one in (definition, *inline) if one is not None)


def embed_schemas(definition: WorkflowDef, schema_of: SchemaOf) -> WorkflowDef:
    """Take the schemas that a definition names and enforces into it (``NotFound``)."""
    if not any(_named(one) for one in _all(definition)):
        return definition
    whole: WorkflowDef = _whole(
        replace(definition, tasks=_in_tasks(definition.tasks, schema_of)), schema_of
    )
    return whole


_ATTRIBUTES = (("input_schema", "inputSchema"), ("output_schema", "outputSchema"))


def _unusable(definition: WorkflowDef | TaskDef, root: str) -> Iterator[Violation]:
    for attribute, name in _ATTRIBUTES:
        given: JsonObject | None = getattr(definition, attribute)
        data = given.get("data") if given and given.get("type", "JSON") == "JSON" else None
        if not isinstance(data, dict):
            continue
        from conductor_py.engine.definitions.json_schema import schema_fault  # noqa: PLC0415 - forty ms of a start, and few need it

        fault = schema_fault(data)
        if fault is not None:
            yield Violation(path=f"{root}.{name}.data{fault.path[1:]}", message=fault.message)


def _all(definition: WorkflowDef) -> Iterator[WorkflowDef | TaskDef]:
    yield definition
    for _, task in tasks_of(definition):
        if task.task_definition is not None:
            yield task.task_definition


def _named(definition: WorkflowDef | TaskDef) -> bool:
    return definition.enforce_schema and any(
        _wanted(getattr(definition, attribute)) for attribute, _ in _ATTRIBUTES
    )


def _wanted(given: JsonObject | None) -> bool:
    return bool(given and given.get("name") and not given.get("data")) and (
        given is not None and given.get("type", "JSON") == "JSON" and not given.get("externalRef")
    )


def _whole(definition: Any, schema_of: SchemaOf) -> Any:  # noqa: ANN401 - of either kind
    changes: dict[str, Any] = {}
    for attribute, _ in _ATTRIBUTES:
        given = getattr(definition, attribute)
        if definition.enforce_schema and _wanted(given):
            name, version = str(given["name"]), given.get("version")
            stored = schema_of(name, version)
            if stored is None:
                raise _unknown(name, version)
            changes[attribute] = orjson.loads(stored)
    return replace(definition, **changes) if changes else definition


def _in_tasks(tasks: tuple[WorkflowTask, ...], schema_of: SchemaOf) -> tuple[WorkflowTask, ...]:
    return tuple(_in_task(task, schema_of) for task in tasks)


def _in_task(task: WorkflowTask, schema_of: SchemaOf) -> WorkflowTask:
    changes: dict[str, Any] = {
        "fork_tasks": tuple(_in_tasks(branch, schema_of) for branch in task.fork_tasks),
        "decision_cases": {
            name: _in_tasks(body, schema_of) for name, body in task.decision_cases.items()
        },
        "default_case": _in_tasks(task.default_case, schema_of),
        "loop_over": _in_tasks(task.loop_over, schema_of),
    }
    if task.task_definition is not None:
        changes["task_definition"] = _whole(task.task_definition, schema_of)
    return replace(task, **changes)


def _unknown(name: str, version: int | None) -> NotFound:
    which = f"{name}.{version}" if version is not None else name
    return NotFound(f"No such schema found by name: {which}")
