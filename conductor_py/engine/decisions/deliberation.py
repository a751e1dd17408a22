"""Deliberation: a decision is made by asking ``decide``, fetching what it lacks, and asking again.

It writes nothing; what has been fetched is lost with the decision.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from conductor_py.codec.event import load_event
from conductor_py.codec.execution import UnknownFormat, load_field
from conductor_py.decider.chains import LATE_MS, QUICK_MS
from conductor_py.decider.decide import abandon, decide
from conductor_py.decider.need import Later, Need
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Execution, Limits
from conductor_py.engine.decisions.chains import chain_use
from conductor_py.engine.decisions.encoding import Encoder
from conductor_py.engine.decisions.failure_reports import FailureReports
from conductor_py.engine.decisions.long_scripts import PutOff, without_long_scripts
from conductor_py.engine.decisions.needs import Fetcher, bytes_read
from conductor_py.engine.decisions.punctuality import Punctuality
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.model.decision import Decision
from conductor_py.model.event import Event
from conductor_py.model.execution import Attempt, Header
from conductor_py.model.ids import partition_of
from conductor_py.ports.store import Changes, Loaded
from conductor_py.records import changed

_LOG = logging.getLogger(__name__)
_MAX_REASON = 500
_MAX_QUESTIONS = 16
_MUCH = 16 << 20
"""Bytes of answers from which on a decision may take long."""
_REMEMBERED = 1_024


class Moved(Exception):
    """Somebody else has decided on the execution since it was read."""


class _Sizes:
    """How many attempts of an execution have made a small decision, where the bound of bytes has
    cut one: to begin with all of them each time would take the square of their number.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def limits(self, execution: str, limits: Limits) -> Limits:
        """Give the bounds of the next decision: twice what was small enough the last time."""
        known = self._known.pop(execution, None)
        if known is None or 2 * known >= limits.attempts:
            return limits
        self.cut(execution, 2 * known)
        return replace(limits, attempts=2 * known)

    def cut(self, execution: str, attempts: int) -> None:
        """Note how many are tried now."""
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[execution] = attempts


