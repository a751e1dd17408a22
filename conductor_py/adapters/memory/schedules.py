"""Schedules in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.ports.schedules import ScheduleSettlement, StoredSchedule

_KEPT_STARTED = 20


class MemoryScheduleStore:
    """``ScheduleStore`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space
        self._state = space.schedules

    def put(
        self, name: str, document: bytes, *, version: int, next_ms: int, armed: bool
    ) -> int | None:
        with self._space.lock:
            known = self._state.stored.get(name)
            if (known.version if known else 0) != version:
                return None
            new = max(version + 1, self._space.clock())
            same = known is not None and known.next_ms == next_ms
            self._state.stored[name] = StoredSchedule(
                name=name,
                document=document,
                version=new,
                generation=known.generation if known else new,
                next_ms=next_ms,
                armed=armed,
                tries=known.tries if known and same else 0,
            )
            if known is None or not same or known.armed != armed:
                self._arm(name, next_ms if armed else 0)
            return new

    def read(self, names: Sequence[str] | None) -> tuple[StoredSchedule, ...]:
        with self._space.lock:
            stored = self._state.stored
            wanted = sorted(stored) if names is None else names
            return tuple(stored[name] for name in wanted if name in stored)

    def delete(self, name: str) -> bool:
        with self._space.lock:
            self._state.due.drop(name)
            self._state.records.pop(name, None)
            self._state.started.pop(name, None)
            return self._state.stored.pop(name, None) is not None

    def claim_due(self, limit: int, lease_ms: int) -> tuple[int, tuple[StoredSchedule, ...], int]:
        with self._space.lock:
            now = self._space.clock()
            if self._state.halted:
                return now, (), 0
            claimed = []
            for name in self._state.due.upto(now, limit):
                known = self._state.stored[name]
                taken = replace(known, tries=known.tries + 1)
                self._state.stored[name] = taken
                self._state.due.put(name, now + lease_ms)
                claimed.append(taken)
            head = self._state.due.first()
            return now, tuple(claimed), 0 if head is None else head[0]

    def settle(self, settlement: ScheduleSettlement) -> bool:
        with self._space.lock:
            known = self._state.stored.get(settlement.name)
            if known is None or known.generation != settlement.generation:
                return False
            self._keep(settlement)
            self._note(settlement)
            if not settlement.fired_ms or known.next_ms != settlement.fired_ms:
                return False
            now = self._space.clock()
            self._state.stored[known.name] = replace(
                known,
                version=max(known.version + 1, now),
                next_ms=settlement.next_ms,
                tries=0,
            )
            due = max(settlement.next_ms, now) if settlement.next_ms and known.armed else 0
            self._arm(known.name, due)
            return True

    def records(self, names: Sequence[str], limit: int) -> tuple[tuple[bytes, ...], ...]:
        with self._space.lock:
            return tuple(
                tuple(
                    record
                    for _, _, record in sorted(self._state.records.get(name, ()), reverse=True)
                )[:limit]
                for name in names
            )

    def started(self, name: str) -> tuple[str, ...]:
        with self._space.lock:
            started = self._state.started.get(name, {})
            return tuple(sorted(started, key=lambda each: (started[each], each), reverse=True))

    def halt(self, *, halted: bool) -> None:
        with self._space.lock:
            self._state.halted = halted

    def requeue(self, name: str) -> bool:
        with self._space.lock:
            known = self._state.stored.get(name)
            if known is None or not (known.armed and known.next_ms):
                return False
            if name in self._state.due.scores:
                return False
            self._state.due.put(name, known.next_ms)
            return True

    def _keep(self, settlement: ScheduleSettlement) -> None:
        of = (settlement.record_ms, settlement.record_id)
        known = self._state.records.get(settlement.name, [])
        kept = [one for one in known if not settlement.started or one[:2] != of]
        if all(one[:2] != of for one in kept):
            kept.append((*of, settlement.record))
        kept.sort()
        if len(kept) > settlement.trim_above:
            kept = kept[-settlement.keep :]
        self._state.records[settlement.name] = kept

    def _note(self, settlement: ScheduleSettlement) -> None:
        started = self._state.started.setdefault(settlement.name, {})
        for ended in settlement.ended:
            started.pop(ended, None)
        if settlement.started:
            started[settlement.started] = settlement.record_ms
            for each in self.started(settlement.name)[_KEPT_STARTED:]:
                del started[each]

    def _arm(self, name: str, due_ms: int) -> None:
        if due_ms:
            self._state.due.put(name, due_ms)
        else:
            self._state.due.drop(name)
