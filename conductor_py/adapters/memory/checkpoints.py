"""What long tasks keep, in memory: the reference implementation of the port.

The fields are those that the Redis scripts write, so what one store kept can be restored in the
other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from conductor_py.adapters.memory.claims import attempt_of, claim_side, is_open
from conductor_py.adapters.memory.kept_places import Place, Stored, open_place, place_of
from conductor_py.adapters.memory.space import Execution, MemorySpace
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.checkpoints import (
    Checkpoint,
    CheckpointBounds,
    Holder,
    Notes,
    Reply,
    Request,
    Verdict,
)

_DEFAULT: Final = CheckpointBounds()


class MemoryCheckpoints:
    """``CheckpointStore`` in memory."""

    def __init__(self, space: MemorySpace, bounds: CheckpointBounds = _DEFAULT) -> None:
        """Share the space with the other ports."""
        self._space = space
        self._bounds = bounds

    def acquire(self, holder: Holder) -> Reply:
        def take(place: Place, execution: Execution) -> Reply:
            if self._has_no_room_for(place):
                return _full("places")
            place.settle()
            place.token = holder.token
            place.write()
            shown = place.shown(execution.generation, whole=True)
            return Reply(verdict=Verdict.OK, shown=shown)

        return self._held(holder, take)

    def append(self, holder: Holder, notes: Notes) -> Reply:
        def add(place: Place, _: Execution) -> Reply:
            part = place.part(notes.part)
            if notes.epoch not in (None, part.epoch):
                return Reply(verdict=Verdict.EPOCH, number=part.epoch)
            if notes.position not in (None, part.notes):
                assert notes.position is not None
                there = place.notes(part)[notes.position : notes.position + len(notes.notes)]
                same = tuple(there) == notes.notes
                return Reply(verdict=Verdict.OK if same else Verdict.POSITION, number=part.notes)
            size = sum(map(len, notes.notes))
            full = self._full_of_notes(place, part, len(notes.notes), size)
            if full:
                return _full(full)
            place.settle()
            place.enter(part, holder.token)
            place.append(part, notes.notes)
            return Reply(verdict=Verdict.OK, number=part.notes)

        return self._held(holder, add)

    def _full_of_notes(self, place: Place, part: Stored, count: int, size: int) -> str:
        bounds = self._bounds
        if part.notes + count > bounds.notes:
            return "notes"
        if part.note_bytes + size > bounds.note_bytes:
            return "note-bytes"
        return self._full(place, part, size)

    def put(self, holder: Holder, checkpoint: Checkpoint) -> Reply:
        def replace(place: Place, execution: Execution) -> Reply:
            part = place.part(checkpoint.part)
            done = Reply(verdict=Verdict.OK, number=checkpoint.epoch)
            newest = (part.epoch, part.token, part.hash)
            if newest == (checkpoint.epoch, holder.token, checkpoint.hash):
                return done
            if part.epoch != checkpoint.expected:
                return Reply(verdict=Verdict.EPOCH, number=part.epoch)
            full = self._full(place, part, 2 * len(checkpoint.record))
            if full:
                return _full(full)
            place.settle()
            place.put(part, checkpoint, holder.token, self._space.clock())
            wanted = place.request(execution.generation)
            if wanted.action == "STOP" and wanted.savepoint:
                place.pin(wanted.savepoint, part, self._space.clock())
            place.enter(part, holder.token)
            return done

        return self._held(holder, replace)

    def read(self, execution: ExecutionId, seq: int, *, whole: bool) -> Reply:
        def show(place: Place, target: Execution) -> Reply:
            shown = place.shown(target.generation, whole=whole)
            return Reply(verdict=Verdict.OK, shown=shown)

        return self._at(execution, seq, show)

    def record(self, execution: ExecutionId, seq: int, part: str, at: int | str) -> bytes | None:
        def find(place: Place, _: Execution) -> Reply:
            found = place.record(place.part(part), at)
            return Reply(verdict=Verdict.OK, shown={} if found is None else {"x": found})

        shown = self._at(execution, seq, find).shown
        return shown.get("x") if shown else None

    def wanted(self, execution: ExecutionId, seq: int) -> bytes | None:
        def look(place: Place, target: Execution) -> Reply:
            hidden = place.old is not None or place.request(target.generation).action == "RUN"
            shown = {} if hidden else {"q": target.checkpoints[f"q:{place.name}"]}
            if hidden and target.status == "PAUSED":
                shown = {"q": b"0 0 0 PAUSE - 0"}
            return Reply(verdict=Verdict.OK, shown=shown)

        shown = self._at(execution, seq, look).shown
        return shown.get("q") if shown else None

    def places(self, execution: ExecutionId) -> tuple[str, ...]:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            return () if target is None else tuple(json.loads(target.checkpoints.get("l", b"[]")))

    def request(self, execution: ExecutionId, seq: int, request: Request) -> Reply:
        def ask(place: Place, target: Execution) -> Reply:
            attempt = attempt_of(target.fields[f"a:{seq}"])
            if request.action != "SAVEPOINT" and not is_open(target, seq, attempt):
                return Reply(verdict=Verdict.IGNORED)
            if self._has_no_room_for(place):
                return _full("places")
            verdict, pins = self._refusal(place, target, seq, request)
            if verdict is not None:
                return verdict
            now = self._space.clock()
            place.settle()
            number = place.ask(request, target.generation, now)
            place.go_on_from(pins)
            place.write()
            return Reply(verdict=Verdict.OK, number=number)

        return self._at(execution, seq, ask)

    def _refusal(
        self, place: Place, target: Execution, seq: int, request: Request
    ) -> tuple[Reply | None, dict[str, str]]:
        """Why it cannot be; else what each part is to go on from."""
        if request.action == "RUN":
            if not request.savepoint and request.epoch is None:
                return None, dict.fromkeys(place.parts, "-")
            side, now = claim_side(target, seq), self._space.clock()
            if side.held and not side.closed and (side.until == 0 or side.until > now):
                return Reply(verdict=Verdict.HELD), {}
            found = place.starting_points(request)
            return (Reply(verdict=found), {}) if isinstance(found, Verdict) else (None, found)
        if not request.savepoint:
            return None, {}
        size = sum(part.history[0].bytes for part in place.stored() if part.history)
        if request.savepoint in place.savepoints:
            return Reply(verdict=Verdict.EXISTS), {}
        if request.action == "SAVEPOINT" and not size:
            return Reply(verdict=Verdict.EMPTY), {}
        if len(place.savepoints) >= self._bounds.savepoints:
            return _full("savepoints"), {}
        return (_full("bytes") if place.size + size > self._bounds.bytes else None), {}

    def drop_savepoint(self, execution: ExecutionId, seq: int, savepoint: str) -> Reply:
        def drop(place: Place, target: Execution) -> Reply:
            if savepoint not in place.savepoints:
                return Reply(verdict=Verdict.UNKNOWN_SAVEPOINT)
            wanted = place.request(target.generation).savepoint == savepoint
            if wanted or any(part.start.rstrip("!") == f"s{savepoint}" for part in place.stored()):
                return Reply(verdict=Verdict.IN_USE)
            place.drop_savepoint(savepoint)
            return Reply(verdict=Verdict.OK)

        return self._at(execution, seq, drop)

    # -- who asks ----------------------------------------------------------------------------------

    def _held(self, holder: Holder, act: Callable[[Place, Execution], Reply]) -> Reply:
        """Act for who holds the attempt now, under the highest token that was ever seen here."""

        def check(place: Place, target: Execution) -> Reply:
            attempt = attempt_of(target.fields[f"a:{holder.seq}"])
            side = claim_side(target, holder.seq)
            if side.closed or not is_open(target, holder.seq, attempt):
                return Reply(verdict=Verdict.IGNORED)
            over = 0 < side.until <= self._space.clock()
            if not side.held or over or holder.token != side.k or holder.token < place.token:
                return Reply(verdict=Verdict.SUPERSEDED)
            return act(place, target)

        return self._at(holder.execution, holder.seq, check)

    def _at(
        self, execution: ExecutionId, seq: int, act: Callable[[Place, Execution], Reply]
    ) -> Reply:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            if target is None:
                return Reply(verdict=Verdict.GONE)
            state = target.fields.get(f"a:{seq}")
            if state is None:
                return Reply(verdict=Verdict.UNKNOWN_TASK)
            attempt = attempt_of(state)
            place = place_of(attempt.ref, attempt.vector)
            return act(open_place(target.checkpoints, place, attempt.root or seq), target)

    # -- bounds ------------------------------------------------------------------------------------

    def _full(self, place: Place, part: Stored, size: int) -> str:
        if place.size + size > self._bounds.bytes:
            return "bytes"
        if not part.known and len(place.parts) >= self._bounds.parts:
            return "parts"
        return "places" if self._has_no_room_for(place) else ""

    def _has_no_room_for(self, place: Place) -> bool:
        return not place.listed and len(place.places()) >= self._bounds.places


def _full(what: str) -> Reply:
    return Reply(verdict=Verdict.FULL, what=what)
