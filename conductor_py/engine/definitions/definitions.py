"""Definitions: register, read, forget. What is registered never reaches an execution that already
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from conductor_py.codec.definitions import (
    dump_task_def,
    dump_workflow,
    load_task_def,
)
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.live_limits import LiveLimits
from conductor_py.engine.definitions.readable import BeforeHeavy, nothing, told_each
from conductor_py.engine.definitions.recursion import endless_recursion
from conductor_py.engine.definitions.registered import Registered
from conductor_py.engine.definitions.schemas import unusable_schemas
from conductor_py.engine.definitions.script_check import ScriptCheck
from conductor_py.engine.definitions.sinks import unusable_sinks
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.definitions.unregistered import unregistered
from conductor_py.errors import Conflict, DefinitionError, NotFound, Violation
from conductor_py.model.definitions import TaskDef, WorkflowDef
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.ports.metadata import MetadataStore

_T = TypeVar("_T")


class Definitions:
    """Registered workflow and task definitions; they arrive checked by ``wire``."""

    def __init__(
        self,
        metadata: MetadataStore,
        registered: Registered,
        snapshots: Snapshots,
        clock: StoreClock,
        live: LiveLimits,
        *,
        scripts: ScriptCheck,
        providers: frozenset[str] = frozenset(),
    ) -> None:
        """Work over these collaborators; ``providers`` are those of events."""
        self._scripts = scripts
        self._metadata = metadata
        self._registered = registered
        self._snapshots = snapshots
        self._clock = clock
        self._live = live
        self._providers = providers

    def retell(self) -> int:
        """Tell partitions of the last change that they have not heard of; returns how many."""
        return self._metadata.retell()

    def validate(self, definition: WorkflowDef) -> tuple[Violation, ...]:
        """Check what needs other definitions: a workflow that would start itself without end
        (``DefinitionError``). Return what is taken although it will be refused where it is used.
        """
        self._refuse_endless(definition)
        return (
            *unusable_schemas(definition),
            *unusable_sinks(definition, self._providers),
            *self._scripts.unreadable(definition),
            *unregistered(definition, self._registered.has),
        )

    def register(self, definition: WorkflowDef, *, overwrite: bool) -> None:
        """Store a version: ``Conflict`` when it exists and may not be overwritten."""
        if not overwrite and self._metadata.workflow(definition.name, definition.version):
            raise _taken(definition)
        self._refuse_endless(definition)
        self._put(definition, overwrite=overwrite)

    def _refuse_endless(self, definition: WorkflowDef) -> None:
        found = endless_recursion(definition, self._registered.definition)
        if found is not None:
            raise DefinitionError(violations=(found,))

    def _put(self, definition: WorkflowDef, *, overwrite: bool) -> None:
        now = self._clock.now_ms()
        known = (
            self._registered.definition(definition.name, definition.version) if overwrite else None
        )
        created = definition.create_time or (known.create_time if known else 0) or now
        stored = replace(definition, create_time=created, update_time=now if known else 0)
        blob = dump_workflow(stored)
        if not self._metadata.put_workflow(
            definition.name, definition.version, blob, create=not overwrite
        ):
            self._refuse_published(definition.name)
            raise _taken(definition)
        self._snapshots.forget_heads()

    def update(self, definitions: Sequence[WorkflowDef]) -> JsonObject:
        """Store all of them, new or not, or none when one is refused (``DefinitionError``); the
        answer lists names that succeeded and errors by name.
        """

        def found(name: str, version: int | None) -> WorkflowDef | None:
            """Look among those that are registered when all of these are."""
            known = [new for new in definitions if new.name == name]
            stored = self._registered.definition(name, version)
            known += [stored] if stored is not None else []  # behind the new one of its version
            return max(
                (one for one in known if version in {None, one.version}),
                key=lambda one: one.version,
                default=None,
            )

        for index, definition in enumerate(definitions):
            self._refuse_published(definition.name)
            violation = endless_recursion(definition, found)
            if violation is not None:
                path = f"$[{index}]{violation.path.removeprefix('$')}"
                raise DefinitionError(violations=(replace(violation, path=path),))
        for definition in definitions:
            self._put(definition, overwrite=True)
        done: list[JsonValue] = [definition.name for definition in definitions]
        return {"bulkErrorResults": {}, "bulkSuccessfulResults": done}

    def _refuse_published(self, name: str) -> None:
        code = self._registered.code_of(name)
        if code is not None:
            raise Conflict(
                f"{name} is published in the catalog under code {code}: save, publish and withdraw"
                " it there"
            )

    def workflow(self, name: str, version: int | None) -> bytes:
        """Read a version as JSON, the latest without one (``NotFound``)."""
        stored = self._registered.document(name, version)
        if stored is None:
            raise self._registered.missing(name, version)
        return stored

    def workflows(
        self, told: Callable[[JsonObject], _T], before_heavy: BeforeHeavy = nothing
    ) -> tuple[_T, ...]:
        """List what is ``told`` of every version of every workflow; see ``told_each``."""
        return tuple(self._registered.each(told, before_heavy))

    def latest(
        self, told: Callable[[JsonObject], _T], before_heavy: BeforeHeavy = nothing
    ) -> tuple[_T, ...]:
        """List the same of each workflow's version that is meant where none is named."""
        return tuple(self._registered.each_latest(told, before_heavy))

    def delete(self, name: str, version: int) -> None:
        """Forget a version (``NotFound``). Executions keep their snapshot."""
        if not self._metadata.delete_workflow(name, version):
            self._refuse_published(name)
            raise NotFound(f"No such workflow definition: {name} version: {version}")
        self._snapshots.forget_heads()

    def register_tasks(self, definitions: Sequence[TaskDef]) -> None:
        """Store task definitions, new or not."""
        now = self._clock.now_ms()
        for definition in definitions:
            stored = replace(
                definition, create_time=now, created_by="", update_time=0, updated_by=None
            )
            self._metadata.put_task(definition.name, dump_task_def(stored), must_exist=False)
        self._snapshots.forget_heads()
        self._live.forget()

    def update_task(self, definition: TaskDef) -> None:
        """Replace a task definition (``NotFound``); creation time and author stay."""
        known = self._metadata.tasks((definition.name,)).get(definition.name)
        if known is None:
            raise _no_task(definition.name)
        before = load_task_def(known)
        stored = replace(
            definition,
            create_time=before.create_time,
            created_by=before.created_by,
            update_time=self._clock.now_ms(),
            updated_by="",
        )
        if not self._metadata.put_task(definition.name, dump_task_def(stored), must_exist=True):
            raise _no_task(definition.name)
        self._snapshots.forget_heads()
        self._live.forget()

    def task(self, name: str) -> bytes:
        """Read a task definition as JSON (``NotFound``)."""
        stored = self._metadata.tasks((name,)).get(name)
        if stored is None:
            raise _no_task(name)
        return stored

    def tasks(
        self, told: Callable[[JsonObject], _T], before_heavy: BeforeHeavy = nothing
    ) -> tuple[_T, ...]:
        """List what is ``told`` of all task definitions, by name."""
        stored = sorted(self._metadata.tasks(None).items())
        return tuple(told_each("task definition", stored, told, before_heavy))

    def delete_task(self, name: str) -> None:
        """Forget a task definition (``NotFound``)."""
        if not self._metadata.delete_task(name):
            raise _no_task(name)
        self._snapshots.forget_heads()
        self._live.forget()


def _taken(definition: WorkflowDef) -> Conflict:
    return Conflict(f"Workflow with {definition.name}.{definition.version} already exists!")


def _no_task(name: str) -> NotFound:
    return NotFound(f"No such taskType found by name: {name}")
