"""The executor: whoever holds an execution's lease decides and commits until its inbox is empty.

Nothing in here is trusted for correctness: a stale decision is refused by the commit, a lost lease
costs work only, and what a crash leaves undone is woken by the timer that the last script armed. An
execution that cannot be decided on is ended with the reason: tried again it would only fail again.
"""

from __future__ import annotations

import itertools
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from conductor_py.codec.event import load_event
from conductor_py.codec.execution import UnknownFormat, dump_json, load_field
from conductor_py.decider.decide import abandon, decide
from conductor_py.decider.need import Missing, Need
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Execution, Limits
from conductor_py.engine.encoding import Encoder
from conductor_py.engine.failure_reports import FailureReports
from conductor_py.engine.long_scripts import AGAIN_MS, PutOff
from conductor_py.engine.needs import Fetcher
from conductor_py.engine.snapshots import Snapshots
from conductor_py.errors import ConductorError, StoreUnavailable
from conductor_py.model.decision import Answer, Decision
from conductor_py.model.event import Continue, Event, Started
from conductor_py.model.execution import Attempt, Header
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.store import (
    Changes,
    ClaimGuard,
    Commit,
    CommitReply,
    ExecutionStore,
    Loaded,
    Outcome,
)

_LOG = logging.getLogger(__name__)
_SERVE_OTHERS_S = 0.05
_MAX_REASON = 500
_FOLLOW_S = 0.1
_MAX_QUESTIONS = 16


@dataclass(slots=True)
class Driven:
    """What came of driving an execution: answers by operation, and the executions whose inbox was
    filled.
    """

    answers: dict[str, Answer] = field(default_factory=dict)
    touched: list[ExecutionId] = field(default_factory=list)


