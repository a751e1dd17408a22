"""Classification: from what is known of an execution to the causes of its standing still.

Pure: facts in, causes out, for every execution that the store can hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from conductor_py.engine.explaining.causes import Cause, about_task, counted, instant, span
from conductor_py.engine.explaining.facts import Facts
from conductor_py.engine.explaining.queue_causes import cause_in_queue
from conductor_py.model.execution import Attempt, ClaimSide, Header, JoinState
from conductor_py.model.homes import shard_of
from conductor_py.model.json import JsonValue
from conductor_py.ports.inspector import Place

_GRACE_MS: Final = 5_000
_SLOW_MS: Final = 60_000
_NEARLY_FULL: Final = 80
"""What executions start of their own waits from here on, in per cent."""
_NOWHERE: Final = Place(seq=0, claim=None)
_HELD_BY_A_PAUSE: Final = frozenset({"queued", "resuming"})
_UNCLAIMED: Final = ClaimSide()


def causes_of(facts: Facts) -> list[Cause]:
    """Find the causes, the most urgent first; there is one at least."""
    found = list(_Classification(facts).causes())
    if not found:
        text = "nothing is open, nothing waits, and it has not ended"
        found = [
            Cause(code="broken", sentence=f"It runs, but {text}.", execution=facts.look.execution)
        ]
    return sorted(found, key=lambda cause: cause.rank)


class _Classification:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._look = facts.look
        self._of = partial(about_task, facts.look.execution)
        self._now = facts.look.now_ms

    def causes(self) -> Iterator[Cause]:
        look, header = self._look, self._facts.header
        alone = self._alone()
        if alone is not None:
            yield alone
            return
        assert header is not None
        yield from self._deciding()
        if look.terminal:
            yield self._ended(header)
            return
        if look.status == "PAUSED":
            text = "It is paused: nothing new opens until it is resumed."
            yield self._say("paused", text, since_ms=header.updated_at)
        if header.awaits_admission and not look.waiting:
            yield self._admission(header)
        paused = look.status == "PAUSED"
        for attempt in self._facts.attempts:
            cause = self._attempt(attempt)
            if not (paused and cause.code in _HELD_BY_A_PAUSE):
                yield cause

    # -- the execution as a whole ------------------------------------------------------------------

    def _alone(self) -> Cause | None:
        """What stands before everything else."""
        look, setback = self._look, self._look.setback
        if look.quarantined:
            reason = setback.reason if setback else ""
            return self._say(
                "quarantined",
                f"It is in quarantine: {reason or 'it cannot be decided'}.",
                since_ms=setback.since_ms if setback else 0,
                until_ms=look.lease_until,
                evidence={"tries": setback.tries if setback else 0, "reason": reason},
            )
        if self._facts.header is None:
            text = "What is stored of it cannot be read here"
            problem = look.unreadable
            return self._say("unknown-format", f"{text}: {problem}." if problem else f"{text}.")
        if not self._facts.plan_stored and not look.terminal:
            plan = self._facts.header.plan
            text = "The definition that it was started with is lost."
            return self._say("plan-lost", text, evidence={"plan": plan})
        return None

    def _deciding(self) -> Iterator[Cause]:
        look, setback = self._look, self._look.setback
        ahead = look.version - self._now
        if ahead > 1000:
            text = f"The store's clock is {span(ahead)} behind the last change of the execution."
            yield self._say("store-clock", text, evidence={"behindMs": ahead})
        if setback is not None:
            yield self._say(
                "failing",
                f"Deciding on it has failed {counted(setback.tries, 'time')}: {setback.reason}.",
                since_ms=setback.since_ms,
                until_ms=look.due_ms,
                evidence={"tries": setback.tries, "reason": setback.reason},
            )
        late = [at for at in (look.due_ms, *(p.timer_ms for p in look.places.values())) if at]
        overdue = self._now - min(late, default=self._now)
        if overdue > _GRACE_MS and not look.held:
            yield self._overdue(overdue)
        elif look.held:
            text = f"{look.holder} is deciding on it."
            yield self._say("deciding", text, until_ms=look.lease_until)
        elif look.waiting and not look.due_ms:
            text = (
                f"It has {counted(look.waiting, 'event')} to read, and no timer that has it done."
            )
            yield self._say("broken", text)
        elif look.waiting and look.holder == "scripts":
            yield self._say(
                "script", "It waits for a script that takes long.", until_ms=look.due_ms
            )
        elif look.waiting and look.percent_full > _NEARLY_FULL:
            text = f"The store has {look.percent_full} % of the memory that it may have in use."
            yield self._say("store-full", text, until_ms=look.due_ms)
        elif look.waiting:
            text = f"It has {counted(look.waiting, 'event')} to be decided on."
            yield self._say("inbox", text, until_ms=look.due_ms)

    def _overdue(self, overdue: int) -> Cause:
        shard = shard_of(self._look.home)
        text = f"A timer is overdue by {span(overdue)}: nobody sweeps shard {shard}."
        evidence: dict[str, JsonValue] = {"overdueMs": overdue, "shard": shard}
        evidence["shardIsServed"] = shard in self._facts.live
        return self._say("no-sweeper", text, since_ms=self._now - overdue, evidence=evidence)

    def _ended(self, header: Header) -> Cause:
        look, reason = self._look, self._facts.ending.reason
        if header.drain:
            return self._say("draining", f"It is {look.status} and is being cleaned up.")
        index = look.effects.get("index")
        if index is not None and self._now - header.ended_at > _SLOW_MS:
            return self._say(
                "archive-pending",
                f"It is {look.status} and has waited to be archived for "
                f"{span(self._now - header.ended_at)}.",
                since_ms=header.ended_at,
            )
        why = f": {reason}" if reason else ""
        evidence: dict[str, JsonValue] = {"status": look.status, "reason": reason}
        return self._say(
            "finished", f"It is {look.status}{why}.", since_ms=header.ended_at, evidence=evidence
        )

    def _admission(self, header: Header) -> Cause:
        ahead, key = self._look.ahead, header.admission_key
        if ahead < 0:
            return self._say("broken", f"It waits for admission under {key}, and is not listed.")
        limit = counted(header.admission_limit, "execution")
        return self._say(
            "workflow-rate-limit",
            f"It has not begun: {limit} at a time under {key}, {ahead} waiting before it.",
            since_ms=header.created_at,
            evidence={
                "key": key,
                "limit": header.admission_limit,
                "ahead": ahead,
                "heldBy": list(self._facts.admitted),
            },
        )

    # -- one open task -----------------------------------------------------------------------------

    def _attempt(self, attempt: Attempt) -> Cause:
        claim = self._facts.claims.get(attempt.seq, _UNCLAIMED)
        place = self._look.places.get(attempt.seq, _NOWHERE)
        if claim.closed:
            return self._of("inbox", attempt, "has a result that waits to be decided")
        if attempt.queue:
            return self._queued(attempt, claim, place)
        if attempt.start_at:
            return self._delayed(attempt, attempt.start_at, claim)
        return self._waiting(attempt, place)

    def _waiting(self, attempt: Attempt, place: Place) -> Cause:
        """One that no worker takes."""
        match attempt.type:
            case "WAIT" if attempt.wait_until:
                text = f"waits until {instant(attempt.wait_until)}"
                return self._of("wait-timer", attempt, text, until_ms=attempt.wait_until)
            case "WAIT":
                return self._of("wait-signal", attempt, "waits for a signal")
            case "HUMAN":
                return self._of("human", attempt, "waits for somebody")
            case "PULL_WORKFLOW_MESSAGES":
                return self._of("messages", attempt, "waits for a message")
            case "SUB_WORKFLOW" if attempt.child:
                text = f"waits for its sub-workflow {attempt.child}"
                return self._of("sub-workflow", attempt, text, child=attempt.child)
            case "SUB_WORKFLOW" | "START_WORKFLOW":
                return self._ordered(attempt, place)
            case "JOIN" | "EXCLUSIVE_JOIN":
                return self._join(attempt)
            case "DO_WHILE":
                return self._of("loop", attempt, "waits for the tasks in it")
            case "EVENT" if place.published and self._age(attempt) > _SLOW_MS:
                text = f"has a message that is not delivered for {span(self._age(attempt))}"
                return self._of("effect-stuck", attempt, text, evidence={"effect": "publish"})
            case _:
                return self._of("external", attempt, "waits for a result from outside")

    def _ordered(self, attempt: Attempt, place: Place) -> Cause:
        if not place.ordered:
            return self._of("broken", attempt, "waits for a start that nobody makes")
        if self._age(attempt) > _SLOW_MS:
            text = f"waits for a start that is not made for {span(self._age(attempt))}"
            return self._of("effect-stuck", attempt, text, evidence={"effect": "start"})
        return self._of("start-order", attempt, "waits for a start under its key")

    def _join(self, attempt: Attempt) -> Cause:
        state, refs = self._facts.joins.get(attempt.seq, (JoinState(seq=0, expected=0), ()))
        open_ = [one.ref for one in self._facts.attempts if one.ref in refs]
        text = "waits for the tasks before it"
        if state.expected:
            left = state.expected - state.settled
            text = f"waits for {left} of {state.expected} tasks" + (
                f", {', '.join(open_[:3])} among them" if open_ else ""
            )
        listed: list[JsonValue] = list(open_[:20])
        return self._of("join", attempt, text, evidence={"settled": state.settled, "open": listed})

    def _delayed(self, attempt: Attempt, until_ms: int, claim: ClaimSide) -> Cause:
        late = f"until {instant(until_ms)}"
        if attempt.callback_after_s and claim.polls:
            return self._of(
                "callback", attempt, f"was put off by its worker {late}", until_ms=until_ms
            )
        if attempt.retry_count or attempt.retried_seq:
            text = f"has failed; try {attempt.retry_count + 1} begins at {instant(until_ms)}"
            return self._of("retry-delay", attempt, text, until_ms=until_ms)
        return self._of("start-delay", attempt, f"is not to start {late}", until_ms=until_ms)

    # -- in a queue --------------------------------------------------------------------------------

    def _queued(self, attempt: Attempt, claim: ClaimSide, place: Place) -> Cause:
        if claim.held:
            return self._claimed(attempt, claim)
        if place.parked:
            return self._of("resuming", attempt, "is put back into its queue")
        if place.delayed_ms > self._now:
            return self._delayed(attempt, place.delayed_ms, claim)
        if not (place.ready or place.delayed_ms):
            if attempt.async_complete:
                return self._of("external", attempt, "waits for a result from outside")
            return self._of("broken", attempt, "is in no queue, and nobody has it")
        return cause_in_queue(self._facts, attempt)

    def _claimed(self, attempt: Attempt, claim: ClaimSide) -> Cause:
        evidence: dict[str, JsonValue] = {"worker": claim.worker, "claim": claim.claim}
        since, until, who = claim.updated_at, claim.until, claim.worker or "a worker"
        if until and until <= self._now:
            text = f"was with {who}, whose claim has ended"
            code = "worker-lost"
        elif claim.leased and (until - self._now) * 4 < until - claim.updated_at:
            text = f"is with {who}, who has not said anything for {span(self._now - since)}"
            code = "worker-silent"
        else:
            text = f"is being worked on by {who}"
            code = "running"
        return self._of(code, attempt, text, since_ms=since, until_ms=until, evidence=evidence)

    # -- saying ------------------------------------------------------------------------------------

    def _age(self, attempt: Attempt) -> int:
        return self._now - max(attempt.started_at, attempt.scheduled_at)

    def _say(
        self,
        code: str,
        sentence: str,
        *,
        since_ms: int = 0,
        until_ms: int = 0,
        evidence: Mapping[str, JsonValue] = MappingProxyType({}),
    ) -> Cause:
        return Cause(
            code=code,
            sentence=sentence,
            execution=self._look.execution,
            since_ms=since_ms,
            until_ms=until_ms,
            evidence=evidence,
        )
