"""Heads of the catalog: read, compared, replaced. What every change of a definition goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conductor_py.codec.catalog import load_head, load_name
from conductor_py.engine.catalog.writes import head_cell, name_cell, next_etag, padded
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.readable import readable
from conductor_py.errors import Conflict, NotFound
from conductor_py.model.catalog import Head, Kind
from conductor_py.ports.catalog import CatalogStore, Write


class CatalogHeads:
    """Reads heads, and carries out changes that compare one."""

    def __init__(self, store: CatalogStore, clock: StoreClock) -> None:
        """Work over the catalog's tables."""
        self._store = store
        self._clock = clock

    def read(self, kind: Kind, code: int) -> Head:
        """Read a head, of a deleted definition, too."""
        (stored,) = self._store.read((head_cell(kind, code),))
        if stored is None:
            raise NotFound(f"There is no {kind} of code {code}")
        return load_head(stored)

    def page(
        self, kind: Kind, first: int, last: int, limit: int, *, shared: bool = False
    ) -> tuple[Head, ...]:
        """Read heads by code, which is by time, from ``first`` to ``last``; no deleted ones, and if
        only ``shared`` ones are wanted no tasks of one workflow.
        """
        found: list[Head] = []
        while len(found) < limit and first <= last:
            page = self._store.page(kind, padded(first), padded(last), limit)
            read = readable(f"{kind} of the catalog", page, load_head)
            found += (head for head in read if not (head.deleted or (shared and head.owner)))
            if len(page) < limit:
                break
            first = int(page[-1][0]) + 1
        return tuple(found[:limit])

    def named(self, name: str) -> Head | None:
        """Find a workflow by its name; ``None`` when there is none."""
        (stored,) = self._store.read((name_cell(name),))
        code, _ = load_name(stored)
        return self.read(Kind.WORKFLOW, code) if code else None

    def all_named(self, names: Sequence[str]) -> list[Head]:
        """Find workflows by their names; those that are not there are left out."""
        stored = self._store.read([name_cell(name) for name in names])
        codes = [code for code, _ in map(load_name, stored) if code]
        found = self._store.read([head_cell(Kind.WORKFLOW, code) for code in codes])
        return [load_head(each) for each in found if each is not None]

    def free_name(self, name: str, code: int) -> tuple[bytes | None, int]:
        """Read a name that a workflow is about to take: how it stands, and the largest version that
        it had with others. ``Conflict`` when another workflow has it.
        """
        (stored,) = self._store.read((name_cell(name),))
        holder, floor = load_name(stored)
        if holder not in {0, code}:
            raise Conflict(f"The name {name} is taken by the workflow of code {holder}")
        return stored, floor

    def live(self, kind: Kind, code: int, etag: int) -> Head:
        """Read a head that can be changed: ``NotFound`` when it is deleted, ``Conflict`` when it is
        not that of the ``etag`` (0: whichever).
        """
        head = self.read(kind, code)
        if head.deleted:
            raise NotFound(f"The {kind} {head.name} of code {code} is deleted")
        compare(head, etag)
        return head

    def changed(self, head: Head, **changes: object) -> Head:
        """Make the head that comes after it."""
        now = self._clock.now_ms()
        return replace(head, etag=next_etag(head, now), changed_ms=now, **changes)  # type: ignore[arg-type]

    def change(self, writes: Sequence[Write], after: Head) -> None:
        """Carry out a change that ends in a head (``Conflict`` when somebody was faster)."""
        if not self._store.change(writes):
            raise Conflict(f"{after.name}, a task of it or its name changed meanwhile; try again")


def compare(head: Head, etag: int) -> None:
    """``Conflict`` when a head is not that of an etag (0: whichever)."""
    if etag and etag != head.etag:
        raise Conflict(
            f'{head.name} has changed since it was read: its etag is "{head.etag}", not "{etag}";'
            " read it again"
        )
