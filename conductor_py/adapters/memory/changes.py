"""What one decision changes, applied to the state: the memory twin of ``lua/include/apply.lua``.

Everything was checked before; nothing in here refuses.
"""

from __future__ import annotations

from typing import Final

from conductor_py.adapters.memory.claims import Attempt, ClaimSide, attempt_of, claim_side, rank_of
from conductor_py.adapters.memory.references import count_reference, plan_of
from conductor_py.adapters.memory.space import LOG_LINES, Execution, MemorySpace, Partition
from conductor_py.adapters.memory.touched import touch
from conductor_py.model.ids import ExecutionId, task_id
from conductor_py.ports.store import Changes, Child, Offer

ANSWERS_KEPT: Final = 64
ANSWER_MS: Final = 60_000
MOST_ANSWERS: Final = 1_024
AWAITED_MS: Final = 10_000
FALLBACK_MS: Final = 1_000
_UNPARKED_AT_ONCE: Final = 2_000


def put_answer(execution: Execution, operation: str, at_ms: int, answer: bytes | None) -> None:
    """Keep an answer, or that one is owed. Of those that nobody waits for any more the oldest go,
    now and then.
    """
    answers = execution.answers
    is_new = operation not in answers
    answers[operation] = (at_ms, answer)
    if is_new and len(answers) % ANSWERS_KEPT == 0:
        kept = sorted((at, name) for name, (at, _) in answers.items())
        for gone, (at, name) in enumerate(kept[:-ANSWERS_KEPT], 1):
            if at_ms - at <= AWAITED_MS and len(kept) - gone < MOST_ANSWERS:
                break
            del answers[name]


def answer_of(execution: Execution, operation: str, now_ms: int) -> tuple[int, bytes | None] | None:
    """Find what is kept under an operation: when, and the answer if it was given; ``None``:
    nothing.
    """
    kept = execution.answers.get(operation)
    return None if kept is None or now_ms - kept[0] > ANSWER_MS else kept


