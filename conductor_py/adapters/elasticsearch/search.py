"""Search and archive in a cluster. The engine's version is the document's external version.

Summaries are written before tasks and archive: a summary that the server refuses tells whether the
execution is newer there (the rest may still be missing) or was deleted (the rest must not come
back).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conductor_py.adapters.elasticsearch.client import (
    DAMAGE,
    ElasticsearchSettings,
    connect,
    word,
    wrapped,
)
from conductor_py.adapters.elasticsearch.indices import (
    ARCHIVE,
    EXECUTIONS,
    MAX_PAGE_END,
    TASKS,
    Body,
    Index,
    archive_body,
    archive_document,
    kept_document,
    make_indices,
    page_body,
    page_id,
    summary_body,
)
from conductor_py.adapters.elasticsearch.liveness import Liveness, asked
from conductor_py.adapters.elasticsearch.statement import search_body
from conductor_py.adapters.process_local import ProcessLocal
from conductor_py.codec.search_document import (
    decode_execution,
    decode_task,
    encode_execution,
    encode_task,
)
from conductor_py.errors import InvalidInput, StoreDamaged, StoreUnavailable
from conductor_py.model.search import (
    Archived,
    ArchivedId,
    ExecutionDocument,
    SearchPage,
    SearchRequest,
    TaskPage,
    TaskSearchPage,
    TaskSummary,
    last_task_version,
    task_version,
)
from conductor_py.ports.search import LOOKS_AT_TOO_MUCH, DocumentRefused
from conductor_py.records import dataclass

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

_PAGE = 1_000
_BATCH_BYTES = 8 * 1024 * 1024
_MOST_BYTES = 90 * 1024 * 1024
"""Of one document: servers take requests of 100 MB, unless they are told otherwise."""
_WRONG = frozenset({400, 413})
"""What the server says of a document that it will not take the next time either."""
_CONFLICT = 409
_ABSENT = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    """One line of a bulk request; without a body it deletes. ``size`` is a guess in bytes. What
    ``repeats`` may be there in the same version.
    """

    index: Index
    id: str
    version: int
    body: Body | None
    size: int = 1_000
    repeats: bool = False

    def lines(self, prefix: str) -> tuple[Body, ...]:
        header = {
            "_index": self.index.name(prefix),
            "_id": self.id,
            "version": self.version,
            "version_type": "external_gte" if self.repeats or self.body is None else "external",
        }
        if self.body is None:
            return ({"delete": header},)
        return ({"index": header}, self.body)


class ElasticsearchSearch:
    """``Search`` over three indices, which are made when missing."""

    def __init__(self, settings: ElasticsearchSettings) -> None:
        self._prefix = settings.prefix
        self._batch = settings.batch
        self._refresh = "wait_for" if settings.wait_for_refresh else None
        self._connection = ProcessLocal(lambda: _ready(settings))
        self._liveness = Liveness(asked(settings))

    def put(self, documents: Sequence[ExecutionDocument]) -> None:
        with wrapped():
            late = self._bulk(_summary(document) for document in documents)
            gone = self._absent(late)
            alive = (document for document in documents if document.execution_id not in gone)
            self._bulk(write for document in alive for write in _parts(document))

    def check(self) -> None:
        self._liveness.check()

    def search(self, request: SearchRequest) -> SearchPage:
        with wrapped():
            total, page = self._select(EXECUTIONS, request)
            return SearchPage(total_hits=total, results=tuple(map(decode_execution, page)))

    def search_tasks(self, request: SearchRequest) -> TaskSearchPage:
        with wrapped():
            total, page = self._select(TASKS, request)
            return TaskSearchPage(total_hits=total, results=tuple(map(decode_task, page)))

    def archived(self, execution_id: str) -> Archived | None:
        with wrapped():
            found = self._found(execution_id, without=["kept"])
            if found is None:
                return None
            return Archived(version=_version(found), document=archive_document(found["_source"]))

    def put_page(self, page: TaskPage) -> None:
        body = page_body(page.execution_id, page.document)
        writes = [_task(task, task_version(page.version, task)) for task in page.tasks]
        writes.append(
            _Write(
                index=ARCHIVE,
                id=page_id(page.execution_id, page.version, page.number),
                version=page.version,
                body=body,
                size=1_000 + len(body["document"]),
                repeats=True,
            )
        )
        with wrapped():
            if self._absent((page.execution_id,)):
                return
            self._bulk(writes)
            if self._absent((page.execution_id,)):  # it has been deleted meanwhile
                self._bulk(replace(write, body=None) for write in writes)

    def page(self, execution_id: str, version: int, number: int) -> bytes | None:
        with wrapped():
            found = self._found(execution_id, id_=page_id(execution_id, version, number))
            try:
                return None if found is None else archive_document(found["_source"])
            except DAMAGE as damage:
                raise StoreDamaged(f"A page of {execution_id} cannot be read.") from damage

    def archived_version(self, execution_id: str) -> int | None:
        with wrapped():
            found = self._found(execution_id, only=["workflowId"])
            return None if found is None else _version(found)

    def kept(self, execution_id: str) -> Archived | None:
        with wrapped():
            found = self._found(execution_id, only=["workflowId", "kept"])
            document = kept_document(found["_source"]) if found is not None else None
            if found is None or document is None:
                return None
            return Archived(version=_version(found), document=document)

    def ended_before(
        self, instant_ms: int, limit: int, after: ArchivedId | None = None
    ) -> tuple[ArchivedId, ...]:
        with wrapped():
            answer = self._connection.get().search(
                index=ARCHIVE.name(self._prefix),
                query={"range": {"endTime": {"lt": instant_ms}}},
                sort=[{"endTime": "asc"}, {"workflowId": "asc"}],
                search_after=[after.end_ms, after.execution_id] if after else None,
                size=min(limit, MAX_PAGE_END),
                source=False,
                version=True,
            )
            hits = answer["hits"]["hits"]
            return tuple(
                ArchivedId(execution_id=h["_id"], version=_version(h), end_ms=int(h["sort"][0]))
                for h in hits
            )

    def delete(self, execution_id: str, version: int) -> bool:
        def deleted(index: Index) -> bool:
            write = _Write(index=index, id=execution_id, version=version, body=None)
            return not self._bulk([write])

        with wrapped():
            # The summary first: when it is newer, nothing else has been touched. The archive last:
            # as long as it is there, the execution is found by its age, and deleted again.
            if not deleted(EXECUTIONS):
                return False
            self._delete_tasks(execution_id, version)
            self._delete_pages(execution_id, version)
            # It may have come back meanwhile.
            return bool(self._absent((execution_id,))) and deleted(ARCHIVE)

    def refresh(self) -> None:
        names = [index.name(self._prefix) for index in (EXECUTIONS, TASKS, ARCHIVE)]
        with wrapped():
            self._connection.get().indices.refresh(index=names)

    def _delete_tasks(self, execution_id: str, version: int) -> None:
        client, name = self._connection.get(), TASKS.name(self._prefix)
        client.indices.refresh(index=name)
        after: list[Any] | None = None
        while True:
            answer = client.search(
                index=name,
                query={"term": {"workflowId": execution_id}},
                sort=[{"taskId": "asc"}],
                size=_PAGE,
                source=False,
                search_after=after,
            )
            hits = answer["hits"]["hits"]
            self._bulk(
                _Write(index=TASKS, id=hit["_id"], version=last_task_version(version), body=None)
                for hit in hits
            )
            if len(hits) < _PAGE:
                return
            after = hits[-1]["sort"]

    def _delete_pages(self, execution_id: str, version: int) -> None:
        """Delete the pages of tasks of this version and earlier ones."""
        client, name = self._connection.get(), ARCHIVE.name(self._prefix)
        others = [execution_id]
        while True:
            client.indices.refresh(
                index=name
            )  # nothing of a page says where the next search begins
            answer = client.search(
                index=name,
                query={
                    "bool": {
                        "filter": [{"term": {"workflowId": execution_id}}],
                        "must_not": [{"ids": {"values": others}}],
                    }
                },
                size=_PAGE,
                source=False,
            )
            hits = answer["hits"]["hits"]
            others += self._bulk(
                _Write(index=ARCHIVE, id=hit["_id"], version=version, body=None) for hit in hits
            )
            if len(hits) < _PAGE:
                return

    def _select(self, index: Index, request: SearchRequest) -> tuple[int, list[dict[str, Any]]]:
        body = search_body(index, request)
        answer = self._connection.get().search(index=index.name(self._prefix), body=body)
        if answer.get("timed_out"):
            raise InvalidInput(LOOKS_AT_TOO_MUCH)
        hits = answer["hits"]
        return int(hits["total"]["value"]), [hit["_source"] for hit in hits["hits"]]

    def _found(
        self,
        execution_id: str,
        *,
        id_: str | None = None,
        only: list[str] | None = None,
        without: list[str] | None = None,
    ) -> Mapping[str, Any] | None:
        """Read a document of the archive, that of its execution unless it has an id of its own.
        Only the server itself says that there is none: a page that is called 404 does not.
        """
        client = self._connection.get().options(ignore_status=_ABSENT)
        found = client.get(
            index=ARCHIVE.name(self._prefix),
            id=id_ or execution_id,
            source_includes=only,
            source_excludes=without,
        )
        body: Any = found.body
        if not isinstance(body, dict):
            raise TypeError("no document")
        if found.meta.status == _ABSENT and ("found" in body or "error" in body):
            return None
        if body["found"] is not True:
            raise ValueError("neither there nor absent")
        # Whoever asks for the id of a page does not ask for an execution.
        return body if body["_source"]["workflowId"] == execution_id else None

    def _bulk(self, writes: Iterable[_Write]) -> tuple[str, ...]:
        """Send in bounded requests; returns the ids that the server holds in a newer version."""
        refused: list[str] = []
        for batch in _batches(writes, self._batch):
            lines = [line for write in batch for line in write.lines(self._prefix)]
            answer = self._connection.get().bulk(operations=lines, refresh=self._refresh)
            if len(answer["items"]) != len(batch):
                raise ValueError("not an answer about what was sent")
            if answer["errors"]:
                refused.extend(_conflicts(answer["items"]))
        return tuple(refused)

    def _absent(self, execution_ids: tuple[str, ...]) -> frozenset[str]:
        """Find which of these do not exist; sees what is written without waiting for a refresh."""
        if not execution_ids:
            return frozenset()
        answer = self._connection.get().mget(
            index=EXECUTIONS.name(self._prefix), ids=list(execution_ids), source=False
        )
        return frozenset(found["_id"] for found in answer["docs"] if not found["found"])


def _ready(settings: ElasticsearchSettings) -> Elasticsearch:
    client = connect(settings)
    if settings.manage:
        make_indices(client, settings)
    return client


def _version(found: Mapping[str, Any]) -> int:
    version = found["_version"]
    if not isinstance(version, int):
        raise TypeError("a version that is no number")
    return version


def _summary(document: ExecutionDocument) -> _Write:
    body = summary_body(EXECUTIONS, encode_execution(document.summary))
    return _Write(
        index=EXECUTIONS,
        id=document.execution_id,
        version=document.version,
        body=body,
        size=2_000 + 2 * (len(document.summary.input) + len(document.summary.output)),
    )


def _parts(document: ExecutionDocument) -> Iterator[_Write]:
    version = document.version
    for task in document.tasks:
        yield _task(task, document.version_of(task))
    for task_id in document.removed:
        yield _Write(index=TASKS, id=task_id, version=document.last_version, body=None)
    if document.archive is not None:
        body = archive_body(
            document.execution_id, document.summary.end_ms, document.archive, document.kept
        )
        size = _archive_size(body)
        if size > _MOST_BYTES and body.pop("kept", None) is not None:
            size = _archive_size(body)
        if size > _MOST_BYTES:
            raise DocumentRefused(f"An archive of {size} bytes is more than a search server takes.")
        yield _Write(index=ARCHIVE, id=document.execution_id, version=version, body=body, size=size)


def _task(task: TaskSummary, version: int) -> _Write:
    body = summary_body(TASKS, encode_task(task))
    size = 2_000 + 2 * (len(task.input) + len(task.output))
    return _Write(index=TASKS, id=task.task_id, version=version, body=body, size=size)


def _archive_size(body: Body) -> int:
    return 1_000 + len(body["document"]) + len(body.get("kept", ""))


def _batches(writes: Iterable[_Write], most: int) -> Iterator[list[_Write]]:
    batch: list[_Write] = []
    size = 0
    for write in writes:
        if batch and (len(batch) >= most or size + write.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(write)
        size += write.size
    if batch:
        yield batch


def _conflicts(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for item in items:
        ((_, outcome),) = item.items()
        status = outcome["status"]
        if status == _CONFLICT:
            yield outcome["_id"]
        elif status >= 300 and status != _ABSENT:
            kind = word(outcome.get("error", {}).get("type"))
            sentence = f"The search server refused a document: {status} {kind}"
            raise DocumentRefused(sentence) if status in _WRONG else StoreUnavailable(sentence)
