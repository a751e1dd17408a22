"""Tasks: poll, report, keep, look at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from conductor_py.codec.execution import dump_json
from conductor_py.decider.scheduling import queue_name
from conductor_py.engine.bounds import TaskBounds
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.domains import Domains, poll_data_to_json
from conductor_py.engine.encoding import PayloadLimits
from conductor_py.engine.executor import Executor
from conductor_py.engine.hand_out import HandOut
from conductor_py.engine.hub import Hub
from conductor_py.engine.live_limits import LiveLimits
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.engine.payload_holding import PayloadHolding
from conductor_py.engine.payload_reading import PayloadReader
from conductor_py.engine.quiet import Quiet, last_change
from conductor_py.engine.reading import Reading
from conductor_py.engine.results import Results
from conductor_py.engine.shards import Shards
from conductor_py.engine.task_lookup import TaskLookup
from conductor_py.engine.views import Views
from conductor_py.errors import Conflict, NotFound, PayloadTooLarge, StoreFailure, StoreUnavailable
from conductor_py.model.changing import changed
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
from conductor_py.model.text_bounds import refuse_long_poll, shortened_line
from conductor_py.model.view import TaskView
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.queues import Poll, TaskQueues
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore, Outcome
from conductor_py.ports.wakeups import Wakeups

_MOST_PROGRESS = 256 * 1024
_FALLBACK_S = 1.0
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
        shards: Shards,
        domains: Domains,
        clock: StoreClock,
        limits: PayloadLimits,
        partitions: int,
        bounds: TaskBounds,
        live: LiveLimits,
        hand_out: HandOut,
        polled: Callable[[PollRequest], None],
        machine: Machine = REAL_MACHINE,
        hub: Hub | None = None,
        quiet: Quiet | None = None,
        gather_tasks_ms: int | None = None,
    ) -> None:
        """Work over these collaborators; ``polled`` hears of every poll, ``quiet`` of all that
        changes the store, where nobody else does. Claims are gathered for the index for
        ``gather_tasks_ms``; None: it is not told of them.
        """
        self._gather_tasks_ms = gather_tasks_ms
        self._store = store
        self._polled = polled
        self._reader = reader
        self._queues = queues
        self._views = views
        self._search = search
        self._wakeups = wakeups
        self._shards = shards
        self._domains = domains
        self._clock = clock
        self._partitions = partitions
        self._hub = hub
        self._quiet = quiet
        self._bounds = bounds
        self._live = live
        self._hand_out = hand_out
        self._machine = machine
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
        """Claim up to ``count`` tasks; waits up to ``timeout_ms`` for the first. ``stop`` ends the
        wait.
        """
        refuse_long_poll(request)
        self._polled(request)
        queue = queue_name(request.task_type, request.domain)
        topic = f"q:{queue}"
        deadline = self._machine.monotonic() + request.timeout_ms / 1000
        while True:
            ticket, seen = self._wakeups.ticket(topic), last_change(self._quiet)
            views, retry_at = self._poll_once(request, queue, request.task_type)
            left = deadline - self._machine.monotonic()
            if views or left <= 0 or (stop is not None and stop.is_set()):
                return tuple(self._hand_out.document(view) for view in views)
            if retry_at:
                left = min(left, max(retry_at - self._clock.now_ms(), 1) / 1000)
            if not self._rest(topic, ticket, seen, left, stop) and not retry_at:
                return ()

    def _rest(
        self, topic: str, ticket: int, seen: int, left: float, stop: threading.Event | None
    ) -> bool:
        """Wait for so long, or until something may have come; whether it may."""
        until = self._machine.monotonic() + left
        while left > 0 and not (stop is not None and stop.is_set()):
            woken = self._wakeups.wait(topic, min(left, _FALLBACK_S), ticket) != ticket
            if woken or self._quiet is None or self._quiet.last != seen:
                return True
            left = until - self._machine.monotonic()
        return False

    def take(
        self, request: PollRequest, task_type: str | None = None
    ) -> tuple[tuple[JsonObject, ...], int]:
        """Claim without waiting; with the epoch ms at which more falls due, 0 when unknown.

        ``task_type``: of the tasks that are wanted, where the request names one of its queues;
        empty: any.
        """
        queue = queue_name(request.task_type, request.domain)
        views, retry_at = self._poll_once(
            request, queue, request.task_type if task_type is None else task_type
        )
        return tuple(self._hand_out.document(view) for view in views), retry_at

    def _poll_once(
        self, request: PollRequest, queue: str, task_type: str
    ) -> tuple[list[TaskView], int]:
        live = self._live.of(request.task_type)
        asked = Poll(
            queue=queue,
            shards=self._shards.to_poll(),
            worker=request.worker,
            count=request.count,
            lease_ms=request.lease_s * 1000,
            max_bytes=self._bounds.poll_bytes,
            poll_name=request.task_type,
            poll_domain=request.domain,
            limit=live.limit,
            rate=live.rate,
            gather_ms=self._gather_tasks_ms or 0,
            task_type=task_type,
        )
        if self._hub is not None:
            return self._poll_several(self._hub, request, asked)
        reply = self._queues.poll(0, asked)
        self._clock.correct(reply.now_ms)
        return list(self._views.claimed(reply.claimed)), reply.retry_at_ms

    def _poll_several(
        self, hub: Hub, request: PollRequest, asked: Poll
    ) -> tuple[list[TaskView], int]:
        """Ask the partitions that may have something. One that does not answer takes nothing from
        the others, and what they handed out is answered.
        """
        views: list[TaskView] = []
        retry_at, room, away = 0, asked.max_bytes, None
        for candidate in hub.candidates(asked.queue, asked.shards):
            partition = candidate.partition
            wanted = changed(
                asked, count=asked.count - len(views), max_bytes=room, poll_name="", poll_domain=""
            )
            try:
                reply = self._queues.poll(partition, wanted)
            except StoreFailure as error:
                hub.put_off(asked.queue, partition)
                away = error
                continue
            self._clock.correct(reply.now_ms, partition)
            hub.asked(asked.queue, candidate, wanted.count, reply)
            views.extend(self._views.claimed(reply.claimed))
            room -= sum(claimed.size for claimed in reply.claimed)
            if reply.retry_at_ms or room <= 0:
                after_ms = 0 if room <= 0 else reply.retry_at_ms - reply.now_ms
                at_ms = after_ms + self._clock.now_ms()
                retry_at = min(retry_at or at_ms, at_ms)
            if len(views) >= request.count or room <= 0:
                break
        if away is not None and not views:
            raise away
        names = (request.task_type, request.domain, request.worker)
        hub.record(asked.queue, *names, asked.shards)
        return views, retry_at

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
            raise NotFound(f"No such workflow found by id: {result.workflow_id}")
        self._check_partition(execution)
        for line in result.logs[: self._bounds.log_lines]:
            self._log(execution, seq, line)
        return self._results.take(execution, seq, result, once=once)

    def update_by_ref(
        self, workflow_id: str, ref: str, status: TaskStatus, output: JsonObject, worker: str
    ) -> str | None:
        """Report on the first open task of a reference (its output merged); ``None`` when there is
        none.
        """
        execution = self._known(workflow_id)
        # Somebody else may be quicker; then another task of that reference may be open. A report
        # that is sent again would be that somebody itself, and end the next iteration as well.
        for _ in range(_TRIES):
            found = self._results.first_open(execution, ref)
            if found is None:
                return None
            task, before = task_id(execution, found.attempt.seq), found.output
            merged = {**(before if isinstance(before, Mapping) else {}), **output}
            result = TaskResult(
                workflow_id=workflow_id, task_id=task, status=status, output=merged, worker=worker
            )
            if self._take(result, once=True):
                return task
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
