"""The executor: whoever holds an execution's lease decides and commits until its inbox is empty.

Nothing here is trusted for correctness: a stale decision is refused by the commit, a lost lease
costs work only, and what a crash leaves undone the timer wakes. What cannot be decided is ended.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from conductor_py.codec.event import digest_of
from conductor_py.codec.execution import dump_json
from conductor_py.decider.need import Missing
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Execution
from conductor_py.engine.decisions.chains import is_to_decide_again
from conductor_py.engine.decisions.deliberation import Deliberation, Moved, events_of, named
from conductor_py.engine.decisions.locking import Locking
from conductor_py.engine.decisions.long_scripts import AGAIN_MS, PutOff
from conductor_py.engine.decisions.needs import Fetcher
from conductor_py.engine.decisions.room_turns import RoomTurns
from conductor_py.engine.decisions.setbacks import PLAN_LOST, UNREADABLE, Setbacks
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.errors import ConductorError, StoreFull, StoreUnavailable
from conductor_py.model.decision import Answer, Decision
from conductor_py.model.event import Event, Started
from conductor_py.model.execution import Header
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.quarantine import QuarantineStore
from conductor_py.ports.store import (
    WHATEVER_COMES,
    Changes,
    ClaimGuard,
    Commit,
    CommitReply,
    ExecutionStore,
    Loaded,
    Outcome,
)
from conductor_py.records import dataclass, field

_LOG = logging.getLogger(__name__)
_SERVE_OTHERS_S = 0.05
_BACKLOG_S = 0.5
_BACKLOG = 64
_FEW_EVENTS = 64
_FOLLOW_S = 0.1
_AGAIN_SOON_MS = 1_000


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
        deliberation: Deliberation,
        *,
        keep_output: Callable[[str, bytes, int], None],
        lease_ms: int,
        quarantine: QuarantineStore,
        monotonic: Callable[[], float],
        machine: Machine = REAL_MACHINE,
        locking: Locking | None = None,
    ) -> None:
        """``keep_output`` takes key, output and life in ms of an output to be used again. Without
        ``locking`` the lease inside the store, or none at all, says who decides.
        """
        self._store = store
        self._snapshots = snapshots
        self._fetcher = fetcher
        self.deliberation = deliberation
        self._keep_output = keep_output
        self.lease_ms = lease_ms
        self._setbacks = Setbacks(quarantine)
        self._monotonic = monotonic
        self._locking = locking
        self._nonce = machine.token(6)
        self._numbers = itertools.count(1)
        self._room = RoomTurns(monotonic)

    def name(self) -> str:
        """A name for one holder or one operation, never used twice."""
        return f"{self._nonce}-{next(self._numbers)}"

    def drive(self, loaded: Loaded | None, holder: str, *, patient: bool = True) -> Driven:
        """Decide and commit until nothing is left, or others have had their share of this caller's
        time. Who is not ``patient`` leaves what another has locked to that one.
        """
        if self._locking is None or loaded is None:
            return self._drain(loaded, holder)
        with self._locking.over(loaded, holder, patient=patient) as current:
            return self._drain(current, holder)

    def _drain(self, loaded: Loaded | None, holder: str) -> Driven:
        driven = Driven()
        began = self._monotonic()
        while loaded is not None:
            # A backlog is for who is at it: it has the plan, and others may not come any more.
            share = _BACKLOG_S if len(loaded.events) > _BACKLOG else _SERVE_OTHERS_S
            let_go = self._monotonic() - began > share
            taken = loaded
            try:
                with self._fetcher.place.scope():
                    loaded = self._turn(taken, holder, driven, let_go=let_go)
            except Exception as broken:
                if isinstance(broken, ConductorError) and broken.retryable:
                    self._let_go(taken.execution, holder, broken)
                else:
                    self._setbacks.add(taken, holder, named(broken))
                raise
        return driven

    def _let_go(self, execution: ExecutionId, holder: str, why: ConductorError) -> None:
        """Leave what cannot be decided just now, because something does not answer, to a later
        time: a lease that nobody gave up would look as if its holder had died of the execution.
        """
        delay_ms = self._room.next_ms() if isinstance(why, StoreFull) else _AGAIN_SOON_MS
        with suppress(StoreUnavailable):
            self._store.postpone(execution, holder, WHATEVER_COMES, delay_ms)

    def carry_through(
        self, loaded: Loaded, header: Header, decided: tuple[Decision, Changes], holder: str
    ) -> Driven:
        """Commit what was decided on all that ``loaded`` brought, and go on. Raises
        ``StoreUnavailable`` when the store refuses it.
        """
        driven = Driven()
        commit = self._committed(loaded, header, decided, holder, let_go=False)
        reply = self._commit(commit)
        if reply.outcome is not Outcome.OK:
            raise StoreUnavailable("The execution changed meanwhile; try again.")
        self._follow_up(*decided, reply, driven)
        driven.touched.extend(self._drain(reply.more, holder).touched)
        return driven

    def follow(self, touched: Iterable[ExecutionId]) -> list[ExecutionId]:
        """Drive executions whose inbox was filled, and those that they fill, in turn, for a moment;
        returns what is left. It is owed to the timers, which the commits have made due within a
        second. Nothing that goes wrong with them is the caller's failure.
        """
        pending = dict.fromkeys(touched)
        until = self._monotonic() + _FOLLOW_S
        while pending and self._monotonic() < until:
            execution = next(iter(pending))
            del pending[execution]
            driven = self._surely(execution, partial(self._take_up, execution, self.name()))
            pending |= dict.fromkeys(driven.touched)
        return list(pending)

    def go_on(
        self, loaded: Loaded | None, holder: str, touched: Iterable[ExecutionId] = ()
    ) -> None:
        """Go on with what the store has accepted, and with the executions that this ``touched``.

        It is durable already: whatever goes wrong now is logged, and its timer goes on later.
        """
        found = list(touched)
        if loaded is not None:
            drive = partial(self.drive, loaded, holder)
            found += self._surely(loaded.execution, drive).touched
        self.follow(found)

    def _take_up(self, execution: ExecutionId, holder: str) -> Driven:
        if self._locking is None:
            return self._drain(self._store.acquire(execution, holder, self.lease_ms), holder)
        with self._locking.taking_up(execution, holder) as loaded:
            return self._drain(loaded, holder)

    @staticmethod
    def _surely(execution: ExecutionId, drive: Callable[[], Driven]) -> Driven:
        try:
            return drive()
        except StoreFull:
            pass  # its timer comes again, and the sweeper says so
        except StoreUnavailable:
            facts = {"action": "decide_later", "workflow_id": execution}
            _LOG.warning("The store went away after something was accepted", extra=facts)
        except Exception:  # noqa: BLE001 - what was accepted must not fail its caller
            facts = {"action": "decide_failed", "workflow_id": execution}
            _LOG.exception("An execution cannot be decided; its timer comes again", extra=facts)
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
            with self._fetcher.place.scope():
                return self.deliberation.decided(
                    plan, execution, known, (Started(),), now_ms, birth=birth
                )[1]
        except PutOff as off:
            raise StoreUnavailable("A script that the start needs takes long; try again.") from off

    def ask_store(self) -> None:
        """Raise ``StoreUnavailable`` when the store itself does not answer."""
        self._store.now_ms()

    # -- one decision ------------------------------------------------------------------------------

    def _turn(self, loaded: Loaded, holder: str, driven: Driven, *, let_go: bool) -> Loaded | None:
        loaded = _brought(loaded)
        read = self._read(loaded, holder)
        if read is None:
            return None
        plan, header, known, events = read
        while True:
            try:
                decided = self._decide(plan, header, loaded, events, known, holder)
            except Moved:
                return self._anew(loaded, holder, let_go=let_go)
            if decided is None:
                return None
            decision, changes = decided
            commit = self._committed(loaded, header, decided, holder, let_go=let_go)
            if self._locking is not None and not self._locking.covers(loaded.execution, holder):
                return None
            reply = self._commit(commit)
            if not is_to_decide_again(reply, decision, known):
                break
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
            return self._anew(loaded, holder, let_go=let_go)
        self._follow_up(decision, changes, reply, driven)
        return reply.more

    def _anew(self, loaded: Loaded, holder: str, *, let_go: bool) -> Loaded | None:
        """Go on with what somebody else has left, or give the lease up for others."""
        if self._locking is not None and not let_go:
            return self._locking.more(loaded.execution, holder)
        more = None if let_go else self._store.acquire(loaded.execution, holder, self.lease_ms)
        if more is None:
            self._store.postpone(loaded.execution, holder, loaded.first_event - 1, 0)
        return more

    def _read(
        self, loaded: Loaded, holder: str
    ) -> tuple[Plan, Header, dict[str, object], tuple[Event, ...]] | None:
        """Read what there is to decide on; what cannot be read is set back."""
        known = self.deliberation.known(loaded)
        header, events = known.get("h"), events_of(loaded)
        if not isinstance(header, Header) or events is None:
            self._setbacks.add(loaded, holder, UNREADABLE)
            return None
        plan = self._snapshots.plan(partition_of(loaded.execution), header.plan)
        if plan is None and header.status.terminal:
            plan = self._snapshots.stand_in(header)
        if plan is None:
            self._setbacks.add(loaded, holder, PLAN_LOST)
            return None
        return plan, header, known, events

    def _committed(
        self,
        loaded: Loaded,
        header: Header,
        decided: tuple[Decision, Changes],
        holder: str,
        *,
        let_go: bool,
    ) -> Commit:
        decision, changes = decided
        return Commit(
            execution=loaded.execution,
            operation=self.name(),
            version=loaded.version,
            home=header.home,
            name=header.name,
            first_event=loaded.first_event,
            consumed=loaded.first_event + len(loaded.events) - 1,
            seen=digest_of(loaded.events),
            changes=changes,
            holder=holder,
            lease_ms=self.lease_ms,
            guards=tuple(
                ClaimGuard(seq=g.seq, claim=g.claim, until_ms=g.until) for g in decision.guards
            ),
            let_go=let_go,
        )

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
            with suppress(StoreFull):
                self._keep_output(kept.key, dump_json(kept.output), kept.ttl_ms)

    def _put_off(
        self,
        loaded: Loaded,
        events: tuple[Event, ...],
        header: Header,
        holder: str,
        off: PutOff,
    ) -> None:
        """Let an execution go, and only then have its long scripts evaluated: they take it up."""
        delay_ms = AGAIN_MS if self._fetcher.has_long_scripts else 0
        if header.due_at:
            delay_ms = max(0, min(delay_ms, header.due_at - loaded.now_ms))
        seen = loaded.first_event + len(events) - 1
        if self._store.postpone(loaded.execution, holder, seen, delay_ms, for_script=delay_ms > 0):
            self._fetcher.put_off(loaded.execution, off)

    def _commit(self, commit: Commit) -> CommitReply:
        reply = self._store.commit(commit)
        if reply.outcome is Outcome.NEED_PLAN:
            self._snapshots.store(partition_of(commit.execution), commit.changes.plans)
            reply = self._store.commit(commit)
        return reply

    def _renew(self, execution: ExecutionId, holder: str) -> None:
        self._store.renew(execution, holder, self.lease_ms)
        if self._locking is not None:
            self._locking.holds(execution, holder)

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
            return self.deliberation.decided(
                plan,
                execution,
                known,
                events,
                loaded.now_ms,
                version=loaded.version,
                renew=partial(self._renew, loaded.execution, holder),
            )
        except (Missing, Moved, OSError, MemoryError):  # what the machine lacks, it may have again
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
            return self.deliberation.abandoned(plan, execution, events, loaded.now_ms, broken)


def _brought(loaded: Loaded) -> Loaded:
    """Of many events the first that can be decided on what was brought with them: the next commit
    brings the others.
    """
    if len(loaded.events) <= _FEW_EVENTS:
        return loaded
    for number, event in enumerate(loaded.events):
        seq = event.partition(b" ")[0].decode()
        if number and seq != "0" and f"a:{seq}" not in loaded.fields:
            return replace(loaded, events=loaded.events[:number])
    return loaded
