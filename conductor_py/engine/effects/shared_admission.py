"""Workflow rate limits over several partitions.

A partition admits executions by the permits that it has. An execution that enters brings one along,
if there is any to be had; else it waits, and its partition is written down as seeking permits. Who
leaves orders an effect that gives back what its partition does not use, and hands it to a partition
that seeks. The same effect is ordered by who enters, and comes again while somebody waits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, cast

import orjson

from conductor_py.codec.event import dump_event
from conductor_py.codec.execution import dump_json
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.decisions.precedence import due_of
from conductor_py.engine.effects.shared_limits import SharedLimits
from conductor_py.engine.patience import Handled
from conductor_py.errors import StoreUnavailable
from conductor_py.model.event import Admitted
from conductor_py.model.ids import partition_of
from conductor_py.ports.admission import Admission
from conductor_py.ports.outbox import Pending
from conductor_py.ports.permits import workflow_limit
from conductor_py.ports.store import (
    Changes,
    Commit,
    CommitReply,
    Effect,
    ExecutionStore,
    Outcome,
    Start,
    StartReply,
)
from conductor_py.records import changed

KIND: Final = "admit"
_AGAIN_MS: Final = 5_000
"""Who leaves hands its permit on at once; this is for the case that it died before."""
_TRIES: Final = 5


class AdmittingStore:
    """The store of executions of several partitions, with permits for who enters."""

    def __init__(self, store: ExecutionStore, limits: SharedLimits) -> None:
        """Everything but ``start`` and ``commit`` is the store's own."""
        self._store = store
        self._limits = limits

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - everything else is the store's own
        """Read what the store has."""
        return getattr(self._store, name)

    def start(self, start: Start) -> StartReply:
        """Start; one that would be turned away looks for a permit again."""
        asked = start.changes.admission
        if asked is None:
            return self._store.start(start)
        partition = partition_of(start.execution)
        shared = changed(start, changes=_shared(start.changes, asked))
        for _ in range(_TRIES - 1):
            has_some = self._bring(partition, asked)
            reply = self._store.start(shared)
            if reply.outcome is not Outcome.LIMITED or not has_some:
                return reply
        return self._store.start(shared)

    def commit(self, commit: Commit) -> CommitReply:
        """Commit, with a permit for an execution that enters by it."""
        asked = commit.changes.admission
        if asked is None:
            return self._store.commit(commit)
        if not asked.leave:
            self._bring(partition_of(commit.execution), asked)
        return self._store.commit(changed(commit, changes=_shared(commit.changes, asked)))

    def _bring(self, partition: int, asked: Admission) -> bool:
        """Get a permit, unless the partition has one to spare; whether it has one now."""
        name = workflow_limit(asked.key)
        return self._limits.spare(partition, name, asked.limit, admitted=asked.admitted)


def admitting(store: ExecutionStore, limits: SharedLimits) -> ExecutionStore:
    """Let workflow limits hold over the partitions of a store."""
    return cast("ExecutionStore", AdmittingStore(store, limits))


class Admissions:
    """Carries out the effects of kind ``admit``: gives permits back, gets them for who waits."""

    def __init__(self, limits: SharedLimits, executor: Executor) -> None:
        """``executor`` goes on with who is admitted."""
        self._limits = limits
        self._executor = executor
        self._event = dump_event(Admitted())

    def handle(self, partition: int, effects: Sequence[Pending]) -> Handled:
        """See to the permits of each key in this partition."""
        handled = Handled()
        for effect in effects:
            order = orjson.loads(effect.document)
            waits, now_ms = self._see_to(partition, str(order["key"]), int(order["limit"]))
            if waits:
                handled.later.append((effect, now_ms + _AGAIN_MS))
            else:
                handled.done.append(effect)
        return handled

    def _see_to(self, partition: int, key: str, limit: int) -> tuple[bool, int]:
        """Whether somebody still waits here afterwards, and the time at the limit's home."""
        name = workflow_limit(key)
        own, at_home = self._limits.give_back(partition, name, limit)
        if own is None:
            raise StoreUnavailable("A partition does not say what permits it needs")
        for seeker in at_home.seekers:
            self._help(seeker, name, limit)
        waits = own.waits and self._help(partition, name, limit)
        return waits, at_home.now_ms

    def _help(self, partition: int, name: str, limit: int) -> bool:
        """Get a permit for those who wait in a partition; whether somebody still does."""
        found = self._limits.obtain(partition, name, limit, 1, admitted=self._event, seek=True)
        self._executor.follow(found.woken)
        return found.waits


def _shared(changes: Changes, asked: Admission) -> Changes:
    """Ask for admission by permits, and order what sees to them."""
    order = {"kind": KIND, "key": asked.key, "limit": asked.limit}
    named = hashlib.sha256(asked.key.encode(errors="replace")).hexdigest()[:32]
    effect = Effect(id=f"{KIND}:{named}", document=dump_json(order), due_ms=due_of(KIND))
    return changed(
        changes, admission=changed(asked, shared=True), effects=(*changes.effects, effect)
    )
