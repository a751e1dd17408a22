"""Executions as readers get them: whole or by pages of their tasks, from the store or the archive.

A wide execution takes many times its bytes while it is read whole. It is heavy, as documents from
outside are (``wire.outside``): one at a time in a process, and of its tasks one at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

import orjson

from conductor_py.codec.execution import dump_json, load_header
from conductor_py.engine.reading.archives import ArchivedExecution, Archives, be_heavy
from conductor_py.engine.reading.loading import load_all, load_tasks
from conductor_py.engine.reading.views import HIDING, MANY, Views, hidden_values
from conductor_py.errors import NotFound, PayloadTooLarge
from conductor_py.model.execution import Header
from conductor_py.model.ids import ExecutionId, is_execution_id, split_task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.masking import Masker
from conductor_py.model.view import ExecutionView, TaskView
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.search import Search
from conductor_py.ports.store import READ_BYTES, ExecutionStore
from conductor_py.records import dataclass
from conductor_py.wire.execution import (
    status_to_json,
    task_to_json,
    wire_status,
    workflow_to_json,
)
from conductor_py.wire.outside import PLACE

HEAD: Final = ("h", "meta", "end", "input", "output", "vars", "domains")
"""The fields that are about no single task."""
_MOST_BYTES: Final = 256 << 20
"""Bytes of an execution that is read whole, as it is stored and as JSON."""
_TOGETHER: Final = 200
_NOTHING: Final[JsonObject] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of what was found, in wire form."""

    total_hits: int
    results: tuple[JsonObject, ...]


