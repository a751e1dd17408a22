"""Publishing: which version of a workflow of the catalog starts by its name."""

from __future__ import annotations

from collections.abc import Callable

from conductor_py.codec.catalog import dump_pointer, load_head
from conductor_py.engine.catalog_heads import CatalogHeads
from conductor_py.engine.catalog_writes import children, head_cell, of_head, of_registered
from conductor_py.engine.composing import Composer
from conductor_py.engine.registered import Registered
from conductor_py.errors import Conflict, DefinitionError, Violation
from conductor_py.model.catalog import Head, Kind
from conductor_py.model.definitions import WorkflowDef
from conductor_py.ports.catalog import PUBLISHED, CatalogStore, Table


class Publishing:
    """Publish and withdraw. Both may raise ``NotFound`` for a code, and ``Conflict`` when the head
    is not the one of the ``etag`` that was given (0: whichever).
    """

    def __init__(
        self,
        *,
        store: CatalogStore,
        heads: CatalogHeads,
        composer: Composer,
        registered: Registered,
        validate: Callable[[WorkflowDef], None],
        forget: Callable[[], None],
    ) -> None:
        """``validate`` checks what needs other definitions, ``forget`` drops snapshots of what was
        registered.
        """
        self._store = store
        self._heads = heads
        self._composer = composer
        self._registered = registered
        self._validate = validate
        self._forget = forget

    def publish(self, code: int, *, version: int = 0, etag: int = 0) -> Head:
        """Let a version (0: the one that is edited) be the one that starts by its name. Versions
        that were published before can still be started when they are named. ``DefinitionError``
        when it starts a workflow that nobody has registered or published.
        """
        head = self._heads.live(Kind.WORKFLOW, code, etag)
        version = version or head.version
        if head.published == version:
            return head
        split = self._composer.split(code, version)
        if split.name != head.name:
            raise Conflict(f"Version {version} is named {split.name}: switch to it first")
        definition = self._composer.definition(split, version)
        self._validate(definition)
        self._check_children(definition)
        owner = self._registered.code_of(head.name)
        if owner != code and self._registered.version_of_latest(head.name) is not None:
            other = f"in the catalog under code {owner}" if owner else "in /api/metadata"
            raise Conflict(f"There is a workflow {head.name} {other}; nobody could tell them apart")
        startable = tuple(sorted({*head.startable, version}))
        after = self._heads.changed(head, published=version, startable=startable)
        pointer = dump_pointer(code, version)
        was = pointer if version in head.startable else None
        published = str(head.published).encode() if head.published else None
        self._heads.change(
            (
                of_registered(head.name, str(version), was, pointer),
                of_registered(head.name, PUBLISHED, published, str(version).encode()),
                of_head(Kind.WORKFLOW, head, after),
            ),
            after,
        )
        self._forget()
        return after

    def withdraw(self, code: int, *, etag: int = 0) -> Head:
        """Let no version start any more. ``Conflict`` while a published workflow starts it."""
        head = self._heads.live(Kind.WORKFLOW, code, etag)
        if not head.published:
            return head
        callers = self._callers(head)
        if callers:
            names = ", ".join(sorted(caller.name for caller in callers)[:10])
            raise Conflict(f"Published workflows start {head.name}: {names}; withdraw them first")
        after = self._heads.changed(head, published=0, startable=())
        pointers = [
            of_registered(head.name, str(version), dump_pointer(code, version), None)
            for version in head.startable
        ]
        published = of_registered(head.name, PUBLISHED, str(head.published).encode(), None)
        self._heads.change((*pointers, published, of_head(Kind.WORKFLOW, head, after)), after)
        self._forget()
        return after

    def _check_children(self, definition: WorkflowDef) -> None:
        found = [
            Violation(
                path=path,
                message="must be the name of a workflow that is registered or published",
                invalid_value=name,
            )
            for path, name, version in children(definition)
            if name != definition.name and self._registered.definition(name, version) is None
        ]
        if found:
            raise DefinitionError(violations=tuple(found))

    def _callers(self, head: Head) -> tuple[Head, ...]:
        """The other published workflows that start it by its name."""
        (row,) = self._store.rows(Table.CALL, (head.name,))
        codes = [int(field) for field in row if int(field) != head.code]
        found = self._store.read([head_cell(Kind.WORKFLOW, code) for code in codes])
        callers = [load_head(stored) for stored in found if stored is not None]
        return tuple(
            caller
            for caller in callers
            if any(self._calls(caller.code, version, head.name) for version in caller.startable)
        )

    def _calls(self, code: int, version: int, name: str) -> bool:
        definition = self._composer.definition(self._composer.split(code, version), version)
        return any(called == name for _, called, _ in children(definition))
