"""The catalog: workflow definitions taken apart into tasks, each with versions of its own.

A *code* names a definition for good. A *version* of it is written once and never changed; its
*head* says which version is edited, and which is published. A version of a workflow holds no tasks
but *pins*, code and version of each: an edit of one task of a thousand is that task and the pins.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass, field


class Kind(StrEnum):
    """What a code is the name of."""

    WORKFLOW = "workflow"
    TASK = "task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A task of a workflow, as a user gives it.

    Either ``content`` is the whole task, under a ``code`` if one is known, or it is what is said
    differently of version ``version`` of the task ``code``, which is used as it is otherwise.
    """

    content: JsonObject
    code: int = 0
    version: int = 0

    @property
    def is_use(self) -> bool:
        """Whether it names a task that has versions elsewhere."""
        return self.version > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A whole workflow as a user gives it: everything but its tasks, and these."""

    header: JsonObject
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Which version of which task stands at a place of a workflow.

    ``digest`` is that of its content. ``with_code``: the user has named the code. ``changes``: what
    this workflow says differently of a task that it uses; ``None``: the task is its own.
    """

    reference: str
    code: int
    version: int
    digest: str
    with_code: bool = False
    changes: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitWorkflow:
    """One version of a workflow, taken apart."""

    header: JsonObject
    pins: tuple[Pin, ...]

    @property
    def name(self) -> str:
        """What executions are started by."""
        return str(self.header["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What can be changed of a definition.

    ``version`` is the one that is edited, ``latest`` the largest there ever was, ``digest`` that of
    what ``version`` holds. ``etag`` grows with each change. ``owner`` is the code of the workflow
    that a task was first saved with; 0: it was saved by itself. ``published`` is the version that
    starts where none is named (0: none), ``startable`` are those that start when they are named.
    ``deleted``: only its versions can be read. Times are epoch ms.
    """

    code: int
    name: str
    version: int
    latest: int
    etag: int
    digest: str
    created_ms: int
    changed_ms: int
    owner: int = 0
    published: int = 0
    startable: tuple[int, ...] = ()
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What the list of versions says of one: when it was saved, with how many tasks."""

    version: int
    at_ms: int
    digest: str
    tasks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation between two pinned tasks; a root has no ``before``."""

    after: Pin
    before: Pin | None = None
    relation: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))
