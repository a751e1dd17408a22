"""Executions: start, read, end, search."""

from __future__ import annotations

import secrets
import time
import zlib
from dataclasses import dataclass, replace

import orjson

from conductor_py.codec.event import dump_event
from conductor_py.codec.execution import dump_document, dump_json, dump_state
from conductor_py.decider.plan import Plan
from conductor_py.decider.starting import new_header, with_input_template
from conductor_py.decider.workspace import Execution
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.encoding import Encoder
from conductor_py.engine.executor import Executor
from conductor_py.engine.shards import Shards
from conductor_py.engine.snapshots import Snapshots
from conductor_py.engine.views import Views
from conductor_py.errors import Conflict, InvalidInput, NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.model.event import Operation
from conductor_py.model.execution import Document, External, Meta
from conductor_py.model.ids import ExecutionId, execution_id, is_execution_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.requests import StartRequest
from conductor_py.model.search import EXECUTION_FIELDS, TASK_FIELDS, SearchRequest
from conductor_py.model.view import ExecutionView
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.search import Search
from conductor_py.ports.store import (
    ExecutionReader,
    ExecutionStore,
    Outcome,
    SendReply,
    Start,
    StartReply,
)
from conductor_py.ports.wakeups import Wakeups
from conductor_py.wire.execution import status_to_json, workflow_to_json
from conductor_py.wire.search_query import parse_query, parse_sort
from conductor_py.wire.summaries import summary_to_json, task_summary_to_json

_ANSWER_WAIT_S = 5.0
_HEAD = ("h", "meta", "end", "input", "output", "vars", "domains")
_START_TRIES = 5


