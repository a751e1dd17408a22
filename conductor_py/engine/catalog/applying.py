"""A version of a shared task, taken over by every workflow that has another one of it.

Versions are pinned, so nothing else than this, or an edit, ever changes what a workflow has. Each
user gets a draft; what is published stays as it is until somebody publishes that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conductor_py.engine.catalog.heads import CatalogHeads
from conductor_py.engine.catalog.importing import MOST_WRITES
from conductor_py.engine.catalog.saving import Check, Mint, Saving
from conductor_py.engine.catalog.sheet import Sheet
from conductor_py.engine.catalog.writes import of_head
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.composing import Composer, document_cell
from conductor_py.errors import Conflict, InvalidInput, NotFound, PayloadTooLarge
from conductor_py.model.catalog import Draft, Head, Kind
from conductor_py.ports.catalog import CatalogStore
from conductor_py.wire.catalog import read_draft


class Applying:
    """Worked out on a sheet, written in one step or not at all."""

    def __init__(self, store: CatalogStore, clock: StoreClock, mint: Mint) -> None:
        """Work over the catalog's tables."""
        self._store = store
        self._clock = clock
        self._mint = mint

    def apply(
        self, code: int, check: Check, *, version: int = 0, dry_run: bool = False
    ) -> tuple[Head, ...]:
        """Let the version that each user edits have ``version`` of a task (0: the one that is
        edited); the heads of the drafts that this makes, or with ``dry_run`` would make.

        ``NotFound`` when there is no such version, ``Conflict`` with every user that would be no
        workflow with it, ``PayloadTooLarge`` when they are too many for one step.
        """
        sheet = Sheet(self._store)
        heads, composer = CatalogHeads(sheet, self._clock), Composer(sheet)
        saving = Saving(
            store=sheet, heads=heads, composer=composer, clock=self._clock, mint=self._mint
        )
        task = heads.live(Kind.TASK, code, 0)
        if task.owner:
            raise Conflict(f"The task {task.name} is that of one workflow: save it there")
        version = version or task.version
        (stored,) = sheet.read((document_cell(Kind.TASK, code, version),))
        if stored is None:
            raise NotFound(f"Task {task.name} has no version {version}")
        drafts: list[Head] = []
        refused: list[str] = []
        for head, draft in _users(saving, composer, code, version):
            try:
                writes, after = saving.workflow(saving.step(draft, head), check)
            except InvalidInput as error:
                refused.append(f"{head.name}: {error.message}")
                continue
            if not sheet.change(writes):
                raise _meanwhile()
            drafts.append(after)
        if refused:
            raise Conflict(f"Nothing was changed. With version {version}, {'; '.join(refused)}")
        self._write(sheet, task, drafts, dry_run=dry_run)
        return tuple(drafts)

    def _write(self, sheet: Sheet, task: Head, drafts: list[Head], *, dry_run: bool) -> None:
        # A head that is written as it was read: the task may not be deleted meanwhile.
        writes = (*sheet.writes, of_head(Kind.TASK, task, task))
        if len(writes) > MOST_WRITES:
            raise PayloadTooLarge(
                f"This would change {len(writes)} cells at once, and {MOST_WRITES} are allowed:"
                " edit the workflows one by one"
            )
        if drafts and not dry_run and not self._store.change(writes):
            raise _meanwhile()


def _meanwhile() -> Conflict:
    return Conflict("Nothing was changed: the catalog changed meanwhile; try again")


def _users(
    saving: Saving, composer: Composer, code: int, version: int
) -> Iterator[tuple[Head, Draft]]:
    """The workflows whose edited version has another version of the task, and what they become."""
    for head, having in saving.pinning.users((code,)).get(code, ()):
        if head.version not in having:
            continue
        document = composer.document(composer.split(head.code, head.version))
        draft = read_draft(dict(document))
        entries = tuple(
            replace(entry, version=version) if entry.is_use and entry.code == code else entry
            for entry in draft.entries
        )
        if entries != draft.entries:
            yield head, replace(draft, entries=entries)
