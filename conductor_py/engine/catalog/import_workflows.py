"""Imports of workflows: matched by name, created with their codes and numbers where these are free.

A version is the same when its header is, and what it places: tasks by their content, those that it
uses by code and version. So what was imported before is known again, whatever codes it got.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from conductor_py.codec.catalog import digest_of, load_head, load_saved, load_split
from conductor_py.engine.catalog.heads import CatalogHeads
from conductor_py.engine.catalog.import_codes import ImportCodes
from conductor_py.engine.catalog.saving import Check, Saving
from conductor_py.engine.catalog.writes import head_cell, of_head
from conductor_py.engine.definitions.composing import Composer, document_cell, log_cell
from conductor_py.errors import InvalidInput
from conductor_py.model.bundle import Action, BundledWorkflow, Imported, OnExisting
from conductor_py.model.catalog import Draft, Entry, Head, Kind, Pin, SplitWorkflow
from conductor_py.ports.catalog import CatalogStore, Table
from conductor_py.records import dataclass
from conductor_py.wire.catalog import read_draft
from conductor_py.wire.definition_reader import moved


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """A version of a bundle and where in it, as a draft for here."""

    at: int
    given: BundledWorkflow
    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """The versions of a workflow by number; ``edited`` is the number of the one that is edited."""

    code: int
    name: str
    edited: int
    versions: tuple[tuple[int, BundledWorkflow], ...]


class WorkflowImport:
    """Takes workflows in, on the sheet of an import."""

    def __init__(
        self,
        *,
        store: CatalogStore,
        heads: CatalogHeads,
        composer: Composer,
        saving: Saving,
        codes: ImportCodes,
        check: Check,
        on_existing: OnExisting,
        tasks: Mapping[tuple[int, int], tuple[int, int]],
    ) -> None:
        """``tasks`` tells of each code and version of a task of the bundle which it is here."""
        self._store = store
        self._heads = heads
        self._composer = composer
        self._saving = saving
        self._codes = codes
        self._check = check
        self._on_existing = on_existing
        self._tasks = tasks

    def load(self, workflows: Iterable[BundledWorkflow]) -> list[Imported]:
        """Take in all of them."""
        return [self._load(group) for group in _groups(workflows)]

    def _load(self, group: _Group) -> Imported:
        head = self._heads.named(group.name)
        if head is None:
            return self._create(group)
        versions = self._drafts(group, self._known_codes(group, head))
        numbers = self._standing(head, versions)
        missing = [each for each in versions if each.given.version not in numbers]
        if not missing and numbers[group.edited] == head.version:
            return _told(group, Action.UNCHANGED, head.code, numbers)
        if self._on_existing is OnExisting.FAIL:
            told = f"it is there with other content, under {head.code}"
            return _told(group, Action.CONFLICT, head.code, numbers, told)
        if self._on_existing is OnExisting.SKIP:
            return _told(group, Action.SKIPPED, head.code, numbers)
        after, written = head, dict[str, int]()
        for each in missing:
            sign = _sign_of_draft(each.draft)
            if sign not in written:
                after = self._write(each, after, group.name)
                written[sign] = after.version
            numbers[each.given.version] = written[sign]
        self._edit(after, numbers[group.edited])
        return _told(group, Action.NEW_VERSION, head.code, numbers)

    def _create(self, group: _Group) -> Imported:
        code = self._codes.give(group.code)
        _, floor = self._heads.free_name(group.name, 0)
        # A name and a number never mean two things: behind those that somebody else had.
        shift = floor if floor >= group.versions[0][1].version else 0
        given: dict[int, int] = {}

        def own(entry: Entry) -> int:
            if entry.code not in given:
                given[entry.code] = self._codes.give(entry.code)
            return given[entry.code]

        numbers: dict[int, int] = {}
        head: Head | None = None
        for each in self._drafts(group, own):
            version = each.given.version + shift
            head = self._write(each, head, group.name, code=code, version=version)
            numbers[each.given.version] = version
        assert head is not None, "a group has a version"
        self._edit(head, numbers[group.edited])
        return _told(group, Action.CREATED, code, numbers)

    # -- drafts ------------------------------------------------------------------------------------

    def _drafts(self, group: _Group, own: Callable[[Entry], int]) -> list[_Version]:
        """Name what the versions place by the codes and versions of here."""
        found: list[_Version] = []
        for at, given in group.versions:
            draft = read_draft(given.definition)
            entries: list[Entry] = []
            for entry in draft.entries:
                if entry.is_use:
                    code, version = self._tasks[entry.code, entry.version]
                    entries.append(replace(entry, code=code, version=version))
                else:
                    entries.append(replace(entry, code=own(entry)) if entry.code else entry)
            draft = replace(draft, entries=tuple(entries))
            found.append(_Version(at=at, given=given, draft=draft))
        return found

    def _known_codes(self, group: _Group, head: Head) -> Callable[[Entry], int]:
        """Which task of a workflow that is there is meant by a code: the one of this code, else the
        one of the same reference if its code was given, too; else it is a new one.
        """
        pins = self._composer.split(head.code, head.version).pins
        named = {
            entry.code
            for _, given in group.versions
            for entry in read_draft(given.definition).entries
        }
        own = [pin for pin in pins if pin.changes is None and pin.with_code]
        by_reference = {pin.reference: pin.code for pin in own if pin.code not in named}
        known: dict[int, int] = {}

        def code_of(entry: Entry) -> int:
            if entry.code not in known:
                meant = by_reference.pop(str(entry.content.get("taskReferenceName")), 0)
                ours = self._is_own(entry.code, head, pins)
                known[entry.code] = entry.code if ours else meant or self._codes.give(entry.code)
            return known[entry.code]

        return code_of

    def _is_own(self, code: int, head: Head, pins: Sequence[Pin]) -> bool:
        if any(pin.code == code and pin.changes is None for pin in pins):
            return True
        (stored,) = self._store.read((head_cell(Kind.TASK, code),))
        return stored is not None and load_head(stored).owner == head.code

    def _standing(self, head: Head, versions: Sequence[_Version]) -> dict[int, int]:
        """Which versions are there, and under which numbers."""
        (log,) = self._store.rows(Table.LOG, (f"{Kind.WORKFLOW} {head.code}",))
        stored = [int(number) for number in log]
        read = self._store.read([document_cell(Kind.WORKFLOW, head.code, each) for each in stored])
        numbers: dict[str, set[int]] = {}
        for number, document in zip(stored, read, strict=True):
            if document is not None:
                numbers.setdefault(_sign_of(load_split(document)), set()).add(number)
        found: dict[int, int] = {}
        for each in versions:
            having = numbers.get(_sign_of_draft(each.draft), set())
            if having:
                wished = [one for one in (head.version, each.given.version) if one in having]
                found[each.given.version] = wished[0] if wished else min(having)
        return found

    # -- writing -----------------------------------------------------------------------------------

    def _write(
        self, each: _Version, head: Head | None, name: str, *, code: int = 0, version: int = 0
    ) -> Head:
        try:
            step = self._saving.step(each.draft, head)
            writes, after = self._saving.workflow(
                step, self._check, code=code, version=version, name=name
            )
        except InvalidInput as error:
            found = moved(error.violations, f"$.workflows[{each.at}].definition")
            raise type(error)(error.message, violations=found) from error
        self._heads.change(writes, after)
        return after

    def _edit(self, head: Head, version: int) -> None:
        if head.version == version:
            return
        (stored,) = self._store.read((log_cell(Kind.WORKFLOW, head.code, version),))
        assert stored is not None, "it was written or found before"
        after = self._heads.changed(head, version=version, digest=load_saved(stored).digest)
        self._heads.change((of_head(Kind.WORKFLOW, head, after),), after)


def _groups(workflows: Iterable[BundledWorkflow]) -> list[_Group]:
    by_code: dict[int, list[tuple[int, BundledWorkflow]]] = {}
    for at, each in enumerate(workflows):
        by_code.setdefault(each.code, []).append((at, each))
    groups: list[_Group] = []
    for code, entries in by_code.items():
        entries.sort(key=lambda one: one[1].version)
        edited = next((one for _, one in entries if one.edited), entries[-1][1])
        groups.append(
            _Group(code=code, name=edited.name, edited=edited.version, versions=tuple(entries))
        )
    return sorted(groups, key=lambda group: group.name)


def _sign_of(split: SplitWorkflow) -> str:
    placed = [
        ["own", pin.with_code, pin.digest]
        if pin.changes is None
        else ["use", pin.code, pin.version, pin.changes]
        for pin in split.pins
    ]
    return digest_of([split.header, placed])


def _sign_of_draft(draft: Draft) -> str:
    placed = [
        ["use", entry.code, entry.version, entry.content]
        if entry.is_use
        else ["own", entry.code > 0, digest_of(entry.content)]
        for entry in draft.entries
    ]
    return digest_of([draft.header, placed])


def _told(
    group: _Group, action: Action, code: int, numbers: Mapping[int, int], told: str = ""
) -> Imported:
    return Imported(
        kind=Kind.WORKFLOW,
        name=group.name,
        action=action,
        from_code=group.code,
        code=code,
        versions=tuple(sorted(numbers.items())),
        told=told,
    )
