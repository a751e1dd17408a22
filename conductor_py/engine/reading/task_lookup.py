"""Looking at one task: what readers get of it and of its log, from the store or the archive."""

from __future__ import annotations

from conductor_py.codec.execution import load_header
from conductor_py.engine.reading.loading import KINDS, load_all
from conductor_py.engine.reading.reading import Reading
from conductor_py.engine.reading.views import HIDING, Views, hidden_values
from conductor_py.errors import NotFound
from conductor_py.model.ids import ExecutionId, partition_of, split_task_id, task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.view import TaskView
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.store import ExecutionStore
from conductor_py.wire.execution import task_to_json
from conductor_py.wire.masking import task_masker


class TaskLookup:
    """Reads tasks. Safe for threads."""

    def __init__(
        self,
        store: ExecutionStore,
        reader: ExecutionReader,
        views: Views,
        reading: Reading,
        partitions: int,
    ) -> None:
        """Work over these collaborators."""
        self._store = store
        self._reader = reader
        self._views = views
        self._reading = reading
        self._partitions = partitions

    def document(self, task: str) -> JsonObject:
        """Read a task in wire form (``NotFound``)."""
        execution, seq = split_task_id(task)
        view = self.view(execution, seq)
        if view is not None:
            return task_to_json(view)
        found = self._reading.archived_task(task)
        if found is None:
            raise NotFound(f"No such task found by id: {task}")
        return found

    def logs(self, task: str) -> tuple[JsonObject, ...]:
        """Read the log of a task, oldest line first; empty when there is none."""
        execution, seq = split_task_id(task)
        lines = self._reader.logs(execution)
        if not lines:
            kept = self._reading.archived_logs(execution)
            return tuple(line for line in kept if line["taskId"] == task)
        own = [(text, at) for of, at, text in lines if of == seq]
        view = self.view(execution, seq) if own else None
        if view is not None and view.masked:
            masker = task_masker(view)
            own = [(masker.text(text), at) for text, at in own]
        return tuple({"log": text, "taskId": task, "createdTime": at} for text, at in own)

    def view(self, execution: ExecutionId, seq: int) -> TaskView | None:
        """View a task that the store has; ``None`` when its execution is not there. ``NotFound``
        when the execution has no such task.
        """
        if partition_of(execution) >= self._partitions:
            return None
        found = self._load(execution, ("h", *(f"{kind}:{seq}" for kind in KINDS)))
        if found is None:
            return None
        header = load_header(found["h"])
        if f"a:{seq}" not in found or header.forget:
            raise NotFound(f"No such task found by id: {task_id(execution, seq)}")
        view = self._views.task(execution, header, seq, found)
        if not view.masked:
            return view
        further = self._load(execution, HIDING) or {}
        return self._views.task(execution, header, seq, found, hidden_values(view.masked, further))

    def _load(self, execution: ExecutionId, names: tuple[str, ...]) -> dict[str, bytes] | None:
        loaded = load_all(self._store, execution, names)
        return None if loaded is None else loaded[1]
