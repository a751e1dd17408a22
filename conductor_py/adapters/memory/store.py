"""Executions in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conductor_py.adapters.memory.admission import count_again, enter, has_room, leave
from conductor_py.adapters.memory.chains import count_chain, lacking_room
from conductor_py.adapters.memory.changes import Applier, answer_of, put_answer
from conductor_py.adapters.memory.claims import attempt_of, claim_side, is_open
from conductor_py.adapters.memory.reads import FieldReader, loaded
from conductor_py.adapters.memory.references import count_reference, plan_of
from conductor_py.adapters.memory.space import Execution, MemorySpace, Partition
from conductor_py.codec.event import digest_of
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.inspector import QUARANTINE, SCRIPTS
from conductor_py.ports.store import (
    READ_BYTES,
    Changes,
    ClaimGuard,
    Commit,
    CommitReply,
    Fields,
    Loaded,
    Outcome,
    Report,
    ReportReply,
    SendReply,
    Start,
    StartReply,
)

IDEMPOTENCY_MS: Final = 7 * 24 * 3_600_000
_CLOCK_TOLERANCE_MS: Final = 1_000
_TOUCH_MS: Final = 3_600_000


class MemoryExecutionStore:
    """``ExecutionStore`` in memory; the flags mean what they mean in ``RedisExecutionStore``."""

    def __init__(
        self,
        space: MemorySpace,
        *,
        fencing: bool = True,
        take_lease: bool = True,
        idempotency_ms: int = IDEMPOTENCY_MS,
    ) -> None:
        """Share the space with the other ports."""
        self._space = space
        self._fencing = fencing
        self._take = take_lease
        self._idempotency_ms = idempotency_ms

    def now_ms(self) -> int:
        return self._space.clock()

    def start(self, start: Start) -> StartReply:
        with self._space.lock:
            now, partition = self._space.clock(), self._space.of(start.execution)
            present = partition.executions.get(start.execution)
            if present is not None and present.begun == start.operation:
                return StartReply(outcome=Outcome.OK, now_ms=now, version=present.version)
            existing = present.id if present is not None else _taken(partition, start, now)
            if existing is not None:
                return StartReply(outcome=Outcome.EXISTS, now_ms=now, existing=existing)
            if abs(now - start.now_ms) > _CLOCK_TOLERANCE_MS:
                return StartReply(outcome=Outcome.CLOCK, now_ms=now)
            if start.meta_revision not in (None, self._space.revision):
                return StartReply(outcome=Outcome.META_MOVED, now_ms=now)
            if not _touch_plans(partition, start.changes, now):
                return StartReply(outcome=Outcome.NEED_PLAN, now_ms=now)
            asked = start.changes.admission
            room = asked is not None and has_room(partition, asked, now)
            if asked is not None and asked.reject and not room:
                return StartReply(outcome=Outcome.LIMITED, now_ms=now)
            full = lacking_room(partition, start.changes.chain, now)
            if full is not None:
                return StartReply(outcome=Outcome.CHAIN_FULL, now_ms=now, room=full)
            return self._create(partition, start, now, room=room)

    def _create(self, partition: Partition, start: Start, now: int, *, room: bool) -> StartReply:
        changes = start.changes
        execution = Execution(
            id=start.execution,
            version=max(1, now),
            terminal=changes.terminal,
            generation=changes.generation,
            home=start.home,
            begun=start.operation,
            last=start.operation,
            status=changes.status,
        )
        partition.executions[start.execution] = execution
        partition.restoring.pop(start.execution, None)
        count_chain(partition, changes.chain, now)
        Applier(self._space, partition, execution, now).apply(changes)
        if changes.admission is not None:
            enter(partition, execution, changes.admission, now, room=room)
        count_reference(partition, plan_of(execution), 1)
        keep = bool(execution.inbox) and start.holder != ""
        if keep and self._take:
            execution.holder, execution.lease_until = start.holder, now + start.lease_ms
        wait = start.lease_ms if keep else 0
        _set_wake(partition, execution, now + wait if execution.inbox else changes.due_ms)
        if not changes.terminal:
            partition.running[start.name].put(start.execution, now)
        if start.idempotency_key is not None:
            expires = now + self._idempotency_ms
            partition.idempotency[start.name, start.idempotency_key] = (start.execution, expires)
        more = loaded(partition, execution, now) if keep else None
        return StartReply(outcome=Outcome.OK, now_ms=now, version=execution.version, more=more)

    def report(self, report: Report) -> ReportReply:
        with self._space.lock:
            now, partition = self._space.clock(), self._space.of(report.execution)
            execution = partition.executions.get(report.execution)
            if execution is None:
                return ReportReply(outcome=Outcome.GONE, now_ms=now)
            refusal = _refuse_result(execution, report)
            if refusal is not None:
                return ReportReply(outcome=refusal, now_ms=now)
            claim = claim_side(execution, report.seq)
            applier = Applier(self._space, partition, execution, now)
            attempt = attempt_of(execution.fields[f"a:{report.seq}"])
            applier.take_out(report.seq, attempt, claim)
            if claim.held:
                claim.done = claim.k
            claim.held, claim.closed, claim.permit, claim.at, claim.upd = 0, 1, 0, 0, now
            execution.fields[f"c:{report.seq}"] = claim.encode()
            if report.output is not None:
                execution.fields[f"o:{report.seq}"] = report.output
            execution.inbox.append(report.event)
            won = self._try_lease(partition, execution, report.holder, report.lease_ms, now)
            applier.publish()
            found = loaded(partition, execution, now) if won else None
            return ReportReply(outcome=Outcome.OK, now_ms=now, loaded=found)

    def send(  # noqa: PLR0917 - as the port has it
        self,
        execution: ExecutionId,
        operation: str,
        event: bytes,
        holder: str,
        lease_ms: int,
        most: int = 0,
        *,
        new: bool = False,
    ) -> SendReply:
        with self._space.lock:
            now, partition = self._space.clock(), self._space.of(execution)
            target = partition.executions.get(execution)
            if target is None:
                return SendReply(outcome=Outcome.GONE, now_ms=now)
            kept = answer_of(target, operation, now)
            if kept is not None and kept[1] is not None:
                return SendReply(outcome=Outcome.OK, now_ms=now, answer=kept[1])
            if kept is None and 0 < most <= len(target.inbox):
                return SendReply(outcome=Outcome.LIMITED, now_ms=now)
            mine = kept is not None and target.holder == holder
            if kept is None:
                target.inbox.append(event)
                put_answer(target, operation, now, None)
            won = self._try_lease(partition, target, holder, lease_ms, now, mine=mine)
            found = loaded(partition, target, now) if won else None
            return SendReply(outcome=Outcome.OK, now_ms=now, loaded=found)

    def acquire(self, execution: ExecutionId, holder: str, lease_ms: int) -> Loaded | None:
        with self._space.lock:
            now, partition = self._space.clock(), self._space.of(execution)
            target = partition.executions.get(execution)
            if target is None:
                return None
            due = partition.timers[target.home].scores.get(f"x:{execution}")
            if not target.inbox and (due is None or due > now):
                return None
            if target.lease_until > now and target.holder != holder:
                return None
            self._try_lease(partition, target, holder, lease_ms, now, mine=True)
            return loaded(partition, target, now)

    def renew(self, execution: ExecutionId, holder: str, lease_ms: int) -> bool:
        with self._space.lock:
            now, partition = self._space.clock(), self._space.of(execution)
            target = partition.executions.get(execution)
            if not self._take:
                return True
            if target is None or target.holder != holder or target.lease_until <= now:
                return False
            target.lease_until = now + lease_ms
            _set_wake(partition, target, target.lease_until)
            return True

    def postpone(
        self,
        execution: ExecutionId,
        holder: str,
        seen: int,
        delay_ms: int,
        *,
        for_script: bool = False,
    ) -> bool:
        with self._space.lock:
            now, partition = self._space.clock(), self._space.of(execution)
            target = partition.executions.get(execution)
            if target is None:
                return False
            if self._take and (target.holder != holder or target.lease_until <= now):
                return False
            if target.holder != QUARANTINE:
                target.holder, target.lease_until = SCRIPTS if for_script else "", 0
            more = target.base + len(target.inbox) - 1 > seen
            _set_wake(partition, target, now if more else now + delay_ms)
            return True

    def commit(self, commit: Commit) -> CommitReply:
        with self._space.lock:
            now, partition = self._space.clock(), self._space.of(commit.execution)
            execution = partition.executions.get(commit.execution)
            if execution is None:
                return CommitReply(outcome=Outcome.GONE, now_ms=now)
            if execution.last == commit.operation:
                owned = execution.holder == commit.holder and execution.lease_until > now
                again = loaded(partition, execution, now) if owned and execution.inbox else None
                return CommitReply(
                    outcome=Outcome.OK, now_ms=now, version=execution.version, more=again
                )
            refusal = self._refuse_commit(partition, execution, commit, now)
            if refusal is not None:
                return CommitReply(outcome=refusal, now_ms=now)
            full = lacking_room(partition, commit.changes.chain, now)
            if full is not None:
                return CommitReply(outcome=Outcome.CHAIN_FULL, now_ms=now, room=full)
            count_chain(partition, commit.changes.chain, now)
            more, woken = self._apply(partition, execution, commit, now)
            return CommitReply(
                outcome=Outcome.OK,
                now_ms=now,
                version=execution.version,
                more=more,
                woken=woken,
            )

    def _refuse_commit(
        self, partition: Partition, execution: Execution, commit: Commit, now: int
    ) -> Outcome | None:
        changes = commit.changes
        revives = execution.terminal and not changes.terminal
        if (
            (self._fencing and execution.version != commit.version)
            or changes.generation < execution.generation
            or (revives and changes.generation == execution.generation)
            or commit.first_event != execution.base
            or commit.consumed < execution.base - 1
            or not _has_seen(execution, commit)
        ):
            return Outcome.STALE
        if any(_moved(execution, guard) for guard in commit.guards):
            return Outcome.CLAIM_MOVED
        if any(m.wanted and m.execution not in partition.executions for m in changes.messages):
            return Outcome.RECEIVER_GONE
        if not _touch_plans(partition, changes, now):
            return Outcome.NEED_PLAN
        return None

    def _apply(
        self, partition: Partition, execution: Execution, commit: Commit, now: int
    ) -> tuple[Loaded | None, tuple[ExecutionId, ...]]:
        changes, was_terminal, before = commit.changes, execution.terminal, execution.generation
        used = commit.consumed - execution.base + 1
        del execution.inbox[:used]
        execution.base += used
        execution.version, execution.last = max(execution.version + 1, now), commit.operation
        execution.terminal, execution.generation = changes.terminal, changes.generation
        execution.status = changes.status
        applier, old_plan = Applier(self._space, partition, execution, now), plan_of(execution)
        asked = changes.admission
        enters = asked is not None and not asked.leave
        room = asked is not None and enters and has_room(partition, asked, now)
        parked = applier.apply(changes)
        woken: tuple[ExecutionId, ...] = ()
        if asked is not None and enters:
            enter(partition, execution, asked, now, room=room)
        elif asked is not None:
            woken = leave(partition, execution.id, asked, now)
        elif changes.generation > before and not changes.terminal:
            count_again(partition, execution, now)
        if plan_of(execution) != old_plan:
            count_reference(partition, old_plan, -1)
            count_reference(partition, plan_of(execution), 1)
        if changes.terminal != was_terminal:
            self._list(partition, execution, commit.name, now)
        others = execution.holder not in (commit.holder, QUARANTINE) and execution.lease_until > now
        keep = bool(execution.inbox) and not commit.let_go and not others
        if keep and self._take:
            execution.holder, execution.lease_until = commit.holder, now + commit.lease_ms
        elif not others:
            execution.holder, execution.lease_until = "", 0
        if execution.inbox or parked:
            _set_wake(partition, execution, now + commit.lease_ms if keep else now)
        else:
            _set_wake(partition, execution, changes.due_ms)
        return (loaded(partition, execution, now) if keep else None), woken

    def _list(self, partition: Partition, execution: Execution, name: str, now: int) -> None:
        """Keep the list of those that run, of which this has become one or is no more."""
        if execution.terminal:
            partition.running[name].drop(execution.id)
            self._space.publish(f"x:{execution.id}")
        else:
            partition.running[name].put(execution.id, now)

    def _try_lease(
        self,
        partition: Partition,
        execution: Execution,
        holder: str,
        lease_ms: int,
        now: int,
        *,
        mine: bool = False,
    ) -> bool:
        """Take the lease if that is free, or already ``mine``; arms the wake-up either way."""
        if execution.lease_until > now and not mine:
            timers = partition.timers[execution.home]
            timers.put_earlier(f"x:{execution.id}", execution.lease_until)
            return False
        if self._take:
            execution.holder, execution.lease_until = holder, now + lease_ms
        _set_wake(partition, execution, now + lease_ms)
        return True

    def load(self, execution: ExecutionId, reads: Sequence[str]) -> tuple[int, Fields] | None:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            if target is None:
                return None
            reader = FieldReader(target, READ_BYTES, first=True)
            reader.read(reads)
            return target.version, reader.found


def _taken(partition: Partition, start: Start, now: int) -> ExecutionId | None:
    if start.idempotency_key is None:
        return None
    execution, expires = partition.idempotency.get(
        (start.name, start.idempotency_key), (start.execution, 0)
    )
    if expires <= now:
        return None
    present = partition.executions.get(execution)
    if start.on_existing == "FAIL_ON_RUNNING" and (present is None or present.terminal):
        return None
    return execution


def _touch_plans(partition: Partition, changes: Changes, now: int) -> bool:
    """Tell whether every plan is stored; touches them if so."""
    plans = [partition.plans.get(plan) for plan in changes.plans]
    if None in plans:
        return False
    for plan in plans:
        if plan is not None and now - plan.used_at > _TOUCH_MS:
            plan.used_at = now
    return True


def _set_wake(partition: Partition, execution: Execution, due_ms: int) -> None:
    timers = partition.timers[execution.home]
    if due_ms > 0:
        timers.put(f"x:{execution.id}", due_ms)
    else:
        timers.drop(f"x:{execution.id}")


def _moved(execution: Execution, guard: ClaimGuard) -> bool:
    claim = claim_side(execution, guard.seq)
    same = (claim.k, claim.until) == (guard.claim, guard.until_ms)
    return bool(claim.closed) or not (same or (guard.claim == 0 and not claim.held))


def _has_seen(execution: Execution, commit: Commit) -> bool:
    """Whether the events to consume are those that were read."""
    used = commit.consumed - execution.base + 1
    return used == 0 or digest_of(execution.inbox[:used]) == commit.seen


def _refuse_result(execution: Execution, report: Report) -> Outcome | None:
    state = execution.fields.get(f"a:{report.seq}")
    if state is None:
        return Outcome.UNKNOWN_TASK
    claim = claim_side(execution, report.seq)
    is_repeat = report.claim > 0 and claim.done == report.claim
    if claim.closed or is_repeat or not is_open(execution, report.seq, attempt_of(state)):
        return Outcome.IGNORED
    if report.claim > 0:
        return None if claim.k == report.claim else Outcome.SUPERSEDED
    former = report.worker not in ("", claim.w) and claim.held_before(report.worker)
    return Outcome.SUPERSEDED if former else None
