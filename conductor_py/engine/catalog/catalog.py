"""The catalog: workflows and tasks that have versions, saved, published, taken back.

A version is written once. What can be changed of a definition is its head, and every change
compares it with what was read: of two who save at once one is refused. A save is one step of the
store, so there is no half of one. What a workflow pins stays as it is whatever becomes of its
tasks; still a task that a published workflow has is changed as a draft only, not unawares.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from conductor_py.codec.catalog import digest_of, load_saved
from conductor_py.engine.catalog.heads import CatalogHeads, compare
from conductor_py.engine.catalog.pinning import Pinned
from conductor_py.engine.catalog.saving import Check, Mint, Saving
from conductor_py.engine.catalog.writes import (
    edges_of,
    of_free_name,
    of_free_task_name,
    of_head,
    of_name,
)
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.composing import Composer, document_cell, log_cell
from conductor_py.errors import Conflict, InvalidInput, NotFound, Violation
from conductor_py.model.catalog import Draft, Edge, Head, Kind, Saved, SplitWorkflow
from conductor_py.model.catalog_diff import WorkflowDiff, diff
from conductor_py.model.json import JsonObject
from conductor_py.ports.catalog import CatalogStore, Table, Write
from conductor_py.wire.catalog import read_task

_TRIES = 3


class Catalog:
    """Definitions with versions. All verbs may raise ``NotFound`` for a code, ``Conflict`` when the
    head is not the one of the ``etag`` that was given (0: whichever).
    """

    def __init__(
        self,
        *,
        store: CatalogStore,
        heads: CatalogHeads,
        composer: Composer,
        clock: StoreClock,
        mint: Mint,
    ) -> None:
        """Work over the catalog's tables; ``mint`` makes codes for what is new."""
        self._store = store
        self._heads = heads
        self._composer = composer
        self._saving = Saving(store=store, heads=heads, composer=composer, clock=clock, mint=mint)
        self._pinning = self._saving.pinning

    # -- reading -----------------------------------------------------------------------------------

    def head(self, kind: Kind, code: int) -> Head:
        """Read a head, of a deleted definition, too."""
        return self._heads.read(kind, code)

    def heads(
        self, kind: Kind, first: int, last: int, limit: int, *, shared: bool = False
    ) -> tuple[Head, ...]:
        """Read heads by code, which is by time, from ``first`` to ``last``; no deleted ones, and if
        only ``shared`` ones are wanted no tasks of one workflow.
        """
        return self._heads.page(kind, first, last, limit, shared=shared)

    def named(self, name: str) -> Head | None:
        """Find a workflow by its name; ``None`` when there is none."""
        return self._heads.named(name)

    def workflow(self, code: int, version: int | None) -> tuple[Head, JsonObject]:
        """Read a workflow as the whole that was saved, in the version that is edited if none is
        named.
        """
        head = self._heads.read(Kind.WORKFLOW, code)
        split = self._composer.split(code, version or head.version)
        return head, self._composer.document(split)

    def split(self, code: int, version: int) -> tuple[SplitWorkflow, tuple[Edge, ...]]:
        """Read a version as it is stored, with the relations between what it pins."""
        split = self._composer.split(code, version)
        return split, tuple(edges_of(split))

    def diff(self, code: int, before: int, after: int) -> WorkflowDiff:
        """Tell what differs between two versions of a workflow."""
        self._heads.read(Kind.WORKFLOW, code)
        was, now = self._composer.split(code, before), self._composer.split(code, after)
        return diff(was.header, self._composer.placed(was), now.header, self._composer.placed(now))

    def task(self, code: int, version: int | None) -> tuple[Head, JsonObject]:
        """Read a task as it was saved."""
        head = self._heads.read(Kind.TASK, code)
        wanted = (code, version or head.version)
        found = self._composer.contents((wanted,))
        if wanted not in found:
            raise NotFound(f"Task {code} has no version {version}")
        return head, found[wanted]

    def log(self, kind: Kind, code: int) -> tuple[Head, tuple[Saved, ...]]:
        """List the versions of a definition, the newest first."""
        head = self._heads.read(kind, code)
        (row,) = self._store.rows(Table.LOG, (f"{kind} {code}",))
        saved = sorted((load_saved(each) for each in row.values()), key=lambda one: -one.version)
        return head, tuple(saved)

    def uses(self, code: int) -> tuple[tuple[Head, tuple[int, ...]], ...]:
        """List the workflows that have a task, each with the versions of it that do so: of the one
        that is edited and those that can be started.
        """
        self._heads.read(Kind.TASK, code)
        return self._pinning.users((code,)).get(code, ())

    def users(
        self, codes: Collection[int]
    ) -> Mapping[int, tuple[tuple[Head, tuple[int, ...]], ...]]:
        """List the same of several tasks, by their codes; of one that nobody has, nothing."""
        return self._pinning.users(codes)

    # -- saving ------------------------------------------------------------------------------------

    def save(
        self,
        draft: Draft,
        check: Check,
        *,
        code: int = 0,
        etag: int = 0,
        as_draft: bool = False,
    ) -> Head:
        """Save a whole workflow; the head, unchanged when nothing differs. Without a ``code`` it is
        a new one. ``DefinitionError`` for what is no workflow; ``Conflict`` when the name is taken,
        and when it, or another workflow that has a task which changes, is published, and this is
        not saved ``as_draft``.
        """
        tries = _TRIES
        while True:
            pinned, writes, after = self._prepared(
                draft, check, code=code, etag=etag, as_draft=as_draft
            )
            if not writes:
                return after
            try:
                self._heads.change(writes, after)
            except Conflict:
                # A store that lost its last moment may have codes that are minted again.
                tries -= 1
                if not tries or not self._pinning.has_clash(pinned, 0 if code else after.code):
                    raise
            else:
                return after

    def _prepared(
        self, draft: Draft, check: Check, *, code: int, etag: int, as_draft: bool
    ) -> tuple[Pinned, Sequence[Write], Head]:
        """What a save writes, nothing if nothing differs, and the head that it ends in."""
        head = self._heads.live(Kind.WORKFLOW, code, 0) if code else None
        step = self._saving.step(draft, head)
        if head is not None and step.digest == head.digest:
            return step.pinned, (), head
        if head is not None:
            compare(head, etag)
            _check_published(head, step.split.name, as_draft=as_draft)
        if not as_draft:
            self._pinning.refuse_shared(step.pinned)
        writes, after = self._saving.workflow(step, check)
        return step.pinned, writes, after

    def save_task(
        self, content: JsonObject, *, code: int = 0, etag: int = 0, as_draft: bool = False
    ) -> Head:
        """Save a task by itself; the head, unchanged when nothing differs. ``Conflict`` when a
        published workflow has it, and it is not saved ``as_draft``.
        """
        head = self._heads.live(Kind.TASK, code, 0) if code else None
        reference = {"taskReferenceName": content.get("name"), **content}
        task = read_task(reference, "$")
        if not task.name.strip():
            raise InvalidInput(violations=(Violation(path="$.name", message="must not be empty"),))
        digest = digest_of(content)
        if head is not None and digest == head.digest:
            return head
        if head is not None:
            compare(head, etag)
            if not as_draft:
                self._pinning.refuse_used((head,))
        writes, after = self._saving.task(content, task.name, head)
        self._heads.change(writes, after)
        return after

    def switch(self, kind: Kind, code: int, version: int, *, etag: int = 0) -> Head:
        """Let another version be the one that is edited; nothing is written over."""
        head = self._heads.live(kind, code, etag)
        (stored,) = self._store.read((log_cell(kind, code, version),))
        if stored is None:
            raise NotFound(f"{head.name} has no version {version}")
        if version == head.version:
            return head
        name = head.name
        if kind is Kind.WORKFLOW:
            name = self._composer.split(code, version).name
            if head.published and name != head.name:
                raise Conflict(f"{head.name} is published, and version {version} is named {name}")
        digest = load_saved(stored).digest
        after = replace(self._heads.changed(head, version=version, digest=digest), name=name)
        names: tuple[Write, ...] = ()
        if name != head.name and kind is Kind.WORKFLOW:
            names = tuple(of_name(head, after, self._heads.free_name(name, code)[0]))
        self._heads.change((*names, of_head(kind, head, after)), after)
        return after

    # -- forgetting --------------------------------------------------------------------------------

    def delete(self, kind: Kind, code: int, *, etag: int = 0) -> Head:
        """Take a definition out of the lists; its versions stay until they are purged. ``Conflict``
        while it is published, or a workflow that is not deleted has the task.
        """
        head = self._heads.live(kind, code, etag)
        if head.published:
            raise Conflict(f"{head.name} is published; withdraw it first")
        if kind is Kind.TASK:
            users = ", ".join(user.name for user, _ in self.uses(code)[:10])
            if users:
                raise Conflict(f"Workflows have the task {head.name}: {users}")
        after = self._heads.changed(head, deleted=True)
        writes = [of_head(kind, head, after)]
        if kind is Kind.WORKFLOW:
            writes.append(of_free_name(head))
        elif not head.owner:
            writes.append(of_free_task_name(head))
        self._heads.change(writes, after)
        return after

    def purge(self, kind: Kind, code: int, version: int) -> None:
        """Forget a version for good; executions keep their snapshot. ``Conflict`` for one that is
        edited or can be started, or of a task that a workflow has.
        """
        head = self._heads.read(kind, code)
        if version in head.startable or (version == head.version and not head.deleted):
            raise Conflict(f"Version {version} of {head.name} is edited, or can be started")
        relied = self._pinning.refuse_pinned(code, version) if kind is Kind.TASK else ()
        document = document_cell(kind, code, version)
        (stored,) = self._store.read((document,))
        if stored is None:
            raise NotFound(f"{head.name} has no version {version}")
        after = self._heads.changed(head)
        self._heads.change(
            (
                Write(cell=document, after=None),
                Write(cell=log_cell(kind, code, version), after=None),
                *relied,
                of_head(kind, head, after),
            ),
            after,
        )


def _check_published(head: Head, name: str, *, as_draft: bool) -> None:
    if head.published and not as_draft:
        raise Conflict(
            f"{head.name} is published in version {head.published}: save what you change as a draft"
            " (?draft=true) and publish that"
        )
    if head.published and name != head.name:
        raise Conflict(f"{head.name} is published: withdraw it before it gets another name")
