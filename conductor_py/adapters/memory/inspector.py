"""Looking into the store in memory as an auditor does: the reference implementation of the port."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

from conductor_py.adapters.memory.claims import attempt_of, claim_side, is_open
from conductor_py.adapters.memory.ordered import ScoreSet
from conductor_py.adapters.memory.references import plan_of
from conductor_py.adapters.memory.space import Execution, MemorySpace, Partition
from conductor_py.model.ids import ExecutionId, partition_of, task_id
from conductor_py.model.priorities import QUEUED_AT_ONCE
from conductor_py.ports.inspector import (
    Inspection,
    OpenAttempt,
    Place,
    Setback,
    Standing,
    StoredKey,
)

_EVENTS: Final = 1_000
_OPEN: Final = re.compile(rb'"st": ?"(SCHEDULED|IN_PROGRESS)"')
_ORDERED: Final = 2**62
_NONE: Final[Mapping[str, int]] = MappingProxyType({})
_T = TypeVar("_T")
_K = TypeVar("_K")


class MemoryInspector:
    """``Inspector`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def check(self) -> None:
        pass

    def inspect(self, execution: ExecutionId) -> Inspection | None:
        with self._space.lock:
            partition = self._space.of(execution)
            target = partition.executions.get(execution)
            return None if target is None else self._inspection(partition, target)

    def _inspection(self, partition: Partition, target: Execution) -> Inspection:
        header, now = target.header(), self._space.clock()
        name, key = str(header.get("name", "")), header.get("akey")
        admitted, waiting = False, -1
        if isinstance(key, str):
            admitted = target.id in _of(partition.admitted, key)
            waiting = _rank(partition.waiting.get(key), target.id)
        return Inspection(
            execution=target.id,
            now_ms=now,
            version=target.version,
            terminal=target.terminal,
            generation=target.generation,
            status=target.status,
            home=target.home,
            first_event=target.base,
            lease_until=target.lease_until,
            holder=target.holder,
            setback=setback_of(target),
            waiting=len(target.inbox),
            events=tuple(target.inbox[:_EVENTS]),
            parked=len(target.parked),
            due_ms=_of(partition.timers, target.home).get(f"x:{target.id}", 0),
            listed=target.id in _of(partition.running, name),
            counted=plan_of(target) in partition.references,
            admitted=admitted,
            ahead=waiting,
            effects={
                kind: due
                for kind in ("index", "remove", "forget")
                if (due := partition.outbox.scores.get(f"{target.id}:{kind}")) is not None
            },
            fields=dict(target.fields),
            places=dict(_places(partition, target)),
            percent_full=self._space.percent_full,
        )

    def standings(self, executions: Sequence[ExecutionId]) -> dict[ExecutionId, Standing]:
        with self._space.lock:
            partitions = self._space.partitions
            found = {
                one: partitions[partition_of(one)].executions.get(one)
                for one in executions
                if partition_of(one) < len(partitions)
            }
            return {
                one: Standing(target.terminal, target.status, target.generation)
                for one, target in found.items()
                if target is not None
            }

    def open_attempts(
        self, executions: Sequence[ExecutionId], task_type: str
    ) -> tuple[OpenAttempt, ...]:
        with self._space.lock:
            partitions = self._space.partitions
            return tuple(
                attempt
                for one in dict.fromkeys(executions)
                if partition_of(one) < len(partitions)
                and (target := partitions[partition_of(one)].executions.get(one)) is not None
                for attempt in _open_attempts(target, task_type)
            )

    def walk(self, cursor: str, limit: int) -> tuple[tuple[StoredKey, ...], str]:
        if cursor and not cursor.isdigit():
            raise ValueError(cursor)
        with self._space.lock:
            keys = [
                key
                for number, partition in enumerate(self._space.partitions)
                for key in _keys(number, partition)
            ]
        return _page(keys, cursor, limit)

    def members(
        self, key: StoredKey, cursor: str, limit: int
    ) -> tuple[tuple[tuple[str, int], ...], str]:
        with self._space.lock:
            return _page(sorted(self._scores(key).items()), cursor, limit)

    def stays(self, key: StoredKey) -> bool:
        with self._space.lock:
            return key in _keys(key.partition, self._space.partition(key.partition))

    def size(self, key: StoredKey) -> int:
        with self._space.lock:
            return len(self._scores(key))

    def head(self, key: StoredKey, limit: int) -> tuple[tuple[str, int], ...]:
        with self._space.lock:
            scores = self._scores(key)
            return tuple(sorted(scores.items(), key=lambda one: (one[1], one[0]))[:limit])

    def scores(self, key: StoredKey, members: Sequence[str]) -> dict[str, int]:
        with self._space.lock:
            found = self._scores(key)
            return {member: found[member] for member in members if member in found}

    def record_audit(self, counts: Mapping[str, int]) -> None:
        with self._space.lock:
            self._space.audit = dict(counts)

    def last_audit(self) -> dict[str, int]:
        with self._space.lock:
            return dict(self._space.audit)

    def _scores(self, key: StoredKey) -> Mapping[str, int]:
        partition = self._space.partition(key.partition)
        if key.kind == "effects":
            return {effect: stamp for effect, (stamp, _) in partition.effects.items()}
        if key.kind == "rate:":
            claims = partition.rates.get(key.rest, ())
            return {f"{number}": at for number, at in enumerate(claims)}
        if key.kind == "rates:":
            return dict(partition.leased_rates.get(key.rest, {}))
        return _SETS[key.kind](partition, key.rest)


def setback_of(target: Execution) -> Setback | None:
    """Tell how often deciding on the present version has failed."""
    if target.setback is None or target.setback[0] != target.version:
        return None
    _, tries, since_ms, reason = target.setback
    return Setback(tries=tries, since_ms=since_ms, reason=reason)


def _open_attempts(target: Execution, task_type: str) -> Iterator[OpenAttempt]:
    for seq in sorted(int(name[2:]) for name in target.fields if name.startswith("a:")):
        attempt = attempt_of(target.fields[f"a:{seq}"])
        if attempt.type == task_type and is_open(target, seq, attempt):
            yield OpenAttempt(
                target.id, seq, bool(attempt.queue), bool(claim_side(target, seq).held)
            )


def _places(partition: Partition, target: Execution) -> Iterator[tuple[int, Place]]:
    if target.terminal:
        return
    timers = _of(partition.timers, target.home)
    for name, state in target.fields.items():
        if not name.startswith("a:") or not _OPEN.search(state):
            continue
        seq, attempt = int(name[2:]), attempt_of(state)
        member = task_id(target.id, seq)
        yield (
            seq,
            Place(
                seq=seq,
                claim=target.fields.get(f"c:{seq}"),
                ready=member in _of(partition.ready, attempt.lane),
                delayed_ms=_of(partition.delayed, attempt.lane).get(member, 0),
                parked=seq in target.parked,
                timer_ms=timers.get(f"a:{member}", 0),
                permit_ms=_of(partition.permits, attempt.definition).get(member, 0),
                ordered=f"{target.id}:start:{seq}" in partition.effects,
                published=f"{target.id}:publish:{seq}" in partition.effects,
            ),
        )


def _of(sets: Mapping[_K, ScoreSet], name: _K) -> Mapping[str, int]:
    """The members of a set; one that is not there does not come to be by a look."""
    found = sets.get(name)
    return _NONE if found is None else found.scores


def _rank(waiting: ScoreSet | None, member: str) -> int:
    if waiting is None or member not in waiting.scores:
        return -1
    return waiting.upto(_ORDERED, len(waiting)).index(member)


def _lane(rest: str) -> tuple[str, str]:
    queue, _, shard = rest.rpartition(":")
    return queue, shard


_SETS: Final[Mapping[str, Callable[[Partition, str], Mapping[str, int]]]] = {
    "queue:": lambda partition, rest: {
        member: rank // QUEUED_AT_ONCE for member, rank in _of(partition.ready, _lane(rest)).items()
    },
    "delayed:": lambda partition, rest: _of(partition.delayed, _lane(rest)),
    "timers:": lambda partition, rest: _of(partition.timers, rest),
    "limit:": lambda partition, rest: _of(partition.permits, rest),
    "admitted:": lambda partition, rest: _of(partition.admitted, rest),
    "waiting:": lambda partition, rest: _of(partition.waiting, rest),
    "running:": lambda partition, rest: _of(partition.running, rest),
    "outbox": lambda partition, _: partition.outbox.scores,
}


def _keys(number: int, partition: Partition) -> Iterator[StoredKey]:
    """The keys that Redis would have: none of what is empty. The inbox and the rest of an execution
    cannot outlive it here.
    """
    for execution in partition.executions:
        yield StoredKey(number, "exec:", execution)
    for kind, lanes in (("queue:", partition.ready), ("delayed:", partition.delayed)):
        for lane, entries in lanes.items():
            if len(entries):
                yield StoredKey(number, kind, ":".join(lane))
    for kind, sets in (
        ("timers:", partition.timers),
        ("limit:", partition.permits),
        ("admitted:", partition.admitted),
        ("waiting:", partition.waiting),
        ("running:", partition.running),
    ):
        for name, members in sets.items():
            if len(members):
                yield StoredKey(number, kind, name)
    if len(partition.outbox):
        yield StoredKey(number, "outbox", "")
    if partition.effects:
        yield StoredKey(number, "effects", "")


def _page(found: Sequence[_T], cursor: str, limit: int) -> tuple[tuple[_T, ...], str]:
    begin = int(cursor or 0)
    page = tuple(found[begin : begin + limit])
    return page, str(begin + limit) if begin + limit < len(found) else ""
