"""Exports: workflows of the catalog with the shared tasks that they use, as one bundle.

What comes out depends on what is stored and on nothing else: exporting twice gives the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from conductor_py.engine.calls import calls_of
from conductor_py.engine.catalog_heads import CatalogHeads
from conductor_py.engine.composing import Composer
from conductor_py.errors import InvalidInput, NotFound, Violation
from conductor_py.model.bundle import MOST_ENTRIES, Bundle, BundledTask, BundledWorkflow
from conductor_py.model.catalog import Head, Kind, SplitWorkflow
from conductor_py.ports.catalog import CatalogStore, Table

MOST_PLACED: Final = 100_000
"""Tasks of all workflows of a bundle together; each is some hundred bytes of it."""
_SHOWN: Final = 10


class Exporting:
    """Makes bundles; reads only."""

    def __init__(self, store: CatalogStore, heads: CatalogHeads, composer: Composer) -> None:
        """Read from these."""
        self._store = store
        self._heads = heads
        self._composer = composer

    def bundle(self, names: Collection[str], *, callees: bool, every_version: bool) -> Bundle:
        """Bundle workflows by name, in the versions that are edited and published, or in
        ``every_version``; with ``callees`` those of the catalog, too, that these start.
        ``NotFound`` names what is not there, ``InvalidInput`` says when it is too much.
        """
        wanted = self._known(names)
        entries: list[tuple[Head, int, SplitWorkflow]] = []
        seen = {head.name for head in wanted}
        while wanted:
            read = list(self._read(wanted, every_version=every_version))
            entries += read
            _bound(len(entries), MOST_ENTRIES, "versions of workflows")
            _bound(sum(len(split.pins) for *_, split in entries), MOST_PLACED, "tasks")
            called = {name for name in self._called(read) if callees and name not in seen}
            seen |= called
            wanted = self._heads.all_named(sorted(called))
        workflows = [
            BundledWorkflow(
                code=head.code,
                version=version,
                published=version == head.published,
                edited=version == head.version,
                definition=self._composer.document(split),
            )
            for head, version, split in sorted(entries, key=lambda one: (one[0].name, one[1]))
        ]
        return Bundle(workflows=tuple(workflows), tasks=self._tasks(one[2] for one in entries))

    def _known(self, names: Collection[str]) -> list[Head]:
        heads = self._heads.all_named(sorted(set(names)))
        missing = sorted(set(names) - {head.name for head in heads})
        if missing:
            told = ", ".join(missing[:_SHOWN])
            raise NotFound(f"There are no workflows of these names in the catalog: {told}")
        return heads

    def _read(
        self, heads: Sequence[Head], *, every_version: bool
    ) -> Iterator[tuple[Head, int, SplitWorkflow]]:
        logs: Iterable[Collection[str]] = [()] * len(heads)
        if every_version:
            logs = self._store.rows(Table.LOG, [f"{Kind.WORKFLOW} {head.code}" for head in heads])
        for head, log in zip(heads, logs, strict=True):
            versions = {head.version, head.published, *map(int, log)} - {0}
            for version in sorted(versions):
                yield head, version, self._composer.split(head.code, version)

    def _called(self, read: Iterable[tuple[Head, int, SplitWorkflow]]) -> Iterator[str]:
        for _, version, split in read:
            for call in calls_of(self._composer.definition(split, version)):
                yield call.name

    def _tasks(self, splits: Iterable[SplitWorkflow]) -> tuple[BundledTask, ...]:
        wanted = sorted(
            {
                (pin.code, pin.version)
                for split in splits
                for pin in split.pins
                if pin.changes is not None
            }
        )
        _bound(len(wanted), MOST_ENTRIES, "versions of shared tasks")
        contents = self._composer.contents(wanted)
        missing = [key for key in wanted if key not in contents]
        if missing:
            raise NotFound(f"Task {missing[0][0]} has no version {missing[0][1]}")
        tasks = [
            BundledTask(code=code, version=version, definition=contents[code, version])
            for code, version in wanted
        ]
        return tuple(sorted(tasks, key=lambda task: (task.name, task.code, task.version)))


def _bound(count: int, most: int, of: str) -> None:
    if count > most:
        message = f"must not come to more than {most} {of}: export fewer at a time"
        raise InvalidInput(violations=(Violation(path="?name", message=message),))
