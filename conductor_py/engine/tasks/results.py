"""Results: what becomes of what a worker, or anybody else, reports on a task."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conductor_py.codec.event import dump_event
from conductor_py.codec.execution import dump_document, load_header
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.payloads.holding import PayloadHolding
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.engine.reading.loading import load_all
from conductor_py.engine.reading.views import Views
from conductor_py.engine.tasks.hand_out import HandOut
from conductor_py.errors import Conflict, NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.model.event import ResultReported
from conductor_py.model.execution import External
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.model.json_bounds import has_more, too_many
from conductor_py.model.places import places_on_wire, wire_ref
from conductor_py.model.requests import TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.model.view import TaskView
from conductor_py.ports.payloads import PayloadKind, Payloads, paths_in, refuse_larger
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore, Outcome, Report
from conductor_py.ports.wakeups import Wakeups
from conductor_py.records import made

_MAX_REASON: Final = 500
_FAILURES: Final = frozenset({TaskStatus.FAILED, TaskStatus.FAILED_WITH_TERMINAL_ERROR})
_OUTPUT: Final = "Task output"
_PAUSES_S: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""How long a result waits for the one before it, time after time."""


class Results:
    """Makes results durable, and has them decided."""

    def __init__(
        self,
        *,
        store: ExecutionStore,
        executor: Executor,
        views: Views,
        payloads: Payloads,
        payload_reader: PayloadReader,
        holding: PayloadHolding,
        search: Search,
        wakeups: Wakeups,
        clock: StoreClock,
        limits: PayloadLimits,
        hand_out: HandOut,
    ) -> None:
        """Work over these collaborators."""
        self._store = store
        self._executor = executor
        self._views = views
        self._payloads = payloads
        self._payload_reader = payload_reader
        self._holding = holding
        self._search = search
        self._wakeups = wakeups
        self._clock = clock
        self._limits = limits
        self._hand_out = hand_out

    def take(
        self, execution: ExecutionId, seq: int, result: TaskResult, *, once: bool = False
    ) -> bool:
        """Take a result; whether it counts, rather than being ignored. ``once``: as ``Report``.

        A task has one result at a time. One that comes while another is accepted but not decided
        waits for that: it may be the end of what was said to be in progress. ``StoreUnavailable``
        when that takes long; ``NotFound``, ``Conflict``.
        """
        masked = self._hand_out.masked(result)
        sized, output = self._sized(self._explained(masked, execution, seq))
        self._hold(execution, output)
        event = made(
            ResultReported,
            seq=seq,
            status=sized.status,
            worker=sized.worker,
            reason=sized.reason[:_MAX_REASON] if sized.reason else sized.reason,
            callback_after_s=sized.callback_after_s,
        )
        report = made(
            Report,
            execution=execution,
            seq=seq,
            claim=sized.claim,
            worker=sized.worker,
            final=sized.status.terminal,
            event=dump_event(event),
            output=output,
            holder=self._executor.name(),
            lease_ms=self._executor.lease_ms,
            once=once,
        )
        for pause_s in _PAUSES_S:
            reply = self._store.report(report)
            self._clock.correct(reply.now_ms, partition_of(execution))
            if reply.outcome is Outcome.OK:
                self._executor.go_on(reply.loaded, report.holder)
                return True
            if sized.claim or reply.outcome is not Outcome.IGNORED:
                break
            if not self._is_open(execution, seq):
                return False
            self._wait_for(execution, pause_s)
        else:
            raise StoreUnavailable(
                f"An earlier result of task {result.task_id} is not decided yet; send it again."
            )
        self._refused(reply.outcome, sized, execution, seq)
        return False

    def _hold(self, execution: ExecutionId, output: bytes) -> None:
        """Let the execution have the payload that its result names, if there is the execution: who
        reports on others is refused, and has nothing.
        """
        paths = paths_in(output)
        if paths and self._store.load(execution, ["h"]) is not None:
            self._holding.hold(execution, paths)

    def first_open(self, execution: ExecutionId, ref: str) -> TaskView | None:
        """Find the first task of a reference that takes a result; ``NotFound`` for an unknown
        execution.
        """
        names = [f"r:{place}" for place in places_on_wire(ref)]
        loaded = self._store.load(execution, ["h", *names])
        if loaded is None:
            if self._search.archived_version(execution) is not None:
                return None
            raise NotFound(f"No such workflow found by id: {execution}")
        pointed = (loaded[1][name] for name in names)
        views = [self._view(execution, int(seq), "aco") for seq in pointed if seq]
        opened = [view for view in views if view is not None and _takes_results(view)]
        exact = (v for v in opened if wire_ref(v.attempt.ref, v.attempt.vector) == ref)
        return next(exact, None) or next((v for v in opened if v.attempt.ref == ref), None)

    def _explained(self, result: TaskResult, execution: ExecutionId, seq: int) -> TaskResult:
        """Say with a failure which secrets and variables its task named and nobody has: where one
        should stand it was handed nothing, and fails of that.
        """
        if result.status not in _FAILURES:
            return result
        view = self._view(execution, seq)
        missing = self._hand_out.missing(view) if view is not None else ()
        if not missing:
            return result
        note = f"this server has no {', '.join(missing)}"[: _MAX_REASON // 2]
        reason = (result.reason or "It failed")[: _MAX_REASON - len(note) - 3]
        return replace(result, reason=f"{reason} ({note})")

    # -- one at a time -----------------------------------------------------------------------------

    def _is_open(self, execution: ExecutionId, seq: int) -> bool:
        """Whether a task may still change: the result before, decided or not, was no end."""
        view = self._view(execution, seq)
        return view is not None and _takes_results(view)

    def _wait_for(self, execution: ExecutionId, pause_s: float) -> None:
        """Decide what is accepted; whoever is at it already is given a moment."""
        self._executor.follow([execution])
        if pause_s:
            topic = f"x:{execution}"
            self._wakeups.wait(topic, pause_s, self._wakeups.ticket(topic))

    def _view(self, execution: ExecutionId, seq: int, kinds: str = "ac") -> TaskView | None:
        names = ["h", *(f"{kind}:{seq}" for kind in kinds)]
        loaded = load_all(self._store, execution, names)
        fields = loaded[1] if loaded else {}
        if "h" not in fields or f"a:{seq}" not in fields:
            return None
        return self._views.task(execution, load_header(fields["h"]), seq, fields)

    # -- what is refused ---------------------------------------------------------------------------

    def _refused(
        self, outcome: Outcome, result: TaskResult, execution: ExecutionId, seq: int
    ) -> None:
        lost = outcome is Outcome.SUPERSEDED or self._was_lost(outcome, result, execution, seq)
        if result.claim and lost:
            raise Conflict(f"The claim on task {result.task_id} is not held any more")
        if outcome is Outcome.UNKNOWN_TASK:
            raise NotFound(f"No such task found by id: {result.task_id}")
        if outcome is Outcome.GONE and self._search.archived_version(execution) is None:
            raise NotFound(f"No such workflow found by id: {execution}")

    def _was_lost(
        self, outcome: Outcome, result: TaskResult, execution: ExecutionId, seq: int
    ) -> bool:
        """Whether the claim ended by its time, and the work goes on without it."""
        if outcome is not Outcome.IGNORED or not result.claim:
            return False
        view = self._view(execution, seq)
        if view is not None and view.header.forget:
            raise NotFound(f"No such task found by id: {result.task_id}")
        return view is not None and not (
            view.header.status.terminal or view.attempt.open or view.claim.closed
        )

    def _sized(self, result: TaskResult) -> tuple[TaskResult, bytes]:
        """Encode the output; above a hard limit the task fails, above the threshold it moves to
        payload storage.
        """
        try:
            if result.external_output:
                return result, dump_document(External(self._accepted(result.external_output)))
            stored = dump_document(result.output)
            self._refuse_large(stored)
        except TypeError as refused:
            return _without_output(result, f"Task output cannot be stored as JSON: {refused}")
        except PayloadTooLarge as large:
            if not result.status.terminal:
                raise PayloadTooLarge(
                    f"{large.message}; the task goes on without this report."
                ) from large
            return _without_output(result, large.message)
        if len(stored) > self._limits.task_output_soft:
            path = self._payloads.put(PayloadKind.TASK_OUTPUT, stored)
            return result, dump_document(External(path))
        return result, stored

    def _refuse_large(self, stored: bytes) -> None:
        refuse_larger(len(stored), self._limits.task_output_hard, _OUTPUT)
        if has_more(stored, self._limits.values):
            raise PayloadTooLarge(too_many(_OUTPUT, self._limits.values))

    def _accepted(self, path: str) -> str:
        """Give the path of an uploaded output, of a masked copy when there are secrets in it:
        nobody holds that upload, and it is collected.
        """
        path = self._payload_reader.accept(path, self._limits.task_output_hard, _OUTPUT)
        if not self._hand_out.hides:
            return path
        with self._payload_reader.text(path) as sent:
            document = self._hand_out.masked_upload(sent)
        return path if document is None else self._payloads.put(PayloadKind.TASK_OUTPUT, document)


def _takes_results(view: TaskView) -> bool:
    header, attempt = view.header, view.attempt
    if header.status.terminal or attempt.seq < header.first_seq:
        return False
    return attempt.open and attempt.generation == header.generation


def _without_output(result: TaskResult, reason: str) -> tuple[TaskResult, bytes]:
    status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
    return replace(result, status=status, reason=reason), b"{}"
