"""Executions: start, read, end, search."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from conductor_py.decider import admission
from conductor_py.decider.chains import home_of
from conductor_py.decider.plan import Plan
from conductor_py.decider.starting import new_header
from conductor_py.decider.subsets import subset
from conductor_py.decider.workspace import Execution
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.chains import learn_room, wish_of
from conductor_py.engine.decisions.drafts import Draft, Drafts
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.engine.reading.reading import FoundPage, Reading
from conductor_py.engine.shards import Shards
from conductor_py.errors import Conflict, LimitExceeded, StoreUnavailable
from conductor_py.model.execution import Watch, Watches
from conductor_py.model.ids import (
    ExecutionId,
    derived_execution_id,
    execution_id,
    home_partition,
    partition_of,
)
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.requests import StartRequest
from conductor_py.model.search import EXECUTION_FIELDS, TASK_FIELDS, FieldKind, SearchRequest
from conductor_py.model.view import ExecutionView
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore, Outcome, Start, StartReply
from conductor_py.records import changed
from conductor_py.wire.search_requests import read_search
from conductor_py.wire.summaries import summary_to_json, task_summary_to_json

_START_TRIES = 5
STAYS_MS = 10_000
"""What has ended stays in the store at least so long. A start is taken only when its caller's time
is at most a second off: one that is sent again finds what it started, or is refused. An operation
that brings back what had ended, and is sent again, finds it, too.
"""
_MARGIN_MS = 2_000
"""More than the time that a start may be on its way, and the store's clock be misjudged by."""


