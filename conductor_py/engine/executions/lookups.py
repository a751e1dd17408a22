"""Lookups: executions by what they have in common: a correlation id, their tasks.

Found through the index, which follows the store by about a second; what is found is read from the
store, so that its state is that of now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.reading.reading import FoundPage
from conductor_py.errors import NotFound, PayloadTooLarge
from conductor_py.model.execution import Header
from conductor_py.model.json import JsonObject
from conductor_py.model.search import (
    TASK_FIELDS,
    And,
    Between,
    OneOf,
    SearchRequest,
    SortKey,
)
from conductor_py.ports.search import Search
from conductor_py.wire.summaries import summary_to_json

MAX_CORRELATED: Final = 1_000
"""Executions of one answer about correlation ids."""
MAX_TASKS: Final = 10_000
"""Tasks that a search by tasks looks at."""
MAX_CREATED: Final = 100_000
"""Executions of one answer about when they were created."""

_NEW: Final = 100
"""Executions so new that the index may not know them yet; they are looked at themselves."""
_PAGE: Final = 1_000


class Lookups:
    """Finds executions and tasks that share something."""

    def __init__(self, executions: Executions, search: Search) -> None:
        """Find through ``search``, read through ``executions``."""
        self._executions = executions
        self._search = search

    def correlated(
        self,
        names: Sequence[str],
        correlation_ids: Sequence[str],
        *,
        include_closed: bool,
        include_tasks: bool,
    ) -> Iterator[JsonObject]:
        """Read the executions of these workflows that have one of these correlation ids, oldest
        first, one after the other; those that are not RUNNING only with ``include_closed``.
        """
        wanted = tuple(dict.fromkeys(correlation_ids))
        if not (wanted and names):
            return
        for execution in self._correlated(tuple(dict.fromkeys(names)), wanted):
            try:
                document = self._executions.document(execution, include_tasks=include_tasks)
            except NotFound:
                continue
            if include_closed or document["status"] == "RUNNING":
                yield document

    def _correlated(self, names: tuple[str, ...], ids: tuple[str, ...]) -> Iterator[str]:
        values = tuple(value for value in ids if value)
        if not values:
            return
        query = And(
            terms=(
                OneOf(field="workflowType", values=names),
                OneOf(field="correlationId", values=values),
            )
        )
        request = SearchRequest(
            query=query, sort=(SortKey(field="startTime"),), size=MAX_CORRELATED
        )
        known = [summary.execution_id for summary in self._search.search(request).results]
        yield from known
        seen, wanted = frozenset(known), frozenset(values)
        for name in names:
            for execution, header in self._new(name, seen):
                if header.correlation_id in wanted:
                    yield execution

    def _new(self, name: str, seen: frozenset[str]) -> Iterator[tuple[str, Header]]:
        """Look at the newest of a workflow that run, but for those that the index has shown."""
        for execution in self._executions.running(name)[-_NEW:]:
            if execution not in seen:
                view = self._executions.view(execution, include_tasks=False)
                if view is not None:
                    yield execution, view.header

    def created(self, name: str, version: int, *, since_ms: int, until_ms: int) -> Sequence[str]:
        """List the executions of this version of a workflow that were created from one instant to
        another (epoch ms, both inclusive), whatever became of them, oldest first; those behind the
        index come last, as long as they run. ``PayloadTooLarge`` when they are more than
        ``MAX_CREATED``.
        """
        found = dict[str, None]()
        for execution in self._created(name, version, since_ms, until_ms):
            found[execution] = None
            if len(found) > MAX_CREATED:
                raise PayloadTooLarge(
                    f"More than {MAX_CREATED} executions were created then: ask for a shorter time."
                )
        new = (
            execution
            for execution, header in self._new(name, frozenset(found))
            if header.version == version and since_ms <= header.created_at <= until_ms
        )
        return (*found, *new)

    def _created(self, name: str, version: int, since_ms: int, until_ms: int) -> Iterator[str]:
        """Walk the index by the instant of creation, which pages by number do not reach for ever;
        those of a page's last instant are asked for once more.
        """
        versions = OneOf(field="version", values=(version,))
        names, at, passed = OneOf(field="workflowType", values=(name,)), since_ms, 0
        while True:
            between = Between(field="startTime", least=at, most=until_ms)
            page = self._search.search(
                SearchRequest(
                    query=And(terms=(names, versions, between)),
                    sort=(SortKey(field="startTime"),),
                    start=passed,
                    size=_PAGE,
                )
            ).results
            yield from (one.execution_id for one in page)
            if len(page) < _PAGE:
                return
            last = page[-1].start_ms
            passed, at = (passed + _PAGE, at) if last == at else (0, last)

    def by_tasks(
        self, *, query: str, free_text: str, sort: str, start: int, size: int
    ) -> FoundPage:
        """Search executions by what their tasks are (``InvalidInput`` for a query that cannot be
        read); each comes once, where its first task came.
        """
        asked = self._executions.asked
        request = asked(TASK_FIELDS, query=query, free_text=free_text, sort=sort)
        ids = list(dict.fromkeys(self._executions_of(request)))
        page = ids[start : start + size]
        summaries = self._summaries(page)
        return FoundPage(len(ids), tuple(summaries[one] for one in page if one in summaries))

    def _executions_of(self, request: SearchRequest) -> Iterator[str]:
        for first in range(0, MAX_TASKS, _PAGE):
            page = self._search.search_tasks(replace(request, start=first, size=_PAGE))
            yield from (task.execution_id for task in page.results)
            if len(page.results) < _PAGE:
                return

    def _summaries(self, ids: Sequence[str]) -> dict[str, JsonObject]:
        found: dict[str, JsonObject] = {}
        for first in range(0, len(ids), _PAGE):
            wanted = tuple(ids[first : first + _PAGE])
            query = OneOf(field="workflowId", values=wanted)
            page = self._search.search(SearchRequest(query=query, size=_PAGE))
            found |= {one.execution_id: summary_to_json(one) for one in page.results}
        return found
