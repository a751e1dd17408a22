"""Search: the index of executions and tasks, and the archive of finished executions.

Off the critical path: documents arrive late, twice and out of order, and none of that shows. What
an execution *is* stands in the store; the index may lag behind it, and never decides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from conductor_py.errors import StoreFailure
from conductor_py.model.search import (
    Archived,
    ArchivedId,
    ExecutionDocument,
    SearchPage,
    SearchRequest,
    TaskPage,
    TaskSearchPage,
)

LOOKS_AT_TOO_MUCH: Final = (
    "The search looks at more than one search may; narrow it, by a time, name or status."
)


class DocumentRefused(StoreFailure):
    """The index is there and does not take one of the documents, however often it is put; others
    are not concerned.
    """


class Search(Protocol):
    """Put, find, read back and remove. Every method raises ``StoreUnavailable`` when the index is
    away.
    """

    def put(self, documents: Sequence[ExecutionDocument]) -> None:
        """Write many documents; durable when this returns, found by ``search`` a moment later.

        Durable means over a crash of any process, and for documents with an archive over a crash of
        the machine.
        For each part (summary, each task, archive) the newer version stays: a late older document
        or a repeat changes nothing and is no error. Not atomic over several documents: after an
        error put all again, after ``DocumentRefused`` each alone. A document of an execution that
        was deleted at this version or a later one is ignored for as long as the adapter remembers
        the deletion, at least a minute.
        """

    def check(self) -> None:
        """Tell whether the index answers, as far as is known within half a second: people ask for
        health often.
        """

    def search(self, request: SearchRequest) -> SearchPage:
        """Find executions.

        ``InvalidInput`` when ``start + size`` is deeper than the adapter can page.
        """

    def search_tasks(self, request: SearchRequest) -> TaskSearchPage:
        """Find tasks; fields are those of ``TASK_FIELDS``."""

    def archived(self, execution_id: str) -> Archived | None:
        """Read a finished execution, whole but for tasks that stand in pages; immediately after its
        ``put``, without waiting for a refresh.
        """

    def put_page(self, page: TaskPage) -> None:
        """Write some tasks of an execution whose archive of that version is going to be put; they
        are as durable as that, and may go when a newer one is. Nothing is written of an execution
        without a summary in the index: it may have been deleted.
        """

    def page(self, execution_id: str, version: int, number: int) -> bytes | None:
        """Read a page of the tasks of that version, immediately after its ``put_page``; ``None``:
        there is none.
        """

    def archived_version(self, execution_id: str) -> int | None:
        """Tell the version of what ``archived`` reads, at no cost of its size; ``None``: nothing is
        archived of it.
        """

    def kept(self, execution_id: str) -> Archived | None:
        """Read what a finished execution is restored from, put with its archive; ``None`` when it
        was archived without. As immediate as ``archived``.
        """

    def ended_before(
        self, instant_ms: int, limit: int, after: ArchivedId | None = None
    ) -> tuple[ArchivedId, ...]:
        """List at most ``limit`` archived executions that ended before, the oldest first, those
        behind ``after`` if it is given (retention).
        """

    def delete(self, execution_id: str, version: int) -> bool:
        """Remove summary, tasks and archive, unless something newer than ``version`` is there.

        False means that a newer summary or archive is there, and nothing was removed. Removing what
        does not exist is true; after an error call it again.
        """

    def refresh(self) -> None:
        """Make all that was put visible to ``search`` now. For tests and for people who wait."""