class Reading:
    """Reads executions. Safe for threads."""

    def __init__(
        self,
        store: ExecutionStore,
        reader: ExecutionReader,
        views: Views,
        search: Search,
        *,
        partitions: int,
    ) -> None:
        """Read executions from ``store``, and from ``search`` what is archived."""
        self._store = store
        self._reader = reader
        self._views = views
        self._archives = Archives(search)
        self._partitions = partitions

    def view(
        self,
        execution: str,
        *,
        include_tasks: bool = True,
        only_failed: bool = False,
        patient: bool = True,
    ) -> ExecutionView | None:
        """View a live execution, ``None`` when the store has none of that id; one that is being
        removed is not there for anybody (``NotFound``).

        Raises ``Overloaded`` when it is wide and another is dealt with: ``patient``, still so after
        some seconds.
        """
        known = self._known(execution)
        if known is None:
            return None
        with PLACE.scope():
            found = self._whole(known, patient=patient) if include_tasks else self._head(known)
            if found is None:
                return None
            version, fields = found
            view = self._views.execution(
                known, version, fields, include_tasks=include_tasks, only_failed=only_failed
            )
        _present(known, view.header)
        return view

    def document(self, execution: str, *, include_tasks: bool = True) -> JsonObject:
        """Read an execution in wire form, from the store or, after it left, from the archive
        (``NotFound``).
        """
        with PLACE.scope():
            view = self._shown(execution, include_tasks=include_tasks, patient=True)
            if view is not None:
                written = workflow_to_json(view)
                return written if include_tasks else {**written, "tasks": []}
            kept = self._archived(execution, whole=include_tasks, patient=True)
            pages = _bounded(execution, kept) if include_tasks else ()
            tasks = [task for page in pages for task in orjson.loads(b"[%s]" % page)]
            return {**kept.head, "tasks": tasks}

    def json(self, execution: str, *, include_tasks: bool = True, patient: bool = True) -> bytes:
        """Read an execution as JSON; ``document`` and ``view`` say what is raised."""
        with PLACE.scope():
            view = self._shown(execution, include_tasks=include_tasks, patient=patient)
            if view is None:
                kept = self._archived(execution, whole=include_tasks, patient=patient)
                tasks = b",".join(_bounded(execution, kept) if include_tasks else ())
                return dump_json({**kept.head, "tasks": orjson.Fragment(b"[%s]" % tasks)})
            if include_tasks:
                body = written(view)
                if len(body) > _MOST_BYTES:
                    raise _too_large(execution)
                return body
            return dump_json({**workflow_to_json(view), "tasks": []})

    def status(
        self, execution: str, *, include_output: bool, include_variables: bool
    ) -> JsonObject:
        """Read how an execution stands (``NotFound``)."""
        view = self.view(execution, include_tasks=False)
        if view is not None:
            return status_to_json(
                view, include_output=include_output, include_variables=include_variables
            )
        document = self.document(execution, include_tasks=False)
        kept = ["workflowId", "status", "correlationId"]
        kept += ["output"] if include_output else []
        kept += ["variables"] if include_variables else []
        return {name: document[name] for name in kept if name in document}

    def tasks(
        self,
        execution: str,
        *,
        start: int,
        count: int,
        statuses: Collection[str] = (),
        patient: bool = True,
    ) -> FoundPage:
        """Read a page of the tasks of an execution, in the order they were made; of these
        ``statuses``, if any are named. Raises what ``document`` and ``view`` do.
        """
        if not statuses and count <= MANY:
            page = self._page(execution, start, count)
            if page is not None:
                return page
        with PLACE.scope():
            view = self._for_page(execution, patient=patient)
            if view is None:
                kept = self._archived(execution, whole=bool(statuses), patient=patient)
                return _page_of(kept, start, count, statuses)
            if not statuses:
                shown = islice(view.tasks, start, start + count)
                return FoundPage(len(view.tasks), tuple(map(task_to_json, shown)))
            places = [
                place for place, task in enumerate(view.tasks) if str(wire_status(task)) in statuses
            ]
            wanted = frozenset(places[start : start + count])
            found = (task for place, task in enumerate(view.tasks) if place in wanted)
            return FoundPage(len(places), tuple(map(task_to_json, found)))

    def archived_task(self, task: str) -> JsonObject | None:
        """Read a task in the archive; ``None``: it has none of that id."""
        with PLACE.scope():
            kept = self._archives.find(split_task_id(task)[0])
            return kept.task(task) if kept is not None else None

    def archived_logs(self, execution: str) -> tuple[JsonObject, ...]:
        """Read what the archive has of the logs of an execution."""
        with PLACE.scope():
            kept = self._archives.find(execution)
            return kept.logs if kept is not None else ()

    # -- from the store ----------------------------------------------------------------------------

    def _known(self, execution: str) -> ExecutionId | None:
        if not is_execution_id(execution) or int(execution[:3], 16) >= self._partitions:
            return None
        return ExecutionId(execution)

    def _shown(self, execution: str, *, include_tasks: bool, patient: bool) -> ExecutionView | None:
        view = self.view(execution, include_tasks=include_tasks, patient=patient)
        if view is None or include_tasks or view.header.sound:
            return view
        if view.header.status.terminal:
            # What failed is named, shown or not.
            view = self.view(execution, only_failed=True, patient=patient)
        return view

    def _whole(
        self, execution: ExecutionId, *, patient: bool
    ) -> tuple[int, Mapping[str, bytes]] | None:
        def before_more(size: int) -> None:
            if size > _MOST_BYTES:
                raise _too_large(execution)
            be_heavy(patient=patient)

        return self._reader.snapshot(execution, before_more=before_more)

    def _head(self, execution: ExecutionId) -> tuple[int, dict[str, bytes]] | None:
        """Read what is not about single tasks: of a wide execution next to nothing."""
        return load_all(self._store, execution, HEAD)

    def _page(self, execution: str, start: int, count: int) -> FoundPage | None:
        """Read just these tasks, if their numbers say where they stand, and one read brings them;
        else ``None``.
        """
        known = self._known(execution)
        found = None if known is None else self._store.load(known, ["h"])
        if known is None or found is None or found[1]["h"] is None:
            return None
        header = load_header(found[1]["h"])
        _present(known, header)
        if header.forgotten or header.revised:
            return None
        seqs = range(header.first_seq, header.next_seq)[start : start + count]
        page = next(load_tasks(self._store, known, seqs), None) if seqs else None
        if seqs and (page is None or len(page.seqs) < len(seqs)):
            return None
        fields = page.fields if page is not None else {}
        if not all(f"a:{seq}" in fields for seq in seqs):
            return None
        views = self._task_views(known, header, seqs, fields)
        total = header.next_seq - header.first_seq
        return FoundPage(total, tuple(map(task_to_json, views)))

    def _for_page(self, execution: str, *, patient: bool) -> ExecutionView | None:
        try:
            return self.view(execution, patient=patient)
        except PayloadTooLarge as large:
            raise PayloadTooLarge(
                f"So many tasks of workflow {execution} are larger than {READ_BYTES >> 20} MB, and "
                f"all of it is larger than {_MOST_BYTES >> 20} MB: ask for fewer tasks at a time "
                f"(count), without a status."
            ) from large

    def _task_views(
        self,
        execution: ExecutionId,
        header: Header,
        seqs: Collection[int],
        fields: Mapping[str, bytes],
    ) -> Iterator[TaskView]:
        hidden: Masker | None = None
        for seq in seqs:
            view = self._views.task(execution, header, seq, fields, hidden)
            if view.masked and hidden is None:
                further = load_all(self._store, execution, HIDING)
                hidden = hidden_values(view.masked, further[1] if further else {})
                view = self._views.task(execution, header, seq, fields, hidden)
            yield view

    # -- from the archive --------------------------------------------------------------------------

    def _archived(self, execution: str, *, whole: bool, patient: bool) -> ArchivedExecution:
        found = self._archives.find(execution, whole=whole, patient=patient)
        if found is None:
            raise NotFound(f"No such workflow found by id: {execution}")
        return found


