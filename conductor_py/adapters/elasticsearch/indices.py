"""The three indices and what is in their documents: executions, tasks, and the archive.

The mapping is made of the catalogues and complete (``dynamic: false``), so that no document can be
refused for its content. Words are cut before they are sent, as for every other index of this
engine; the server only takes them apart at blanks. The format number is part of the name: a new
format is a new index.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from conductor_py.codec.search_document import StoredSummary, keyword_words, text_words
from conductor_py.model.search import (
    EXECUTION_FIELDS,
    EXECUTIONS_NEWEST_FIRST,
    TASK_FIELDS,
    TASKS_NEWEST_FIRST,
    FieldKind,
    SortKey,
)
from conductor_py.records import dataclass

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

    from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings

Body: TypeAlias = dict[str, Any]

MAX_PAGE_END = 100_000
"""The deepest ``start + size`` that the server is asked for."""

_FORMAT = 1
_LONGEST_KEYWORD = 8191
_MEMORY_OF_DELETIONS = "1h"
_KEYWORD: Body = {"type": "keyword", "ignore_above": _LONGEST_KEYWORD}
_STORED_ONLY: Body = {"type": "keyword", "index": False, "doc_values": False}
_WORDS: Body = {"type": "text", "analyzer": "whitespace", "norms": False, "index_options": "docs"}
_TYPES: Mapping[FieldKind, Body] = {
    FieldKind.KEYWORD: _KEYWORD,
    FieldKind.TEXT: _STORED_ONLY,
    FieldKind.INTEGER: {"type": "long"},
    FieldKind.INSTANT: {"type": "date", "format": "epoch_millis"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """One kind of document."""

    suffix: str
    identity: str
    fields: Mapping[str, FieldKind]
    newest_first: SortKey

    def name(self, prefix: str) -> str:
        """The index's name in the cluster."""
        return f"{prefix}-{self.suffix}-{_FORMAT}"


EXECUTIONS = Index(
    suffix="executions",
    identity="workflowId",
    fields=EXECUTION_FIELDS,
    newest_first=EXECUTIONS_NEWEST_FIRST,
)
TASKS = Index(
    suffix="tasks", identity="taskId", fields=TASK_FIELDS, newest_first=TASKS_NEWEST_FIRST
)
ARCHIVE = Index(
    suffix="archive",
    identity="workflowId",
    fields={"workflowId": FieldKind.KEYWORD, "endTime": FieldKind.INSTANT},
    newest_first=SortKey(field="endTime", descending=True),
)


def make_indices(client: Elasticsearch, settings: ElasticsearchSettings) -> None:
    """Make the templates and indices that are not there; any number of processes may."""
    for index in (EXECUTIONS, TASKS, ARCHIVE):
        name = index.name(settings.prefix)
        if client.indices.exists(index=name):
            continue
        client.indices.put_index_template(
            name=name,
            index_patterns=[name],
            priority=100,
            template={"settings": _settings(settings), "mappings": _mappings(index)},
        )
        # 400: another process was faster.
        client.options(ignore_status=400).indices.create(index=name)


def summary_body(index: Index, stored: StoredSummary) -> Body:
    """Add to a summary what it is found by."""
    texts = [name for name, kind in index.fields.items() if kind is FieldKind.TEXT]
    words = {name: " ".join(text_words(stored, name)) for name in texts if name in stored}
    words["keywords"] = " ".join(keyword_words(stored, index.fields))
    return {**stored, "words": words, "texts": [name for name in texts if name in stored]}


def archive_body(
    execution_id: str, end_ms: int | None, document: bytes, kept: bytes | None = None
) -> Body:
    """Wrap a whole execution, compressed, with what it can be restored from."""
    packed = b64encode(zlib.compress(document, 1)).decode()
    body: Body = {"workflowId": execution_id, "endTime": end_ms, "document": packed}
    if kept is not None:
        body["kept"] = b64encode(kept).decode()
    return body


def page_body(execution_id: str, document: bytes) -> Body:
    """Wrap some of the tasks of an execution. They have no end: nobody looks for them by that."""
    packed = b64encode(zlib.compress(document, 1)).decode()
    return {"workflowId": execution_id, "document": packed}


def page_id(execution_id: str, version: int, number: int) -> str:
    """The id of a page of tasks, in the index of the archive."""
    return f"{execution_id}-{version}-{number}"


def kept_document(body: Body) -> bytes | None:
    """Unwrap what the execution can be restored from."""
    return b64decode(body["kept"]) if "kept" in body else None


def archive_document(body: Body) -> bytes:
    """Unwrap what ``archive_body`` or ``page_body`` wrapped."""
    return zlib.decompress(b64decode(body["document"]))


def _settings(settings: ElasticsearchSettings) -> Body:
    return {
        "index": {
            "number_of_shards": settings.shards,
            "number_of_replicas": settings.replicas,
            "refresh_interval": f"{settings.refresh_ms}ms",
            "max_result_window": MAX_PAGE_END,
            # How long a late document of a deleted execution is recognised.
            "gc_deletes": _MEMORY_OF_DELETIONS,
        }
    }


def _mappings(index: Index) -> Body:
    properties = {name: dict(_TYPES[kind]) for name, kind in index.fields.items()}
    if index is ARCHIVE:
        properties["document"] = {"type": "binary"}
    else:
        texts = [name for name, kind in index.fields.items() if kind is FieldKind.TEXT]
        words = {name: {**_WORDS, "copy_to": "words_all"} for name in ("keywords", *texts)}
        properties |= {
            "words": {"properties": words},
            "words_all": dict(_WORDS),
            "texts": {"type": "keyword"},
        }
    return {"dynamic": False, "properties": properties}