class Executions:
    """The verbs of an execution."""

    def __init__(
        self,
        *,
        store: ExecutionStore,
        reader: ExecutionReader,
        executor: Executor,
        snapshots: Snapshots,
        reading: Reading,
        search: Search,
        operations: Operations,
        end_quarantined: Callable[[str, str | None], bool],
        shards: Shards,
        clock: StoreClock,
        partitions: int,
        drafts: Drafts,
        machine: Machine = REAL_MACHINE,
        stays_ms: int = STAYS_MS,
        zone: str = "",
    ) -> None:
        """Work over these collaborators; what has ended stays at least ``stays_ms``. ``zone`` is
        that of executions whose start names none; empty: UTC.
        """
        self._store = store
        self._reader = reader
        self._executor = executor
        self._snapshots = snapshots
        self._reading = reading
        self._search = search
        self._operations = operations
        self._end_quarantined = end_quarantined
        self._shards = shards
        self._clock = clock
        self._partitions = partitions
        self._drafts = drafts
        self._machine = machine
        self._look_holds_ms = stays_ms - _MARGIN_MS
        self._zone = zone

    # -- start -------------------------------------------------------------------------------------

    def start(
        self,
        request: StartRequest,
        *,
        cause: str = "",
        watch: Watch | None = None,
        before_ms: int = 0,
    ) -> ExecutionId:
        """Start an execution, or a part of one; its first tasks are queued when this returns.

        With ``cause`` the id is made of it: a repeat starts nothing and answers the same id.
        ``watch`` says who waits for it; its end counts from the start.
        After ``before_ms``, by the store's clock, nothing is started (``StoreUnavailable``).

        Raises ``NotFound`` (no such definition), ``InvalidInput`` (no such part, a full chain),
        ``PayloadTooLarge``, ``Conflict`` (idempotency key).
        """
        partition = self._partition(request, cause)
        execution = execution_id(partition, self._machine.token(16))
        operation = self._executor.name()
        if cause:
            execution = self.derived(request, cause)
            operation = f"start-{execution}"
        draft: Draft | None = None
        for _ in range(_START_TRIES):
            looked_ms = self._clock.elapsed_ms()
            if cause and self._has_begun(execution):
                return execution
            plan, revision = self._plan(request, partition)
            if draft is None or draft.plan is not plan:
                draft = self._drafts.draft(request, plan, watch)
            start = self._start(request, draft, execution, operation, revision)
            self._refuse_late(start, before_ms)
            reply = self._send(start, partition, looked_ms if cause else None)
            match reply.outcome:
                case Outcome.OK:
                    self._go_on(start, reply)
                    return execution
                case Outcome.EXISTS:
                    return _existing(request, reply, execution)
                case Outcome.LIMITED:
                    raise LimitExceeded(_limited(draft.plan))
                case Outcome.CHAIN_FULL:
                    learn_room(draft.known, request, start.changes.chain, reply.room)
                case Outcome.META_MOVED:
                    self._snapshots.forget_heads()
        raise StoreUnavailable(
            "Definitions or the clock kept changing during the start, which took long; try again."
        )

    def _refuse_late(self, start: Start, before_ms: int) -> None:
        # The store refuses a time it does not share. The schedule's partition may have another.
        if before_ms and max(start.now_ms, self._clock.now_ms()) > before_ms:
            raise StoreUnavailable("The claim ended before the start; it is made again.")

    def _has_begun(self, execution: ExecutionId) -> bool:
        """Whether somebody with the same cause was quicker, in this order: what is not in the store
        and then not in the archive has not begun before, and what begins after that stays.
        """
        in_store = self._store.load(execution, ["h"]) is not None
        return in_store or self._search.archived_version(execution) is not None

    def _send(self, start: Start, partition: int, looked_ms: int | None) -> StartReply:
        """Send it, unless too much time has passed since ``_has_begun`` looked."""
        if looked_ms is not None and self._clock.elapsed_ms() - looked_ms > self._look_holds_ms:
            return StartReply(outcome=Outcome.CLOCK, now_ms=self._clock.now_ms(partition))
        reply = self._store.start(start)
        self._clock.correct(reply.now_ms, partition)
        if reply.outcome is Outcome.NEED_PLAN:
            self._snapshots.store(partition, start.changes.plans)
            reply = self._store.start(start)
            self._clock.correct(reply.now_ms, partition)
        if (
            reply.outcome is Outcome.CLOCK
            and self._search.archived_version(start.execution) is not None
        ):
            # Its answer was lost and the connection sent it again: it has ended and left meanwhile.
            return replace(reply, outcome=Outcome.EXISTS, existing=start.execution)
        return reply

    def derived(self, request: StartRequest, cause: str) -> ExecutionId:
        """The id of what this cause starts."""
        return derived_execution_id(cause, self._partition(request, cause))

    def begun(self, cause: str) -> ExecutionId | None:
        """Find what this cause has started, live or archived, whatever its request said then: a key
        in it decides the partition, so that all of them are asked.
        """
        every = (derived_execution_id(cause, number) for number in range(self._partitions))
        return next(filter(self._has_begun, every), None)

    def _start(
        self,
        request: StartRequest,
        draft: Draft,
        execution: ExecutionId,
        operation: str,
        revision: int | None,
    ) -> Start:
        plan, parent = draft.plan, request.parent
        now_ms = self._clock.now_ms(partition_of(execution))
        began_ms = self._clock.elapsed_ms()
        header = new_header(
            plan.hash,
            plan.definition,
            home=home_of(self._shards.home, request.chain, parent.execution if parent else None),
            now_ms=now_ms,
            priority=request.priority,
            correlation_id=request.correlation_id,
            has_domains=bool(request.task_to_domain),
            parent=(parent.execution, parent.seq, parent.depth) if parent else None,
            admitted_under=parent.admitted_under if parent else "",
            chain=request.chain,
            business=(request.business_at, request.zone or self._zone),
        )
        if isinstance(watches := draft.known.get("watch"), Watches):
            header = replace(header, watched=max(watch.until for watch in watches.watches))
        new = Execution(id=execution, header=header, known=draft.known, complete=True)
        changes = self._executor.first(plan, new, draft.known, now_ms, draft.birth)
        # Scripts and uploads took their time; whether the clock was right is still to be seen.
        took_ms = self._clock.elapsed_ms() - began_ms
        effects = tuple(
            replace(effect, due_ms=effect.due_ms + took_ms) if effect.due_ms > 0 else effect
            for effect in changes.effects
        )
        return Start(
            execution=execution,
            operation=operation,
            home=header.home,
            name=header.name,
            now_ms=now_ms + took_ms,
            changes=changed(changes, plans=(plan.hash, *changes.plans), effects=effects),
            idempotency_key=request.idempotency_key or None,
            on_existing=request.idempotency_strategy,
            meta_revision=revision,
            holder=operation,
            lease_ms=self._executor.lease_ms,
            wish=wish_of(request),
        )

    def _go_on(self, start: Start, reply: StartReply) -> None:
        """Continuations and children of the first decision; the timers would wake them as well."""
        touched = [child.execution for child in start.changes.children]
        touched.extend(message.execution for message in start.changes.messages)
        self._executor.go_on(reply.more, start.operation, touched)

    def _partition(self, request: StartRequest, cause: str) -> int:
        if self._partitions == 1:
            return 0
        key = request.idempotency_key
        decisive = f"{request.name}\0{key}" if key else cause
        if decisive:
            return home_partition(decisive, self._partitions)
        return int(self._machine.token(4), 16) % self._partitions

    def _plan(self, request: StartRequest, partition: int) -> tuple[Plan, int | None]:
        if request.definition is not None:
            plan, revision = self._snapshots.inline(request.definition, partition)
        else:
            plan, revision = self._snapshots.registered(request.name, request.version, partition)
        if request.start_nodes:
            root = "$" if request.definition is None else "$.workflowDef"
            part = subset(plan, request.start_nodes, request.depend_mode, root=root)
            plan = self._snapshots.compiled(part)
        return plan, revision

    # -- read --------------------------------------------------------------------------------------

    def view(self, execution: str, *, include_tasks: bool = True) -> ExecutionView | None:
        """View one, as ``Reading`` does."""
        return self._reading.view(execution, include_tasks=include_tasks)

    def document(self, execution: str, *, include_tasks: bool = True) -> JsonObject:
        """Read one, as ``Reading`` does."""
        return self._reading.document(execution, include_tasks=include_tasks)

    def json(self, execution: str, *, include_tasks: bool = True, patient: bool = True) -> bytes:
        """Read one as JSON, as ``Reading`` does."""
        return self._reading.json(execution, include_tasks=include_tasks, patient=patient)

    def status(
        self, execution: str, *, include_output: bool, include_variables: bool
    ) -> JsonObject:
        """Read how one stands, as ``Reading`` does."""
        return self._reading.status(
            execution, include_output=include_output, include_variables=include_variables
        )

    def tasks(
        self,
        execution: str,
        *,
        start: int,
        count: int,
        statuses: Collection[str] = (),
        patient: bool = True,
    ) -> FoundPage:
        """Read a page of the tasks of one, as ``Reading`` does."""
        return self._reading.tasks(
            execution, start=start, count=count, statuses=statuses, patient=patient
        )

    def running(self, name: str) -> tuple[str, ...]:
        """List the executions of a workflow that have not ended."""
        return self._reader.running(name)

    def asked(
        self, fields: Mapping[str, FieldKind], *, query: str, free_text: str, sort: str
    ) -> SearchRequest:
        """Read what a search over these fields asks for now (``InvalidInput``)."""
        now_ms = self._clock.now_ms()
        return read_search(fields, query=query, free_text=free_text, sort=sort, now_ms=now_ms)

    def search(self, *, query: str, free_text: str, sort: str, start: int, size: int) -> FoundPage:
        """Search executions (``InvalidInput`` for a query that cannot be read)."""
        request = self.asked(EXECUTION_FIELDS, query=query, free_text=free_text, sort=sort)
        page = self._search.search(replace(request, start=start, size=size))
        return FoundPage(page.total_hits, tuple(summary_to_json(found) for found in page.results))

    def search_tasks(
        self, *, query: str, free_text: str, sort: str, start: int, size: int
    ) -> FoundPage:
        """Search tasks (``InvalidInput`` for a query that cannot be read)."""
        request = self.asked(TASK_FIELDS, query=query, free_text=free_text, sort=sort)
        page = self._search.search_tasks(replace(request, start=start, size=size))
        return FoundPage(page.total_hits, tuple(map(task_summary_to_json, page.results)))

    # -- operations --------------------------------------------------------------------------------

    def terminate(
        self, execution: str, *, reason: str | None, trigger_failure_workflow: bool = False
    ) -> None:
        """End an execution: ``Conflict`` when it is COMPLETED, nothing when it is TERMINATED
        already. Its failure workflow is started only when asked for. One in quarantine ends
        whatever waits in its inbox.
        """
        if self._end_quarantined(execution, reason):
            return
        arguments: dict[str, JsonValue] = {"reason": reason}
        if trigger_failure_workflow:
            arguments["triggerFailureWorkflow"] = True
        if not self._operations.carry_out(execution, "terminate", arguments):
            self._archived_conflict(execution)

    def _archived_conflict(self, execution: str) -> None:
        status = self.document(execution, include_tasks=False)["status"]
        if status != "TERMINATED":
            raise Conflict(f"Cannot terminate a {status} workflow.")


def _existing(request: StartRequest, reply: StartReply, execution: ExecutionId) -> ExecutionId:
    if reply.existing == execution:
        return execution
    if reply.existing is not None and request.idempotency_strategy == "RETURN_EXISTING":
        return reply.existing
    key = request.idempotency_key
    raise Conflict(f"Idempotency key '{key}' is in use by workflow {reply.existing}")


def _limited(plan: Plan) -> str:
    limit = admission.limit_of(plan.definition)
    return f"{limit} executions of workflow {plan.definition.name} are under way: its rate limit"
