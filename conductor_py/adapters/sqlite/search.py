"""Search and archive in one file. A batch is one transaction; the API reads while effects workers
write.

Invariant: narrow row, body and words of a document exist together, under one row number, at one
version.
"""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

import orjson

from conductor_py.adapters.sqlite.archives import READ_PAGE, archive, write_page
from conductor_py.adapters.sqlite.connections import Connections, bounded
from conductor_py.adapters.sqlite.erasing import Erasing
from conductor_py.adapters.sqlite.rows import forget, write_documents
from conductor_py.adapters.sqlite.schema import EXECUTIONS, TASKS, Table
from conductor_py.adapters.sqlite.several import portions, without_newer
from conductor_py.adapters.sqlite.statement import select
from conductor_py.codec.search_document import (
    StoredSummary,
    decode_execution,
    decode_task,
    encode_execution,
    encode_task,
)
from conductor_py.errors import StoreDamaged
from conductor_py.model.search import (
    Archived,
    ArchivedId,
    ExecutionDocument,
    SearchPage,
    SearchRequest,
    TaskPage,
    TaskSearchPage,
    TaskSummary,
    task_version,
)

_LOG: Final = logging.getLogger(__name__)
T = TypeVar("T")

REWRITTEN_BYTES = 1 << 30
_REMEMBERED_DELETIONS = 100_000
_MOST_STEPS = 500_000_000
"""Steps of SQLite's machine: several seconds, some millions of rows that no index leads to."""
_MOST_TASKS: Final = 512
_MOST_TASK_BYTES: Final = 2 << 20
"""Of texts; how many tasks' documents of a wide execution are in memory."""


_IS_KNOWN: Final = "SELECT 1 FROM execution WHERE workflowId = ?"


class SqliteSearch:
    """``Search`` over one SQLite file, which is made when missing."""

    def __init__(
        self, file: Path, *, most_steps: int = _MOST_STEPS, rewritten_bytes: int = REWRITTEN_BYTES
    ) -> None:
        """``most_steps`` bounds one search; beyond it is ``InvalidInput``. ``rewritten_bytes``
        bounds a file that ``erase`` writes anew.
        """
        self._connections = Connections(file)
        self._erasing = Erasing(self._connections, most_bytes=rewritten_bytes)
        self._most_steps = most_steps

    def put(self, documents: Sequence[ExecutionDocument]) -> None:
        if not documents:
            return
        # Redis forgets what the archive confirmed; a summary alone can be indexed again.
        flushed = any(document.archive is not None for document in documents)
        with self._connections.writing(flushed=flushed) as connection:
            for part in _apart(_in_order(documents)):
                _put(connection, part)

    def check(self) -> None:
        self._connections.row("SELECT 1")

    def search(self, request: SearchRequest) -> SearchPage:
        total, page = self._select(EXECUTIONS, request, decode_execution)
        return SearchPage(total_hits=total, results=page)

    def search_tasks(self, request: SearchRequest) -> TaskSearchPage:
        total, page = self._select(TASKS, request, decode_task)
        return TaskSearchPage(total_hits=total, results=page)

    def archived(self, execution_id: str) -> Archived | None:
        found = self._connections.row(
            "SELECT version, document FROM archive WHERE workflowId = ?", execution_id
        )
        if found is None:
            return None
        return Archived(version=found[0], document=_unpacked(execution_id, found[1]))

    def put_page(self, page: TaskPage) -> None:
        with self._connections.writing() as connection:
            if connection.execute(_IS_KNOWN, (page.execution_id,)).fetchone() is None:
                return
            _put_tasks(
                connection, ((task, task_version(page.version, task)) for task in page.tasks)
            )
            write_page(connection, page)

    def page(self, execution_id: str, version: int, number: int) -> bytes | None:
        found = self._connections.row(READ_PAGE, execution_id, version, number)
        return None if found is None else _unpacked(execution_id, found[0])

    def archived_version(self, execution_id: str) -> int | None:
        found = self._connections.row(
            "SELECT version FROM archive WHERE workflowId = ?", execution_id
        )
        return None if found is None else found[0]

    def kept(self, execution_id: str) -> Archived | None:
        found = self._connections.row(
            "SELECT version, document FROM kept WHERE workflowId = ?", execution_id
        )
        return None if found is None else Archived(version=found[0], document=found[1])

    def ended_before(
        self, instant_ms: int, limit: int, after: ArchivedId | None = None
    ) -> tuple[ArchivedId, ...]:
        with self._connections.reading() as connection:
            found = connection.execute(
                "SELECT workflowId, version, endTime FROM archive"
                " WHERE endTime < ? AND (endTime, workflowId) > (?, ?)"
                " ORDER BY endTime, workflowId LIMIT ?",
                (instant_ms, after.end_ms, after.execution_id, limit)
                if after
                else (instant_ms, -1, "", limit),
            ).fetchall()
        return tuple(ArchivedId(execution_id=id_, version=v, end_ms=end) for id_, v, end in found)

    def delete(self, execution_id: str, version: int) -> bool:
        with self._connections.writing() as connection:
            newer = connection.execute(
                "SELECT 1 FROM execution WHERE workflowId = ?1 AND fence > ?2"
                " UNION ALL SELECT 1 FROM archive WHERE workflowId = ?1 AND version > ?2",
                (execution_id, version),
            ).fetchone()
            if newer:
                return False
            _delete(connection, execution_id, version)
            return True

    def erase(self) -> bool:
        """Take one step towards a file without what was deleted (``Eraser``)."""
        return self._erasing.step()

    def refresh(self) -> None:
        """A commit is visible at once."""

    def close(self) -> None:
        """Close the file's idle connections."""
        self._connections.close()

    def _select(
        self, table: Table, request: SearchRequest, decode: Callable[[StoredSummary], T]
    ) -> tuple[int, tuple[T, ...]]:
        selection = select(table, request)
        with self._connections.reading() as connection, bounded(connection, self._most_steps):
            count = connection.execute(selection.count.sql, selection.count.parameters)
            (total,) = count.fetchone()
            page = connection.execute(selection.page.sql, selection.page.parameters).fetchall()
            bodies = [_body(connection, table, row) for (row,) in page]
        return total, tuple(_readable(table, bodies, decode))


