"""Quarantine as operators see it: what is in it, another try, and an end without one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

import orjson

from conductor_py.decider.workspace import Execution
from conductor_py.engine.decisions.executor import Driven, Executor
from conductor_py.engine.decisions.setbacks import UNREADABLE, Setbacks
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.errors import ConductorError, Conflict, NotFound, StoreDamaged, StoreFailure
from conductor_py.model.event import Operation
from conductor_py.model.execution import Header
from conductor_py.model.ids import ExecutionId, is_execution_id, partition_of
from conductor_py.model.json import JsonObject
from conductor_py.model.search import OneOf, SearchRequest
from conductor_py.ports.damage import Damaged, DamageStore, execution_of
from conductor_py.ports.quarantine import Quarantined, QuarantineStore
from conductor_py.ports.search import Search
from conductor_py.ports.store import Loaded

_BATCH = 100
_LOG = logging.getLogger(__name__)


class Quarantine:
    """The executions that are in quarantine."""

    def __init__(
        self,
        store: QuarantineStore,
        damage: DamageStore,
        executor: Executor,
        snapshots: Snapshots,
        search: Search,
        *,
        partitions: int,
    ) -> None:
        """Work over these collaborators."""
        self._search = search
        self._store = store
        self._damage = damage
        self._told: dict[str, int] = {}
        self._executor = executor
        self._snapshots = snapshots
        self._partitions = partitions

    def listed(self, *, start: int, size: int) -> tuple[Sequence[JsonObject], int]:
        """List them, longest failing first, with how many there are."""
        found, total = self._store.listed(start, size)
        return [quarantined_to_json(one) for one in found], total

    def damaged(self) -> list[JsonObject]:
        """List what cannot be read at all, longest first."""
        return [damaged_to_json(one) for one in self._damage.listed()]

    def tick(self) -> int:
        """Set shared keys of a wrong type aside, and tell of what is damaged, each once; 0: it is
        never busy.
        """
        for key in self._damage.mend():
            _LOG.error(
                "A key had a wrong type; it is set aside and begins anew",
                extra={"action": "key_set_aside", "key": key[:200]},
            )
        told: dict[str, int] = {}
        for one in self._damage.listed():
            told[one.entry] = one.since_ms
            if self._told.get(one.entry) != one.since_ms:
                _LOG.error(
                    "What is stored cannot be read; it is put aside",
                    extra={"action": "damaged", "entry": one.entry, "reason": one.problem},
                )
        self._told = told
        return 0

    def retry_damaged(self, entry: str) -> None:
        """Let what could not be read be looked at now. ``NotFound``."""
        if not self._damage.retry(entry):
            raise NotFound(f"Nothing damaged is named '{entry[:200]}'; quarantine list has names")

    def drop_damaged(self, entry: str) -> None:
        """Delete what cannot be read, for ever. ``NotFound``."""
        execution = execution_of(entry)
        workflow = self._indexed_name(execution) if execution is not None else ""
        if not self._damage.drop(entry, workflow=workflow):
            raise NotFound(f"Nothing damaged is named '{entry[:200]}'; quarantine list has names")
        _LOG.warning(
            "What could not be read was dropped by an operator",
            extra={"action": "damaged_dropped", "entry": entry[:200]},
        )

    def count(self) -> int:
        """Count them."""
        return self._store.listed(0, 0)[1]

    def find(self, execution: str) -> Quarantined | None:
        """Look at one; ``None`` when it is not in quarantine, or nowhere."""
        if not is_execution_id(execution) or partition_of(ExecutionId(execution)) >= (
            self._partitions
        ):
            return None
        return self._store.get(ExecutionId(execution))

    def retry(self, execution: str) -> bool:
        """Try one again now; whether it was decided. If not it is tried again: soon, when something
        did not answer, else as ``find`` says then; what went wrong is in the log. ``NotFound``: it
        is not in quarantine.
        """
        taken = self._take(execution)
        if taken is None:
            raise NotFound(f"Workflow {execution} is not in quarantine")
        self._executor.go_on(*taken)
        return self._is_decided(ExecutionId(execution))

    def retry_all(self) -> tuple[int, int]:
        """Try all again that are in quarantine now; how many were decided, and how many not."""
        chosen: list[ExecutionId] = []
        while True:
            found, total = self._store.listed(len(chosen), _BATCH)
            chosen.extend(one.execution for one in found)
            if len(chosen) >= total:
                break
        for one in self._damage.listed():
            self._damage.retry(one.entry)
        decided = 0
        for execution in dict.fromkeys(chosen):
            try:
                decided += self.retry(execution)
            except NotFound:  # it has left by itself, or somebody else is trying just now
                decided += self._is_decided(execution)
            except StoreDamaged:
                _LOG.exception(
                    "An execution in quarantine cannot be read",
                    extra={"action": "quarantined_unreadable", "workflow_id": execution},
                )
        return decided, len(set(chosen)) - decided

    def end(self, execution: str, reason: str | None) -> bool:
        """End one, whatever waits in its inbox; false when it is not in quarantine. ``Conflict``
        for one whose header this version does not understand: another may. One that nobody can
        read is deleted.
        """
        found = self.find(execution)
        if found is not None and self._dropped(found.execution):
            _LOG.warning(
                "An execution that could not be read was dropped by an operator",
                extra={"action": "unreadable_dropped", "workflow_id": execution},
            )
            return True
        taken = self._take(execution)
        if taken is None:
            return False
        driven = self._end(*taken, reason)
        self._executor.follow(driven.touched)
        return True

    def _dropped(self, execution: ExecutionId) -> bool:
        """Drop one that cannot be read; a header that names its format may be another version's."""
        header = self._store.header(execution)
        try:
            is_damaged = "f" not in orjson.loads(header)
        except (ValueError, TypeError):
            is_damaged = True
        # The record may be what cannot be read; that is seen where it is dropped.
        return self._store.drop_unreadable(
            execution,
            header if is_damaged else None,
            workflow=self._indexed_name(execution) if is_damaged else "",
        )

    def _indexed_name(self, execution: ExecutionId) -> str:
        """The name of an execution's workflow as the index has it; empty: it does not say."""
        query = OneOf(field="workflowId", values=(execution,))
        with suppress(StoreFailure):
            for one in self._search.search(SearchRequest(query=query, size=1)).results:
                return one.workflow_type
        return ""

    def _is_decided(self, execution: ExecutionId) -> bool:
        """Out of quarantine is not enough: a try that found something away leaves it as well."""
        return self._store.setbacks(execution) == 0

    def _take(self, execution: str) -> tuple[Loaded, str] | None:
        """Take one out, with the name of who has its lease now."""
        found = self.find(execution)
        if found is None:
            return None
        holder = self._executor.name()
        loaded = self._store.take(found.execution, holder, self._executor.lease_ms)
        return None if loaded is None else (loaded, holder)

    def _end(self, loaded: Loaded, holder: str, reason: str | None) -> Driven:
        deliberation = self._executor.deliberation
        try:
            known = deliberation.known(loaded)
        except (StoreDamaged, LookupError, TypeError, ValueError):
            known = {}
        header = known.get("h")
        if not isinstance(header, Header):
            Setbacks(self._store).add(loaded, holder, UNREADABLE)
            raise Conflict(f"Workflow {loaded.execution} cannot be ended: {UNREADABLE}.")
        partition = partition_of(loaded.execution)
        plan = self._snapshots.plan(partition, header.plan) or self._snapshots.stand_in(header)
        execution = Execution(id=loaded.execution, header=header, known=known)
        event = Operation(id=holder, name="terminate", arguments={"reason": reason})
        now_ms = loaded.now_ms
        try:
            decided = deliberation.decided(
                plan, execution, known, (event,), now_ms, version=loaded.version
            )
        except Exception as broken:
            if isinstance(broken, ConductorError) and broken.retryable:
                raise
            decided = deliberation.abandoned(plan, execution, (event,), now_ms, broken)
        return self._executor.carry_through(loaded, header, decided, holder)


def damaged_to_json(one: Damaged) -> JsonObject:
    """Write one for people and programs."""
    return {
        "entry": one.entry,
        "since": one.since_ms,
        "tries": one.tries,
        "reason": one.problem,
        "retryAt": one.again_ms,
    }


def quarantined_to_json(one: Quarantined) -> JsonObject:
    """Write one for people and programs."""
    return {
        "workflowId": one.execution,
        "since": one.since_ms,
        "tries": one.tries,
        "reason": one.reason,
        "retryAt": one.again_ms,
    }
