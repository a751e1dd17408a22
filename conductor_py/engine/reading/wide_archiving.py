"""How a very wide execution is archived: never read whole, its tasks in pages.

Pages are written one after the other and stay where they are, so whoever goes on, after a while or
after a crash, goes on behind them. Where one ends follows from what is stored, so two who write the
same execution write the same pages. The document of the rest says how many tasks each has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Final, NamedTuple

from conductor_py.codec.execution import dump_json, load_claim, load_header, may_have_failed
from conductor_py.codec.kept_execution import KeptExecution, KeptWriter
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.patience import BATCH_MS
from conductor_py.engine.payloads.holding import PayloadHolding
from conductor_py.engine.reading.archives import PAGES, be_heavy, loaded_page, pages_of
from conductor_py.engine.reading.archiving import archived_logs, blobs
from conductor_py.engine.reading.latest import Latest
from conductor_py.engine.reading.pieces import TaskPiece, TaskPieces, size_of
from conductor_py.engine.reading.views import Views
from conductor_py.errors import StoreDamaged, StoreUnavailable
from conductor_py.model.afresh import Afresh
from conductor_py.model.execution import Header
from conductor_py.model.ids import ExecutionId, split_task_id
from conductor_py.model.search import Archived, ExecutionDocument, TaskPage
from conductor_py.model.view import ExecutionView, TaskView
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore
from conductor_py.records import dataclass, field
from conductor_py.wire.execution import task_to_json, workflow_to_json
from conductor_py.wire.outside import PLACE
from conductor_py.wire.summaries import execution_summary, task_summary

PAGE_TASKS: Final = 500
PAGE_BYTES: Final = 1 << 20
"""Of stored fields."""
PAGE_JSON: Final = 4 << 20
"""Of what a page is: a node's definition stands in each of its tasks."""
_REMEMBERED: Final = 1_000
_STALE_REMEMBERED: Final = 8


class _Span(NamedTuple):
    """What a page has: tasks of these numbers, and how many."""

    first: int
    last: int
    tasks: int


@dataclass(slots=True)
class _Written:
    """How far the pages of a version are, and which task comes then. ``mends``: pages have been
    lost; ``afresh``: what is there is not what belongs there.
    """

    version: int
    next_seq: int = 0
    spans: list[_Span] = field(default_factory=list)
    mends: bool = False
    afresh: bool = False


@dataclass(slots=True)
class _Seen:
    """How many pages have been looked at, and the number of their last task."""

    pages: int = 0
    last: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """What a look at every field has found. Of ``present`` each byte says whether there is a task
    of that number, from the first on.
    """

    failed: Sequence[int]
    present: bytes
    plans: frozenset[str]
    claim: int
    kept: KeptWriter


