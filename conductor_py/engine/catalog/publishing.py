"""Publishing: which version of a workflow of the catalog starts by its name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from conductor_py.codec.catalog import dump_pointer, load_head
from conductor_py.engine.catalog.heads import CatalogHeads, compare
from conductor_py.engine.catalog.writes import (
    head_cell,
    of_head,
    of_nothing,
    of_registered,
)
from conductor_py.engine.definitions.calls import calls_of
from conductor_py.engine.definitions.composing import Composer
from conductor_py.engine.definitions.registered import Registered
from conductor_py.errors import Conflict, DefinitionError, Violation
from conductor_py.model.catalog import Head, Kind
from conductor_py.model.definitions import WorkflowDef
from conductor_py.ports.catalog import PUBLISHED, CatalogStore, Cell, Table, Write

_SHOWN = 10


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
        validate: Callable[[WorkflowDef], object],
        scheduled: Callable[[str], Sequence[str]],
        forget: Callable[[], None],
    ) -> None:
        """``validate`` checks what needs other definitions, ``scheduled`` names the schedules that
        start a workflow, ``forget`` drops snapshots of what was registered.
        """
        self._store = store
        self._heads = heads
        self._composer = composer
        self._registered = registered
        self._validate = validate
        self._scheduled = scheduled
        self._forget = forget

    def publish(self, code: int, *, version: int = 0, etag: int = 0) -> Head:
        """Let a version (0: the one that is edited) be the one that starts by its name. Versions
        that were published before can still be started when they are named. ``DefinitionError``
        when it starts a workflow that nobody has registered or published.
        """
        head = self._heads.live(Kind.WORKFLOW, code, 0)
        version = version or head.version
        if head.published == version:
            return head
        compare(head, etag)
        split = self._composer.split(code, version)
        if split.name != head.name:
            raise Conflict(f"Version {version} is named {split.name}: switch to it first")
        definition = self._composer.definition(split, version)
        self._validate(definition)
        relied = self._check_children(definition, {*head.startable, version})
        if not head.published and self._registered.version_of_latest(head.name) is not None:
            raise Conflict(
                f"There is a workflow {head.name} in /api/metadata; nobody could tell them apart"
            )
        startable = tuple(sorted({*head.startable, version}))
        after = self._heads.changed(head, published=version, startable=startable)
        pointer = dump_pointer(code, version)
        was = pointer if version in head.startable else None
        published = str(head.published).encode() if head.published else None
        self._heads.change(
            (
                of_registered(head.name, str(version), was, pointer),
                of_registered(head.name, PUBLISHED, published, str(version).encode()),
                *relied,
                of_head(Kind.WORKFLOW, head, after),
            ),
            after,
        )
        self._forget()
        return after

    def withdraw(self, code: int, *, version: int = 0, etag: int = 0) -> Head:
        """Let no version start any more, or not this one, which is not the published one.
        ``Conflict`` while a published workflow or a schedule starts it.
        """
        head = self._heads.live(Kind.WORKFLOW, code, 0)
        if version:
            return self._withdraw_version(head, version, etag)
        if not head.published:
            return head
        compare(head, etag)
        callers = sorted(caller.name for caller in self._callers(head))
        if callers:
            names = ", ".join(callers[:_SHOWN])
            raise Conflict(f"Published workflows start {head.name}: {names}; withdraw them first")
        schedules = self._scheduled(head.name)
        if schedules:
            names = ", ".join(schedules[:_SHOWN])
            raise Conflict(f"Schedules start {head.name}: {names}; pause or delete them first")
        after = self._heads.changed(head, published=0, startable=())
        gone = [_gone(head.name, str(each)) for each in head.startable]
        writes = (*gone, _gone(head.name, PUBLISHED), of_head(Kind.WORKFLOW, head, after))
        self._heads.change(writes, after)
        self._forget()
        return after

    def _withdraw_version(self, head: Head, version: int, etag: int) -> Head:
        if version not in head.startable:
            return head
        compare(head, etag)
        if version == head.published:
            raise Conflict(f"Version {version} of {head.name} is the published one")
        left = tuple(each for each in head.startable if each != version)
        after = self._heads.changed(head, startable=left)
        writes = (_gone(head.name, str(version)), of_head(Kind.WORKFLOW, head, after))
        self._heads.change(writes, after)
        self._forget()
        return after

    def _check_children(self, definition: WorkflowDef, own: Collection[int]) -> tuple[Write, ...]:
        """``DefinitionError`` for workflows that it starts and that nobody can start; what that
        relies on. Of itself it may start the versions ``own``.
        """
        found: list[Violation] = []
        relied: dict[str, Write] = {}
        for call in calls_of(definition):
            if call.name == definition.name:
                known = call.version is None or call.version in own
            else:
                known = self._registered.definition(call.name, call.version) is not None
                cell = Cell(table=Table.REGISTERED, row=call.name, field=PUBLISHED)
                (published,) = self._store.read((cell,))
                if published is not None:
                    relied[call.name] = of_nothing(cell, published)
            if not known:
                message = "must be the name of a workflow that is registered or published"
                found.append(Violation(path=call.path, message=message, invalid_value=call.name))
        if found:
            raise DefinitionError(violations=tuple(found))
        return tuple(relied.values())

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
        return any(call.name == name for call in calls_of(definition))


def _gone(name: str, field: str) -> Write:
    """Take something out of what is registered; the head is what is compared."""
    return Write(cell=Cell(table=Table.REGISTERED, row=name, field=field), after=None)
