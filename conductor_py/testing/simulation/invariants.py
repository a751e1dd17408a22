"""The invariants, looked at while a simulated deployment runs and when it is over.

``Checks`` stands around the calls of the store, sees each from before and behind, and remembers
what was promised. It reads the state of the store directly, and none of the engine's
words about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from conductor_py.adapters.memory.claims import attempt_of, claim_side, is_open
from conductor_py.adapters.memory.space import Execution, Partition
from conductor_py.engine.definitions.snapshots import snapshots_of
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.queues import PollReply
from conductor_py.ports.store import Commit, Outcome, Report, Start
from conductor_py.testing.recount import complaints, complaints_about, queue_entries
from conductor_py.testing.simulation.claiming import Claiming
from conductor_py.testing.simulation.deadlines import unarmed
from conductor_py.testing.simulation.families import Families
from conductor_py.testing.simulation.findings import Accepted, Before, Promised
from conductor_py.testing.simulation.joining import join_left_open
from conductor_py.testing.simulation.kept_records import KeptRecords
from conductor_py.testing.simulation.leaving import Leaving
from conductor_py.testing.simulation.own_definitions import OwnDefinitions
from conductor_py.testing.simulation.repeats import Repeats
from conductor_py.testing.simulation.task_limits import TaskLimits
from conductor_py.testing.simulation.turns import Turns

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

_STATUS: Final = re.compile(rb'"st":"(\w+)"')
_ROOM: Final = "though there is room"
"""Where there are several partitions, room may be lent to another."""
_OPEN: Final = (b"SCHEDULED", b"IN_PROGRESS")
_LOOK_EVERY: Final = 3
_LOOK_AT_ALL_EVERY: Final = 40
_SENTENCES: Final = {
    "nothing will wake it": "I4",
    "no timer": "I4",
    "nobody goes on": "I4",
    "nobody takes them up": "I4",
    "owed to it by nobody": "I4",
    "places": "I3",
    "still in a queue": "I3",
    "in a queue": "I3",
    "two open attempts": "I5",
    "child": "I8",
    "limit": "I10",
    "permit": "I10",
    "room": "I10",
    "nothing will take it away": "I7",
}
"""Words in a complaint of the recount, and the invariant that it is about."""
Call = Callable[..., Any]


class Checks:
    """What must hold, and what is remembered for it."""

    def __init__(self, world: World) -> None:
        """Know nothing yet."""
        self.world = world
        self.space = world.space
        self.forgotten: set[str] = set()
        leaving = Leaving(world, self.forgotten)
        self._claiming = Claiming(world, self._look)
        self._repeats = Repeats(world)
        self._definitions = OwnDefinitions(world)
        self._families = Families(world)
        self._turns = Turns(world)
        self.around: dict[str, Callable[..., Any]] = {
            "store.commit": self.commit,
            "store.start": self.start,
            "store.report": self.report,
            "store.send": self.send,
            "queues.poll": self.poll,
            "queues.extend": self._claiming.extend,
            "timers.claim_due": self._claiming.claim_due,
            "plans.collect": self._definitions.collect,
            "plans.collect_unused": self._definitions.collect,
            "schedules.claim_due": self._turns.claim_due,
            "schedules.settle": self._turns.settle,
            "outbox.confirm": leaving.confirm,
            "reader.remove": leaving.remove,
            "reader.restore": leaving.restore,
        }
        KeptRecords(world).stand_around(self.around)
        self._plan = snapshots_of(world.ports).plan
        self._calls = 0
        self.has_lost = False
        self._clock_went_back = False
        self.accepted: dict[tuple[str, int], Accepted] = {}
        self.handed: dict[tuple[str, int], int] = {}
        self.highest: dict[str, int] = {}
        self.identities: dict[str, dict[tuple[Any, ...], int]] = {}
        self._task_limits = TaskLimits(world)
        self.seen: dict[str, None] = {}
        self.parents: dict[str, str] = {}
        self.born: set[str] = set()
        self.lost: set[str] = set()
        self.started: dict[str, int] = {}
        self.keys: dict[tuple[str, str], set[str]] = {}
        self.free_keys: set[tuple[str, str]] = set()

    # -- while it runs -----------------------------------------------------------------------------

    def commit(self, call: Call, commit: Commit) -> Any:
        """I1, I2, I5, I9 of one commit."""
        stored = self._find(commit.execution)
        before = Before.of(stored)
        reply = call(commit)
        outcome: Outcome = reply.outcome
        self.world.counts[f"commit {outcome.value}"] += 1
        if stored is None or before is None:
            return reply
        self._repeats.commit(before, stored, commit, outcome)
        if outcome is not Outcome.OK:
            self._unchanged("I1", f"a commit that was refused ({outcome.value})", before, stored)
        elif before.last != commit.operation:
            self._fenced(before, commit)
            self._claiming.ended_by_time(before, commit)
            self._claiming.take_back(before, commit, self.handed)
            self._no_way_back(before, stored)
            self._definitions.unchanged(before, stored)
            self._definitions.stored(commit.execution, commit.changes.plans)
            self._families.ended(before, stored, commit.changes.fields)
            join_left_open(self.world, before, stored, commit.changes.fields)
            self._attempts_once(stored, before, commit.changes.fields)
            self._children(commit.execution, commit.changes.children)
            if b'"forget":true' in stored.fields.get("h", b""):
                self.forgotten.add(stored.id)
            self._look_now_and_then(stored)
            for message in commit.changes.messages:
                self._look_if_there(message.execution)
        return reply

    def start(self, call: Call, start: Start) -> Any:
        """I8: note whose child it is."""
        there = self._find(start.execution)
        reply = call(start)
        self.world.counts[f"start {reply.outcome.value}"] += 1
        self._repeats.start(start, there, reply.outcome)
        if reply.outcome is Outcome.OK and there is None:
            self._know(start.execution)
            self.born.add(start.execution)
            self._children(start.execution, start.changes.children)
            stored = self._find(start.execution)
            if stored is not None:
                self._definitions.present(stored, start)
                self._definitions.stored(start.execution, start.changes.plans)
                self._attempts_once(stored, None, start.changes.fields)
                self._look_now_and_then(stored)
        return reply

    def report(self, call: Call, report: Report) -> Any:
        """I1, I6 of one result."""
        stored = self._find(report.execution)
        before, open_, claim = Before.of(stored), False, 0
        if stored is not None and f"a:{report.seq}" in stored.fields:
            attempt = attempt_of(stored.fields[f"a:{report.seq}"])
            side = claim_side(stored, report.seq)
            open_ = is_open(stored, report.seq, attempt) and not side.closed
            claim = side.k
        reply = call(report)
        outcome = reply.outcome
        self.world.counts[f"report {outcome.value}"] += 1
        if stored is None or before is None:
            return reply
        place = (str(report.execution), report.seq)
        if outcome is not Outcome.OK:
            what = f"a result that was not accepted ({outcome.value})"
            self._unchanged("I6", what, before, stored)
            return reply
        if not open_:
            self._bad("I6", f"a result of {self._task(place)} is accepted, which is not open")
        if report.claim and report.claim != claim:
            self._bad("I6", f"a result of {self._task(place)} is accepted under a claim of before")
        if place in self.accepted:
            self._bad("I6", f"two results of {self._task(place)} are accepted")
        self.handed.pop(place, None)
        if report.final:
            before_it = (b'%d {"t":"due"' % report.seq, b'0 {"t":"op"')
            self.accepted[place] = Accepted(
                status=orjson.loads(report.event.split(b" ", 1)[1])["st"],
                output=report.output or b"",
                first=not any(event.startswith(before_it) for event in before.inbox),
            )
        self._look_now_and_then(stored)
        return reply

    def send(self, call: Call, execution: ExecutionId, *given: Any, **named: Any) -> Any:
        """I5: look at what an operation was sent to."""
        there, call = self._find(execution), partial(call, **named)
        reply = self._repeats.send(there, given[0], call, execution, *given)
        if (stored := self._find(execution)) is not None:
            self._look_now_and_then(stored)
        return reply

    def poll(self, call: Call, partition: int, poll: Any) -> PollReply:
        """I1, I3, I10 of what is handed out."""
        reply: PollReply = call(partition, poll)
        for claimed in reply.claimed:
            self._claiming.handed_out(claimed)
            place = (str(claimed.execution), claimed.seq)
            if place in self.accepted:
                self._bad("I6", f"{self._task(place)} is handed out after its result was accepted")
            if place in self.handed:
                self._bad("I3", f"{self._task(place)} is handed out twice")
            self.handed[place] = claimed.claim
            if claimed.claim <= self.highest.get(place[0], 0):
                self._bad("I1", f"claim {claimed.claim} of {self._task(place)} is issued again")
            self.highest[place[0]] = claimed.claim
            attempt = orjson.loads(claimed.attempt)
            self._task_limits.handed_out(place, attempt, claimed.claim, reply.now_ms)
        self._claiming.look_at_paused(partition)
        return reply

    def note_start(self, execution: str) -> None:
        """Remember that a client was told of a start; of one that was lost meanwhile, too late."""
        if execution not in self.lost:
            self.started[execution] = self.world.loop.now

    def note_key(self, name: str, key: str, strategy: str, execution: str) -> None:
        """Remember what was answered to a start under an idempotency key, unless too late."""
        if execution in self.lost:
            return
        if key and strategy == "FAIL_ON_RUNNING":
            self.free_keys.add((name, key))
        if key:
            self.keys.setdefault((name, key), set()).add(execution)

    def clock_stepped(self, ms: int) -> None:
        """Windows of time are others from here on."""
        self._clock_went_back = self._clock_went_back or ms < 0
        self._claims_may_return()
        self._task_limits.forget()
        self._claiming.clock_stepped()
        self._turns.forget()

    def lost_tail(self, before: Promised) -> None:
        """I12: the store is as it was when that had been promised; what came since is forgotten."""
        self.has_lost = True
        self.accepted, self.handed = before.accepted, before.handed
        self.identities, self.keys = before.identities, before.keys
        self._task_limits.forget()
        self._turns.forget()
        self._claims_may_return()
        present = {name for part in self.space.partitions for name in part.executions}
        for name in list(self.started):
            if name not in present and self.world.ports.search.archived(name) is None:
                del self.started[name]
                if name in before.started - self.forgotten:
                    self._bad("I12", f"{self.world.names.of_execution(name)} is older, and is gone")
        for name in list(self.seen):
            if name not in present and self.world.ports.search.archived(name) is None:
                del self.seen[name]
                self.lost.add(name)
        self.look_at_all()

    @property
    def is_behind_what_was_lost(self) -> bool:
        """Whether versions and claims of a tail that was lost may lie ahead of the clock."""
        return self.has_lost and self._clock_went_back

    def _claims_may_return(self) -> None:
        """Claims grow with the clock: what was lost with a tail may lie ahead of one that has gone
        back.
        """
        if self.is_behind_what_was_lost:
            self.highest = {
                stored.id: stored.highest_claim
                for partition in self.space.partitions
                for stored in partition.executions.values()
            }

    def look_at_all(self) -> None:
        """Recount everything that is stored."""
        now = self.space.clock()
        for number, partition in enumerate(self.space.partitions):
            for found in complaints(partition, partial(self._plan, number), now):
                if len(self.space.partitions) == 1 or _ROOM not in found:
                    self._complaint(found)
            for stored in partition.executions.values():
                self._armed(stored, partition)

    # -- one invariant each ------------------------------------------------------------------------

    def _fenced(self, before: Before, commit: Commit) -> None:
        if before.version != commit.version and self.world.fencing:
            self._bad("I1", f"a commit on version {commit.version} is applied to {before.version}")
        stored = self._find(commit.execution)
        if stored is not None and stored.version <= before.version:
            self._bad("I1", f"version {stored.version} follows {before.version}")

    def _no_way_back(self, before: Before, stored: Execution) -> None:
        name = self.world.names.of_execution(stored.id)
        if stored.generation < before.generation:
            self._bad("I2", f"{name} goes back to generation {stored.generation}")
        if before.terminal and not stored.terminal and stored.generation <= before.generation:
            self._bad("I2", f"{name} had ended and runs again in the same generation")
        for field_name, text in before.fields.items():
            if not field_name.startswith("a:"):
                continue
            after = stored.fields.get(field_name)
            if after is text or after is None:
                continue
            was, is_ = _status(text), _status(after)
            if was not in _OPEN and is_ not in {was, b"COMPLETED_WITH_ERRORS"}:
                task = self._task((stored.id, int(field_name[2:])))
                self._bad("I2", f"{task} had ended {was.decode()} and becomes {is_.decode()}")

    def _attempts_once(
        self, stored: Execution, before: Before | None, fields: Mapping[str, bytes]
    ) -> None:
        known = self.identities.setdefault(stored.id, {})
        for name, text in fields.items():
            if not name.startswith("a:") or (before is not None and name in before.fields):
                continue
            a = orjson.loads(text)
            seq = int(name[2:])
            identity = (a["gen"], a["ref"], a["it"], a.get("rc", 0), a.get("lost", 0))
            other = known.get(identity)
            known[identity] = seq
            # What is done again says whose successor it is, or that one has been taken back.
            again = other is None or a.get("prev") == other
            again = again or b'"sup"' in stored.fields.get(f"a:{other}", b"")
            if not again and a["st"] in {"SCHEDULED", "IN_PROGRESS"}:
                self._bad("I5", f"{self._task((stored.id, seq))} exists twice: {identity}")

    # -- short words -------------------------------------------------------------------------------

    def _find(self, execution: ExecutionId) -> Execution | None:
        return self.space.of(execution).executions.get(execution)

    def _know(self, execution: str) -> None:
        self.seen.setdefault(execution)

    def _children(self, parent: str, children: Any) -> None:
        for child in children:
            self._know(child.execution)
            self.born.add(child.execution)
            self.parents[child.execution] = parent

    def _look_now_and_then(self, stored: Execution) -> None:
        self._calls += 1
        if self._calls % _LOOK_AT_ALL_EVERY == 0:
            self.look_at_all()
        elif self._calls % _LOOK_EVERY == 0:
            self._look(stored)

    def _look_if_there(self, execution: ExecutionId) -> None:
        stored = self._find(execution)
        if stored is not None:
            self._look_now_and_then(stored)

    def _look(self, stored: Execution) -> None:
        """Recount one execution."""
        number = partition_of(stored.id)
        partition = self.space.partition(number)
        if stored.id in partition.executions:
            entries, find_plan = queue_entries(partition), partial(self._plan, number)
            now = self.space.clock()
            for found in complaints_about(stored, partition, entries, find_plan, now):
                self._complaint(found)
            self._armed(stored, partition)

    def _armed(self, stored: Execution, partition: Partition) -> None:
        for found in unarmed(stored, partition, self.space.clock()):
            self._complaint(f"{stored.id} {found}")

    def _unchanged(self, invariant: str, what: str, before: Before, stored: Execution) -> None:
        if not before.is_still(stored):
            name = self.world.names.of_execution(stored.id)
            self._bad(invariant, f"{what} has changed {name}")

    def _complaint(self, found: str) -> None:
        invariant = next((i for words, i in _SENTENCES.items() if words in found), "I4")
        self._bad(invariant, self.world.names.put_into(found))

    def _task(self, place: tuple[str, int]) -> str:
        return self.world.names.of_attempt(*place)

    def _bad(self, invariant: str, sentence: str) -> None:
        self.world.violated(invariant, sentence)


def _status(text: bytes) -> bytes:
    found = _STATUS.search(text)
    return found[1] if found else b""


__all__ = ["Checks"]