def _in_order(documents: Iterable[ExecutionDocument]) -> list[ExecutionDocument]:
    # By start: neighbours in time are neighbours in every index.
    return sorted(documents, key=lambda document: (document.summary.start_ms, document.version))


def _apart(documents: Iterable[ExecutionDocument]) -> Iterator[Sequence[ExecutionDocument]]:
    """Divide them into parts that have an execution once; a later part comes after it."""
    part: dict[str, ExecutionDocument] = {}
    for document in documents:
        if document.execution_id in part:
            yield tuple(part.values())
            part = {}
        part[document.execution_id] = document
    yield tuple(part.values())


def _put(connection: sqlite3.Connection, documents: Sequence[ExecutionDocument]) -> None:
    """Write what was not deleted; each is of another execution."""
    documents = without_newer(connection, "deleted", documents)
    summaries = ((encode_execution(each.summary), each.version) for each in documents)
    write_documents(connection, EXECUTIONS, summaries)
    _put_tasks(connection, ((task, d.version_of(task)) for d in documents for task in d.tasks))
    for document in documents:
        for task_id in document.removed:
            _remove_task(connection, task_id, document.last_version)
    archive(connection, [each for each in documents if each.archive is not None])


def _put_tasks(connection: sqlite3.Connection, tasks: Iterable[tuple[TaskSummary, int]]) -> None:
    stored = ((encode_task(task), version) for task, version in tasks)
    for some in portions(stored, _bytes_of, most=_MOST_TASKS, most_bytes=_MOST_TASK_BYTES):
        write_documents(connection, TASKS, some)


def _bytes_of(task: tuple[StoredSummary, int]) -> int:
    return sum(len(value) for value in task[0].values() if isinstance(value, str))


def _delete(connection: sqlite3.Connection, execution_id: str, version: int) -> None:
    for table in (EXECUTIONS, TASKS):
        found = connection.execute(
            f"SELECT row FROM {table.name} WHERE workflowId = ?",  # noqa: S608 - our own names
            (execution_id,),
        ).fetchall()
        forget(connection, table, [row for (row,) in found])
    connection.execute("DELETE FROM archive WHERE workflowId = ?", (execution_id,))
    connection.execute("DELETE FROM archive_page WHERE workflowId = ?", (execution_id,))
    connection.execute("DELETE FROM kept WHERE workflowId = ?", (execution_id,))
    connection.execute(
        "INSERT INTO deleted (workflowId, version) VALUES (?, ?)"
        " ON CONFLICT (workflowId) DO UPDATE SET version = max(version, excluded.version)",
        (execution_id, version),
    )
    connection.execute(
        "DELETE FROM deleted WHERE sequence <= (SELECT max(sequence) FROM deleted) - ?",
        (_REMEMBERED_DELETIONS,),
    )


def _remove_task(connection: sqlite3.Connection, task_id: str, version: int) -> None:
    found = connection.execute(
        f"SELECT row FROM {TASKS.name} WHERE {TASKS.identity} = ? AND fence <= ?",  # noqa: S608
        (task_id, version),
    ).fetchall()
    forget(connection, TASKS, [row for (row,) in found])


def _unpacked(execution_id: str, document: bytes) -> bytes:
    try:
        return zlib.decompress(document)
    except zlib.error as damage:
        raise StoreDamaged(f"The archive of {execution_id} cannot be read.") from damage


def _body(connection: sqlite3.Connection, table: Table, row: int) -> bytes:
    sql = f"SELECT document FROM {table.name}_body WHERE row = ?"  # noqa: S608 - our own names
    found = connection.execute(sql, (row,)).fetchone()
    return b"" if found is None else found[0]


def _readable(
    table: Table, bodies: Iterable[bytes], decode: Callable[[StoredSummary], T]
) -> Iterator[T]:
    """Read each by itself: one that is damaged hides no other on its page."""
    damaged = 0
    for body in bodies:
        try:
            yield decode(orjson.loads(body))
        except (ValueError, TypeError, LookupError, AttributeError):
            damaged += 1
    if damaged:
        facts = {"action": "index_damaged", "table": table.name, "count": damaged}
        _LOG.error("Documents of the index cannot be read", extra=facts)
