"""What the sets of a store owe to the invariants: queues, timers, permits, admissions, outbox.

Each set is read in pages. What is dead and drops out by itself is a remark, counted by set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import orjson

from conductor_py.codec.execution import UnknownFormat, load_header
from conductor_py.engine.auditing.findings import Finding
from conductor_py.engine.decisions.precedence import PATIENCE_MS, wanted_at
from conductor_py.errors import NotFound
from conductor_py.model.ids import ExecutionId, is_execution_id, split_task_id
from conductor_py.ports.inspector import Inspector, Standing, StoredKey
from conductor_py.ports.outbox import can_wait

_PAGE: Final = 500
_OVERDUE_MS: Final = 60_000
_ON_ITS_WAY_MS: Final = 60_000
_NEVER: Final = 2**53 - 1

LimitOf = Callable[[str], int | None]
"""The limit of a task definition as it is registered; ``None``: it has none of its own."""


class StoreAudit:
    """The findings of one set."""

    def __init__(
        self,
        inspector: Inspector,
        now_ms: Callable[[], int],
        limit_of: LimitOf,
        partitions: int,
    ) -> None:
        """Read by ``inspector``. Limits hold over all ``partitions``."""
        self._inspector = inspector
        self._now_ms = now_ms
        self._limit_of = limit_of
        self._partitions = partitions
        self._checks: Mapping[str, Callable[[StoredKey], Iterator[Finding]]] = {
            "inbox:": self._left_over,
            "park:": self._left_over,
            "log:": self._left_over,
            "ckpt:": self._left_over,
            "queue:": self._queue,
            "delayed:": self._queue,
            "timers:": self._timers,
            "limit:": self._permits,
            "waiting:": self._waiting,
            "running:": self._running,
            "outbox": self._outbox,
            "effects": self._effects,
        }

    def findings(self, key: StoredKey) -> list[Finding]:
        """Everything that is wrong with one key."""
        check = self._checks.get(key.kind)
        return [] if check is None else list(check(key))

    def _left_over(self, key: StoredKey) -> Iterator[Finding]:
        gone = not is_execution_id(key.rest) or not self._standings([key.rest])
        # Else it went with its execution, or is a page of one that comes back from the archive.
        if gone and self._inspector.stays(key):
            yield Finding("left-over", key.kind + key.rest)

    def _queue(self, key: StoredKey) -> Iterator[Finding]:
        dead = 0
        for members in self._pages(key):
            owners = [_owner(member) for member, _ in members]
            known = self._standings(owners)
            dead += sum(owner not in known or known[owner].terminal for owner in owners)
        if dead:
            yield Finding("dead-entry", key.kind + key.rest, "", f"{dead} entries")

    def _timers(self, key: StoredKey) -> Iterator[Finding]:
        dead, overdue, oldest, now = 0, 0, _NEVER, self._now_ms()
        for members in self._pages(key):
            owners = [_owner(member[2:]) for member, _ in members]
            known = self._standings(owners)
            for owner, (_, due) in zip(owners, members, strict=True):
                if owner not in known:
                    dead += 1
                elif due < now - _OVERDUE_MS:
                    overdue, oldest = overdue + 1, min(oldest, due)
        name = key.kind + key.rest
        if dead:
            yield Finding("dead-timer", name, "", f"{dead} timers")
        if overdue:
            late_s = (now - oldest) // 1000
            yield Finding("overdue", name, "", f"{overdue} timers, the oldest by {late_s} s")

    def _permits(self, key: StoredKey) -> Iterator[Finding]:
        now, held, limit = self._now_ms(), 0, self._limit_of(key.rest) or 0
        for members in self._everywhere(key):
            for member, until in members:
                found = self._permit(member)
                if found is None:
                    yield Finding("permit-of-nobody", key.rest, member)
                    continue
                limit = max(limit, found)
                held += until > now
        if 0 < limit < held:
            yield Finding("above-limit", key.rest, "", f"{held} are held, {limit} may be")

    def _permit(self, member: str) -> int | None:
        """The limit in the snapshot of an attempt that knows of its permit."""
        try:
            execution, seq = split_task_id(member)
        except NotFound:
            return None
        look = self._inspector.inspect(execution)
        # One that has ended keeps its permits until it is cleaned up.
        state = look.fields.get(f"a:{seq}") if look is not None else None
        claim = look.fields.get(f"c:{seq}") if look is not None else None
        if look is not None and look.unreadable:
            return 0  # who knows; that it cannot be read is a finding of its own
        if state is None or claim is None:
            return None
        try:
            knows, limit = orjson.loads(claim).get("permit"), orjson.loads(state).get("lim")
        except (ValueError, AttributeError):
            return 0
        if not knows:
            return None
        return limit if isinstance(limit, int) else 0

    def _waiting(self, key: StoredKey) -> Iterator[Finding]:
        first = self._inspector.head(key, 1)
        if not first or not is_execution_id(first[0][0]):
            return  # dropped when somebody asks
        look = self._inspector.inspect(ExecutionId(first[0][0]))
        if look is None or look.terminal or look.unreadable:
            return
        try:
            limit = load_header(look.fields["h"]).admission_limit
        except (UnknownFormat, KeyError, TypeError, ValueError):
            return
        if self._partitions > 1 and self._now_ms() - first[0][1] < _ON_ITS_WAY_MS:
            return  # a permit may be on its way from another partition
        alive = 0
        for members in self._everywhere(StoredKey(key.partition, "admitted:", key.rest)):
            known = self._standings([member for member, _ in members])
            alive += sum(not standing.terminal for standing in known.values())
        if alive < limit:
            text = f"{alive} of {limit} are admitted"
            yield Finding("waits-with-room", key.rest, first[0][0], text)

    def _running(self, key: StoredKey) -> Iterator[Finding]:
        for members in self._pages(key):
            known = self._standings([member for member, _ in members])
            for member, _ in members:
                standing = known.get(ExecutionId(member))
                if standing is None or standing.terminal:
                    text = "has ended" if standing else "is not in the store"
                    yield Finding("not-listed", member, key.rest, f"is listed and {text}")

    def _outbox(self, key: StoredKey) -> Iterator[Finding]:
        texts = StoredKey(key.partition, "effects", "")
        if self._inspector.size(texts) != self._inspector.size(key):
            documents = {m for members in self._pages(texts) for m, _ in members}
            for members in self._pages(key):
                for member, _ in members:
                    if member not in documents:
                        yield Finding("effect-without-text", member)

    def _effects(self, key: StoredKey) -> Iterator[Finding]:
        outbox = StoredKey(key.partition, "outbox", "")
        overdue, late = 0, self._now_ms() - _OVERDUE_MS
        for members in self._pages(key):
            due = self._inspector.scores(outbox, [member for member, _ in members])
            for name, ordered in members:
                if name not in due:
                    yield Finding("effect-never-due", name)
                else:
                    patience_ms = PATIENCE_MS if can_wait(name) else 0
                    overdue += wanted_at(due[name], ordered) < late - patience_ms
        if overdue:
            yield Finding("effect-overdue", outbox.kind, str(key.partition), f"{overdue} effects")

    def _everywhere(self, key: StoredKey) -> Iterator[tuple[tuple[str, int], ...]]:
        """The members of a set in all partitions."""
        for partition in range(self._partitions):
            yield from self._pages(StoredKey(partition, key.kind, key.rest))

    def _pages(self, key: StoredKey) -> Iterator[tuple[tuple[str, int], ...]]:
        cursor = ""
        while True:
            members, cursor = self._inspector.members(key, cursor, _PAGE)
            if members:
                yield members
            if not cursor:
                return

    def _standings(self, executions: Sequence[str]) -> dict[ExecutionId, Standing]:
        known = {ExecutionId(one) for one in executions if is_execution_id(one)}
        return self._inspector.standings(sorted(known))


def _owner(task: str) -> ExecutionId:
    return ExecutionId(task[:36])
