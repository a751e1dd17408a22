"""What the HTTP front needs of definitions, schemas, tags, secrets and the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from conductor_py.errors import Violation
from conductor_py.model.definitions import TaskDef, WorkflowDef
from conductor_py.model.json import JsonObject

_T = TypeVar("_T")

Told = Callable[[JsonObject], _T]
"""What of a document a list has: one is read after the other, and none is kept."""
BeforeHeavy = Callable[[], object]
"""Called before a document is read that takes much memory."""


class Definitions(Protocol):
    """Definitions: they arrive here checked by ``wire``."""

    def register(self, definition: WorkflowDef, /, *, overwrite: bool) -> None:
        """Store one; ``Conflict`` when it exists and may not be overwritten."""

    def update(self, definitions: Sequence[WorkflowDef], /) -> JsonObject:
        """Store all; a BulkResponse."""

    def validate(self, definition: WorkflowDef, /) -> Sequence[Violation]:
        """Check what needs other definitions (``DefinitionError``); what will not be usable."""

    def workflow(self, name: str, version: int | None, /) -> bytes:
        """Read one as JSON, the latest without a version; ``NotFound``."""

    def workflows(self, told: Told[_T], before_heavy: BeforeHeavy, /) -> Sequence[_T]:
        """List what is told of all versions of all."""

    def latest(self, told: Told[_T], before_heavy: BeforeHeavy, /) -> Sequence[_T]:
        """List the same of each one's version that is meant where none is named."""

    def delete(self, name: str, version: int, /) -> None:
        """Remove one; ``NotFound``."""

    def register_tasks(self, definitions: Sequence[TaskDef], /) -> None:
        """Store task definitions, new or not."""

    def update_task(self, definition: TaskDef, /) -> None:
        """Store a task definition that exists; ``NotFound``."""

    def task(self, name: str, /) -> bytes:
        """Read a task definition as JSON; ``NotFound``."""

    def tasks(self, told: Told[_T], before_heavy: BeforeHeavy, /) -> Sequence[_T]:
        """List what is told of all task definitions."""

    def delete_task(self, name: str, /) -> None:
        """Remove a task definition; ``NotFound``."""


class Schemas(Protocol):
    """The registry of schemas."""

    def save(self, schemas: Sequence[JsonObject], /, *, new_version: bool) -> None:
        """Store them; ``DefinitionError`` for one that cannot be used."""

    def all(self, told: Told[_T], before_heavy: BeforeHeavy, /) -> Sequence[_T]:
        """List what is told of every version of every schema."""

    def one(self, name: str, version: int | None, /) -> JsonObject:
        """Read one, the latest without a version; ``NotFound``."""

    def delete(self, name: str, version: int | None, /) -> None:
        """Forget one, or all versions; ``NotFound``."""


class Tags(Protocol):
    """Tags of definitions; ``noun`` is ``workflow`` or ``task``. All may raise ``NotFound``."""

    def of(self, noun: str, name: str, /) -> Sequence[JsonObject]:
        """List those of one."""

    def all(self) -> Sequence[JsonObject]:
        """List those of all."""

    def add(self, noun: str, name: str, tags: Sequence[Mapping[str, str]], /) -> None:
        """Add some."""

    def set(self, noun: str, name: str, tags: Sequence[Mapping[str, str]], /) -> None:
        """Replace all."""

    def remove(self, noun: str, name: str, tags: Sequence[Mapping[str, str]], /) -> None:
        """Remove some."""


class Values(Protocol):
    """Values by name."""

    def names(self) -> Sequence[str]:
        """List the names."""

    def value(self, name: str, /) -> str | None:
        """Read one."""
