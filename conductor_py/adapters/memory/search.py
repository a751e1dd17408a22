"""Search in memory: the reference, by which the other adapters' answers are judged. Looks at
everything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from conductor_py.codec.search_document import (
    StoredSummary,
    decode_execution,
    decode_task,
    encode_execution,
    encode_task,
    field_values,
    keyword_words,
    text_words,
)
from conductor_py.model.search import (
    EXECUTION_FIELDS,
    EXECUTIONS_NEWEST_FIRST,
    TASK_FIELDS,
    TASKS_NEWEST_FIRST,
    And,
    Archived,
    ArchivedId,
    Between,
    ExecutionDocument,
    FieldKind,
    Matches,
    Missing,
    Not,
    OneOf,
    Or,
    Query,
    SearchPage,
    SearchRequest,
    SortKey,
    TaskPage,
    TaskSearchPage,
    Words,
    task_version,
)
from conductor_py.records import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    version: int
    stored: StoredSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    version: int
    end_ms: int | None
    document: bytes
    kept: bytes | None


@dataclass(slots=True)
class _State:
    executions: dict[str, _Entry] = field(default_factory=dict)
    tasks: dict[str, _Entry] = field(default_factory=dict)
    archive: dict[str, _Kept] = field(default_factory=dict)
    pages: dict[str, dict[tuple[int, int], TaskPage]] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)


class MemorySearch:
    """``Search`` in dictionaries, under one lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = _State()

    def put(self, documents: Sequence[ExecutionDocument]) -> None:
        with self._lock:
            for document in documents:
                self._put(document)

    def check(self) -> None:
        pass

    def search(self, request: SearchRequest) -> SearchPage:
        with self._lock:
            stored = [entry.stored for entry in self._state.executions.values()]
        total, page = _select(stored, request, EXECUTION_FIELDS, EXECUTIONS_NEWEST_FIRST)
        return SearchPage(total_hits=total, results=tuple(map(decode_execution, page)))

    def search_tasks(self, request: SearchRequest) -> TaskSearchPage:
        with self._lock:
            stored = [entry.stored for entry in self._state.tasks.values()]
        total, page = _select(stored, request, TASK_FIELDS, TASKS_NEWEST_FIRST)
        return TaskSearchPage(total_hits=total, results=tuple(map(decode_task, page)))

    def archived(self, execution_id: str) -> Archived | None:
        with self._lock:
            kept = self._state.archive.get(execution_id)
        if kept is None:
            return None
        return Archived(version=kept.version, document=kept.document)

    def put_page(self, page: TaskPage) -> None:
        state, execution_id, version = self._state, page.execution_id, page.version
        with self._lock:
            if execution_id not in state.executions:
                return
            for task in page.tasks:
                entry = _Entry(version=task_version(version, task), stored=encode_task(task))
                _keep_newest(state.tasks, task.task_id, entry)
            state.pages.setdefault(execution_id, {})[version, page.number] = page

    def page(self, execution_id: str, version: int, number: int) -> bytes | None:
        with self._lock:
            page = self._state.pages.get(execution_id, {}).get((version, number))
        return None if page is None else page.document

    def archived_version(self, execution_id: str) -> int | None:
        with self._lock:
            kept = self._state.archive.get(execution_id)
        return None if kept is None else kept.version

    def kept(self, execution_id: str) -> Archived | None:
        with self._lock:
            found = self._state.archive.get(execution_id)
        if found is None or found.kept is None:
            return None
        return Archived(version=found.version, document=found.kept)

    def ended_before(
        self, instant_ms: int, limit: int, after: ArchivedId | None = None
    ) -> tuple[ArchivedId, ...]:
        with self._lock:
            ended = sorted(
                (kept.end_ms, execution_id, kept.version)
                for execution_id, kept in self._state.archive.items()
                if kept.end_ms is not None and kept.end_ms < instant_ms
            )
        behind = (after.end_ms, after.execution_id) if after else (-1, "")
        page = [each for each in ended if each[:2] > behind][:limit]
        return tuple(ArchivedId(execution_id=id_, version=v, end_ms=end) for end, id_, v in page)

    def delete(self, execution_id: str, version: int) -> bool:
        state = self._state
        with self._lock:
            held = (state.executions.get(execution_id), state.archive.get(execution_id))
            if any(part is not None and part.version > version for part in held):
                return False
            state.deleted[execution_id] = max(version, state.deleted.get(execution_id, 0))
            state.executions.pop(execution_id, None)
            state.archive.pop(execution_id, None)
            state.pages.pop(execution_id, None)
            for task_id, task in tuple(state.tasks.items()):
                if task.stored["workflowId"] == execution_id:
                    del state.tasks[task_id]
            return True

    def refresh(self) -> None:
        """Nothing lags here."""

    def _put(self, document: ExecutionDocument) -> None:
        state, execution_id, version = self._state, document.execution_id, document.version
        if state.deleted.get(execution_id, version - 1) >= version:
            return
        stored = encode_execution(document.summary)
        _keep_newest(state.executions, execution_id, _Entry(version=version, stored=stored))
        for task in document.tasks:
            entry = _Entry(version=document.version_of(task), stored=encode_task(task))
            _keep_newest(state.tasks, task.task_id, entry)
        for task_id in document.removed:
            held = state.tasks.get(task_id)
            if held is not None and held.version <= document.last_version:
                del state.tasks[task_id]
        kept = state.archive.get(execution_id)
        if document.archive is not None and (kept is None or kept.version < version):
            state.archive[execution_id] = _Kept(
                version=version,
                end_ms=document.summary.end_ms,
                document=document.archive,
                kept=document.kept,
            )
            pages = state.pages.pop(execution_id, {})
            left = {key: page for key, page in pages.items() if page.version >= version}
            if left:
                state.pages[execution_id] = left


