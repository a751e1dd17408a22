"""Task queues in memory: the reference implementation of the port."""

from __future__ import annotations

from typing import Final

from conductor_py.adapters.memory.claims import (
    Attempt,
    attempt_of,
    claim_side,
    is_open,
    nearest_deadline,
)
from conductor_py.adapters.memory.ordered import ScoreSet
from conductor_py.adapters.memory.space import Execution, MemorySpace, Partition
from conductor_py.adapters.memory.touched import touch
from conductor_py.model.ids import ExecutionId, split_task_id, task_id
from conductor_py.ports.permits import task_limit
from conductor_py.ports.queues import MOST_POLLS, Claimed, Poll, PollData, PollReply, Short
from conductor_py.ports.store import Outcome
from conductor_py.records import dataclass, field

NEVER: Final = 2**53 - 1
_HEADS: Final = 200
_HALF: Final = _HEADS // 2
_POLL_DATA_MS: Final = 1_000
_SHORT_MS: Final = 1_000
_PASSED_MS: Final = 1_000


@dataclass(slots=True)
class _Limits:
    """What holds for one attempt; 0 means no limit."""

    concurrent: int
    rate: int
    window_ms: int


@dataclass(slots=True)
class _Polling:
    """One poll while it runs."""

    partition: Partition
    poll: Poll
    now_ms: int
    room: int
    claimed: list[Claimed] = field(default_factory=list)
    retry_at_ms: int = 0
    stopped: bool = False
    passed: bool = False
    """Whether the head that was looked at stays: it is another type's, or waits for a limit."""
    short: Short | None = None
    leased: int = 0

    def run(self) -> PollReply:
        leased = self.poll.leased
        self.leased = leased.claims if leased and self.now_ms <= leased.until_ms else 0
        for shard in self.poll.shards:
            if not self.stopped and len(self.claimed) < self.poll.count:
                self._serve((self.poll.queue, shard))
        lanes = ((self.poll.queue, shard) for shard in self.poll.shards)
        if len(self.claimed) >= self.poll.count and any(map(self._has_ready, lanes)):
            self._sooner(self.now_ms)
        if self.poll.gather_ms and self.claimed:
            members = [task_id(each.execution, each.seq) for each in self.claimed]
            touch(self.partition, members, self.poll.gather_ms, self.now_ms)
        return PollReply(
            now_ms=self.now_ms,
            claimed=tuple(self.claimed),
            retry_at_ms=self.retry_at_ms,
            short=self.short,
        )

    def _sooner(self, at_ms: int) -> None:
        if self.retry_at_ms == 0 or at_ms < self.retry_at_ms:
            self.retry_at_ms = at_ms

    def _has_ready(self, lane: tuple[str, str]) -> bool:
        return lane in self.partition.ready and len(self.partition.ready[lane]) > 0

    def _serve(self, lane: tuple[str, str]) -> None:
        if lane not in self.partition.lanes:
            return
        self._promote(lane)
        ready = self.partition.ready[lane]
        passed: list[tuple[int, str]] = []
        looked = self._look(ready, passed)
        skips = looked == _HALF and bool(passed)
        if skips:
            passed += self._skipped(lane, len(passed))
        if looked == _HALF:
            looked += self._look(ready, passed)
        if looked == 2 * _HALF:
            if skips:
                self.partition.passed[lane] = len(passed)
            if len(ready):
                self._sooner(self.now_ms + _PASSED_MS if passed else self.now_ms)
        elif skips and ready.first() is None:
            self.partition.passed.pop(lane, None)
            self._sooner(self.now_ms + _PASSED_MS)
        for score, member in passed:
            ready.put(member, score)

    def _look(self, ready: ScoreSet, passed: list[tuple[int, str]]) -> int:
        """Look at half of the heads; returns at how many, and adds those that stay."""
        for looked in range(_HALF):
            head = ready.first()
            if head is None or len(self.claimed) >= self.poll.count or self.stopped:
                return looked
            if not self._look_at(head[1]):
                self.stopped = True
                return looked
            if self.passed:
                passed.append(head)
                self.passed = False
            ready.drop(head[1])
        return _HALF

    def _skipped(self, lane: tuple[str, str], passed: int) -> list[tuple[int, str]]:
        """Take away the heads that polls before this one have passed over."""
        ready = self.partition.ready[lane]
        taken: list[tuple[int, str]] = []
        while passed + len(taken) < self.partition.passed.get(lane, 0):
            head = ready.first()
            if head is None:
                break
            ready.drop(head[1])
            taken.append(head)
        return taken

    def _promote(self, lane: tuple[str, str]) -> None:
        delayed = self.partition.delayed[lane]
        for member in delayed.upto(self.now_ms, _HEADS):
            delayed.drop(member)
            execution, seq = split_task_id(member)
            present = self.partition.executions.get(execution)
            state = present.fields.get(f"a:{seq}") if present else None
            if state is not None:
                self.partition.ready[lane].put(member, attempt_of(state).rank)
        head = delayed.first()
        if head is not None:
            self._sooner(max(head[0], self.now_ms))

    def _look_at(self, member: str) -> bool:
        """Look at one head: it leaves the queue (true), or the poll stops at it."""
        execution_id, seq = split_task_id(member)
        execution = self.partition.executions.get(execution_id)
        state = execution.fields.get(f"a:{seq}") if execution else None
        if execution is None or state is None:
            return True
        attempt, claim = attempt_of(state), claim_side(execution, seq)
        if claim.held or claim.closed or not is_open(execution, seq, attempt):
            return True
        if self.poll.task_type not in ("", attempt.type):
            self.passed = True
            return True
        if execution.status == "PAUSED":
            execution.parked.add(seq)
            return True
        documents = (execution.fields.get(f"{name}:{seq}") for name in "aio")
        size = len(execution.fields.get("h", b"")) + sum(len(text or b"") for text in documents)
        if self.claimed and size > self.room:
            self._sooner(self.now_ms)
            return False
        limits = self._limits(attempt)
        at_ms = self._limited_until(attempt.definition, limits)
        if at_ms > 0:
            self._sooner(at_ms)
            self.passed = not self._is_of_the_queue(attempt)
            return self.passed
        self.room -= size
        self._hand_out(execution, seq, attempt, limits)
        return True

    def _is_of_the_queue(self, attempt: Attempt) -> bool:
        return self.poll.definition in {"", attempt.definition}

    def _limits(self, attempt: Attempt) -> _Limits:
        limit, rate, window_ms = attempt.limit, attempt.rate, attempt.window_ms
        if self._is_of_the_queue(attempt):
            limit = limit if self.poll.limit is None else self.poll.limit
            rate, window_ms = self.poll.rate or (rate, window_ms)
        return _Limits(limit, rate if window_ms > 0 else 0, window_ms)

    def _limited_until(self, definition: str, limits: _Limits) -> int:
        """Tell when one more may be claimed; 0: now."""
        if limits.concurrent > 0:
            permits = self.partition.permits[definition]
            for member in permits.upto(self.now_ms, len(permits)):
                permits.drop(member)
            most = limits.concurrent
            if self.poll.shared:
                most = self.partition.holdings[task_limit(definition)].under(most)
            if len(permits) >= most:
                first = permits.first()
                self._stop_short(definition, "limit", limits)
                return first[0] if first is not None else self.now_ms + _SHORT_MS
        if limits.rate > 0 and self.poll.shared:
            leased = self.poll.leased
            if leased is None or leased.definition != definition or self.leased < 1:
                self._stop_short(definition, "rate", limits)
                return self.now_ms + _SHORT_MS
        elif limits.rate > 0:
            claims = self.partition.rates[definition]
            claims[:] = [at for at in claims if at > self.now_ms - limits.window_ms]
            if len(claims) >= limits.rate:
                return claims[0] + limits.window_ms
        return 0

    def _stop_short(self, definition: str, what: str, limits: _Limits) -> None:
        if self.poll.shared:
            self.short = Short(
                definition=definition,
                what=what,
                limit=limits.concurrent,
                rate=limits.rate,
                window_ms=limits.window_ms,
            )

    def _hand_out(self, execution: Execution, seq: int, attempt: Attempt, limits: _Limits) -> None:
        now, lease_ms, response_ms = self.now_ms, self.poll.lease_ms, attempt.response_ms
        claim = claim_side(execution, seq)
        claim.k = execution.highest_claim = max(execution.highest_claim + 1, now)
        claim.hand_to(self.poll.worker)
        claim.leased = int(lease_ms > 0 and (response_ms == 0 or lease_ms < response_ms))
        span = lease_ms if claim.leased else response_ms
        claim.until = now + span if span > 0 else 0
        claim.held, claim.closed, claim.polls, claim.upd = 1, 0, claim.polls + 1, now
        if attempt.tells_start and not claim.first:
            execution.inbox.append(b'%d {"t":"claimed"}' % seq)
            self.partition.timers[execution.home].put_earlier(f"x:{execution.id}", now)
        claim.first = claim.first or now
        claim.permit = int(limits.concurrent > 0)
        claim.at = nearest_deadline(attempt, claim)
        text = execution.fields[f"c:{seq}"] = claim.encode()
        member = task_id(execution.id, seq)
        timers = self.partition.timers[execution.home]
        if claim.at > 0:
            timers.put(f"a:{member}", claim.at)
        else:
            timers.drop(f"a:{member}")
        if limits.concurrent > 0:
            self.partition.permits[attempt.definition].put(member, claim.until or NEVER)
        if limits.rate > 0 and self.poll.shared:
            self.leased -= 1
        elif limits.rate > 0:
            self.partition.rates[attempt.definition].append(now)
        self.claimed.append(
            Claimed(
                execution=execution.id,
                seq=seq,
                claim=claim.k,
                header=execution.fields.get("h", b""),
                attempt=execution.fields[f"a:{seq}"],
                claim_side=text,
                input=execution.fields.get(f"i:{seq}"),
                output=execution.fields.get(f"o:{seq}"),
            )
        )


