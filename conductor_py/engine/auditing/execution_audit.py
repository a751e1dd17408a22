"""What one execution owes to its invariants, read off one look at it: findings, or nothing.

Counts are made anew, entries and timers are held against the attempts they are for. Nothing here
reads the store; what it needs of plans and other executions it is handed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from conductor_py.codec.event import load_event
from conductor_py.codec.execution import UnknownFormat, load_claim, load_field, load_header
from conductor_py.decider.generations.recount import gates_anew, join_anew
from conductor_py.decider.need import Missing
from conductor_py.decider.plan import CONTAINERS, Plan
from conductor_py.decider.workspace import Execution
from conductor_py.engine.auditing.findings import Finding
from conductor_py.errors import StoreUnavailable
from conductor_py.model.event import (
    Admitted,
    ChildEnded,
    Continue,
    DeadlinePassed,
    Event,
    ResultReported,
)
from conductor_py.model.execution import Attempt, ClaimSide, Header, LoopState, Postponed, Walk
from conductor_py.model.ids import task_id
from conductor_py.ports.inspector import Inspection, Place

_NOBODY: Final = ClaimSide()
_ARMED: Final = re.compile(rb'"at": ?[1-9]')
_SUBJECTS: Final = frozenset({"SUB_WORKFLOW"})

PlanOf = Callable[[str], Plan | None]
"""Find a plan by its hash; ``None``: it is not stored."""
ChildOf = Callable[[str], str]
"""Tell how an execution stands: ``open``, ``ended``, ``asked`` (ended, with an operation waiting),
``archived`` or ``missing``."""


class ExecutionAudit:
    """The findings of one execution, as it was at one look."""

    def __init__(self, look: Inspection, plan_of: PlanOf, child_of: ChildOf) -> None:
        """Read what is stored. Raises ``UnknownFormat``, or what decoding raises, for an execution
        that cannot be read.
        """
        self._look = look
        self._plan_of = plan_of
        self._child_of = child_of
        self._header: Header = load_header(look.fields["h"])
        self._known: dict[str, object] = {
            name: load_field(name, stored) for name, stored in look.fields.items()
        }
        self._attempts = [one for one in self._known.values() if isinstance(one, Attempt)]
        self._steps = [one for one in self._known.values() if isinstance(one, Postponed)]
        self._events: list[Event] = [load_event(event) for event in look.events]
        self._claims = {
            seq: load_claim(place.claim) if place.claim else _NOBODY
            for seq, place in look.places.items()
        }

    def findings(self) -> Iterator[Finding]:
        """Everything that is wrong with it."""
        look, header = self._look, self._header
        if (look.status, look.terminal, look.generation) != (
            header.status.value,
            header.status.terminal,
            header.generation,
        ):
            yield self._say("record-differs", f"{look.status} against {header.status.value}")
        if look.waiting and not look.due_ms:
            yield self._say("unheard-events", f"{look.waiting} events wait")
        if header.postponed - header.taken_up != len(self._steps):
            text = f"{header.postponed - header.taken_up} steps, {len(self._steps)} stored"
            yield self._say("miscounted", text, "steps")
        if look.listed == look.terminal:
            yield self._say("not-listed", f"listed: {look.listed}, ended: {look.terminal}")
        if header.parent and not look.terminal and self._child_of(header.parent) == "missing":
            yield self._say("parent-gone", f"its parent would be {header.parent}")
        yield from self._plans()
        yield from self._admission()
        yield from self._identities()
        yield from self._ended() if look.terminal else self._running()

    def _say(self, code: str, detail: str, place: str = "") -> Finding:
        return Finding(code, self._look.execution, place, detail)

    def _about(self, code: str, attempt: Attempt, detail: str) -> Finding:
        task = task_id(self._look.execution, attempt.seq)
        return self._say(code, f"{attempt.ref} {detail}", task)

    # -- definitions, identity, admission ----------------------------------------------------------

    def _plans(self) -> Iterator[Finding]:
        if not self._look.counted:
            yield self._say("plan-uncounted", self._header.plan)
        present = self._header.first_seq
        wanted = {one.plan for one in self._attempts if one.seq >= present and one.open}
        wanted -= set(self._header.former)
        wanted |= {self._header.plan}
        wanted |= {str(value) for name, value in self._known.items() if name.startswith("d:")}
        for plan in sorted(wanted):
            if self._plan_of(plan) is None:
                yield self._say("plan-missing", plan, plan)

    def _identities(self) -> Iterator[Finding]:
        first = self._header.first_seq
        identities = Counter(
            (one.generation, one.ref, one.vector, one.retry_count, one.lost)
            for one in self._attempts
            # A jump back makes anew what it supersedes, within the same generation.
            if one.seq >= first and not (one.ahead or one.superseded)
        )
        for (generation, ref, vector, retry, lost), times in identities.items():
            if times > 1:
                place = f"{generation}:{ref}#{vector}:{retry}.{lost}"
                yield self._say("identity-doubled", f"{times} times", place)

    def _admission(self) -> Iterator[Finding]:
        look, header = self._look, self._header
        if not header.admission_key:
            return
        waits = look.ahead >= 0
        if look.terminal:
            if look.admitted or waits:
                yield self._say("admitted-dead", header.admission_key)
            return
        told = any(isinstance(event, Admitted) for event in self._events)
        if header.awaits_admission and not waits and not told:
            yield self._say("admission-lost", header.admission_key)
        if not header.awaits_admission and not (look.admitted or waits):
            yield self._say("not-admitted", header.admission_key)

    # -- ended -------------------------------------------------------------------------------------

    def _ended(self) -> Iterator[Finding]:
        look, header = self._look, self._header
        if header.drain:
            drains = any(isinstance(one, Continue) and one.kind == "drain" for one in self._events)
            if not drains and look.waiting <= len(look.events):
                yield self._say("drain-stopped", f"at {header.drain}")
            return
        if header.walk:
            yield self._say("walk-without-end", f"at {header.walk}")
        for attempt in self._attempts:
            if attempt.open:
                yield self._about("reopened", attempt, f"is {attempt.status.value}")
        if look.status == "COMPLETED" and any(one.redo for one in self._attempts):
            yield self._say("walk-without-end", "attempts are to be made anew")
        if look.parked:
            yield self._say("several-places", f"{look.parked} entries are parked")
        if not look.effects and not look.waiting:
            yield self._say("archive-unordered", look.status)

    # -- running -----------------------------------------------------------------------------------

    def _running(self) -> Iterator[Finding]:
        header, look = self._header, self._look
        open_ = [
            one
            for one in self._attempts
            if one.open and one.generation == header.generation and one.seq >= header.first_seq
        ]
        paused = look.status == "PAUSED"
        if not (open_ or look.waiting or paused or header.awaits_admission):
            yield self._say("no-wake-up", "it runs, and nothing is open")
        if header.due_at and not look.due_ms:
            yield self._say("no-wake-up", f"its deadline {header.due_at} has no timer", "deadline")
        for attempt in open_:
            yield from self._attempt(attempt)
        places = Counter((one.ref, one.vector) for one in open_)
        for (ref, vector), times in places.items():
            if times > 1:
                yield self._say("place-doubled", f"{times} are open", f"{ref}#{vector}")
        if look.waiting > len(look.events):
            return  # what is not seen of the inbox would be missed in the counts
        yield from self._continuations()
        revives = header.walk and not header.surveyed and self._walk() == "revive"
        if not revives:
            yield from self._counts(open_)

    def _continuations(self) -> Iterator[Finding]:
        header = self._header
        continues = [
            event
            for event in self._events
            if isinstance(event, Continue)
            and event.generation == header.generation
            and event.counted
        ]
        if len(continues) != header.continues:
            text = f"{header.continues} continuations are counted, {len(continues)} wait"
            yield self._say("miscounted", text, "continuations")
        behind = header.postponed > header.taken_up
        goes_on = any(event.kind == "postponed" for event in continues)
        if behind and self._look.status != "PAUSED" and not goes_on:
            yield self._say("steps-stopped", f"{header.postponed - header.taken_up} steps")
        walks = any(event.kind == "walk" for event in continues)
        put_off = any(step.kind == "walk" for step in self._steps)
        if header.walk and not (walks or put_off):
            yield self._say("walk-stopped", f"at {header.walk}")

    def _walk(self) -> str:
        walk = self._known.get("walk")
        return walk.kind if isinstance(walk, Walk) else ""

    def _attempt(self, attempt: Attempt) -> Iterator[Finding]:
        place = self._look.places.get(attempt.seq)
        if place is None:
            yield self._about("no-wake-up", attempt, "was not to be placed")
            return
        claim = self._claims[attempt.seq]
        reported = self._has_event(ResultReported, attempt)
        if claim.closed != reported and self._look.waiting <= len(self._look.events):
            text = f"is closed: {claim.closed}, and its result waits: {reported}"
            yield self._about("unasked-result", attempt, text)
        entries = place.ready + bool(place.delayed_ms)
        if attempt.queue:
            places = entries + claim.held + place.parked + claim.closed
            if places != 1:
                code = "several-places" if places else "no-place"
                yield self._about(code, attempt, f"is in {places} places of {attempt.queue}")
        elif entries:
            yield self._about("unknown-queue", attempt, "is in a queue that it does not know")
        if not (reported or claim.closed):
            yield from self._wake_up(attempt, place)

    def _wake_up(self, attempt: Attempt, place: Place) -> Iterator[Finding]:
        armed = bool(place.claim) and _ARMED.search(place.claim or b"") is not None
        timed = attempt.start_at or attempt.wait_until or armed
        if timed and not place.timer_ms and not self._fired(attempt):
            yield self._about("no-wake-up", attempt, "waits for an instant and has no timer")
        if attempt.type not in _SUBJECTS or attempt.start_at:
            return
        if attempt.child is None:
            if not (place.ordered or self._fired(attempt) or self._look.waiting):
                yield self._about("no-wake-up", attempt, "waits for a start that nobody makes")
            return
        told = any(
            isinstance(event, ChildEnded) and event.child == attempt.child for event in self._events
        )
        if told or attempt.followed:
            return
        stands = self._child_of(attempt.child)
        if stands == "missing":
            yield self._about("child-missing", attempt, f"waits for {attempt.child}")
        elif stands == "ended" and not self._look.waiting:
            yield self._about("child-unheard", attempt, f"waits for {attempt.child}")

    def _fired(self, attempt: Attempt) -> bool:
        spot = (attempt.ref, attempt.vector)
        return self._has_event(DeadlinePassed, attempt) or any(
            step.kind == "deadline" and (step.ref, step.vector) == spot for step in self._steps
        )

    def _has_event(self, kind: type[ResultReported | DeadlinePassed], attempt: Attempt) -> bool:
        return any(isinstance(one, kind) and one.seq == attempt.seq for one in self._events)

    # -- counts ------------------------------------------------------------------------------------

    def _counts(self, open_: list[Attempt]) -> Iterator[Finding]:
        header = self._header
        counted = open_ + [one for one in self._attempts if one.redo == header.generation]
        containers = sum(one.type in CONTAINERS for one in counted)
        if header.containers != containers:
            text = f"{header.containers} containers are counted, {containers} are open"
            yield self._say("miscounted", text, "containers")
        if header.open_attempts != len(counted) - containers:
            text = f"{header.open_attempts} are counted, {len(counted) - containers} are open"
            yield self._say("miscounted", text, "open attempts")
        yield from self._loops(counted)
        if not self._events and not self._steps and not header.walk:
            with suppress(Missing):
                yield from self._joins()

    def _loops(self, counted: list[Attempt]) -> Iterator[Finding]:
        inside: Counter[str] = Counter()
        for attempt in counted:
            plan = self._present(attempt.plan)
            node = plan.nodes.get(attempt.ref) if plan else None
            if node is not None and node.loops:
                outer, _, _ = attempt.vector.rpartition(".")
                inside[f"j:{node.loops[-1]}" + (f"#{outer}" if outer else "")] += 1
        present = {attempt.seq for attempt in counted}
        for name, state in self._known.items():
            if not isinstance(state, LoopState) or state.seq not in present:
                continue
            if state.open_attempts != inside[name]:
                text = f"{state.open_attempts} are counted, {inside[name]} are open"
                yield self._say("miscounted", text, name)

    def _joins(self) -> Iterator[Finding]:
        plan = self._present(self._header.plan)
        if plan is None:
            return
        hashes = {one.plan for one in self._attempts}
        hashes |= {str(value) for name, value in self._known.items() if name.startswith("d:")}
        known: Mapping[str, object] = {
            **self._known,
            **{f"plan:{one}": self._present(one) for one in hashes},
        }
        execution = Execution(
            id=self._look.execution, header=self._header, known=known, complete=True
        )
        for name in self._known:
            found = None
            if name.startswith("j:"):
                found = join_anew(plan, execution, self._look.now_ms, name)
            if found is None:
                continue
            state, anew = found
            if (anew.expected, anew.settled) != (state.expected, state.settled):
                text = (
                    f"{state.settled} of {state.expected} are counted, "
                    f"{anew.settled} of {anew.expected} have settled"
                )
                yield self._say("miscounted", text, name)
            if state.settled >= state.expected:
                yield self._say("no-wake-up", "the join has all that it waits for", name)
        if plan.is_dag:
            for name, text in gates_anew(plan, execution, self._look.now_ms):
                yield self._say("miscounted", text, name)

    def _present(self, plan: str) -> Plan | None:
        return self._plan_of(self._header.plan if plan in self._header.former else plan)


def audit_execution(look: Inspection, plan_of: PlanOf, child_of: ChildOf) -> list[Finding]:
    """Audit one execution; one that cannot be read is a finding of its own."""
    found = []
    if look.quarantined:
        reason = look.setback.reason if look.setback else ""
        found.append(Finding("quarantined", look.execution, "", reason))
    if look.unreadable:
        return [*found, Finding("unreadable", look.execution, "", look.unreadable[:200])]
    try:
        found += ExecutionAudit(look, plan_of, child_of).findings()
    except UnknownFormat:
        found.append(Finding("unreadable", look.execution, "", "its format number is unknown"))
    except StoreUnavailable:
        raise
    except Exception as broken:  # noqa: BLE001 - whatever a damaged one raises is its finding
        text = f"{type(broken).__name__}: {broken}"[:200]
        found.append(Finding("unreadable", look.execution, "", text))
    return found
