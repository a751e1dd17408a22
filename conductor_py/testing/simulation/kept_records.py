"""I1, I6 of long tasks: whose records are accepted, and what the next claim is given.

What was accepted is remembered here by line of attempts, apart from the store's own bookkeeping. A
store that has lost its tail is believed once more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from conductor_py.adapters.memory.claims import attempt_of, claim_side, is_open
from conductor_py.adapters.memory.space import Execution
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.checkpoints import Checkpoint, Holder, Notes, Reply, Request, Verdict
from conductor_py.records import dataclass, field
from conductor_py.testing.simulation.faults import Kind
from conductor_py.testing.simulation.put_off import PutOff

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

Call = Callable[..., Any]
_REFUSES: Final = frozenset({Verdict.SUPERSEDED, Verdict.IGNORED})


@dataclass(slots=True)
class _Part:
    """What was accepted for a part: epoch, record, who put it, and the notes since."""

    epoch: int = 0
    record: bytes | None = None
    token: int = 0
    notes: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class _Line:
    """What was accepted of one line of attempts; ``token``: whose claim was seen last."""

    token: int = 0
    parts: dict[str, _Part] = field(default_factory=dict)
    pins: dict[str, dict[str, bytes]] = field(default_factory=dict)
    starts: dict[str, bytes] = field(default_factory=dict)

    def part(self, name: str) -> _Part:
        return self.parts.setdefault(name, _Part())


class KeptRecords:
    """Stands around the verbs of long tasks."""

    def __init__(self, world: World) -> None:
        """Remember nothing yet."""
        self._world = world
        self._lines: dict[tuple[str, int, str], _Line] = {}
        self._put_off = PutOff(world)
        self._tails = self._lost_tails

    def stand_around(self, around: dict[str, Call]) -> None:
        """Enter among the checks that stand around calls already."""
        looks: dict[str, Call] = {
            "checkpoints.acquire": self._acquire,
            "checkpoints.append": self._append,
            "checkpoints.put": self._put,
            "checkpoints.request": self._request,
            "queues.poll": self._put_off.poll,
            "store.report": self._put_off.report,
            "store.send": self._put_off.send,
        }
        for name, look in looks.items():
            inner = around.get(name)
            around[name] = look if inner is None else _within(look, inner)

    # -- who works on it ---------------------------------------------------------------------------

    def _acquire(self, call: Call, holder: Holder) -> Reply:
        """I1, I6: who holds it gets exactly what was accepted last."""
        line = self._line(holder.execution, holder.seq)
        reply = self._fenced("takes hold", call, holder, holder)
        if reply.verdict is Verdict.OK and line is not None:
            line.token = holder.token
            self._same(holder, line, dict(reply.shown or {}))
        return reply

    def _same(self, holder: Holder, line: _Line, shown: dict[str, bytes]) -> None:
        for name in {*line.parts, *(word[2:] for word in shown if word.startswith("p:"))}:
            words = shown.get(f"p:{name}", b"0 0 - 0").decode().split()
            found = _Part(int(words[0]), shown.get(f"e:{name}"), int(words[1]))
            found.notes = [shown[f"n:{name} {at}"] for at in range(1, int(words[3]) + 1)]
            known = line.part(name)
            if not known.epoch and self._world.checks.has_lost:
                line.parts[name] = known = found
            if (found.epoch, found.record) != (known.epoch, known.record):
                what = self._name(holder)
                accepted = f"{known.epoch} was accepted last, {found.epoch} is given"
                self._bad("I6", f"{what} goes on from another record of {name}: {accepted}")
            elif found.notes != known.notes:
                told = f"{len(found.notes)} notes, not {len(known.notes)}"
                self._bad("I6", f"{self._name(holder)} is given {told}")
            start = shown.get(f"x:{name}")
            if start is not None and name in line.starts and start != line.starts[name]:
                self._bad("I6", f"{self._name(holder)} goes on from no record of its savepoint")

    def _append(self, call: Call, holder: Holder, notes: Notes) -> Reply:
        """I1: only who holds it notes something."""
        line = self._line(holder.execution, holder.seq)
        reply = self._fenced("notes something", call, holder, holder, notes)
        if reply.verdict is Verdict.OK and line is not None:
            part = line.part(notes.part)
            if notes.position in (None, len(part.notes)):
                part.notes += notes.notes
        return reply

    def _put(self, call: Call, holder: Holder, given: Checkpoint) -> Reply:
        """I1: only who holds it puts a record, and only after the one that was accepted last."""
        line = self._line(holder.execution, holder.seq)
        reply = self._fenced("puts a record", call, holder, holder, given)
        self._world.counts[f"record {reply.verdict.value}"] += 1
        if reply.verdict is not Verdict.OK or line is None:
            return reply
        part = line.part(given.part)
        if (part.epoch, part.token, part.record) == (given.epoch, holder.token, given.record):
            return reply
        if part.epoch != given.expected and not self._world.checks.has_lost:
            told = f"after {given.expected}, and {part.epoch} was accepted last"
            self._bad("I6", f"{self._name(holder)} puts a record {told}")
        line.parts[given.part] = _Part(given.epoch, given.record, holder.token)
        line.token = holder.token
        line.starts.pop(given.part, None)
        return reply

    def _fenced(self, what: str, call: Call, holder: Holder, *given: Any) -> Reply:
        """I1: what is accepted comes from the claim that holds the attempt, what is refused changes
        nothing.
        """
        stored = self._find(holder.execution)
        known = stored is not None and f"a:{holder.seq}" in stored.fields
        holds = stored is not None and known and self._holds(stored, holder)
        before = dict(stored.checkpoints) if stored is not None else {}
        line = self._line(holder.execution, holder.seq)
        reply: Reply = call(*given)
        if reply.verdict is Verdict.OK and not holds:
            self._bad("I1", f"{self._name(holder)} {what} under a claim that was lost")
        if reply.verdict is Verdict.OK and line is not None and holder.token < line.token:
            self._bad("I1", f"{self._name(holder)} {what} under a claim of before")
        if reply.verdict is not Verdict.OK and stored is not None and stored.checkpoints != before:
            self._bad("I1", f"{self._name(holder)} {what}, is refused, and something changes")
        if reply.verdict in _REFUSES and holds and line is not None and holder.token >= line.token:
            self._bad("I1", f"{self._name(holder)} holds its claim, and is refused")
        return reply

    def _holds(self, stored: Execution, holder: Holder) -> bool:
        attempt = attempt_of(stored.fields[f"a:{holder.seq}"])
        side, now = claim_side(stored, holder.seq), self._world.space.clock()
        is_over = side.closed or 0 < side.until <= now
        is_its = bool(side.held) and side.k == holder.token
        return is_its and not is_over and is_open(stored, holder.seq, attempt)

    # -- who operates it ---------------------------------------------------------------------------

    def _request(self, call: Call, execution: ExecutionId, seq: int, request: Request) -> Reply:
        """Remember savepoints, and who is to run again."""
        line = self._line(execution, seq)
        reply: Reply = call(execution, seq, request)
        self._world.counts[f"asked {request.action} {reply.verdict.value}"] += 1
        if reply.verdict is not Verdict.OK or line is None:
            return reply
        if request.action == "RUN":
            self._put_off.asked_to_run(execution, seq)
            pins = line.pins.get(request.savepoint, {})
            line.starts = {**line.starts, **pins} if request.savepoint else {}
        elif request.action == "SAVEPOINT":
            records = {name: one.record for name, one in line.parts.items()}
            line.pins[request.savepoint] = {
                name: record for name, record in records.items() if record is not None
            }
        return reply

    # -- short words -------------------------------------------------------------------------------

    @property
    def _lost_tails(self) -> int:
        return self._world.faults[Kind.LOST_TAIL]

    def _line(self, execution: ExecutionId, seq: int) -> _Line | None:
        """What is remembered of the line of an attempt; ``None`` when there is no such attempt."""
        if self._lost_tails != self._tails:
            self._tails = self._lost_tails
            self._lines.clear()
        stored = self._find(execution)
        text = stored.fields.get(f"a:{seq}") if stored is not None else None
        if text is None or b'"def":"long"' not in text:
            return None
        attempt = attempt_of(text)
        place = (str(execution), attempt.root or seq, f"{attempt.ref}#{attempt.vector}")
        return self._lines.setdefault(place, _Line())

    def _find(self, execution: ExecutionId) -> Execution | None:
        return self._world.space.of(execution).executions.get(execution)

    def _name(self, holder: Holder) -> str:
        return self._world.names.of_attempt(holder.execution, holder.seq)

    def _bad(self, invariant: str, sentence: str) -> None:
        self._world.violated(invariant, sentence)


def _within(look: Call, inner: Call) -> Call:
    """Stand around a check that stands around the call."""
    return lambda call, *given, **named: look(partial(inner, call), *given, **named)


__all__ = ["KeptRecords"]
