"""Bundles: workflows and shared tasks of a catalog as one document, and what an import does."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from conductor_py.model.catalog import Kind
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass

MOST_ENTRIES: Final = 1_000
"""Versions of workflows in a bundle, and as many of tasks."""


class OnExisting(StrEnum):
    """What an import does about a name that is taken by something else than what comes."""

    FAIL = "FAIL"
    SKIP = "SKIP"
    NEW_VERSION = "NEW_VERSION"


class Action(StrEnum):
    """What an import did, or would do, about a definition."""

    CREATED = "CREATED"
    UNCHANGED = "UNCHANGED"
    NEW_VERSION = "NEW_VERSION"
    SKIPPED = "SKIPPED"
    CONFLICT = "CONFLICT"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledWorkflow:
    """A version of a workflow, whole; those of one code are versions of one workflow."""

    code: int
    version: int
    published: bool
    edited: bool
    definition: JsonObject

    @property
    def name(self) -> str:
        """Its name in this version."""
        return str(self.definition.get("name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledTask:
    """A version of a task that workflows use."""

    code: int
    version: int
    definition: JsonObject

    @property
    def name(self) -> str:
        """Its name in this version."""
        return str(self.definition.get("name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Versions of workflows, and those of tasks that they use."""

    workflows: tuple[BundledWorkflow, ...]
    tasks: tuple[BundledTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a definition of a bundle. ``code`` 0: it gets one when it is stored.
    ``versions`` are numbers in the bundle with those that they have here, ``told`` says why it is
    a conflict.
    """

    kind: Kind
    name: str
    action: Action
    from_code: int
    code: int = 0
    versions: tuple[tuple[int, int], ...] = ()
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did, or would do."""

    dry_run: bool
    on_existing: OnExisting
    outcomes: tuple[Imported, ...]

    @property
    def conflicts(self) -> tuple[Imported, ...]:
        """What forbids all of it."""
        return tuple(each for each in self.outcomes if each.action is Action.CONFLICT)
