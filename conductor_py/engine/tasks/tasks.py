"""Tasks: poll, report, keep, look at."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from conductor_py.codec.execution import dump_json
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.payloads.holding import PayloadHolding
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.engine.reading.reading import Reading
from conductor_py.engine.reading.task_lookup import TaskLookup
from conductor_py.engine.reading.views import Views
from conductor_py.engine.tasks.bounds import TaskBounds
from conductor_py.engine.tasks.domains import Domains, poll_data_to_json
from conductor_py.engine.tasks.hand_out import HandOut
from conductor_py.engine.tasks.polling import Polling
from conductor_py.engine.tasks.results import Results
from conductor_py.errors import Conflict, NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.model.ids import (
    ExecutionId,
    is_execution_id,
    partition_of,
    split_task_id,
    task_id,
)
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import ExtendRequest, PollRequest, TaskLog, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.model.text_bounds import shortened_line
from conductor_py.model.view import TaskView
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.queues import TaskQueues
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore, Outcome
from conductor_py.ports.wakeups import Wakeups

_MOST_PROGRESS = 256 * 1024
_TRIES = 20


class Tasks:
    """The verbs of a task."""

    def __init__(
        self,
        *,
        store: ExecutionStore,
        reader: ExecutionReader,
        queues: TaskQueues,
        executor: Executor,
        views: Views,
        reading: Reading,
        payloads: Payloads,
        payload_reader: PayloadReader,
        holding: PayloadHolding,
        search: Search,
        wakeups: Wakeups,
        domains: Domains,
        clock: StoreClock,
        limits: PayloadLimits,
        partitions: int,
        bounds: TaskBounds,
        hand_out: HandOut,
        polling: Polling,
    ) -> None:
        """Work over these collaborators."""
        self._polling = polling
        self._store = store
        self._reader = reader
        self._queues = queues
        self._views = views
        self._search = search
        self._domains = domains
        self._clock = clock
        self._partitions = partitions
        self._bounds = bounds
        self._hand_out = hand_out
        self._lookup = TaskLookup(store, reader, views, reading, partitions)
        self._results = Results(
            store=store,
            executor=executor,
            views=views,
            payloads=payloads,
            payload_reader=payload_reader,
            holding=holding,
            search=search,
            wakeups=wakeups,
            clock=clock,
            limits=limits,
            hand_out=hand_out,
        )

    # -- poll --------------------------------------------------------------------------------------

    def poll(
        self, request: PollRequest, stop: threading.Event | None = None
    ) -> tuple[JsonObject, ...]:
        """Claim tasks, as ``Polling.poll``."""
        return self._polling.poll(request, stop)

    def take(
        self, request: PollRequest, task_type: str | None = None
    ) -> tuple[tuple[JsonObject, ...], int]:
        """Claim without waiting, as ``Polling.take``."""
        return self._polling.take(request, task_type)

    # -- report ------------------------------------------------------------------------------------

    def update(self, result: TaskResult) -> None:
        """Take a result.

        A result for an ended task or execution is ignored, as Conductor does. ``NotFound`` for an
        unknown one; ``Conflict`` when a claim token is given that does not hold the task any more;
        ``StoreUnavailable`` when the result before it is not decided in time.
        """
        self._take(result)

    def _take(self, result: TaskResult, *, once: bool = False) -> bool:
        if result.workflow_id:
            self._known(result.workflow_id)
        execution, seq = split_task_id(result.task_id)
        if result.workflow_id and result.workflow_id != execution:
            raise NotFound(f"Task {result.task_id} is none of workflow {result.workflow_id}")
        self._check_partition(execution)
        for line in result.logs[: self._bounds.log_lines]:
            self._log(execution, seq, line)
        return self._results.take(execution, seq, result, once=once)

    def update_by_ref(
        self, workflow_id: str, ref: str, status: TaskStatus, output: JsonObject, worker: str
    ) -> str | None:
        """Report on the first open task of a reference (its output merged); ``None`` when there is
        none. As ``update``, of a worker from whom the task was taken it is ignored.
        """
        execution = self._known(workflow_id)
        ignored = ""
        # Somebody else may be quicker; then another task of that reference may be open. A report
        # that is sent again would be that somebody itself, and end the next iteration as well.
        for _ in range(_TRIES):
            found = self._results.first_open(execution, ref)
            if found is None:
                return None
            task, before = task_id(execution, found.attempt.seq), found.output
            if task == ignored:
                return task
            merged = {**(before if isinstance(before, Mapping) else {}), **output}
            result = TaskResult(
                workflow_id=workflow_id, task_id=task, status=status, output=merged, worker=worker
            )
            if self._take(result, once=True):
                return task
            ignored = task
        raise StoreUnavailable(f"Others reported on every task of reference {ref}; try again.")

    def update_merged(
        self, workflow_id: str, task_id: str, status: TaskStatus, output: JsonObject, worker: str
    ) -> None:
        """Report on a task, its output merged; as ``update``."""
        view = self._lookup.view(*split_task_id(task_id))
        before = view.output if view is not None else None
        merged = {**(before if isinstance(before, Mapping) else {}), **output}
        self.update(
            TaskResult(
                workflow_id=workflow_id,
                task_id=task_id,
                status=status,
                output=merged,
                worker=worker,
            )
        )

    def open_task(self, workflow_id: str, ref: str) -> TaskView | None:
        """Find the first open task of a reference; ``NotFound`` for an unknown execution."""
        return self._results.first_open(self._known(workflow_id), ref)

    # -- keep --------------------------------------------------------------------------------------

    def extend(self, request: ExtendRequest) -> int:
        """Keep a claim; returns the instant at which it now ends. ``Conflict`` when it is lost,
        ``NotFound``, ``PayloadTooLarge`` for its progress.
        """
        execution, seq = split_task_id(request.task_id)
        self._check_partition(execution)
        progress = None
        if request.progress is not None:
            progress = dump_json(self._hand_out.masked_document(request.progress))
        if progress is not None and len(progress) > _MOST_PROGRESS:
            raise PayloadTooLarge(
                f"The progress of task {request.task_id} has {len(progress):,} bytes, "
                f"more than the {_MOST_PROGRESS:,} that are kept."
            )
        outcome, until = self._queues.extend(
            execution, seq, request.claim, request.worker, request.lease_s * 1000, progress
        )
        match outcome:
            case Outcome.OK:
                return until
            case Outcome.UNKNOWN_TASK:
                raise NotFound(f"No such task found by id: {request.task_id}")
            case Outcome.GONE:
                raise NotFound(f"No such workflow found by id: {execution}")
            case _:
                raise Conflict(f"The claim on task {request.task_id} is not held any more")

    def extend_by_result(self, task_id: str, claim: int, worker: str) -> None:
        """``extendLease`` of a task result; on an ended task nothing happens, as in Conductor."""
        try:
            self.extend(ExtendRequest(task_id=task_id, claim=claim, worker=worker))
        except Conflict:
            if claim:
                raise

    # -- look at -----------------------------------------------------------------------------------

    def document(self, task_id: str) -> JsonObject:
        """Read a task in wire form (``NotFound``)."""
        return self._lookup.document(task_id)

    def log(self, task_id: str, line: str) -> None:
        """Append one line to the log of a task (``NotFound``)."""
        execution, seq = split_task_id(task_id)
        self._check_partition(execution)
        outcome = self._log(execution, seq, TaskLog(line=line))
        if outcome is not Outcome.OK:
            raise NotFound(f"No such task found by id: {task_id}")

    def _log(self, execution: ExecutionId, seq: int, line: TaskLog) -> Outcome:
        if not self._bounds.keep_logs:
            return Outcome.OK
        at = line.created_at or self._clock.now_ms()
        # Masked first: a secret that is cut in two would not be known.
        text = shortened_line(self._hand_out.masked_text(line.line))
        return self._reader.append_log(execution, seq, text, at)

    def logs(self, task_id: str) -> tuple[JsonObject, ...]:
        """Read the log of a task, oldest line first; empty when there is none."""
        return self._lookup.logs(task_id)

    def queue_sizes(self, types: Sequence[str] | None) -> dict[str, int]:
        """Count waiting tasks by queue; ``None``: of all queues."""
        sizes: dict[str, int] = dict.fromkeys(types or (), 0)
        for partition in range(self._partitions):
            for (queue, _), (ready, delayed) in self._queues.sizes(partition).items():
                if types is None or queue in sizes:
                    sizes[queue] = sizes.get(queue, 0) + ready + delayed
        return dict(sorted(sizes.items()))

    def queue_sizes_by_shard(self) -> dict[str, dict[str, object]]:
        """Count waiting tasks by queue and shard, in Conductor's form (its key is spelled
        ``uacked``).
        """
        sizes: dict[str, dict[str, object]] = {}
        totals: dict[tuple[str, str], int] = {}
        for partition in range(self._partitions):
            for key, (ready, delayed) in self._queues.sizes(partition).items():
                totals[key] = totals.get(key, 0) + ready + delayed
        for (queue, shard), size in sorted(totals.items()):
            sizes.setdefault(queue, {})[shard] = {"size": size, "uacked": 0}
        return sizes

    def poll_data(self, task_type: str | None) -> tuple[JsonObject, ...]:
        """List who polled last; ``None``: of all types."""
        return tuple(poll_data_to_json(data) for data in self._domains.last_polls(task_type))

    def _known(self, workflow_id: str) -> ExecutionId:
        if not is_execution_id(workflow_id):
            raise NotFound(f"No such workflow found by id: {workflow_id}")
        execution = ExecutionId(workflow_id)
        self._check_partition(execution)
        return execution

    def _check_partition(self, execution: ExecutionId) -> None:
        if partition_of(execution) >= self._partitions:
            raise NotFound(f"No such workflow found by id: {execution}")
