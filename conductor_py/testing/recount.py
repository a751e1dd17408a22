"""What is stored, counted anew: the invariants of design that can be read off a memory store.

Each complaint is a sentence; a sound store has none. They hold after every single call of the
store, whoever has crashed in the middle of what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from conductor_py.adapters.memory.claims import claim_side
from conductor_py.adapters.memory.space import Execution as Stored
from conductor_py.adapters.memory.space import Partition
from conductor_py.codec.event import load_event
from conductor_py.codec.execution import load_attempt, load_field, load_header
from conductor_py.decider.generations import revival
from conductor_py.decider.generations.recount import gates_anew
from conductor_py.decider.operators import join as joins
from conductor_py.decider.plan import CONTAINERS, Plan
from conductor_py.decider.workspace import Execution, Limits, Workspace
from conductor_py.model.event import (
    Admitted,
    ChildEnded,
    Continue,
    DeadlinePassed,
    Operation,
    ResultReported,
)
from conductor_py.model.execution import Attempt, Header, JoinState, LoopState
from conductor_py.model.ids import ExecutionId, task_id

FindPlan = Callable[[str], Plan | None]
"""A plan by its hash."""


def complaints(partition: Partition, find_plan: FindPlan, now_ms: int) -> list[str]:
    """Say everything that is wrong in a partition."""
    entries = queue_entries(partition)
    found = []
    for stored in list(partition.executions.values()):
        found += complaints_about(stored, partition, entries, find_plan, now_ms)
    found += _permits(partition)
    found += _admission(partition)
    return found


def complaints_about(
    stored: Stored,
    partition: Partition,
    entries: Counter[str],
    find_plan: FindPlan,
    now_ms: int,
) -> list[str]:
    """Say everything that is wrong with one execution."""
    one = _Recount(find_plan, partition, stored, entries, now_ms)
    return [f"{stored.id} {complaint}" for complaint in one.complaints()]


def queue_entries(partition: Partition) -> Counter[str]:
    """Count the entries of each task in all queues, delayed ones too."""
    entries: Counter[str] = Counter()
    for lanes in (partition.ready, partition.delayed):
        for members in lanes.values():
            entries.update(members.scores.keys())
    return entries


def _permits(partition: Partition) -> Iterator[str]:
    held: Counter[str] = Counter()
    limits: dict[str, int] = {}
    for stored in partition.executions.values():
        for name in stored.fields:
            if name.startswith("c:") and b'"permit":1' in stored.fields[name]:
                seq = int(name[2:])
                held[task_id(stored.id, seq)] += 1
                state = stored.fields.get(f"a:{seq}")
                if state is not None:
                    attempt = load_attempt(seq, state)
                    limit = max(limits.get(attempt.definition, 0), attempt.limit)
                    limits[attempt.definition] = limit
    for definition, permits in partition.permits.items():
        for member in permits.scores:
            if not held[member]:
                yield f"permit of {definition} is held by {member}, which knows nothing of it"
        if len(permits) > max(limits.get(definition, 0), 1):
            yield f"{definition} is held more often than its limit: {list(permits.scores)}"


def _admission(partition: Partition) -> Iterator[str]:
    limits: dict[str, int] = {}
    for stored in partition.executions.values():
        header = load_header(stored.fields["h"])
        key = header.admission_key
        if not key:
            continue
        limits[key] = header.admission_limit
        events = [load_event(event) for event in stored.inbox]
        told = any(isinstance(event, Admitted) for event in events)
        inside = stored.id in partition.admitted[key].scores
        waits = stored.id in partition.waiting[key].scores
        if stored.terminal and (inside or waits):
            yield f"{stored.id} has ended and is still admitted or waits"
        if stored.terminal:
            continue
        if header.awaits_admission and not waits and not told:
            yield f"{stored.id} waits for admission that is owed to it by nobody"
        if not header.awaits_admission and not (inside or waits):
            yield f"{stored.id} is under way and not counted as admitted"
    for key, waiting in partition.waiting.items():
        alive = [
            member
            for member in partition.admitted[key].scores
            if member in partition.executions and not partition.executions[member].terminal
        ]
        if len(waiting) and len(alive) < limits.get(key, 0):
            yield f"{list(waiting.scores)} wait for {key} though there is room"


class _Recount:
    """One execution."""

    def __init__(
        self,
        find_plan: FindPlan,
        partition: Partition,
        stored: Stored,
        entries: Counter[str],
        now_ms: int,
    ) -> None:
        self.find_plan = find_plan
        self.now_ms = now_ms
        self.partition = partition
        self.stored = stored
        self.entries = entries
        self.header: Header = load_header(stored.fields["h"])
        self.attempts: list[Attempt] = [
            load_attempt(int(name[2:]), text)
            for name, text in stored.fields.items()
            if name.startswith("a:")
        ]
        self.events = [load_event(event) for event in stored.inbox]
        self.timers = partition.timers[stored.home].scores
        self.steps = [
            load_field(name, text) for name, text in stored.fields.items() if name.startswith("w:")
        ]

    def complaints(self) -> Iterator[str]:
        header, stored = self.header, self.stored
        if (stored.status, stored.terminal, stored.generation) != (
            header.status.value,
            header.status.terminal,
            header.generation,
        ):
            yield "header and record disagree"
        if stored.inbox and f"x:{stored.id}" not in self.timers:
            yield "its inbox is not empty and no timer will wake it"
        behind = header.postponed - header.taken_up
        if behind != len(self.steps):
            yield f"{behind} steps are postponed, {len(self.steps)} are stored"
        if stored.terminal:
            yield from self._ended()
        else:
            yield from self._running()

    def _ended(self) -> Iterator[str]:
        drains = [
            event for event in self.events if isinstance(event, Continue) and event.kind == "drain"
        ]
        if self.header.drain and not drains:
            yield "it is draining and nobody goes on with it"
        if self.header.drain:
            return
        if self.header.walk:
            yield "it has ended within a walk"
        open_ = [attempt for attempt in self.attempts if attempt.open]
        if open_:
            yield f"it has ended and drained, and these are open: {open_}"
        if self.stored.status == "COMPLETED" and any(attempt.redo for attempt in self.attempts):
            yield "it is complete and attempts are to be made anew"
        yield from self._left_over()
        waiting = [kind for kind in ("index", "remove", "forget") if self._ordered(kind)]
        if not waiting and not self.events:
            yield "it has ended and nothing will take it away"

    def _left_over(self) -> Iterator[str]:
        for attempt in self.attempts:
            member = task_id(self.stored.id, attempt.seq)
            if self.entries[member]:
                yield f"it has ended and {attempt.ref} is still in a queue"
            if f"a:{member}" in self.timers:
                yield f"it has ended and {attempt.ref} has a timer"
        if self.stored.parked:
            yield "it has ended and keeps parked entries"

    def _ordered(self, kind: str) -> bool:
        return f"{self.stored.id}:{kind}" in self.partition.outbox.scores

    def _running(self) -> Iterator[str]:
        header = self.header
        open_ = [
            attempt
            for attempt in self.attempts
            if attempt.open
            and attempt.generation == header.generation
            and attempt.seq >= header.first_seq
        ]
        walks = bool(header.walk)
        continues = [
            event
            for event in self.events
            if isinstance(event, Continue)
            and event.generation == header.generation
            and event.counted
        ]
        if len(continues) != header.continues:
            yield f"{header.continues} continuations are counted, {len(continues)} wait"
        behind = header.postponed > header.taken_up
        paused = header.status.value == "PAUSED"
        goes_on = any(event.kind == "postponed" for event in continues)
        if behind and not paused and not goes_on:
            yield "steps are postponed and nobody takes them up"
        if walks and not any(event.kind == "walk" for event in continues):
            postponed = any(getattr(step, "kind", "") == "walk" for step in self.steps)
            if not postponed:
                yield "a walk is under way and nobody goes on with it"
        if not (open_ or self.events or paused or header.awaits_admission):
            yield "it runs, and nothing will wake it"
        for attempt in open_:
            yield from self._attempt(attempt, paused=paused)
        if header.due_at and self.timers.get(f"x:{self.stored.id}") is None:
            yield "it has a deadline and no timer"
        places = Counter((attempt.ref, attempt.vector) for attempt in open_)
        if places and max(places.values()) > 1:
            yield f"a place has two open attempts: {open_}"
        if walks and not header.surveyed and self._walk() == "revive":
            return
        yield from self._counts(open_)

    def _walk(self) -> str:
        return str(getattr(load_field("walk", self.stored.fields.get("walk")), "kind", ""))

    def _attempt(self, attempt: Attempt, *, paused: bool) -> Iterator[str]:
        member = task_id(self.stored.id, attempt.seq)
        claim = claim_side(self.stored, attempt.seq)
        reported = any(
            isinstance(event, ResultReported) and event.seq == attempt.seq for event in self.events
        )
        if bool(claim.closed) != reported:
            yield f"{attempt.ref} is closed: {claim.closed}, and its result waits: {reported}"
        if attempt.queue:
            parked = attempt.seq in self.stored.parked
            places = self.entries[member] + claim.held + parked + claim.closed
            if places != 1:
                yield f"{attempt.ref} is in {places} places: {attempt} {claim}"
        elif self.entries[member]:
            yield f"{attempt.ref} is in a queue that it does not know"
        fired = any(
            isinstance(event, DeadlinePassed) and event.seq == attempt.seq for event in self.events
        ) or any(
            getattr(step, "kind", "") == "deadline"
            and (getattr(step, "ref", ""), getattr(step, "vector", ""))
            == (attempt.ref, attempt.vector)
            for step in self.steps
        )
        timed = attempt.start_at or attempt.wait_until or claim.held
        if timed and f"a:{member}" not in self.timers and not (reported or fired):
            yield f"{attempt.ref} waits for an instant and has no timer: {attempt} {claim}"
        if attempt.child is not None and not reported:
            yield from self._child(attempt)

    def _child(self, attempt: Attempt) -> Iterator[str]:
        child = self.partition.executions.get(str(attempt.child))
        told = any(
            isinstance(event, ChildEnded) and event.child == attempt.child for event in self.events
        )
        if told:
            return
        if child is None:
            yield f"{attempt.ref} waits for a child that does not exist"
            return
        asked = any(isinstance(load_event(event), Operation) for event in child.inbox)
        if child.terminal and not asked:
            yield f"{attempt.ref} waits for a child that has ended: {child.status}"

    # -- counts ------------------------------------------------------------------------------------

    def _plan(self, plan_hash: str) -> Plan | None:
        if plan_hash in self.header.former:
            plan_hash = self.header.plan
        return self.find_plan(plan_hash)

    def _counts(self, open_: list[Attempt]) -> Iterator[str]:
        counted = open_ + [one for one in self.attempts if one.redo == self.header.generation]
        containers = [attempt for attempt in counted if attempt.type in CONTAINERS]
        if self.header.containers != len(containers):
            yield f"{self.header.containers} containers are counted, {containers} are open"
        others = len(counted) - len(containers)
        if self.header.open_attempts != others:
            yield f"{self.header.open_attempts} attempts are counted as open, {others} are: {open_}"
        yield from self._loops(counted)
        settled = not self.events and not self.steps and not self.header.walk
        if settled:
            yield from self._joins()

    def _loops(self, counted: list[Attempt]) -> Iterator[str]:
        inside: Counter[str] = Counter()
        for attempt in counted:
            plan = self._plan(attempt.plan)
            node = plan.nodes.get(attempt.ref) if plan else None
            if node is not None and node.loops:
                outer, _, _ = attempt.vector.rpartition(".")
                inside[f"j:{node.loops[-1]}" + (f"#{outer}" if outer else "")] += 1
        by_seq = {attempt.seq: attempt for attempt in counted}
        for name, text in self.stored.fields.items():
            state = load_field(name, text) if name.startswith("j:") else None
            if not isinstance(state, LoopState) or state.seq not in by_seq:
                continue
            if state.open_attempts != inside[name]:
                yield f"loop {name} counts {state}, {inside[name]} are open in it"

    def _joins(self) -> Iterator[str]:
        stored = self.stored
        plan = self._plan(self.header.plan)
        assert plan is not None
        known: dict[str, Any] = {n: load_field(n, text) for n, text in stored.fields.items()}
        hashes = {attempt.plan for attempt in self.attempts} | {
            value for name, value in known.items() if name.startswith("d:")
        }
        known |= {f"plan:{one}": self._plan(one) for one in hashes}
        execution = Execution(
            id=ExecutionId(stored.id), header=self.header, known=known, complete=True
        )
        for name in [name for name in stored.fields if name.startswith("j:")]:
            state = known[name]
            ws = Workspace(plan, execution, self.now_ms, Limits())
            found = joins.opened(ws, name) if isinstance(state, JoinState) else None
            if found is None or found[1].generation != self.header.generation:
                continue
            _, attempt, spot = found
            if attempt.type != "JOIN":
                continue
            refs = tuple(joins.names(ws.document(f"i:{attempt.seq}").get("joinOn")))
            fragment = revival.fragment_before(ws, spot)
            if fragment is not None:
                anew = revival.counted(ws, spot, fragment)
            else:
                anew = joins.count_settled(ws, spot, refs, refs)
            if (anew.expected, anew.settled) != (state.expected, state.settled):
                yield f"join {name} counts {state}, recounted {anew}"
            if state.settled >= state.expected:
                yield f"join {name} has all that it waits for and is open"
        if plan.is_dag:
            yield from (
                f"{name}: {text}" for name, text in gates_anew(plan, execution, self.now_ms)
            )
