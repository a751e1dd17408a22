"""The index of tasks of executions that run: what was touched is put there, gathered for a moment.

An end puts the whole execution into the index (``engine.effects``), so what has ended meanwhile is
left to that.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from conductor_py.codec.execution import load_header
from conductor_py.engine.patience import BATCH_MS, Handled
from conductor_py.engine.reading.reading import there
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
_WHOLE: Final = ("h", "meta", "end", "input", "output", "vars", "domains")
"""What the summary of an execution is made of."""


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
        for execution, seqs in by_execution.items():
            try:
                documents += self._documents(execution, seqs)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - whatever a damaged one raises costs it alone
                _LOG.exception(
                    "Tasks of an execution cannot be indexed while it runs",
                    extra={"action": "index_tasks_failed", "workflow_id": execution},
                )
        if documents:
            self._search.put(documents)

    def _documents(self, execution: ExecutionId, seqs: Sequence[int]) -> list[ExecutionDocument]:
        """What the index is told of these attempts; nothing of an execution that has ended."""
        # The header first: what has ended meanwhile, often the most, is not read for nothing.
        found = self._store.load(execution, ["h"])
        if found is None or _is_over(found[1]):
            return []
        names = [f"{kind}:{seq}" for seq in seqs for kind in "acio"]
        found = self._store.load(execution, [*_WHOLE, *names])
        if found is None or _is_over(found[1]):
            return []
        version, loaded = found
        fields = there(loaded)
        view = self._views.execution(execution, version, fields, include_tasks=True)
        return [
            ExecutionDocument(
                version=version,
                summary=execution_summary(view),
                tasks=mapped(task_summary, view.tasks),
                removed=tuple(task_id(execution, seq) for seq in seqs if f"a:{seq}" not in fields),
            )
        ]


def _is_over(fields: Mapping[str, bytes | None]) -> bool:
    stored = fields["h"]
    header = load_header(stored) if stored is not None else None
    return header is None or header.status.terminal or header.forget