class WideArchiving:
    """Makes the documents of very wide executions that have ended. Safe for threads."""

    def __init__(
        self,
        *,
        store: ExecutionStore,
        reader: ExecutionReader,
        search: Search,
        snapshots: Snapshots,
        views: Views,
        holding: PayloadHolding,
        elapsed_ms: Callable[[], int],
        index_tasks: bool,
    ) -> None:
        """Without ``index_tasks`` tasks can be read, but not searched. ``holding`` hears of the
        payloads of what is archived; ``elapsed_ms`` grows evenly.
        """
        self._pieces = TaskPieces(store, most=PAGE_TASKS)
        self._reader = reader
        self._search = search
        self._snapshots = snapshots
        self._views = views
        self._holding = holding
        self._elapsed_ms = elapsed_ms
        self._index_tasks = index_tasks
        self._written: Latest[_Written] = Latest(_REMEMBERED)
        self._stale: Latest[Collection[int]] = Latest(_STALE_REMEMBERED)
        self._seen: Latest[_Seen] = Latest(_REMEMBERED)

    def go_on(
        self, execution: ExecutionId, version: int, head: Mapping[str, bytes]
    ) -> ExecutionDocument | None:
        """Write pages for a while, a page at least; the rest, when all are written. ``head`` are
        the fields that are about no single task. ``ExecutionChanged``: it has another version.
        """
        header = load_header(head["h"])
        written = self._written.pop(execution, version) or _Written(version)
        goes_on = True
        try:
            if not self._pages(execution, head, header, written):
                return None
            be_heavy(patient=True)
            whole = self._look(execution, version, header)
            if not _is_all(written.spans, header.first_seq, whole.present):
                if written.afresh:
                    goes_on = False
                    raise StoreDamaged(f"The pages of {execution} do not have its tasks.")
                written.spans, written.next_seq = [], 0
                written.afresh = True
                return None
            goes_on = False
        finally:
            if goes_on:
                self._written.put(execution, version, written)
        return self._rest(execution, head, header, written, whole)

    def is_whole(self, execution: ExecutionId, archived: Archived) -> bool | None:
        """Whether all pages of an archive are there and can be read, and are not just written
        again; ``None``: not all of them have been looked at yet, call it again.
        """
        version = archived.version
        written = self._written.pop(execution, version)
        if written is not None:
            self._written.put(execution, version, written)
            if written.mends:
                return False
        seen = self._seen.pop(execution, version) or _Seen()
        try:
            whole = self._seen_whole(execution, version, pages_of(archived.document), seen)
        except StoreUnavailable:
            self._seen.put(execution, version, seen)
            raise
        if whole is None:
            self._seen.put(execution, version, seen)
        elif not whole:
            self._written.put(execution, version, _Written(version, mends=True))
        return whole

    def _seen_whole(
        self, execution: ExecutionId, version: int, counts: Sequence[int], seen: _Seen
    ) -> bool | None:
        began = self._elapsed_ms()
        for number in range(seen.pages, len(counts)):
            span = self._span(execution, version, number)
            if span is None or span.tasks != counts[number] or span.first <= seen.last:
                return False
            seen.pages, seen.last = number + 1, span.last
            if self._elapsed_ms() - began > BATCH_MS:
                break
        return True if seen.pages == len(counts) else None

    # -- pages -------------------------------------------------------------------------------------

    def _pages(
        self,
        execution: ExecutionId,
        head: Mapping[str, bytes],
        header: Header,
        written: _Written,
    ) -> bool:
        """Go on with the pages; whether all are written."""
        version = written.version
        # Pages are for an execution that the index knows. What it is told at the end is newer.
        view = self._views.in_pieces(execution, version, head, ())
        summary = execution_summary(view)
        self._search.put([ExecutionDocument(version=version - 1, summary=summary)])
        stale = self._stale_tasks(execution, version, header)
        began = self._elapsed_ms()
        tasks: Iterator[TaskPiece] | None = None
        written.next_seq = max(written.next_seq, header.first_seq)
        while written.next_seq < header.next_seq:
            if self._is_there(execution, written):
                tasks = None
            else:
                if tasks is None:
                    tasks = self._pieces.several(
                        execution, version, written.next_seq, header.next_seq
                    )
                some = _some(tasks)
                if not some:
                    break
                view = self._views.in_pieces(execution, version, head, some, stale=stale)
                span = self._page_put(view, len(written.spans))
                tasks = chain(some[span.tasks :], tasks)
                _add(written, span)
            if self._elapsed_ms() - began > BATCH_MS:
                return written.next_seq >= header.next_seq
        return True

    def _stale_tasks(self, execution: ExecutionId, version: int, header: Header) -> Collection[int]:
        stale = self._stale.pop(execution, version)
        if stale is None:
            every = self._pieces.several(
                execution, version, header.first_seq, header.next_seq, kinds="a"
            )
            stale = self._views.stale(execution, header, every)
        self._stale.put(execution, version, stale)
        return stale

    def _is_there(self, execution: ExecutionId, written: _Written) -> bool:
        """Go behind the next page, if somebody has written it."""
        if written.afresh:
            return False
        span = self._span(execution, written.version, len(written.spans))
        if span is None or span.first < written.next_seq:
            return False
        _add(written, span)
        return True

    def _span(self, execution: ExecutionId, version: int, number: int) -> _Span | None:
        """What a page has; ``None``: there is none, or it is none."""
        with PLACE.scope():
            try:
                stored = self._search.page(execution, version, number)
            except StoreDamaged:
                return None
            try:
                tasks = loaded_page(stored) if stored is not None else ()
                seqs = [split_task_id(str(task["taskId"]))[1] for task in tasks]
            except (LookupError, TypeError, ValueError):
                return None
        in_order = all(one < next_ for one, next_ in pairwise(seqs))
        return _Span(seqs[0], seqs[-1], len(seqs)) if seqs and in_order else None

    def _page_put(self, view: ExecutionView, number: int) -> _Span:
        """Write a page of the first tasks of a view, as many as are not too long."""
        listed: list[bytes] = []
        tasks: list[TaskView] = []
        size = 0
        for task in view.tasks:
            listed.append(dump_json(task_to_json(task)))
            tasks.append(task)
            size += len(listed[-1])
            if size >= PAGE_JSON:
                break
        page = TaskPage(
            execution_id=view.execution,
            version=view.version,
            number=number,
            document=b"[%s]" % b",".join(listed),
            tasks=tuple(map(task_summary, tasks)) if self._index_tasks else (),
        )
        self._search.put_page(page)
        return _Span(tasks[0].attempt.seq, tasks[-1].attempt.seq, len(tasks))

    # -- the rest ----------------------------------------------------------------------------------

    def _rest(
        self,
        execution: ExecutionId,
        head: Mapping[str, bytes],
        header: Header,
        written: _Written,
        whole: _Whole,
    ) -> ExecutionDocument:
        version = written.version
        beside = self._reader.beside(execution)
        logged = self._view(execution, version, head, sorted({seq for seq, _, _ in beside.logs}))
        logs = archived_logs(logged, beside.logs)
        failed = self._view(execution, version, head, whole.failed)
        kept = KeptExecution(
            fields={},  # written already
            plans=blobs(self._snapshots, execution, whole.plans | {header.plan}),
            logs=beside.logs,
            claim=whole.claim,
            checkpoints=beside.checkpoints,
        )
        further = {"taskLogs": logs} if logs else {}
        counts = [span.tasks for span in written.spans]
        rest = {**workflow_to_json(failed, []), **further, PAGES: counts}
        return ExecutionDocument(
            version=version,
            summary=execution_summary(failed),
            archive=dump_json(rest),
            kept=whole.kept.done(kept),
        )

    def _look(self, execution: ExecutionId, version: int, header: Header) -> _Whole:
        """Go through all of its fields (``ExecutionChanged``)."""
        first = header.first_seq
        present = bytearray(max(0, header.next_seq - first))  # a field may be seen twice
        failed: set[int] = set()
        plans: set[str] = set()
        kept, claim = KeptWriter(), 0
        for fields in self._reader.scan(execution, version):
            self._holding.hold_stored(execution, fields.values())
            kept.fields(fields)
            for name, value in fields.items():
                kind, _, rest = name.partition(":")
                if kind == "a" and first <= int(rest) < header.next_seq:
                    present[int(rest) - first] = 1
                    if may_have_failed(value):
                        failed.add(int(rest))
                elif kind == "c":
                    claim = max(claim, load_claim(value).claim)
                elif kind == "d":
                    plans.add(value.decode())
        return _Whole(
            failed=sorted(failed),
            present=bytes(present),
            plans=frozenset(plans),
            claim=claim,
            kept=kept,
        )

    def _view(
        self,
        execution: ExecutionId,
        version: int,
        head: Mapping[str, bytes],
        seqs: Sequence[int],
    ) -> ExecutionView:
        """View it with these tasks, which are read whenever somebody goes through them."""

        def read() -> Iterator[TaskPiece]:
            for first in range(0, len(seqs), PAGE_TASKS):
                yield from self._pieces.read(execution, version, seqs[first : first + PAGE_TASKS])

        pieces: Collection[TaskPiece] = Afresh(make=read, count=len(seqs))
        return self._views.in_pieces(execution, version, head, pieces)


def _some(tasks: Iterator[TaskPiece]) -> list[TaskPiece]:
    """Take as many as a page has."""
    some: list[TaskPiece] = []
    size = 0
    for seq, fields in tasks:
        some.append((seq, fields))
        size += size_of((seq, fields))
        if len(some) == PAGE_TASKS or size >= PAGE_BYTES:
            break
    return some


def _add(written: _Written, span: _Span) -> None:
    written.spans.append(span)
    written.next_seq = span.last + 1


def _is_all(spans: Sequence[_Span], first: int, present: bytes) -> bool:
    """Whether pages have each task that is there, once; they are in order."""
    found = [present.count(1, span.first - first, span.last + 1 - first) for span in spans]
    return found == [span.tasks for span in spans] and sum(found) == present.count(1)