class Applier:
    """Applies changes to one execution at one instant."""

    def __init__(
        self, space: MemorySpace, partition: Partition, execution: Execution, now_ms: int
    ) -> None:
        """Work on this execution."""
        self._space = space
        self._partition = partition
        self._execution = execution
        self._now_ms = now_ms
        self._topics: dict[str, None] = {}

    def apply(self, changes: Changes) -> bool:
        """Write it all; tells whether parked entries are left."""
        execution = self._execution
        self._apply_attempts(changes)
        for child in changes.children:
            self._start_child(child)
        for message in changes.messages:
            self._deliver(message.execution, message.event)
        execution.inbox += changes.own_events
        execution.log += changes.logs
        del execution.log[:-LOG_LINES]
        self._order_effects(changes)
        for operation, answer in changes.answers:
            put_answer(execution, operation, self._now_ms, answer)
            self._topics[f"o:{operation}"] = None
        if changes.answers:
            self._topics[f"x:{execution.id}"] = None
        self._touch(changes)
        parked = changes.unpark and self.unpark()
        self.publish()
        return parked

    def _apply_attempts(self, changes: Changes) -> None:
        execution = self._execution
        for seq in changes.ended:
            self._end(seq)
        execution.fields.update(changes.fields)
        for name in changes.deleted:
            execution.fields.pop(name, None)
        for seq in changes.reopened:
            if f"c:{seq}" in execution.fields:
                claim = claim_side(execution, seq)
                claim.closed = claim.done = 0
                execution.fields[f"c:{seq}"] = claim.encode()
        for offer in changes.offers:
            self._offer(offer)
        for seq, due_ms in changes.attempt_timers:
            self._set_timer(seq, due_ms)

    def take_out(self, seq: int, attempt: Attempt, claim: ClaimSide) -> None:
        """Take an attempt out of everything that would wake or offer it; its claim side is left as
        it is.
        """
        if claim.closed:
            return
        partition, execution = self._partition, self._execution
        member = task_id(execution.id, seq)
        if attempt.queue and not claim.held:
            partition.ready[attempt.lane].drop(member)
            partition.delayed[attempt.lane].drop(member)
            execution.parked.discard(seq)
        if claim.at > 0:
            partition.timers[execution.home].drop(f"a:{member}")
        if claim.permit:
            partition.permits[attempt.definition].drop(member)
            self._topics[f"q:{attempt.queue}"] = None

    def unpark(self) -> bool:
        """Bring parked entries back to their queues; tells whether some are left."""
        execution = self._execution
        for seq in sorted(execution.parked)[:_UNPARKED_AT_ONCE]:
            execution.parked.discard(seq)
            state = execution.fields.get(f"a:{seq}")
            if state is not None:
                attempt = attempt_of(state)
                self._partition.ready[attempt.lane].put(task_id(execution.id, seq), attempt.rank)
                self._partition.lanes.add(attempt.lane)
                self._topics[f"q:{attempt.queue}"] = None
        return bool(execution.parked)

    def publish(self) -> None:
        """Publish what became ready, each topic once."""
        for topic in self._topics:
            self._space.publish(topic)
        self._topics.clear()

    def _end(self, seq: int) -> None:
        state = self._execution.fields.get(f"a:{seq}")
        if state is not None:
            self.take_out(seq, attempt_of(state), claim_side(self._execution, seq))

    def _offer(self, offer: Offer) -> None:
        partition, execution = self._partition, self._execution
        lane, member = (offer.queue, offer.shard), task_id(execution.id, offer.seq)
        delayed = offer.due_ms > self._now_ms
        if f"c:{offer.seq}" in execution.fields:
            claim = claim_side(execution, offer.seq)
            if claim.at > 0:
                partition.timers[execution.home].drop(f"a:{member}")
            if claim.permit:
                attempt = attempt_of(execution.fields[f"a:{offer.seq}"])
                partition.permits[attempt.definition].drop(member)
            if claim.held:
                claim.free()
            claim.held = claim.closed = claim.permit = claim.at = 0
            execution.fields[f"c:{offer.seq}"] = claim.encode()
            (partition.ready if delayed else partition.delayed)[lane].drop(member)
        if delayed:
            partition.delayed[lane].put(member, offer.due_ms)
        else:
            partition.ready[lane].put(member, rank_of(offer.score))
            self._topics[f"q:{offer.queue}"] = None
        partition.lanes.add(lane)

    def _set_timer(self, seq: int, due_ms: int) -> None:
        execution = self._execution
        timers, member = self._partition.timers[execution.home], f"a:{task_id(execution.id, seq)}"
        if due_ms > 0:
            timers.put(member, due_ms)
        else:
            timers.drop(member)
        if due_ms > 0 or f"c:{seq}" in execution.fields:
            claim = claim_side(execution, seq)
            claim.at, claim.cb = due_ms, 0
            execution.fields[f"c:{seq}"] = claim.encode()

    def _start_child(self, child: Child) -> None:
        partition, parent, now_ms = self._partition, self._execution, self._now_ms
        if child.execution in partition.executions:
            return
        started = Execution(
            id=child.execution,
            version=max(1, now_ms),
            terminal=False,
            generation=child.generation,
            home=child.home,
            begun=parent.last,
            last=parent.last,
            status="RUNNING",
            fields=dict(child.fields),
            inbox=[child.event],
        )
        partition.executions[child.execution] = started
        partition.restoring.pop(child.execution, None)
        count_reference(partition, plan_of(started), 1)
        partition.timers[child.home].put(f"x:{child.execution}", now_ms + FALLBACK_MS)
        partition.running[child.name].put(child.execution, now_ms)

    def _deliver(self, target: ExecutionId, event: bytes) -> None:
        other = self._partition.executions.get(target)
        if other is not None:
            other.inbox.append(event)
            timers = self._partition.timers[other.home]
            timers.put_earlier(f"x:{target}", self._now_ms + FALLBACK_MS)

    def _touch(self, changes: Changes) -> None:
        members = [task_id(self._execution.id, seq) for seq in changes.touched]
        if not changes.terminal and members:
            touch(self._partition, members, changes.gather_ms, self._now_ms)
        for member in members if changes.terminal else ():
            self._partition.touched.drop(member)

    def _order_effects(self, changes: Changes) -> None:
        partition = self._partition
        for effect in changes.effects:
            partition.effects[effect.id] = (self._execution.version, effect.document)
            due = effect.due_ms
            partition.outbox.put(effect.id, due if due > 0 else self._now_ms + due)
        if changes.effects:
            number = self._space.partitions.index(partition)
            self._topics[f"e:{number}"] = None
