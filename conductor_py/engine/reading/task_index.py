"""The index of tasks of executions that run: what was touched is put there, gathered for a moment.

An end puts the whole execution into the index (``engine.effects``), so what has ended meanwhile is
left to that.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from conductor_py.codec.execution import load_header
from conductor_py.engine.patience import BATCH_MS, Handled
from conductor_py.engine.reading.loading import load_tasks
from conductor_py.engine.reading.reading import HEAD
from conductor_py.engine.reading.views import Views
from conductor_py.errors import StoreUnavailable
from conductor_py.model.afresh import mapped
from conductor_py.model.ids import ExecutionId, task_id
from conductor_py.model.search import ExecutionDocument
from conductor_py.ports.outbox import Pending
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore
from conductor_py.ports.touched import Touch, TouchedTasks
from conductor_py.wire.summaries import execution_summary, task_summary

_LOG = logging.getLogger(__name__)
_AT_ONCE: Final = 200
_MUCH: Final = 16 << 20
"""Bytes of attempts that are gathered before the index is told of them."""


class TaskIndex:
    """Carries out the effect ``tasks`` of a partition."""

    def __init__(
        self,
        touched: TouchedTasks,
        store: ExecutionStore,
        views: Views,
        search: Search,
        elapsed_ms: Callable[[], int],
    ) -> None:
        """``elapsed_ms`` grows evenly."""
        self._touched = touched
        self._store = store
        self._views = views
        self._search = search
        self._elapsed_ms = elapsed_ms

    def handle(self, partition: int, effects: Sequence[Pending]) -> Handled:
        """Tell the index what was touched, for a while; confirmed, the effect comes again as long
        as there is more.
        """
        began = self._elapsed_ms()
        while touches := self._touched.look(partition, _AT_ONCE):
            self._tell(touches)
            self._touched.drop(partition, touches)
            if len(touches) < _AT_ONCE or self._elapsed_ms() - began > BATCH_MS:
                break
        return Handled(list(effects))

    def _tell(self, touches: Sequence[Touch]) -> None:
        by_execution: defaultdict[ExecutionId, list[int]] = defaultdict(list)
        for touch in touches:
            by_execution[touch.execution].append(touch.seq)
        documents: list[ExecutionDocument] = []
        size = 0
        for execution, seqs in by_execution.items():
            for document, more in self._unless_damaged(execution, seqs):
                documents.append(document)
                size += more
                if size > _MUCH:
                    self._search.put(documents)
                    documents, size = [], 0
        if documents:
            self._search.put(documents)

    def _unless_damaged(
        self, execution: ExecutionId, seqs: Sequence[int]
    ) -> Iterator[tuple[ExecutionDocument, int]]:
        try:
            yield from self._documents(execution, seqs)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - whatever a damaged one raises costs it alone
            _LOG.exception(
                "Tasks of an execution cannot be indexed while it runs",
                extra={"action": "index_tasks_failed", "workflow_id": execution},
            )

    def _documents(
        self, execution: ExecutionId, seqs: Sequence[int]
    ) -> Iterator[tuple[ExecutionDocument, int]]:
        """What the index is told of these attempts, and the bytes that it keeps in memory; nothing
        of an execution that has ended.
        """
        # The header first: what has ended meanwhile, often the most, is not read for nothing.
        found = self._store.load(execution, ["h"])
        if found is None or _is_over(found[1]):
            return
        for piece in load_tasks(self._store, execution, seqs, kinds="acio", also=HEAD):
            fields = piece.fields
            if _is_over(fields):
                return
            view = self._views.execution(execution, piece.version, fields, include_tasks=True)
            removed = tuple(
                task_id(execution, seq) for seq in piece.seqs if f"a:{seq}" not in fields
            )
            document = ExecutionDocument(
                version=piece.version,
                summary=execution_summary(view),
                tasks=mapped(task_summary, view.tasks),
                removed=removed,
            )
            yield document, sum(map(len, fields.values()))


def _is_over(fields: Mapping[str, bytes | None]) -> bool:
    stored = fields.get("h")
    header = load_header(stored) if stored is not None else None
    return header is None or header.status.terminal or header.forget
