"""Executions by what they have in common: a correlation id, or what their tasks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from flask import Blueprint, request

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.documents import Documents
from conductor_py.api.facade import FoundPage
from conductor_py.api.front import Front, blueprint
from conductor_py.api.searches import loaded, run_search
from conductor_py.wire.lookups import read_correlated, read_ids
from conductor_py.wire.parameters import flag, text
from conductor_py.wire.summaries import search_result


def lookups(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/workflow`` that find executions."""
    views = _Lookups(front)
    return blueprint(
        "lookups",
        "/api/workflow",
        (
            ("GET", "/<name>/correlated/<correlation_id>", views.correlated),
            ("POST", "/<name>/correlated", views.correlated_by_ids),
            ("POST", "/correlated/batch", views.correlated_batch),
            ("GET", "/search-by-tasks", views.by_tasks),
            ("GET", "/search-by-tasks-v2", views.by_tasks_v2),
        ),
    )


class _Lookups:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._lookups = front.engine.lookups

    def correlated(self, name: str, correlation_id: str) -> Answer:
        found = self._correlated((name,), (correlation_id,))
        return json_answer(found[correlation_id])

    def correlated_by_ids(self, name: str) -> Answer:
        return json_answer(self._correlated((name,), read_ids(self._front.body())))

    def correlated_batch(self) -> Answer:
        names, ids = read_correlated(self._front.body())
        return json_answer(self._correlated(names, ids))

    def _correlated(
        self, names: tuple[str, ...], ids: tuple[str, ...]
    ) -> Mapping[str, Sequence[object]]:
        documents, found = Documents(), {wanted: list[object]() for wanted in ids}
        for document in self._lookups.correlated(
            names,
            ids,
            include_closed=flag(request.args, "includeClosed"),
            include_tasks=flag(request.args, "includeTasks"),
        ):
            found[str(document["correlationId"])].append(documents.add(document))
        return found

    def by_tasks(self) -> Answer:
        page = self._found()
        return json_answer(search_result(page.total_hits, page.results))

    def by_tasks_v2(self) -> Answer:
        read = partial(self._front.engine.executions.document, include_tasks=False)
        return json_answer(loaded(self._found(), "workflowId", read))

    def _found(self) -> FoundPage:
        query = text(request.args, "query")
        return run_search(self._lookups.by_tasks, query, most=self._front.max_results)
