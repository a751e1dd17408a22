"""What a save pins: which task of a workflow is new, which has changed, which is used by others.

A task is known again by its code, else by its reference in the version that is edited. One whose
content is what it was keeps its version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conductor_py.codec.catalog import (
    digest_of,
    dump_content,
    load_content,
    load_head,
    load_split,
)
from conductor_py.engine.catalog_writes import head_cell, of_head, of_use, of_version
from conductor_py.engine.composing import document_cell
from conductor_py.errors import Conflict, InvalidInput, Violation
from conductor_py.model.catalog import Draft, Entry, Head, Kind, Pin, SplitWorkflow
from conductor_py.model.json import JsonObject
from conductor_py.ports.catalog import CatalogStore, Table, Write

_SHOWN = 10
_MINTED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What a workflow pins, and what has to be written for it.

    ``given`` are the contents of new versions of its own tasks, ``heads`` their heads as they are,
    ``None`` for a task that is new.
    """

    workflow: int
    pins: tuple[Pin, ...]
    given: Mapping[tuple[int, int], JsonObject]
    heads: Mapping[int, Head | None]


class Pinning:
    """Finds out what a draft pins. Reads, and writes nothing."""

    def __init__(self, store: CatalogStore, mint: Callable[[int], Sequence[int]]) -> None:
        """``mint`` makes codes for tasks that have none."""
        self._store = store
        self._mint = mint

    def pin(self, draft: Draft, before: SplitWorkflow | None, workflow: int) -> Pinned:
        """Pin the tasks of a draft (``InvalidInput``); ``before`` is the version that is edited."""
        was = before.pins if before else ()
        own = _own_codes(draft, was)
        fresh = self._minted(own.count(0))
        codes = [code or next(fresh) for code in own]
        known = {pin.code: pin for pin in was if pin.changes is None}
        heads = self._heads(draft, codes, known)
        stored = self._used(draft)
        pins: list[Pin] = []
        given: dict[tuple[int, int], JsonObject] = {}
        changed: dict[int, Head | None] = {}
        code_of = iter(codes)
        for entry in draft.entries:
            if entry.is_use:
                pins.append(_use(entry, stored[entry.code, entry.version]))
                continue
            pin = _own(entry, next(code_of), known, heads)
            pins.append(pin)
            head = heads.get(pin.code)
            if pin.digest != _digest(known.get(pin.code)) and pin.digest != _digest(head):
                given[pin.code, pin.version] = entry.content
                changed[pin.code] = head
        return Pinned(workflow=workflow, pins=tuple(pins), given=given, heads=changed)

    def writes(
        self, pinned: Pinned, before: SplitWorkflow | None, workflow: int, now_ms: int
    ) -> Iterator[Write]:
        """List what is written for the tasks of a workflow that is saved."""
        for (code, version), content in pinned.given.items():
            head = pinned.heads[code]
            after = Head(
                code=code,
                name=str(content.get("name")),
                version=version,
                latest=version,
                etag=(head.etag if head else 0) + 1,
                digest=digest_of(content),
                created_ms=head.created_ms if head else now_ms,
                changed_ms=now_ms,
                owner=head.owner if head else workflow,
            )
            yield from of_version(Kind.TASK, after, dump_content(content), 1)
            yield of_head(Kind.TASK, head, after)
        noted = {pin.code for pin in before.pins} if before else set()
        for code in {pin.code: None for pin in pinned.pins if pin.code not in noted}:
            yield of_use(code, workflow)

    def refuse_shared(self, pinned: Pinned) -> None:
        """``Conflict`` when a task that changes is one of another workflow that is published."""
        for head in pinned.heads.values():
            if head is not None:
                self.refuse_used(head, but=pinned.workflow)

    def refuse_used(self, head: Head, *, but: int = 0) -> None:
        """``Conflict`` when a published workflow, another one than ``but``, has a task."""
        names = [
            user.name
            for user, versions in self.users(head.code)
            if user.code != but and set(versions) & set(user.startable)
        ]
        if names:
            raise Conflict(
                f"Published workflows have the task {head.name}: {', '.join(names[:_SHOWN])}. They"
                " keep the version that they pin: save the new one as a draft (?draft=true)"
            )

    def users(self, code: int) -> tuple[tuple[Head, tuple[int, ...]], ...]:
        """List the workflows that have a task, with the versions that do so, of those that are
        edited or can be started.
        """
        heads = [head for head in self._workflows(code) if not head.deleted]
        wanted = [
            (head, version) for head in heads for version in sorted({head.version, *head.startable})
        ]
        found: dict[int, list[int]] = {}
        for head, version in self._pinning(code, wanted):
            found.setdefault(head.code, []).append(version)
        return tuple((head, tuple(found[head.code])) for head in heads if head.code in found)

    def refuse_pinned(self, code: int, version: int) -> None:
        """``Conflict`` when any version of a workflow, deleted or not, pins that of a task."""
        heads = self._workflows(code)
        rows = self._store.rows(Table.LOG, [f"{Kind.WORKFLOW} {head.code}" for head in heads])
        wanted = [
            (head, int(number)) for head, row in zip(heads, rows, strict=True) for number in row
        ]
        for head, of in self._pinning(code, wanted, version):
            raise Conflict(f"Version {of} of {head.name} has version {version} of this task")

    def _minted(self, count: int) -> Iterator[int]:
        for first in range(0, count, _MINTED_AT_ONCE):
            yield from self._mint(min(_MINTED_AT_ONCE, count - first))

    def _pinning(
        self, code: int, wanted: Sequence[tuple[Head, int]], version: int | None = None
    ) -> Iterator[tuple[Head, int]]:
        cells = [document_cell(Kind.WORKFLOW, head.code, number) for head, number in wanted]
        for (head, number), stored in zip(wanted, self._store.read(cells), strict=True):
            pins = load_split(stored).pins if stored is not None else ()
            if any(pin.code == code and version in {None, pin.version} for pin in pins):
                yield head, number

    def _workflows(self, code: int) -> list[Head]:
        (row,) = self._store.rows(Table.USE, (str(code),))
        found = self._store.read([head_cell(Kind.WORKFLOW, int(field)) for field in row])
        return [load_head(stored) for stored in found if stored is not None]

    def _heads(
        self, draft: Draft, codes: Sequence[int], known: Mapping[int, Pin]
    ) -> dict[int, Head]:
        """The heads of the tasks of its own that are not what they were."""
        own = [(at, entry) for at, entry in enumerate(draft.entries) if not entry.is_use]
        wanted = {
            code: at
            for code, (at, entry) in zip(codes, own, strict=True)
            if digest_of(entry.content) != _digest(known.get(code))
        }
        found = self._store.read([head_cell(Kind.TASK, code) for code in wanted])
        heads = {
            code: load_head(stored)
            for code, stored in zip(wanted, found, strict=True)
            if stored is not None
        }
        gone = [wanted[code] for code, head in heads.items() if head.deleted]
        if gone:
            raise _wrong(gone[0], "code", "must not be that of a task that is deleted")
        return heads

    def _used(self, draft: Draft) -> dict[tuple[int, int], JsonObject]:
        wanted = [entry for entry in draft.entries if entry.is_use]
        keys = list(dict.fromkeys((entry.code, entry.version) for entry in wanted))
        found = self._store.read([document_cell(Kind.TASK, *key) for key in keys])
        stored = dict(zip(keys, found, strict=True))
        for at, entry in enumerate(draft.entries):
            if entry.is_use and stored[entry.code, entry.version] is None:
                message = "must name a version of a task that is there"
                raise _wrong(at, "uses", message)
        return {key: load_content(each) for key, each in stored.items() if each is not None}


