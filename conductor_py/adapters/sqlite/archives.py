"""Archives of executions that have ended, and what these can be restored from. The tasks of a wide
one stand in pages of their own.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from typing import Final

from conductor_py.adapters.sqlite.several import without_newer, write
from conductor_py.model.search import ExecutionDocument, TaskPage

_ARCHIVED: Final = (
    "INSERT INTO archive (workflowId, version, endTime, document) {values}"
    " ON CONFLICT (workflowId) DO UPDATE SET version = excluded.version,"
    " endTime = excluded.endTime, document = excluded.document"
)
_KEPT: Final = (
    "INSERT INTO kept (workflowId, version, document) {values}"
    " ON CONFLICT (workflowId) DO UPDATE SET version = excluded.version,"
    " document = excluded.document"
)
_NOT_KEPT: Final = "DELETE FROM kept WHERE workflowId IN ({values})"
_PAGE: Final = (
    "INSERT OR REPLACE INTO archive_page (workflowId, version, page, document) VALUES (?, ?, ?, ?)"
)
_OLD_PAGES: Final = (
    "DELETE FROM archive_page WHERE workflowId IN ({values}) AND version <"
    " (SELECT version FROM archive WHERE archive.workflowId = archive_page.workflowId)"
)
READ_PAGE: Final = (
    "SELECT document FROM archive_page WHERE workflowId = ? AND version = ? AND page = ?"
)


def archive(connection: sqlite3.Connection, documents: Sequence[ExecutionDocument]) -> None:
    """Write the archives of these executions, each another one, unless versions as new are there.
    What belongs to an archive is replaced with it, or goes when the newer one has none.
    """
    documents = without_newer(connection, "archive", documents)
    write(connection, _NOT_KEPT, [(d.execution_id,) for d in documents if d.kept is None])
    kept = [(d.execution_id, d.version, d.kept) for d in documents if d.kept is not None]
    write(connection, _KEPT, kept)
    write(connection, _ARCHIVED, map(_archived, documents))
    write(connection, _OLD_PAGES, [(d.execution_id,) for d in documents])


def write_page(connection: sqlite3.Connection, page: TaskPage) -> None:
    """Write a page of tasks; nobody reads it before the archive of its version is there."""
    packed = zlib.compress(page.document, 1)
    connection.execute(_PAGE, (page.execution_id, page.version, page.number, packed))


def _archived(document: ExecutionDocument) -> tuple[object, ...]:
    assert document.archive is not None
    packed = zlib.compress(document.archive, 1)
    return document.execution_id, document.version, document.summary.end_ms, packed
