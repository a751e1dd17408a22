"""Imports of shared tasks: matched by name, reused where the content is there already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from conductor_py.codec.catalog import digest_of, load_head, load_saved
from conductor_py.engine.catalog.heads import CatalogHeads
from conductor_py.engine.catalog.import_codes import ImportCodes
from conductor_py.engine.catalog.saving import Saving
from conductor_py.engine.catalog.writes import head_cell, task_names
from conductor_py.model.bundle import Action, BundledTask, Imported, OnExisting
from conductor_py.model.catalog import Head, Kind
from conductor_py.ports.catalog import CatalogStore, Table
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """A task that is there, and which of the imported versions it has under which number."""

    head: Head
    versions: dict[int, int]


class TaskImport:
    """Takes shared tasks in, on the sheet of an import; ``moved`` says what became of each code and
    version of the bundle.
    """

    def __init__(
        self,
        *,
        store: CatalogStore,
        heads: CatalogHeads,
        saving: Saving,
        codes: ImportCodes,
        on_existing: OnExisting,
    ) -> None:
        """Look at, and change, what is in ``store``."""
        self._store = store
        self._heads = heads
        self._saving = saving
        self._codes = codes
        self._on_existing = on_existing
        self.moved: dict[tuple[int, int], tuple[int, int]] = {}

    def load(self, tasks: Iterable[BundledTask]) -> list[Imported]:
        """Take in all of them."""
        groups: dict[int, list[BundledTask]] = {}
        for task in sorted(tasks, key=lambda one: (one.code, one.version)):
            groups.setdefault(task.code, []).append(task)
        # All are matched before one is written: tasks of a bundle may have one name, too.
        matched = [self._match(group) for group in groups.values()]
        meant = Counter(found[0].head.code for found in matched if found)
        return [
            self._load(group, found, is_shared=bool(found) and meant[found[0].head.code] > 1)
            for group, found in zip(groups.values(), matched, strict=True)
        ]

    def _load(
        self, group: Sequence[BundledTask], found: list[_Standing], *, is_shared: bool
    ) -> Imported:
        if not found:
            return self._create(group)
        standing = found[0]
        head, versions = standing.head, dict(standing.versions)
        missing = [task for task in group if task.version not in versions]
        action, told = Action.UNCHANGED, ""
        if missing and len(found) > 1:
            action = Action.CONFLICT
            told = "several tasks have this name: " + ", ".join(
                str(each.head.code) for each in found
            )
        elif missing and is_shared:
            action, told = Action.CONFLICT, f"several tasks that come are meant for {head.code}"
        elif missing and self._on_existing is OnExisting.FAIL:
            action, told = Action.CONFLICT, f"it is there with other content, under {head.code}"
        elif missing and self._on_existing is OnExisting.SKIP:
            action = Action.SKIPPED
        elif missing:
            action = Action.NEW_VERSION
            head = self._append(missing, head, versions)
        for task in missing:
            versions.setdefault(task.version, head.version)
        return self._told(group, action, head.code, versions, told)

    def _append(self, missing: Iterable[BundledTask], head: Head, versions: dict[int, int]) -> Head:
        """Write what is not there, what is the same once; ``versions`` is told the numbers."""
        written: dict[str, int] = {}
        for task in missing:
            digest = digest_of(task.definition)
            if digest not in written:
                writes, head = self._saving.task(task.definition, task.name, head)
                self._heads.change(writes, head)
                written[digest] = head.version
            versions[task.version] = written[digest]
        return head

    def _create(self, group: Sequence[BundledTask]) -> Imported:
        code, head = self._codes.give(group[0].code), None
        for task in group:
            writes, head = self._saving.task(
                task.definition, task.name, head, code=code, version=task.version
            )
            self._heads.change(writes, head)
        return self._told(
            group, Action.CREATED, code, {task.version: task.version for task in group}
        )

    def _told(
        self,
        group: Sequence[BundledTask],
        action: Action,
        code: int,
        versions: dict[int, int],
        told: str = "",
    ) -> Imported:
        for task in group:
            self.moved[task.code, task.version] = (code, versions[task.version])
        return Imported(
            kind=Kind.TASK,
            name=group[-1].name,
            action=action,
            from_code=group[0].code,
            code=code,
            versions=tuple(sorted(versions.items())),
            told=told,
        )

    # -- what is there -----------------------------------------------------------------------------

    def _match(self, group: Sequence[BundledTask]) -> list[_Standing]:
        """The task that is meant: that of the same code, else those of the same name, one that has
        all of the content first.
        """
        name, code = group[-1].name, group[0].code
        (noted,) = self._store.rows(Table.NAME, (task_names(name),))
        known = {code, *map(int, noted)}
        found = self._store.read([head_cell(Kind.TASK, each) for each in sorted(known)])
        heads = [load_head(stored) for stored in found if stored is not None]
        standing = [self._standing(head, group) for head in heads if not head.deleted]
        for each in standing:
            is_whole = len(each.versions) == len(group)
            if each.head.code == code and (is_whole or _is(each.head, name)):
                return [each]
        named = [each for each in standing if _is(each.head, name)]
        whole = [each for each in named if len(each.versions) == len(group)]
        return whole[:1] or named

    def _standing(self, head: Head, group: Sequence[BundledTask]) -> _Standing:
        (log,) = self._store.rows(Table.LOG, (f"{Kind.TASK} {head.code}",))
        saved = [load_saved(each) for each in log.values()]
        numbers: dict[str, set[int]] = {}
        for each in saved:
            numbers.setdefault(each.digest, set()).add(each.version)
        versions: dict[int, int] = {}
        for task in group:
            having = numbers.get(digest_of(task.definition), set())
            if having:
                # Else the first: what is said of it does not change with versions to come.
                versions[task.version] = task.version if task.version in having else min(having)
        return _Standing(head=head, versions=versions)


def _is(head: Head, name: str) -> bool:
    """Whether it is a task of that name that stands by itself."""
    return head.name == name and not head.owner
