"""Archived executions as readers get them: whole, or by pages of their tasks.

The tasks of a very wide one stand in pages (``wide_archiving``), of which one is in memory at a
time. One that was archived before there were pages is read at once, however large it is; it is
heavy then.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

import orjson

from conductor_py.errors import NotFound, Overloaded, StoreDamaged
from conductor_py.model.ids import split_task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.json_bounds import is_heavy
from conductor_py.ports.search import Search
from conductor_py.records import dataclass
from conductor_py.wire.masking import masked_execution
from conductor_py.wire.outside import PLACE

PAGES: Final = "taskPages"
"""The last member of an archived document whose tasks stand in pages: how many each has."""

_WAIT_S: Final = 2.0
_ITS_OWN: Final = ("tasks", "taskLogs", PAGES)
_COUNTS: Final = re.compile(rb',"taskPages":\[([0-9,]+)\]\}')


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedExecution:
    """One that is archived: ``head`` is what is about no single task, in wire form; of its tasks
    there are ``count``. Its tasks are read in the scope that it was found in: a heavy page keeps
    the place.
    """

    head: JsonObject
    logs: tuple[JsonObject, ...]
    count: int
    _search: Search
    _id: str
    _version: int
    _listed: tuple[JsonObject, ...]
    _pages: tuple[int, ...]
    _patient: bool

    def tasks(self, start: int = 0) -> Iterator[JsonObject]:
        """Go through its tasks from that one on, in the order they were made."""
        yield from self._listed[start:]
        for number, end in enumerate(accumulate(self._pages)):
            if end > start:
                first = end - self._pages[number]
                yield from self._page(number)[max(0, start - first) :]

    def task(self, id_: str) -> JsonObject | None:
        """Read one of its tasks; ``None``: it has none of that id."""
        _, seq = split_task_id(id_)
        number = bisect_right(range(len(self._pages)), seq, key=self._first_seq) - 1
        tasks = self._listed if number < 0 else self._page(number)
        return next((task for task in tasks if task["taskId"] == id_), None)

    def in_pages(self) -> Iterator[Sequence[JsonObject]]:
        """Go through its tasks, some at a time."""
        if self._listed:
            yield self._listed
        yield from map(self._page, range(len(self._pages)))

    def _page(self, number: int) -> list[JsonObject]:
        found = self._search.page(self._id, self._version, number)
        if found is None:
            raise self._missing()
        return loaded_page(found, patient=self._patient)

    def _first_seq(self, number: int) -> int:
        return split_task_id(str(self._page(number)[0]["taskId"]))[1]

    def _missing(self) -> Exception:
        now = self._search.archived_version(self._id)
        if now is None:
            return NotFound(f"No such workflow found by id: {self._id}")
        if now != self._version:
            return Overloaded(f"Workflow {self._id} is just being archived again; try again.")
        return StoreDamaged(f"The archive of {self._id} cannot be read.")


class Archives:
    """Reads the archive. Safe for threads."""

    def __init__(self, search: Search) -> None:
        """Read from there."""
        self._search = search

    def find(
        self, execution: str, *, whole: bool = False, patient: bool = True
    ) -> ArchivedExecution | None:
        """Read what the archive has of an execution; ``None``: nothing. ``whole`` says that all of
        its tasks will be looked at.

        ``Overloaded`` when that is heavy and another is dealt with: ``patient``, still so after
        some seconds. In a ``scope`` of the place a heavy one keeps it.
        """
        found = self._search.archived(execution)
        if found is None:
            return None
        pages = pages_of(found.document)
        if is_heavy(found.document) or (whole and pages):
            be_heavy(patient=patient)
        document: Mapping[str, Any] = masked_execution(orjson.loads(found.document))
        tasks = tuple(document.get("tasks", ()))
        return ArchivedExecution(
            head={name: value for name, value in document.items() if name not in _ITS_OWN},
            logs=tuple(document.get("taskLogs", ())),
            count=len(tasks) + sum(pages),
            _search=self._search,
            _id=execution,
            _version=found.version,
            _listed=tasks,
            _pages=pages,
            _patient=patient,
        )


def be_heavy(*, patient: bool) -> None:
    """Have this process's place of what is heavy (``Overloaded``: another has it)."""
    if not PLACE.take(_WAIT_S if patient else 0):
        raise Overloaded("Another large execution is being read; try again in a moment.")


def pages_of(document: bytes) -> tuple[int, ...]:
    """How many tasks each page of an archived execution has; most have no pages."""
    # Nothing else ends like this: what callers have written stands in further braces, or quotes.
    at = document.rfind(b',"taskPages":[') if document.endswith(b"]}") else -1
    found = _COUNTS.fullmatch(document, at) if at >= 0 else None
    return tuple(map(int, found[1].split(b","))) if found else ()


def loaded_page(stored: bytes, *, patient: bool = True) -> list[JsonObject]:
    """Parse a page of tasks; a heavy one keeps the place of what is heavy."""
    if is_heavy(stored):
        be_heavy(patient=patient)
    tasks: list[JsonObject] = orjson.loads(stored)
    return tasks