class Deliberation:
    """Makes decisions. Safe for threads."""

    def __init__(  # noqa: PLR0917 - one collaborator a step
        self,
        snapshots: Snapshots,
        fetcher: Fetcher,
        encoder: Encoder,
        reports: FailureReports,
        pick_shard: Callable[[str], str],
        limits: Limits,
        punctuality: Punctuality,
    ) -> None:
        """``pick_shard`` maps an execution's home to the shard of its next queue entry."""
        self._snapshots = snapshots
        self._fetcher = fetcher
        self._encoder = encoder
        self._reports = reports
        self._pick_shard = pick_shard
        self.limits = limits
        self._sizes = _Sizes()
        self._punctuality = punctuality

    def known(self, loaded: Loaded) -> dict[str, object]:
        """Read what the store has brought along; nothing when it is of an unknown format."""
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
        header = known.get("h")
        if isinstance(header, Header) and loaded.now_ms - header.created_at >= QUICK_MS:
            known[LATE_MS] = self._punctuality.late_ms(
                partition_of(loaded.execution), header.home, header.created_at, loaded.now_ms
            )
        return known

    def decided(
        self,
        plan: Plan,
        execution: Execution,
        known: dict[str, object],
        events: tuple[Event, ...],
        now_ms: int,
        *,
        version: int | None = None,
        renew: Callable[[], object] | None = None,
        birth: Mapping[str, bytes] | None = None,
    ) -> tuple[Decision, Changes]:
        """Decide, fetching what is needed. Raises ``Moved`` when the execution moved on meanwhile.

        A decision stays small: after many questions what is complete is committed by itself, and
        one that is too large in bytes is made of fewer attempts, and so is the next. The rest is
        its continuation, and so is what needs a script that takes long. Raises ``PutOff`` when
        there is nothing else.
        """
        limits, questions, turns = self._sizes.limits(execution.id, self.limits), 0, 0
        left: PutOff | None = None
        while True:
            decision = decide(plan, execution, events, now_ms, limits)
            if isinstance(decision, Need):
                questions += 1
                if questions > _MAX_QUESTIONS and decision.rounds:
                    limits = replace(limits, rounds=decision.rounds)
                    continue
                if renew is not None and (decision.slow or bytes_read(known) > _MUCH):
                    renew()
                try:
                    if not self._fetcher.fulfil(execution.id, decision, known, version=version):
                        raise Moved
                except PutOff as off:
                    if not _shown(off, known):
                        left = off
                        limits, events = _without(off, limits, events, decision.rounds, turns)
                        turns += 1
                continue
            _must_move_on(left, decision, execution.header, events)
            changes = self._encoder.changes(
                execution.id, decision, self._pick_shard, now_ms, birth=birth
            )
            if not isinstance(changes, Changes):
                known.update(changes)
                continue
            made = decision.header.next_seq - execution.header.next_seq
            if made > 1 and sum(map(len, changes.fields.values())) > limits.bytes:
                limits = replace(limits, attempts=made // 2)
                self._sizes.cut(execution.id, made // 2)
                continue
            counted = self._counted(decision, changes, born=birth is not None)
            return decision, self._reports.add(execution.id, decision, counted)

    def abandoned(
        self,
        plan: Plan,
        execution: Execution,
        events: tuple[Event, ...],
        now_ms: int,
        broken: Exception,
    ) -> tuple[Decision, Changes]:
        """End an execution that cannot be decided; raises ``broken`` when not even that can be."""
        hides = bool(plan.hides)
        decision = abandon(plan, execution, events, now_ms, named(broken, hides=hides))
        changes = self._encoder.changes(execution.id, decision, self._pick_shard, now_ms)
        if not isinstance(changes, Changes):
            raise broken
        return decision, self._counted(decision, changes, born=False)

    def _counted(self, decision: Decision, changes: Changes, *, born: bool) -> Changes:
        use = chain_use(decision, self.limits, born=born)
        return changes if use is None else changed(changes, chain=use)


def _shown(off: PutOff, known: dict[str, object]) -> bool:
    """Let tasks that are just opening be seen, and ask for their scripts again."""
    opening = [key for key, script in off.wanted.items() if script.opening]
    known.update(dict.fromkeys(opening, Later()))
    return bool(opening)


def _without(
    off: PutOff, limits: Limits, events: tuple[Event, ...], rounds: int, turns: int
) -> tuple[Limits, tuple[Event, ...]]:
    """Decide what does not need the scripts; raises ``off`` when that is nothing."""
    less = without_long_scripts(limits, events, rounds, turns)
    if less is None:
        raise off
    return less


def _must_move_on(
    left: PutOff | None, decision: Decision, before: Header, events: Sequence[Event]
) -> None:
    """Raise ``left`` when all that was decided without its scripts is to decide the same later."""
    if left is None or len(decision.continues) < len(events):
        return
    made = (decision.attempts, decision.documents, decision.states, decision.hashes)
    told = (decision.children, decision.sends, decision.answers, decision.effects)
    if replace(decision.header, updated_at=before.updated_at) == before and not any((*made, *told)):
        raise left


def events_of(loaded: Loaded) -> tuple[Event, ...] | None:
    """Read the events; ``None`` when one is of an unknown kind."""
    try:
        return tuple(load_event(event) for event in loaded.events)
    except UnknownFormat:
        _LOG.warning(
            "An execution has an event of an unknown kind and is left alone",
            extra={"action": "unknown_format", "workflow_id": loaded.execution},
        )
        return None


def named(broken: Exception, *, hides: bool = False) -> str:
    """Say what went wrong. What the user sent may be in there, half of a surrogate pair too;
    ``hides``: it must not be.
    """
    if hides:
        return f"internal error: {type(broken).__name__}"
    text = f"internal error: {type(broken).__name__}: {broken}"
    return text.encode(errors="replace").decode()[:_MAX_REASON]