def _record(  # noqa: PLR0917
    state: Partition, name: str, domain: str, worker: str, shards: tuple[str, ...], now_ms: int
) -> None:
    last = state.poll_data.get((name, domain))
    if last is not None and last.at_ms > now_ms:
        return
    state.poll_data.pop((name, domain), None)
    looked = {**(last.shards if last else {}), **dict.fromkeys(shards, now_ms)}
    state.poll_data[name, domain] = PollData(
        queue=name, domain=domain, worker=worker, at_ms=now_ms, shards=looked
    )
    fields = sum(1 + len(found.shards) for found in state.poll_data.values())
    while fields > MOST_POLLS:  # the oldest stand first
        fields -= 1 + len(state.poll_data.pop(next(iter(state.poll_data))).shards)


class MemoryTaskQueues:
    """``TaskQueues`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def poll(self, partition: int, poll: Poll) -> PollReply:
        with self._space.lock:
            now, state = self._space.clock(), self._space.partition(partition)
            reply = _Polling(state, poll, now, poll.max_bytes).run()
            if poll.poll_name:
                last = state.poll_data.get((poll.poll_name, poll.poll_domain))
                at_ms = 0 if last is None or last.worker != poll.worker else last.at_ms
                looked_at = last.shards.get(poll.shards[0], 0) if last and poll.shards else at_ms
                if now - min(at_ms, looked_at) >= _POLL_DATA_MS:
                    names = (poll.poll_name, poll.poll_domain, poll.worker)
                    _record(state, *names, poll.shards, now)
            return reply

    def extend(  # noqa: PLR0917
        self,
        execution: ExecutionId,
        seq: int,
        claim: int,
        worker: str,
        lease_ms: int,
        progress: bytes | None,
    ) -> tuple[Outcome, int]:
        with self._space.lock:
            now, partition = self._space.clock(), self._space.of(execution)
            target = partition.executions.get(execution)
            if target is None:
                return Outcome.GONE, 0
            state = target.fields.get(f"a:{seq}")
            if state is None:
                return Outcome.UNKNOWN_TASK, 0
            attempt, side = attempt_of(state), claim_side(target, seq)
            if side.closed or not is_open(target, seq, attempt):
                return Outcome.IGNORED, 0
            other = claim != side.k if claim > 0 else worker not in ("", side.w)
            if not side.held or 0 < side.until <= now or other:
                return Outcome.SUPERSEDED, 0
            if side.until > 0:
                spans = [attempt.response_ms] + ([lease_ms] if side.leased else [])
                span = min((ms for ms in spans if ms > 0), default=0)
                side.until = max(side.until, now + span)
            side.upd, side.at = now, nearest_deadline(attempt, side)
            target.fields[f"c:{seq}"] = side.encode()
            if progress is not None:
                target.fields[f"p:{seq}"] = progress
            member = task_id(execution, seq)
            if side.at > 0:
                partition.timers[target.home].put(f"a:{member}", side.at)
            if side.permit and side.until > 0:
                permits = partition.permits[attempt.definition]
                if member in permits.scores:
                    permits.put(member, side.until)
            return Outcome.OK, side.until

    def waiting(self, queue: str, shards: tuple[str, ...]) -> frozenset[int]:
        with self._space.lock:
            return frozenset(
                number
                for number, partition in enumerate(self._space.partitions)
                if any(
                    len(partition.ready[queue, shard]) or len(partition.delayed[queue, shard])
                    for shard in shards
                )
            )

    def record_poll(
        self, name: str, domain: str, worker: str, shards: tuple[str, ...], now_ms: int
    ) -> None:
        with self._space.lock:
            _record(self._space.home_of(name), name, domain, worker, shards, now_ms)

    def names(self, partition: int | None) -> frozenset[str]:
        with self._space.lock:
            every = self._space.partitions
            places = every if partition is None else (self._space.partition(partition),)
            return frozenset(queue for place in places for queue, _ in place.lanes)

    def sizes(self, partition: int) -> dict[tuple[str, str], tuple[int, int]]:
        with self._space.lock:
            state = self._space.partition(partition)
            return {
                lane: (len(state.ready[lane]), len(state.delayed[lane]))
                for lane in sorted(state.lanes)
            }

    def forget_empty(
        self, partition: int, cursor: str, limit: int, *, keep: int
    ) -> tuple[str, int]:
        with self._space.lock:
            state, first = self._space.partition(partition), int(cursor or 0)
            lanes = sorted(state.lanes)
            looked_at = lanes[first : first + limit]
            empty = [one for one in looked_at if not (state.ready[one] or state.delayed[one])]
            del empty[max(0, len(lanes) - keep) :]
            for lane in empty:
                state.lanes.discard(lane)
                del state.ready[lane], state.delayed[lane]
            following = first + len(looked_at) - len(empty)
            return "" if first + limit >= len(lanes) else str(following), len(empty)

    def poll_data(self, partition: int) -> tuple[PollData, ...]:
        with self._space.lock:
            found = self._space.partition(partition).poll_data
            return tuple(found[name] for name in sorted(found))
