"""Exports: workflows of the catalog with the shared tasks that they use, as one bundle.

What comes out depends on what is stored and on nothing else: exporting twice gives the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from conductor_py.codec.catalog import dump_content
from conductor_py.engine.catalog.heads import CatalogHeads
from conductor_py.engine.definitions.calls import calls_of
from conductor_py.engine.definitions.composing import Composer
from conductor_py.errors import InvalidInput, NotFound, Violation
from conductor_py.model.bundle import MOST_ENTRIES, Bundle, BundledTask, BundledWorkflow
from conductor_py.model.catalog import Head, Kind, SplitWorkflow
from conductor_py.model.json import JsonObject
from conductor_py.model.json_bounds import MAX_VALUES, values_in
from conductor_py.ports.catalog import CatalogStore, Table

MOST_PLACED: Final = 100_000
"""Tasks of all workflows of a bundle together; each is some hundred bytes of it."""
MOST_BYTES: Final = 64 << 20
"""Of all definitions of a bundle, as JSON."""
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
        room = _Room()
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
                definition=room.taken(self._composer.document(split)),
            )
            for head, version, split in sorted(entries, key=lambda one: (one[0].name, one[1]))
        ]
        tasks = self._tasks((one[2] for one in entries), room)
        return Bundle(workflows=tuple(workflows), tasks=tasks)

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
        headers = _Room()
        logs: Iterable[Collection[str]] = [()] * len(heads)
        if every_version:
            logs = self._store.rows(Table.LOG, [f"{Kind.WORKFLOW} {head.code}" for head in heads])
        for head, log in zip(heads, logs, strict=True):
            versions = {head.version, head.published, *map(int, log)} - {0}
            for version in sorted(versions):
                split = self._composer.split(head.code, version)
                headers.taken(split.header)
                yield head, version, split

    def _called(self, read: Iterable[tuple[Head, int, SplitWorkflow]]) -> Iterator[str]:
        for _, version, split in read:
            for call in calls_of(self._composer.definition(split, version)):
                yield call.name

    def _tasks(self, splits: Iterable[SplitWorkflow], room: _Room) -> tuple[BundledTask, ...]:
        wanted = sorted(
            {
                (pin.code, pin.version)
                for split in splits
                for pin in split.pins
                if pin.changes is not None
            }
        )
        _bound(len(wanted), MOST_ENTRIES, "versions of shared tasks")
        tasks: list[BundledTask] = []
        for code, version in wanted:
            content = self._composer.contents(((code, version),)).get((code, version))
            if content is None:
                raise NotFound(f"Task {code} has no version {version}")
            tasks.append(BundledTask(code=code, version=version, definition=room.taken(content)))
        return tuple(sorted(tasks, key=lambda task: (task.name, task.code, task.version)))


class _Room:
    """How much the definitions of one bundle may come to: no more could be imported."""

    def __init__(self) -> None:
        self._bytes = self._values = 0

    def taken(self, definition: JsonObject) -> JsonObject:
        """Count a definition, which is given back; ``InvalidInput`` beyond the bounds."""
        written = dump_content(definition)
        self._bytes += len(written)
        self._values += values_in(written)
        _bound(self._bytes, MOST_BYTES, "bytes")
        _bound(self._values, MAX_VALUES, "JSON values")
        return definition


def _bound(count: int, most: int, of: str) -> None:
    if count > most:
        message = f"must not come to more than {most} {of}: export fewer at a time"
        raise InvalidInput(violations=(Violation(path="?name", message=message),))
