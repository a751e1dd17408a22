"""Puts versions of the catalog together again: pins, and the tasks that they name.

A version never changes, so what was read of one is remembered: of a workflow of a thousand tasks,
one of which was edited, one task is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Final

from conductor_py.codec.catalog import (
    digest_of,
    dump_content,
    load_content,
    load_name,
    load_saved,
    load_split,
)
from conductor_py.errors import NotFound
from conductor_py.model.catalog import Kind, Pin, SplitWorkflow
from conductor_py.model.catalog_diff import Placed
from conductor_py.model.definitions import WorkflowDef, WorkflowTask
from conductor_py.model.json import JsonObject
from conductor_py.model.json_bounds import VALUE_BYTES, values_of
from conductor_py.ports.catalog import CatalogStore, Cell, Table
from conductor_py.wire.catalog import entry_body, read_header, read_task

_REMEMBERED: Final = 64 << 20
"""Of memory, as ``_weight`` estimates it: some 20,000 tasks of an ordinary size."""

_Key = tuple[int, int, str, str]
"""Code, version, the digest of the content (a store that lost a version may give its number to
another), and that of what a workflow says differently.
"""


def document_cell(kind: Kind, code: int, version: int) -> Cell:
    """Where a version stands."""
    return Cell(table=Table.DOCUMENT, row=f"{kind} {code}", field=str(version))


def log_cell(kind: Kind, code: int, version: int) -> Cell:
    """Where what is told of a version stands."""
    return Cell(table=Table.LOG, row=f"{kind} {code}", field=str(version))


class Composer:
    """Reads versions; safe for threads: what is read twice is equal."""

    def __init__(self, store: CatalogStore) -> None:
        """Read from this store."""
        self._store = store
        self._tasks: OrderedDict[_Key, tuple[WorkflowTask, int]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def saved(self, name: str) -> bool:
        """Whether the catalog has a workflow of that name, published or not."""
        (stored,) = self._store.read((Cell(table=Table.NAME, row=Kind.WORKFLOW, field=name),))
        return load_name(stored)[0] != 0

    def split(self, code: int, version: int) -> SplitWorkflow:
        """Read a version of a workflow as it is stored (``NotFound``)."""
        (stored,) = self._store.read((document_cell(Kind.WORKFLOW, code, version),))
        if stored is None:
            raise NotFound(f"Workflow {code} has no version {version}")
        return load_split(stored)

    def published(self, wanted: Iterable[tuple[int, int]]) -> dict[tuple[int, int], WorkflowDef]:
        """Compose versions of workflows with the time when each was saved; what is not there is
        left out.
        """
        keys = list(dict.fromkeys(wanted))
        cells = [document_cell(Kind.WORKFLOW, *key) for key in keys]
        cells += [log_cell(Kind.WORKFLOW, *key) for key in keys]
        found = self._store.read(cells)
        definitions: dict[tuple[int, int], WorkflowDef] = {}
        for key, stored, told in zip(keys, found, found[len(keys) :], strict=False):
            if stored is not None and told is not None:
                whole = self.definition(load_split(stored), key[1])
                definitions[key] = replace(whole, create_time=load_saved(told).at_ms)
        return definitions

    def contents(self, wanted: Iterable[tuple[int, int]]) -> dict[tuple[int, int], JsonObject]:
        """Read versions of tasks as they were given; what is not there is left out."""
        return {key: load_content(stored) for key, stored in self._stored(wanted).items()}

    def _stored(self, wanted: Iterable[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        keys = list(dict.fromkeys(wanted))
        found = self._store.read([document_cell(Kind.TASK, *key) for key in keys])
        return {key: stored for key, stored in zip(keys, found, strict=True) if stored is not None}

    def document(self, split: SplitWorkflow) -> JsonObject:
        """Write a version as the whole that it was given as."""
        own = [(pin.code, pin.version) for pin in split.pins if pin.changes is None]
        contents = self.contents(own)
        tasks = [entry_body(pin, contents.get((pin.code, pin.version))) for pin in split.pins]
        return {**split.header, "tasks": tasks}

    def placed(self, split: SplitWorkflow) -> tuple[Placed, ...]:
        """Read the tasks of a version with their contents, as the workflow has them."""
        contents = self.contents((pin.code, pin.version) for pin in split.pins)
        return tuple(
            Placed(
                pin=pin,
                content=({"code": str(pin.code)} if pin.with_code else {})
                | dict(used(contents.get((pin.code, pin.version), {}), pin)),
            )
            for pin in split.pins
        )

    def definition(
        self,
        split: SplitWorkflow,
        version: int,
        given: Mapping[tuple[int, int], JsonObject] | None = None,
    ) -> WorkflowDef:
        """Compose a version; ``given`` are contents of tasks that are not stored yet.
        ``InvalidInput`` for those that are none.
        """
        header = read_header(split.header)
        return replace(header, version=version, tasks=self._read(split.pins, given or {}))

    def _read(
        self, pins: Sequence[Pin], given: Mapping[tuple[int, int], JsonObject]
    ) -> tuple[WorkflowTask, ...]:
        keys = [_key(pin) for pin in pins]
        with self._lock:
            known = {key: self._tasks[key][0] for key in keys if key in self._tasks}
            for key in known:
                self._tasks.move_to_end(key)
        stored = self._stored(
            (pin.code, pin.version)
            for key, pin in zip(keys, pins, strict=True)
            if key not in known and (pin.code, pin.version) not in given
        )
        contents = {key: load_content(document) for key, document in stored.items()}
        fresh: dict[_Key, WorkflowTask] = {}
        weights: dict[_Key, int] = {}
        for at, (key, pin) in enumerate(zip(keys, pins, strict=True)):
            if key in known or key in fresh:
                continue
            place = (pin.code, pin.version)
            content = given.get(place) or contents.get(place)
            if content is None:
                raise NotFound(f"Task {pin.code} has no version {pin.version}")
            fresh[key] = read_task(used(content, pin), f"$.tasks[{at}]")
            # What is not stored yet may be refused, and its version be given to something else.
            if place not in given:
                weights[key] = _weight(stored[place], pin)
        self._remember({key: (fresh[key], weight) for key, weight in weights.items()})
        known |= fresh
        return tuple(known[key] for key in keys)

    def _remember(self, fresh: Mapping[_Key, tuple[WorkflowTask, int]]) -> None:
        with self._lock:
            for key, entry in fresh.items():
                self._weight += entry[1] - self._tasks.get(key, (None, 0))[1]
                self._tasks[key] = entry
            while self._weight > _REMEMBERED:
                _, (_, weight) = self._tasks.popitem(last=False)
                self._weight -= weight


def _weight(stored: bytes, pin: Pin) -> int:
    """Estimate the memory of a task where it is placed."""
    documents = (stored, b"" if pin.changes is None else dump_content(pin.changes))
    return sum(len(each) + VALUE_BYTES * values_of(each) for each in documents)


def used(content: JsonObject, pin: Pin) -> JsonObject:
    """What a task says, and what this workflow says differently. One that stands by itself needs no
    reference; it is its name then.
    """
    return content if pin.changes is None else used_content(content, pin.changes)


def used_content(content: JsonObject, changes: JsonObject) -> JsonObject:
    """What a task that stands by itself says where it is used with changes."""
    return {"taskReferenceName": content.get("name"), **content, **changes}


def _key(pin: Pin) -> _Key:
    changes = "" if pin.changes is None else digest_of(pin.changes)
    return pin.code, pin.version, pin.digest, changes
