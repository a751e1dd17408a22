"""Setbacks and quarantine in memory: the reference implementation of the port."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Final

from conductor_py.adapters.memory.admission import admit_waiting
from conductor_py.adapters.memory.inspector import setback_of
from conductor_py.adapters.memory.reads import loaded
from conductor_py.adapters.memory.references import count_reference, plan_of
from conductor_py.adapters.memory.space import Execution, MemorySpace, Partition
from conductor_py.model.ids import ExecutionId, execution_id, partition_of
from conductor_py.ports.inspector import QUARANTINE
from conductor_py.ports.permits import workflow_limit
from conductor_py.ports.quarantine import (
    BACKOFF_MS,
    LONGEST_BACKOFF_MS,
    LONGEST_MS,
    QuarantineBounds,
    Quarantined,
    QuarantinePage,
    QuarantinePlace,
)
from conductor_py.ports.store import Effect, Loaded, Outcome

_DEFAULT: Final = QuarantineBounds()
_MOST_DOUBLINGS: Final = 20


class MemoryQuarantine:
    """``QuarantineStore`` in memory; the flag means what it means in ``MemoryExecutionStore``."""

    def __init__(
        self, space: MemorySpace, bounds: QuarantineBounds = _DEFAULT, *, take_lease: bool = True
    ) -> None:
        """Share the space with the other ports."""
        self._space = space
        self._bounds = bounds
        self._take = take_lease

    def set_back(
        self, execution: ExecutionId, holder: str, version: int, reason: str
    ) -> tuple[Outcome, bool]:
        with self._space.lock:
            partition, now = self._space.of(execution), self._space.clock()
            target = partition.executions.get(execution)
            if target is None:
                return Outcome.GONE, False
            if target.version != version:
                return Outcome.STALE, False
            if target.lease_until > now and target.holder != holder:
                return Outcome.BUSY, False
            count_setback(partition, target, reason, self._bounds, now)
            return Outcome.OK, target.holder == QUARANTINE

    def get(self, execution: ExecutionId) -> Quarantined | None:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            if target is None or target.holder != QUARANTINE:
                return None
            return _quarantined(target)

    def setbacks(self, execution: ExecutionId) -> int:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            setback = None if target is None else setback_of(target)
            return 0 if setback is None else setback.tries

    def listed(self, start: int, limit: int) -> tuple[tuple[Quarantined, ...], int]:
        with self._space.lock:
            found = [
                _quarantined(target)
                for partition in self._space.partitions
                for target in partition.executions.values()
                if target.holder == QUARANTINE
            ]
        found.sort(key=lambda one: (one.since_ms, one.execution))
        return tuple(found[start : start + limit]), len(found)

    def walk(self, start: QuarantinePlace | None, limit: int) -> QuarantinePage:
        with self._space.lock:
            places = [
                QuarantinePlace(since_ms=one.since_ms, execution=one.execution)
                for one in self.listed(0, sys.maxsize)[0]
            ]
        places.sort(key=_order)
        if start is not None:
            first = start if start in places else replace(start, execution=_first_of(start))
            places = [place for place in places if _order(place) >= _order(first)]
        following = places[limit] if len(places) > limit else None
        return QuarantinePage(found=tuple(places[:limit]), following=following, left=len(places))

    def take(self, execution: ExecutionId, holder: str, lease_ms: int) -> Loaded | None:
        with self._space.lock:
            partition, now = self._space.of(execution), self._space.clock()
            target = partition.executions.get(execution)
            if target is None or target.holder != QUARANTINE:
                return None
            target.holder, target.lease_until = "", 0
            if self._take:
                target.holder, target.lease_until = holder, now + lease_ms
            partition.timers[target.home].put(f"x:{execution}", now + lease_ms)
            return loaded(partition, target, now)

    def header(self, execution: ExecutionId) -> bytes:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            return b"" if target is None else target.fields.get("h", b"")

    def drop_unreadable(
        self,
        execution: ExecutionId,
        header: bytes,
        *,
        is_readable: bool = False,
        workflow: str = "",
        admitted: bytes = b"",
        post: Effect | None = None,
    ) -> bool:
        with self._space.lock:
            partition = self._space.of(execution)
            target = partition.executions.get(execution)
            if is_readable or target is None or target.holder != QUARANTINE:
                return False
            if target.fields.get("h", b"") != header:
                return False
            if post is not None:
                now = self._space.clock()
                partition.effects[post.id] = (max(target.version, now), post.document)
                partition.outbox.put(post.id, now + post.due_ms)
            self._drop(partition, target, workflow)
            _free_place(partition, target, admitted, self._space.clock())
            return True

    def _drop(self, partition: Partition, target: Execution, workflow: str) -> None:
        """The memory twin of ``lua/include/drop.lua``."""
        now, effect = self._space.clock(), f"{target.id}:forget"
        count_reference(partition, plan_of(target), -1)
        partition.running[str(target.header().get("name") or workflow)].drop(target.id)
        del partition.executions[target.id]
        partition.effects[effect] = (max(target.version, now), b'{"kind":"forget"}')
        partition.outbox.put(effect, now)
        self._space.publish(f"e:{partition_of(target.id)}")


def _free_place(partition: Partition, target: Execution, admitted: bytes, now: int) -> None:
    """Let who waits have the place of one that is dropped."""
    key = str(target.header().get("akey") or "")
    partition.waiting[key].drop(target.id)
    if partition.admitted[key].drop(target.id):
        admit_waiting(
            partition, key, admitted, now, shared=workflow_limit(key) in partition.holdings
        )


def _order(place: QuarantinePlace) -> tuple[int, int, str]:
    return partition_of(place.execution), place.since_ms, place.execution


def _first_of(place: QuarantinePlace) -> ExecutionId:
    return execution_id(partition_of(place.execution), "0" * 29)


def count_setback(
    partition: Partition, target: Execution, reason: str, bounds: QuarantineBounds, now: int
) -> int:
    """Count one setback more, and let the execution wait, or put it into quarantine."""
    before = setback_of(target)
    tries, since = (before.tries + 1, before.since_ms) if before else (1, now)
    target.holder, target.lease_until = "", 0
    due = now + min(BACKOFF_MS * 2 ** min(tries - 1, _MOST_DOUBLINGS), LONGEST_BACKOFF_MS)
    if tries >= bounds.tries:
        doublings = min(tries - bounds.tries, _MOST_DOUBLINGS)
        due = now + min(bounds.wait_ms * 2**doublings, LONGEST_MS)
        target.holder, target.lease_until = QUARANTINE, due
    target.setback = (target.version, tries, since, reason)
    partition.timers[target.home].put(f"x:{target.id}", due)
    return tries


def _quarantined(target: Execution) -> Quarantined:
    setback = setback_of(target)
    return Quarantined(
        execution=target.id,
        since_ms=setback.since_ms if setback else 0,
        tries=setback.tries if setback else 0,
        reason=setback.reason if setback else "",
        again_ms=target.lease_until,
    )