def _own_codes(draft: Draft, was: Sequence[Pin]) -> list[int]:
    """The codes of the tasks of its own, 0 for those that have none yet."""
    by_reference = {pin.reference: pin.code for pin in was if pin.changes is None}
    named = {entry.code for entry in draft.entries if not entry.is_use}
    codes: list[int] = []
    seen: set[int] = set()
    for at, entry in enumerate(draft.entries):
        if entry.is_use:
            continue
        code = entry.code or by_reference.get(_reference(entry.content), 0)
        if not entry.code and code in named:
            code = 0  # that reference is another task now
        if code and code in seen:
            raise _wrong(at, "code", "must be there once: it is the code of another task here")
        seen.add(code)
        codes.append(code)
    return codes


def _own(entry: Entry, code: int, known: Mapping[int, Pin], heads: Mapping[int, Head]) -> Pin:
    digest = digest_of(entry.content)
    before, head = known.get(code), heads.get(code)
    if before is not None and before.digest == digest:
        version = before.version
    elif head is not None:
        version = head.version if head.digest == digest else head.latest + 1
    else:
        version = 1
    return Pin(
        reference=_reference(entry.content),
        code=code,
        version=version,
        digest=digest,
        with_code=bool(entry.code),
    )


def _use(entry: Entry, content: JsonObject) -> Pin:
    reference = _reference(entry.content) or _reference(content) or str(content.get("name", ""))
    return Pin(
        reference=reference,
        code=entry.code,
        version=entry.version,
        digest=digest_of(content),
        changes=entry.content,
    )


def _reference(content: JsonObject) -> str:
    found = content.get("taskReferenceName")
    return found if isinstance(found, str) else ""


def _digest(of: Pin | Head | None) -> str:
    return of.digest if of is not None else ""


def _wrong(at: int, member: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=f"$.tasks[{at}].{member}", message=message),))