def _keep_newest(entries: dict[str, _Entry], key: str, entry: _Entry) -> None:
    held = entries.get(key)
    if held is None or held.version < entry.version:
        entries[key] = entry


def _select(
    stored: list[StoredSummary],
    request: SearchRequest,
    fields: Mapping[str, FieldKind],
    newest_first: SortKey,
) -> tuple[int, list[StoredSummary]]:
    asked = request.query or And(terms=())
    found = [document for document in stored if _holds(asked, document, fields)]
    # Stable sorts from the last key to the first; what is absent goes last in both directions.
    for key in reversed(request.sort or (newest_first,)):
        found.sort(key=_comparable(key.field), reverse=key.descending)
        found.sort(key=lambda document, name=key.field: name not in document)  # type: ignore[misc]
    return len(found), found[request.start : request.start + request.size]


def _comparable(name: str) -> Callable[[StoredSummary], tuple[object, ...]]:
    return lambda document: field_values(document, name)


def _holds(query: Query, document: StoredSummary, fields: Mapping[str, FieldKind]) -> bool:
    match query:
        case And(terms=terms):
            return all(_holds(term, document, fields) for term in terms)
        case Or(terms=terms):
            return any(_holds(term, document, fields) for term in terms)
        case Not(term=term):
            return not _holds(term, document, fields)
        case Missing(field=name):
            return not field_values(document, name)
        case OneOf(field=name, values=values):
            return any(value in values for value in field_values(document, name))
        case Between(field=name, least=least, most=most):
            return any(
                (least is None or value >= least) and (most is None or value <= most)
                for value in field_values(document, name)
            )
        case Matches(field=name, parts=parts):
            return any(_matches(parts, value) for value in field_values(document, name))
        case Words():
            return _speaks_of(query, document, fields)
        case _:
            assert_never(query)


def _matches(parts: tuple[str, ...], value: str) -> bool:
    first, *middle, last = parts
    if not value.startswith(first):
        return False
    at = len(first)
    for part in middle:
        at = value.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return value.endswith(last) and len(value) - len(last) >= at


def _speaks_of(query: Words, document: StoredSummary, fields: Mapping[str, FieldKind]) -> bool:
    if query.field is not None:
        known = set(text_words(document, query.field))
    else:
        known = set(keyword_words(document, fields))
        for name, kind in fields.items():
            if kind is FieldKind.TEXT:
                known.update(text_words(document, name))
    return bool(query.words) and all(
        any(found.startswith(word.text) for found in known) if word.prefix else word.text in known
        for word in query.words
    )