@dataclass(frozen=True, slots=True)
class _Draft:
    """What a start keeps over its tries: fetched facts, and the fields of the newborn."""

    plan: Plan
    known: dict[str, object]
    birth: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of search results in wire form."""

    total_hits: int
    results: tuple[JsonObject, ...]


class Executions:
    """The verbs of an execution."""

    def __init__(
        self,
        *,
        store: ExecutionStore,
        reader: ExecutionReader,
        executor: Executor,
        snapshots: Snapshots,
        encoder: Encoder,
        views: Views,
        search: Search,
        payloads: Payloads,
        wakeups: Wakeups,
        shards: Shards,
        clock: StoreClock,
        partitions: int,
        max_input_bytes: int,
    ) -> None:
        """Work over these collaborators."""
        self._store = store
        self._reader = reader
        self._executor = executor
        self._snapshots = snapshots
        self._encoder = encoder
        self._views = views
        self._search = search
        self._payloads = payloads
        self._wakeups = wakeups
        self._shards = shards
        self._clock = clock
        self._partitions = partitions
        self._max_input_bytes = max_input_bytes

    # -- start -------------------------------------------------------------------------------------

    def start(self, request: StartRequest) -> ExecutionId:
        """Start an execution; its first tasks are queued when this returns.

        Raises ``NotFound`` (no such definition), ``PayloadTooLarge``, ``Conflict`` (idempotency
        key).
        """
        partition = self._partition(request)
        entropy = secrets.token_hex(16)
        execution = execution_id(partition, entropy)
        operation = self._executor.name()
        draft: _Draft | None = None
        for _ in range(_START_TRIES):
            plan, revision = self._plan(request, partition)
            if draft is None or draft.plan is not plan:
                draft = self._draft(request, plan)
            start = self._start(request, draft, execution, operation, revision)
            reply = self._store.start(start)
            self._clock.correct(reply.now_ms)
            if reply.outcome is Outcome.NEED_PLAN:
                self._snapshots.store(partition, start.changes.plans)
                reply = self._store.start(start)
                self._clock.correct(reply.now_ms)
            if reply.outcome is Outcome.OK:
                self._go_on(start, reply)
                return execution
            if reply.outcome is Outcome.EXISTS:
                return _existing(request, reply)
            if reply.outcome is Outcome.META_MOVED:
                self._snapshots.forget_heads()
        raise StoreUnavailable(
            "Definitions or the clock kept changing during the start; try again."
        )

    def _draft(self, request: StartRequest, plan: Plan) -> _Draft:
        given = self._input(request, plan)
        meta = Meta(
            created_by=request.created_by,
            event=request.event,
            idempotency_key=request.idempotency_key,
        )
        known: dict[str, object] = {
            "input": given,
            "vars": plan.definition.variables,
            "domains": request.task_to_domain,
        }
        return _Draft(plan, known, self._birth(request, plan, given, meta))

    def _start(
        self,
        request: StartRequest,
        draft: _Draft,
        execution: ExecutionId,
        operation: str,
        revision: int | None,
    ) -> Start:
        plan, now_ms = draft.plan, self._clock.now_ms()
        began_ms = self._clock.elapsed_ms()
        header = new_header(
            plan.hash,
            plan.definition,
            home=self._shards.home,
            now_ms=now_ms,
            priority=request.priority,
            correlation_id=request.correlation_id,
            has_domains=bool(request.task_to_domain),
        )
        new = Execution(id=execution, header=header, known=draft.known, complete=True)
        changes = self._executor.first(plan, new, draft.known, now_ms, draft.birth)
        return Start(
            execution=execution,
            operation=operation,
            home=header.home,
            name=header.name,
            # Scripts and uploads took their time; whether the clock was right is still to be seen.
            now_ms=now_ms + self._clock.elapsed_ms() - began_ms,
            changes=replace(changes, plans=(plan.hash, *changes.plans)),
            idempotency_key=request.idempotency_key or None,
            on_existing=request.idempotency_strategy,
            meta_revision=revision,
            holder=operation,
            lease_ms=self._executor.lease_ms,
        )

    def _go_on(self, start: Start, reply: StartReply) -> None:
        """Continuations and children of the first decision; the timers would wake them as well."""
        touched = [child.execution for child in start.changes.children]
        touched.extend(message.execution for message in start.changes.messages)
        self._executor.go_on(reply.more, start.operation, touched)

    def _partition(self, request: StartRequest) -> int:
        if self._partitions == 1:
            return 0
        if request.idempotency_key:
            return (
                zlib.crc32(f"{request.name}\0{request.idempotency_key}".encode()) % self._partitions
            )
        return secrets.randbelow(self._partitions)

    def _plan(self, request: StartRequest, partition: int) -> tuple[Plan, int | None]:
        if request.definition is not None:
            return self._snapshots.inline(request.definition, partition)
        return self._snapshots.registered(request.name, request.version, partition)

    def _input(self, request: StartRequest, plan: Plan) -> Document:
        if request.external_input and not request.input:
            if self._payloads.size(request.external_input) > self._max_input_bytes:
                raise PayloadTooLarge(_too_large(self._max_input_bytes))
            return External(request.external_input)
        return with_input_template(plan.definition, request.input)

    def _birth(
        self, request: StartRequest, plan: Plan, given: Document, meta: Meta
    ) -> dict[str, bytes]:
        stored = self._encoder.document("input", given)
        if isinstance(stored, str):
            raise PayloadTooLarge(stored)
        birth = {"input": stored}
        if plan.definition.variables:
            birth["vars"] = dump_document(plan.definition.variables)
        if meta != _NO_META:
            birth["meta"] = dump_state(meta)
        if request.task_to_domain:
            birth["domains"] = dump_json(request.task_to_domain)
        return birth

    # -- read --------------------------------------------------------------------------------------

    def view(self, execution: str, *, include_tasks: bool = True) -> ExecutionView | None:
        """View a live execution, ``None`` when the store has none of that id."""
        if not is_execution_id(execution):
            return None
        if int(execution[:3], 16) >= self._partitions:
            return None
        known = ExecutionId(execution)
        found = self._reader.snapshot(known) if include_tasks else self._head(known)
        if found is None:
            return None
        version, fields = found
        return self._views.execution(known, version, fields, include_tasks=include_tasks)

    def _head(self, execution: ExecutionId) -> tuple[int, dict[str, bytes]] | None:
        """Read what is not about single tasks: of a wide execution next to nothing."""
        found = self._store.load(execution, _HEAD)
        if found is None:
            return None
        return found[0], {name: value for name, value in found[1].items() if value is not None}

    def document(self, execution: str, *, include_tasks: bool = True) -> JsonObject:
        """Read an execution in wire form, from the store or, after it left, from the archive
        (``NotFound``).
        """
        view = self.view(execution, include_tasks=include_tasks)
        if view is not None:
            return workflow_to_json(view)
        archived = self._search.archived(execution)
        if archived is None:
            raise NotFound(f"No such workflow found by id: {execution}")
        document: dict[str, JsonValue] = orjson.loads(archived.document)
        document.pop("taskLogs", None)
        if not include_tasks:
            document["tasks"] = []
        return document

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

    def running(self, name: str) -> tuple[str, ...]:
        """List the executions of a workflow that have not ended."""
        return self._reader.running(name)

    def search(self, *, query: str, free_text: str, sort: str, start: int, size: int) -> FoundPage:
        """Search executions (``InvalidInput`` for a query that cannot be read)."""
        request = SearchRequest(
            query=parse_query(query, EXECUTION_FIELDS),
            free_text=free_text or "*",
            sort=parse_sort(sort, EXECUTION_FIELDS),
            start=start,
            size=size,
        )
        page = self._search.search(request)
        return FoundPage(page.total_hits, tuple(summary_to_json(found) for found in page.results))

    def search_tasks(
        self, *, query: str, free_text: str, sort: str, start: int, size: int
    ) -> FoundPage:
        """Search tasks (``InvalidInput`` for a query that cannot be read)."""
        request = SearchRequest(
            query=parse_query(query, TASK_FIELDS),
            free_text=free_text or "*",
            sort=parse_sort(sort, TASK_FIELDS),
            start=start,
            size=size,
        )
        page = self._search.search_tasks(request)
        found = tuple(task_summary_to_json(task) for task in page.results)
        return FoundPage(page.total_hits, found)

    # -- operations --------------------------------------------------------------------------------

    def terminate(self, execution: str, *, reason: str | None) -> None:
        """End an execution: ``Conflict`` when it is COMPLETED, nothing when it is TERMINATED
        already.
        """
        self._operate(execution, "terminate", {"reason": reason})

    def _operate(self, execution: str, name: str, arguments: dict[str, JsonValue]) -> None:
        if not is_execution_id(execution) or int(execution[:3], 16) >= self._partitions:
            raise NotFound(f"No such workflow found by id: {execution}")
        target = ExecutionId(execution)
        operation = self._executor.name()
        event = dump_event(Operation(id=operation, name=name, arguments=arguments))
        ticket = self._wakeups.ticket(f"o:{operation}")
        reply = self._store.send(target, operation, event, operation, self._executor.lease_ms)
        if reply.outcome is Outcome.GONE:
            self._archived_conflict(execution)
            return
        answer = self._answer(target, operation, reply, ticket)
        if answer.get("error") == "CONFLICT":
            raise Conflict(str(answer["message"]))
        if answer.get("error"):
            raise InvalidInput(str(answer["message"]))

    def _answer(
        self, target: ExecutionId, operation: str, reply: SendReply, ticket: int
    ) -> dict[str, JsonValue]:
        if reply.loaded is not None:
            driven = self._executor.drive(reply.loaded, operation)
            self._executor.follow(driven.touched)
            answer = driven.answers.get(operation)
            if answer is not None:
                return {"error": answer.error, "message": answer.message}
        deadline = time.monotonic() + _ANSWER_WAIT_S
        while True:
            stored = self._reader.answer(target, operation)
            if stored is not None:
                found: dict[str, JsonValue] = orjson.loads(stored)
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise StoreUnavailable("The operation is accepted but not carried out yet.")
            ticket = self._wakeups.wait(f"o:{operation}", min(left, 0.5), ticket)

    def _archived_conflict(self, execution: str) -> None:
        status = self.document(execution, include_tasks=False)["status"]
        if status != "TERMINATED":
            raise Conflict(f"Cannot terminate a {status} workflow.")


_NO_META = Meta()


def _existing(request: StartRequest, reply: StartReply) -> ExecutionId:
    if reply.existing is not None and request.idempotency_strategy == "RETURN_EXISTING":
        return reply.existing
    key = request.idempotency_key
    raise Conflict(f"Idempotency key '{key}' is in use by workflow {reply.existing}")


def _too_large(limit: int) -> str:
    return f"Workflow input is larger than the limit of {limit} bytes"