def written(view: ExecutionView, further: JsonObject = _NOTHING) -> bytes:
    """Write a view as JSON, some tasks after the other, with ``further`` members."""
    tasks = b",".join(_in_pages(iter(view.tasks)))
    listed = orjson.Fragment(b"".join((b"[", tasks, b"]")))
    return dump_json({**workflow_to_json(view, listed), **further})


def _in_pages(tasks: Iterator[TaskView]) -> Iterator[bytes]:
    """Write some after the other: many small pieces of memory do not go back as large ones do."""
    while page := [dump_json(task_to_json(task)) for task in islice(tasks, _TOGETHER)]:
        yield b",".join(page)


def _bounded(execution: str, kept: ArchivedExecution) -> Iterator[bytes]:
    """The tasks of what is archived as JSON, with commas between, unless they are too many bytes
    (``PayloadTooLarge``).
    """
    size = 0
    for tasks in kept.in_pages():
        page = orjson.dumps(tasks)
        size += len(page)
        if size > _MOST_BYTES:
            raise _too_large(execution)
        yield page[1:-1]


def _page_of(
    kept: ArchivedExecution, start: int, count: int, statuses: Collection[str]
) -> FoundPage:
    if not statuses:
        return FoundPage(kept.count, tuple(islice(kept.tasks(start), count)))
    total = 0
    shown: list[JsonObject] = []
    for task in kept.tasks():
        if task["status"] in statuses:
            if start <= total < start + count:
                shown.append(task)
            total += 1
    return FoundPage(total, tuple(shown))


def _too_large(execution: str) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"Workflow {execution} is larger than {_MOST_BYTES >> 20} MB: read it with "
        f"includeTasks=false, and its tasks by pages (GET /api/workflow/{execution}/tasks)."
    )


def _present(execution: ExecutionId, header: Header) -> None:
    if header.forget:
        raise NotFound(f"No such workflow found by id: {execution}")
