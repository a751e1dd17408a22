"""Quarantine as operators see it: what is in it, another try, and an end without one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import orjson

from conductor_py.codec.event import dump_event, load_event
from conductor_py.codec.execution import UnknownFormat
from conductor_py.decider.operations.terminate import EMPTIES_INBOX, REVIVED
from conductor_py.decider.workspace import Execution
from conductor_py.engine.decisions.executor import Driven, Executor
from conductor_py.engine.decisions.setbacks import UNREADABLE, Setbacks
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.executions.farewell import farewell
from conductor_py.engine.patience import BATCH_MS
from conductor_py.errors import (
    ConductorError,
    Conflict,
    InvalidInput,
    NotFound,
    StoreDamaged,
    StoreFailure,
    Violation,
)
from conductor_py.model.event import Admitted, ChildRevived, Operation
from conductor_py.model.execution import Header
from conductor_py.model.ids import ExecutionId, is_execution_id, partition_of
from conductor_py.model.json import JsonObject
from conductor_py.model.search import OneOf, SearchRequest
from conductor_py.ports.damage import Damaged, DamageStore, execution_of
from conductor_py.ports.quarantine import Quarantined, QuarantinePlace, QuarantineStore
from conductor_py.ports.search import Search
from conductor_py.ports.store import Loaded
from conductor_py.records import dataclass

_BATCH = 100
_DAMAGED: Final = "damaged"
_MOST_DIGITS: Final = 16
_ADMITTED: Final = dump_event(Admitted())
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """What became of those that were tried again: how many were decided, and how many were not.
    ``left`` are to be tried yet, from ``cursor`` on; empty: that were all.
    """

    decided: int
    failed: int
    left: int
    cursor: str


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
        elapsed_ms: Callable[[], int],
    ) -> None:
        """Work over these collaborators; ``elapsed_ms`` grows evenly."""
        self._elapsed_ms = elapsed_ms
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
        if not (self._damage.drop(entry) if execution is None else self._gone(entry, execution)):
            raise NotFound(f"Nothing damaged is named '{entry[:200]}'; quarantine list has names")
        _LOG.warning(
            "What could not be read was dropped by an operator",
            extra={"action": "damaged_dropped", "entry": entry[:200]},
        )

    def _gone(self, entry: str, execution: ExecutionId) -> bool:
        """Drop an execution with its timer; false when it is not damaged. One whose header becomes
        another meanwhile is looked at again: its parent must be told.
        """
        workflow, header, before = self._indexed_name(execution), self._header(execution), None
        while header != before:
            if self._damage.drop(
                entry,
                header=header,
                workflow=workflow,
                admitted=_ADMITTED,
                post=farewell(execution, header, self._partitions),
            ):
                return True
            before, header = header, self._header(execution)
        return False

    def count(self) -> int:
        """Count them."""
        return self._store.listed(0, 0)[1]

    def find(self, execution: str) -> Quarantined | None:
        """Look at one; ``None`` when it is not in quarantine, or nowhere."""
        return self._store.get(ExecutionId(execution)) if self._is_known(execution) else None

    def _is_known(self, execution: str) -> bool:
        """Whether it is the id of one that this deployment could have."""
        return is_execution_id(execution) and (
            partition_of(ExecutionId(execution)) < self._partitions
        )

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

    def retry_all(self, cursor: str = "") -> Retries:
        """Try those again that are in quarantine, from ``cursor`` on, for some seconds; then let
        what is damaged be looked at. ``InvalidInput`` for a cursor that is none.
        """
        began, outcomes = self._elapsed_ms(), [0, 0]
        start, looks_up_to = self._read(cursor)
        while looks_up_to is None:
            page = self._store.walk(start, _BATCH)
            for number, one in enumerate(page.found):
                if any(outcomes) and self._elapsed_ms() - began > BATCH_MS:
                    rest = f"{one.since_ms} {one.execution}"
                    return _retries(outcomes, page.left - number, rest)
                outcomes[self._retried(one.execution)] += 1
            start = page.following
            if start is None:
                break
        return _retries(outcomes, *self._look_again(looks_up_to, began))

    def _retried(self, execution: ExecutionId) -> bool:
        try:
            return self.retry(execution)
        except NotFound:  # it has left by itself, or somebody else is trying just now
            return self._is_decided(execution)
        except StoreDamaged:
            _LOG.exception(
                "An execution in quarantine cannot be read",
                extra={"action": "quarantined_unreadable", "workflow_id": execution},
            )
            return False

    def _look_again(self, up_to_ms: int | None, began_ms: int) -> tuple[int, str]:
        """Let what is damaged be looked at; how much is left, and the cursor to go on with. What
        was damaged later is not waited for: it may be what was just looked at.
        """
        damaged = self._damage.listed()
        if up_to_ms is None:
            up_to_ms = max((one.since_ms for one in damaged), default=0)
        damaged = [one for one in damaged if one.since_ms <= up_to_ms]
        for number, one in enumerate(damaged):
            if number and self._elapsed_ms() - began_ms > BATCH_MS:
                return len(damaged) - number, f"{_DAMAGED} {up_to_ms}"
            self._damage.retry(one.entry)
        return 0, ""

    def _read(self, cursor: str) -> tuple[QuarantinePlace | None, int | None]:
        """Where executions go on to be tried, or up to when what is damaged is looked at."""
        if not cursor:
            return None, None
        first, _, last = cursor.partition(" ")
        instant = last if first == _DAMAGED else first
        if instant.isascii() and instant.isdigit() and len(instant) < _MOST_DIGITS:
            if first == _DAMAGED:
                return None, int(instant)
            if self._is_known(last):
                return QuarantinePlace(since_ms=int(first), execution=ExecutionId(last)), None
        message = "must be that of the answer before"
        raise InvalidInput(violations=(Violation(path="?cursor", message=message),))

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
            header,
            is_readable=not is_damaged,
            workflow=self._indexed_name(execution) if is_damaged else "",
            admitted=_ADMITTED,
            post=farewell(execution, header, self._partitions),
        )

    def _header(self, execution: ExecutionId) -> bytes:
        """What is left of a header; empty: nothing."""
        with suppress(StoreDamaged):
            return self._store.header(execution)
        return b""

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
        arguments: JsonObject = {
            "reason": reason,
            EMPTIES_INBOX: True,
            REVIVED: _revived(loaded.events),
        }
        event = Operation(id=holder, name="terminate", arguments=arguments)
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


def _revived(events: Sequence[bytes]) -> dict[str, list[str | int]]:
    """The children that began anew, of which an inbox would have told; what is in it may be what
    cannot be read.
    """
    found: dict[str, list[str | int]] = {}
    for stored in events:
        with suppress(UnknownFormat):
            event = load_event(stored)
            if isinstance(event, ChildRevived):
                found[str(event.seq)] = [event.child_generation, event.through]
    return found


def _retries(outcomes: Sequence[int], left: int, cursor: str) -> Retries:
    failed, decided = outcomes
    return Retries(decided=decided, failed=failed, left=left, cursor=cursor)


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