class Executor:
    """Drives executions. Safe for threads."""

    def __init__(
        self,
        store: ExecutionStore,
        snapshots: Snapshots,
        fetcher: Fetcher,
        encoder: Encoder,
        reports: FailureReports,
        *,
        pick_shard: Callable[[str], str],
        keep_output: Callable[[str, bytes, int], None],
        limits: Limits,
        lease_ms: int,
        monotonic: Callable[[], float],
    ) -> None:
        """``pick_shard`` maps an execution's home shard to the shard of its next queue entry;
        ``keep_output`` takes key, output and life in ms of an output to be used again.
        """
        self._store = store
        self._snapshots = snapshots
        self._fetcher = fetcher
        self._encoder = encoder
        self._reports = reports
        self._pick_shard = pick_shard
        self._keep_output = keep_output
        self._limits = limits
        self.lease_ms = lease_ms
        self._monotonic = monotonic
        self._nonce = secrets.token_hex(6)
        self._numbers = itertools.count(1)

    def name(self) -> str:
        """A name for one holder or one operation, never used twice."""
        return f"{self._nonce}-{next(self._numbers)}"

    def drive(self, loaded: Loaded | None, holder: str) -> Driven:
        """Decide and commit until nothing is left, or others have had their share of time."""
        driven = Driven()
        began = self._monotonic()
        while loaded is not None:
            let_go = self._monotonic() - began > _SERVE_OTHERS_S
            loaded = self._turn(loaded, holder, driven, let_go=let_go)
        return driven

    def follow(self, touched: Iterable[ExecutionId]) -> None:
        """Drive executions whose inbox was filled, and those that they fill in turn, for a moment.

        What is left is owed to the timers, which the commits have made due within a second. Nothing
        that goes wrong with them is the caller's failure.
        """
        pending = list(touched)
        until = self._monotonic() + _FOLLOW_S
        while pending and self._monotonic() < until:
            execution, holder = pending.pop(), self.name()
            pending.extend(self._surely(partial(self._take_up, execution, holder)).touched)

    def go_on(
        self, loaded: Loaded | None, holder: str, touched: Iterable[ExecutionId] = ()
    ) -> None:
        """Go on with what the store has accepted, and with the executions that this ``touched``.

        It is durable already: whatever goes wrong now is logged, and its timer goes on later.
        """
        driven = self._surely(partial(self.drive, loaded, holder))
        self.follow([*touched, *driven.touched])

    def _take_up(self, execution: ExecutionId, holder: str) -> Driven:
        return self.drive(self._store.acquire(execution, holder, self.lease_ms), holder)

    @staticmethod
    def _surely(drive: Callable[[], Driven]) -> Driven:
        try:
            return drive()
        except StoreUnavailable:
            _LOG.warning(
                "The store went away after something was accepted",
                extra={"action": "decide_later"},
            )
        except Exception:  # noqa: BLE001 - what was accepted must not fail its caller
            _LOG.exception(
                "An execution cannot be decided; its timer comes again",
                extra={"action": "decide_failed"},
            )
        return Driven()

    def first(
        self,
        plan: Plan,
        execution: Execution,
        known: dict[str, object],
        now_ms: int,
        birth: Mapping[str, bytes],
    ) -> Changes:
        """Decide on a new execution. What had to be fetched for it is added to ``known``."""
        try:
            decided = self._deliberate(plan, execution, known, (Started(),), now_ms, birth=birth)
        except PutOff as off:
            raise StoreUnavailable("A script that the start needs takes long; try again.") from off
        assert decided is not None
        return decided[1]

    # -- one decision ------------------------------------------------------------------------------

    def _turn(self, loaded: Loaded, holder: str, driven: Driven, *, let_go: bool) -> Loaded | None:
        known = self._known(loaded)
        header = known.get("h")
        if not isinstance(header, Header):
            return None
        plan = self._snapshots.plan(partition_of(loaded.execution), header.plan)
        if plan is None:
            _LOG.error(
                "The plan of an execution is lost",
                extra={"action": "plan_lost", "workflow_id": loaded.execution},
            )
            return None
        events = _events(loaded)
        if events is None:
            return None
        while True:
            decided = self._decide(plan, header, loaded, events, known, holder)
            if decided is None:
                return None
            decision, changes = decided
            commit = Commit(
                execution=loaded.execution,
                operation=self.name(),
                version=loaded.version,
                home=header.home,
                name=header.name,
                first_event=loaded.first_event,
                consumed=loaded.first_event + len(events) - 1,
                changes=changes,
                holder=holder,
                lease_ms=self.lease_ms,
                guards=tuple(
                    ClaimGuard(seq=g.seq, claim=g.claim, until_ms=g.until) for g in decision.guards
                ),
                let_go=let_go,
            )
            reply = self._commit(commit)
            if reply.outcome is not Outcome.CLAIM_MOVED:
                break
            for guard in decision.guards:
                known.pop(f"c:{guard.seq}", None)
        if reply.outcome is not Outcome.OK:
            _LOG.info(
                "A decision was refused by the store and is dropped",
                extra={
                    "action": "decision_refused",
                    "workflow_id": loaded.execution,
                    "outcome": reply.outcome.value,
                    "version": loaded.version,
                },
            )
            return None
        self._follow_up(decision, changes, reply, driven)
        return reply.more

    def _follow_up(
        self, decision: Decision, changes: Changes, reply: CommitReply, driven: Driven
    ) -> None:
        """Note what came of a commit, and for whom."""
        for answer in decision.answers:
            driven.answers[answer.operation] = answer
        driven.touched.extend(child.execution for child in changes.children)
        driven.touched.extend(message.execution for message in changes.messages)
        driven.touched.extend(reply.woken)
        for kept in decision.kept:
            self._keep_output(kept.key, dump_json(kept.output), kept.ttl_ms)

    def _put_off(
        self,
        loaded: Loaded,
        events: tuple[Event, ...],
        header: Header,
        holder: str,
        off: PutOff,
    ) -> None:
        """Let an execution go whose scripts take long. Let go first: it is taken up when they are
        evaluated.
        """
        delay_ms = AGAIN_MS if self._fetcher.has_long_scripts else 0
        if header.due_at:
            delay_ms = max(0, min(delay_ms, header.due_at - loaded.now_ms))
        seen = loaded.first_event + len(events) - 1
        if self._store.postpone(loaded.execution, holder, seen, delay_ms):
            self._fetcher.put_off(loaded.execution, off)

    def _commit(self, commit: Commit) -> CommitReply:
        reply = self._store.commit(commit)
        if reply.outcome is Outcome.NEED_PLAN:
            self._snapshots.store(partition_of(commit.execution), commit.changes.plans)
            reply = self._store.commit(commit)
        return reply

    def _decide(  # noqa: PLR0917 - what one decision is made of
        self,
        plan: Plan,
        header: Header,
        loaded: Loaded,
        events: tuple[Event, ...],
        known: dict[str, object],
        holder: str,
    ) -> tuple[Decision, Changes] | None:
        execution = Execution(id=loaded.execution, header=header, known=known)
        try:
            return self._deliberate(
                plan, execution, known, events, loaded.now_ms, version=loaded.version, holder=holder
            )
        except Missing:
            raise
        except PutOff as off:
            self._put_off(loaded, events, header, holder, off)
            return None
        except Exception as broken:
            if isinstance(broken, ConductorError) and broken.retryable:
                raise
            # Tried again it would only fail again, and keep its timer firing for ever.
            _LOG.exception(
                "An execution cannot be decided and is ended",
                extra={"action": "decide_failed", "workflow_id": loaded.execution},
            )
            return self._abandoned(plan, execution, events, loaded.now_ms, broken)

    def _abandoned(
        self,
        plan: Plan,
        execution: Execution,
        events: tuple[Event, ...],
        now_ms: int,
        broken: Exception,
    ) -> tuple[Decision, Changes]:
        text = f"internal error: {type(broken).__name__}: {broken}"
        # What the user sent may be in there, half of a surrogate pair too.
        reason = text.encode(errors="replace").decode()[:_MAX_REASON]
        decision = abandon(plan, execution, events, now_ms, reason)
        changes = self._encoder.changes(execution.id, decision, self._pick_shard, now_ms)
        if not isinstance(changes, Changes):
            raise broken
        return decision, changes

    def _deliberate(
        self,
        plan: Plan,
        execution: Execution,
        known: dict[str, object],
        events: tuple[Event, ...],
        now_ms: int,
        *,
        version: int | None = None,
        holder: str = "",
        birth: Mapping[str, bytes] | None = None,
    ) -> tuple[Decision, Changes] | None:
        """Decide, fetching what is needed; ``None`` when the execution moved on meanwhile.

        A decision stays small: after many questions what is complete is committed by itself, and
        one that is too large in bytes is made of fewer attempts. The rest is its continuation, and
        so is what needs a script that takes long. Raises ``PutOff`` when there is nothing else.
        """
        limits, questions, turns = self._limits, 0, 0
        while True:
            decision = decide(plan, execution, events, now_ms, limits)
            if isinstance(decision, Need):
                questions += 1
                if questions > _MAX_QUESTIONS and decision.rounds:
                    limits = replace(limits, rounds=decision.rounds)
                    continue
                if decision.slow and holder:
                    self._store.renew(execution.id, holder, self.lease_ms)
                try:
                    if not self._fetcher.fulfil(execution.id, decision, known, version=version):
                        return None
                except PutOff:
                    less = _less(limits, events, decision.rounds, turns)
                    if less is None:
                        raise
                    limits, events = less
                    turns += 1
                continue
            changes = self._encoder.changes(
                execution.id, decision, self._pick_shard, now_ms, birth=birth
            )
            if not isinstance(changes, Changes):
                known.update(changes)
                continue
            made = decision.header.next_seq - execution.header.next_seq
            if made > 1 and sum(map(len, changes.fields.values())) > limits.bytes:
                limits = replace(limits, attempts=made // 2)
                continue
            return decision, self._reports.add(execution.id, decision, changes)

    def _known(self, loaded: Loaded) -> dict[str, object]:
        known: dict[str, object] = {}
        try:
            for name, stored in loaded.fields.items():
                known[name] = load_field(name, stored)
        except UnknownFormat:
            _LOG.warning(
                "An execution has an unknown stored format and is left alone",
                extra={"action": "unknown_format", "workflow_id": loaded.execution},
            )
            return {}
        fragments = {a.plan for a in known.values() if isinstance(a, Attempt)}
        for plan_hash in fragments:
            fragment = self._snapshots.peek(plan_hash)
            if fragment is not None:
                known[f"plan:{plan_hash}"] = fragment
        return known


def _less(
    limits: Limits, events: tuple[Event, ...], rounds: int, turns: int
) -> tuple[Limits, tuple[Event, ...]] | None:
    """What to decide without the steps whose scripts take long; ``None`` when nothing is left.

    Events become continuations; of several continuations another one goes first.
    """
    if rounds >= limits.rounds:
        return None
    if rounds or not all(isinstance(event, Continue) for event in events):
        return replace(limits, rounds=rounds), events
    if turns >= min(len(events) - 1, _MAX_QUESTIONS):
        return None
    return limits, (*events[1:], events[0])


def _events(loaded: Loaded) -> tuple[Event, ...] | None:
    try:
        return tuple(load_event(event) for event in loaded.events)
    except UnknownFormat:
        _LOG.warning(
            "An execution has an event of an unknown kind and is left alone",
            extra={"action": "unknown_format", "workflow_id": loaded.execution},
        )
        return None


__all__ = ["Driven", "Executor"]
