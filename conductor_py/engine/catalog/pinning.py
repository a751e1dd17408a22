"""What a save pins: which task of a workflow is new, which has changed, which is used by others.

A task is known again by its code, else by its reference in the version that is edited. One whose
content is what it was keeps its version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from conductor_py.codec.catalog import (
    digest_of,
    dump_content,
    load_content,
    load_head,
    load_split,
)
from conductor_py.engine.catalog.weight import check_weight
from conductor_py.engine.catalog.writes import (
    head_cell,
    next_head,
    of_head,
    of_nothing,
    of_use,
    of_version,
)
from conductor_py.engine.definitions.composing import document_cell
from conductor_py.errors import Conflict, InvalidInput, Violation
from conductor_py.model.catalog import Draft, Entry, Head, Kind, Pin, SplitWorkflow
from conductor_py.model.json import JsonObject
from conductor_py.ports.catalog import CatalogStore, Table, Write
from conductor_py.records import dataclass

_MINTED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What a workflow pins, and what has to be written for it.

    ``given`` are the contents of new versions of its own tasks, ``heads`` their heads as they are,
    ``None`` for a task that is new; ``fresh`` are the codes that were minted for it, ``relied`` the
    tasks that it uses as they are stored.
    """

    workflow: int
    pins: tuple[Pin, ...]
    given: Mapping[tuple[int, int], JsonObject]
    heads: Mapping[int, Head | None]
    fresh: tuple[int, ...]
    relied: tuple[Write, ...]


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
        fresh = tuple(self._minted(own.count(0)))
        minted = iter(fresh)
        codes = [code or next(minted) for code in own]
        known = {pin.code: pin for pin in was if pin.changes is None}
        digests = [digest_of(entry.content) for entry in draft.entries if not entry.is_use]
        heads = self._heads(zip(codes, digests, strict=True), known, frozenset(fresh))
        stored, relied = self._used(draft)
        used = {key: digest_of(content) for key, content in stored.items()}
        pins: list[Pin] = []
        given: dict[tuple[int, int], JsonObject] = {}
        changed: dict[int, Head | None] = {}
        ours = zip(codes, digests, strict=True)
        for entry in draft.entries:
            if entry.is_use:
                key = (entry.code, entry.version)
                pins.append(_use(entry, stored[key], used[key]))
                continue
            pin = _own(entry, *next(ours), known, heads)
            pins.append(pin)
            head = heads.get(pin.code)
            if pin.digest != _digest(known.get(pin.code)) and pin.digest != _digest(head):
                given[pin.code, pin.version] = entry.content
                changed[pin.code] = head
        return Pinned(
            workflow=workflow,
            pins=tuple(pins),
            given=given,
            heads=changed,
            fresh=fresh,
            relied=relied,
        )

    def has_clash(self, pinned: Pinned, workflow: int) -> bool:
        """Whether a code that was minted, for a task or for the ``workflow`` (0: for none), is
        somebody's already.
        """
        cells = [head_cell(Kind.TASK, code) for code in pinned.fresh]
        cells += [head_cell(Kind.WORKFLOW, workflow)] if workflow else []
        return any(stored is not None for stored in self._store.read(cells))

    def writes(
        self, pinned: Pinned, before: SplitWorkflow | None, workflow: int, now_ms: int
    ) -> Iterator[Write]:
        """List what is written for the tasks of a workflow that is saved."""
        digests = {(pin.code, pin.version): pin.digest for pin in pinned.pins}
        for (code, version), content in pinned.given.items():
            head, name = pinned.heads[code], str(content.get("name"))
            after = next_head(
                head,
                now_ms,
                code=code,
                name=name,
                version=version,
                digest=digests[code, version],
                owner=workflow,
            )
            yield from of_version(Kind.TASK, after, dump_content(content), 1)
            yield of_head(Kind.TASK, head, after)
        noted = {pin.code for pin in before.pins} if before else set()
        for code in {pin.code: None for pin in pinned.pins if pin.code not in noted}:
            yield of_use(code, workflow)
        yield from pinned.relied

    def refuse_shared(self, pinned: Pinned) -> None:
        """``Conflict`` when a task that changes is one of another workflow that is published."""
        changed = [head for head in pinned.heads.values() if head is not None]
        self.refuse_used(changed, but=pinned.workflow)

    def refuse_used(self, tasks: Sequence[Head], *, but: int = 0) -> None:
        """``Conflict`` when a published workflow, not ``but``, has one of the tasks."""
        codes = {task.code: task for task in tasks}
        heads = [head for head in self._workflows(*codes) if head.code != but]
        wanted = [(head, version) for head in heads for version in head.startable]
        for head, _, pins in self._pins(wanted):
            task = next((codes[pin.code] for pin in pins if pin.code in codes), None)
            if task is not None:
                raise Conflict(
                    f"The published workflow {head.name} has the task {task.name}. It keeps the"
                    " version that it pins: save the new one as a draft (?draft=true)"
                )

    def users(self, codes: Collection[int]) -> dict[int, tuple[tuple[Head, tuple[int, ...]], ...]]:
        """List the workflows that have tasks, by the code of the task, with the versions that do
        so, of those that are edited or can be started.
        """
        heads = [head for head in self._workflows(*codes) if not head.deleted]
        wanted = [
            (head, version) for head in heads for version in sorted({head.version, *head.startable})
        ]
        asked = frozenset(codes)
        found: dict[int, dict[int, list[int]]] = {}
        for head, version, pins in self._pins(wanted):
            for code in asked & {pin.code for pin in pins}:
                found.setdefault(code, {}).setdefault(head.code, []).append(version)
        by_code = {head.code: head for head in heads}
        return {
            code: tuple((by_code[user], tuple(versions)) for user, versions in of.items())
            for code, of in found.items()
        }

    def refuse_pinned(self, code: int, version: int) -> tuple[Write, ...]:
        """``Conflict`` when any version of a workflow, deleted or not, pins that of a task; else
        what that relies on.
        """
        heads = self._workflows(code)
        rows = self._store.rows(Table.LOG, [f"{Kind.WORKFLOW} {head.code}" for head in heads])
        wanted = [
            (head, int(number)) for head, row in zip(heads, rows, strict=True) for number in row
        ]
        for head, of, pins in self._pins(wanted):
            if any((pin.code, pin.version) == (code, version) for pin in pins):
                raise Conflict(f"Version {of} of {head.name} has version {version} of this task")
        # None of them may be saved meanwhile.
        return tuple(of_head(Kind.WORKFLOW, head, head) for head in heads)

    def _minted(self, count: int) -> Iterator[int]:
        for first in range(0, count, _MINTED_AT_ONCE):
            yield from self._mint(min(_MINTED_AT_ONCE, count - first))

    def _pins(
        self, wanted: Sequence[tuple[Head, int]]
    ) -> Iterator[tuple[Head, int, tuple[Pin, ...]]]:
        cells = [document_cell(Kind.WORKFLOW, head.code, number) for head, number in wanted]
        for (head, number), stored in zip(wanted, self._store.read(cells), strict=True):
            yield head, number, load_split(stored).pins if stored is not None else ()

    def _workflows(self, *tasks: int) -> list[Head]:
        """The heads of the workflows that have, or had, one of the tasks."""
        rows = self._store.rows(Table.USE, [str(code) for code in tasks])
        codes = sorted({int(field) for row in rows for field in row})
        found = self._store.read([head_cell(Kind.WORKFLOW, code) for code in codes])
        return [load_head(stored) for stored in found if stored is not None]

    def _heads(
        self,
        own: Iterable[tuple[int, str]],
        known: Mapping[int, Pin],
        fresh: frozenset[int],
    ) -> dict[int, Head]:
        """The heads of the tasks of its own, codes and digests, that are not what they were."""
        wanted = {
            code for code, digest in own if code not in fresh and digest != _digest(known.get(code))
        }
        found = self._store.read([head_cell(Kind.TASK, code) for code in sorted(wanted)])
        return {
            code: load_head(stored)
            for code, stored in zip(sorted(wanted), found, strict=True)
            if stored is not None
        }

    def _used(self, draft: Draft) -> tuple[dict[tuple[int, int], JsonObject], tuple[Write, ...]]:
        """The tasks that it uses, by code and version, and that they must not go meanwhile."""
        wanted = [entry for entry in draft.entries if entry.is_use]
        keys = list(dict.fromkeys((entry.code, entry.version) for entry in wanted))
        cells = [head_cell(Kind.TASK, code) for code, _ in keys]
        cells += [document_cell(Kind.TASK, *key) for key in keys]
        found = self._store.read(cells)
        there = {key: held for key, held in zip(keys, found[len(keys) :], strict=True) if held}
        check_weight(wanted, there, "$.tasks")
        stored: dict[tuple[int, int], JsonObject] = {}
        relied: list[Write] = []
        for key, head, document in zip(keys, found, found[len(keys) :], strict=False):
            if head is not None and document is not None and not load_head(head).deleted:
                stored[key] = load_content(document)
                relied.append(of_nothing(document_cell(Kind.TASK, *key), document))
        for at, entry in enumerate(draft.entries):
            if entry.is_use and (entry.code, entry.version) not in stored:
                message = "must name a version of a task that is there and not deleted"
                raise _wrong(at, "uses", message)
        return stored, tuple(relied)


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


def _own(
    entry: Entry, code: int, digest: str, known: Mapping[int, Pin], heads: Mapping[int, Head]
) -> Pin:
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


def _use(entry: Entry, content: JsonObject, digest: str) -> Pin:
    reference = _reference(entry.content) or _reference(content) or str(content.get("name", ""))
    return Pin(
        reference=reference,
        code=entry.code,
        version=entry.version,
        digest=digest,
        changes=entry.content,
    )


def _reference(content: JsonObject) -> str:
    found = content.get("taskReferenceName")
    return found if isinstance(found, str) else ""


def _digest(of: Pin | Head | None) -> str:
    return of.digest if of is not None else ""


def _wrong(at: int, member: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=f"$.tasks[{at}].{member}", message=message),))
