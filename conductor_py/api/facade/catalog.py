"""What the HTTP front needs of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from conductor_py.model.bundle import Bundle, ImportReport, OnExisting
from conductor_py.model.catalog import Draft, Edge, Head, Kind, Saved, SplitWorkflow
from conductor_py.model.catalog_diff import WorkflowDiff
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.json import JsonObject
from conductor_py.model.lineage import Lineage


class Catalog(Protocol):
    """Definitions that have versions; all verbs may raise ``NotFound`` and ``Conflict``."""

    def head(self, kind: Kind, code: int, /) -> Head:
        """Read what can be changed."""

    def heads(
        self, kind: Kind, first: int, last: int, limit: int, /, *, shared: bool = False
    ) -> Sequence[Head]:
        """List those of codes from ``first`` to ``last``, ``shared`` ones only if so wanted."""

    def named(self, name: str, /) -> Head | None:
        """Find a workflow by its name."""

    def workflow(self, code: int, version: int | None, /) -> tuple[Head, JsonObject]:
        """Read a workflow as it was saved."""

    def split(self, code: int, version: int, /) -> tuple[SplitWorkflow, Sequence[Edge]]:
        """Read a version of a workflow as it is stored."""

    def diff(self, code: int, before: int, after: int, /) -> WorkflowDiff:
        """Tell what differs between two versions of a workflow."""

    def task(self, code: int, version: int | None, /) -> tuple[Head, JsonObject]:
        """Read a task as it was saved."""

    def log(self, kind: Kind, code: int, /) -> tuple[Head, Sequence[Saved]]:
        """List versions."""

    def uses(self, code: int, /) -> Sequence[tuple[Head, Sequence[int]]]:
        """List workflows that have a task."""

    def save(
        self,
        draft: Draft,
        check: Callable[[WorkflowDef], None],
        /,
        *,
        code: int = 0,
        etag: int = 0,
        as_draft: bool = False,
    ) -> Head:
        """Save a workflow."""

    def save_task(
        self, content: JsonObject, /, *, code: int = 0, etag: int = 0, as_draft: bool = False
    ) -> Head:
        """Save a task."""

    def switch(self, kind: Kind, code: int, version: int, /, *, etag: int = 0) -> Head:
        """Edit another version."""

    def delete(self, kind: Kind, code: int, /, *, etag: int = 0) -> Head:
        """Take one out of the lists."""

    def purge(self, kind: Kind, code: int, version: int, /) -> None:
        """Forget a version."""


class Publishing(Protocol):
    """Which version starts by its name; both may raise ``NotFound`` and ``Conflict``."""

    def publish(self, code: int, /, *, version: int = 0, etag: int = 0) -> Head:
        """Let a version start by its name."""

    def withdraw(self, code: int, /, *, version: int = 0, etag: int = 0) -> Head:
        """Let none start, or not this one."""


class Lineages(Protocol):
    """What surrounds a workflow."""

    def of(self, code: int, depth: int, /) -> Lineage:
        """Walk so many calls in both directions (``NotFound``)."""


class Exporting(Protocol):
    """Bundles that go out."""

    def bundle(self, names: Collection[str], /, *, callees: bool, every_version: bool) -> Bundle:
        """Bundle workflows by name (``NotFound``, ``InvalidInput``)."""


class Applying(Protocol):
    """A version of a shared task for all who have it."""

    def apply(
        self,
        code: int,
        check: Callable[[WorkflowDef], None],
        /,
        *,
        version: int = 0,
        dry_run: bool = False,
    ) -> Sequence[Head]:
        """Give it to them as drafts, whose heads are answered; ``NotFound``, ``Conflict``."""


class Importing(Protocol):
    """Bundles that come in."""

    def load(
        self,
        bundle: Bundle,
        check: Callable[[WorkflowDef], None],
        /,
        *,
        on_existing: OnExisting,
        dry_run: bool,
    ) -> ImportReport:
        """Take in all of one, or nothing (``InvalidInput``, ``Conflict``, ``PayloadTooLarge``)."""
