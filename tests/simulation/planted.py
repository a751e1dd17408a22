"""Bugs as somebody would make them, planted into the memory adapters or the engine, and what finds
each: the simulator must, or it proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from conductor_py.adapters.memory import checkpoints, kept_places, queues, store, timers
from conductor_py.adapters.memory.changes import Applier
from conductor_py.adapters.memory.checkpoints import MemoryCheckpoints
from conductor_py.adapters.memory.claims import claim_side
from conductor_py.adapters.memory.outbox import MemoryOutbox
from conductor_py.adapters.memory.plans import MemoryPlanStore
from conductor_py.adapters.memory.reader import MemoryExecutionReader
from conductor_py.adapters.memory.schedules import MemoryScheduleStore
from conductor_py.adapters.memory.store import MemoryExecutionStore
from conductor_py.codec.event import digest_of
from conductor_py.decider import ending, pausing, timeouts
from conductor_py.decider.workspace import Workspace
from conductor_py.engine.effects.effects import Effects
from conductor_py.engine.sweeping import sweeper
from conductor_py.engine.system_worker.worker import SystemWorker
from conductor_py.model.execution import Attempt
from conductor_py.ports.checkpoints import Reply, Verdict
from conductor_py.ports.store import Commit, CommitReply, Outcome


@dataclass(frozen=True, slots=True)
class Planted:
    """A bug: the invariants that may be found broken, and how it is planted."""

    name: str
    invariants: frozenset[str]
    plant: Callable[[pytest.MonkeyPatch], None]


PLANTED: list[Planted] = []


def planted(*invariants: str) -> Callable[[Callable[[pytest.MonkeyPatch], None]], None]:
    """Add a bug to the list."""

    def add(plant: Callable[[pytest.MonkeyPatch], None]) -> None:
        PLANTED.append(Planted(plant.__name__, frozenset(invariants), plant))

    return add


@planted("I1")
def commits_without_comparing_versions(patch: pytest.MonkeyPatch) -> None:
    real = MemoryExecutionStore.commit

    def commit(self: Any, given: Commit) -> Any:
        stored = self._space.of(given.execution).executions.get(given.execution)
        if stored is not None and stored.last != given.operation:
            base = stored.base
            consumed = max(given.consumed, base - 1)
            given = replace(
                given,
                version=stored.version,
                first_event=base,
                consumed=consumed,
                seen=digest_of(stored.inbox[: consumed - base + 1]),
            )
        return real(self, given)

    patch.setattr(MemoryExecutionStore, "commit", commit)


@planted("I1")
def changes_something_though_it_refuses(patch: pytest.MonkeyPatch) -> None:
    real = MemoryExecutionStore.commit

    def commit(self: Any, given: Commit) -> Any:
        reply = real(self, given)
        stored = self._space.of(given.execution).executions.get(given.execution)
        if reply.outcome is Outcome.STALE and stored is not None:
            stored.fields.update(given.changes.fields)
        return reply

    patch.setattr(MemoryExecutionStore, "commit", commit)


@planted("I2")
def opens_what_had_ended(patch: pytest.MonkeyPatch) -> None:
    real = Applier.apply

    def apply(self: Any, given: Any) -> bool:
        ended = [
            n for n, t in self._execution.fields.items() if n[:2] == "a:" and b'"COMPLETED"' in t
        ]
        parked = real(self, given)
        if ended and not given.terminal:
            name = ended[0]
            text = self._execution.fields[name]
            self._execution.fields[name] = text.replace(b'"st":"COMPLETED"', b'"st":"SCHEDULED"')
        return parked

    patch.setattr(Applier, "apply", apply)


@planted("I3", "liveness")
def forgets_to_offer(patch: pytest.MonkeyPatch) -> None:
    real = Applier._offer
    offered = iter(range(1_000_000))

    def offer(self: Any, given: Any) -> None:
        if next(offered) % 5 != 4:
            real(self, given)

    patch.setattr(Applier, "_offer", offer)


@planted("I3", "I1")
def hands_out_and_leaves_it_in_the_queue(patch: pytest.MonkeyPatch) -> None:
    real = queues._Polling._hand_out

    def hand_out(self: Any, execution: Any, seq: int, attempt: Any, limits: Any) -> None:
        real(self, execution, seq, attempt, limits)
        self.partition.delayed[attempt.lane].put(f"{execution.id}-{seq}", self.now_ms + 300)

    patch.setattr(queues._Polling, "_hand_out", hand_out)
    patch.setattr(queues._Polling, "_look_at", _look_past_claims(queues._Polling._look_at))


def _look_past_claims(real: Any) -> Any:
    def look_at(self: Any, member: str) -> bool:
        execution = self.partition.executions.get(member[:36])
        name = f"c:{member[37:]}"
        if execution is not None and name in execution.fields:
            execution.fields[name] = execution.fields[name].replace(b'"held":1', b'"held":0')
        return bool(real(self, member))

    return look_at


@planted("I4", "liveness")
def arms_no_timer_for_what_was_reported(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(store, "_set_wake", lambda partition, execution, due_ms: None)


@planted("I4", "liveness")
def pops_timers_when_they_fire(patch: pytest.MonkeyPatch) -> None:
    real = timers.MemoryTimers.claim_due

    def claim_due(self: Any, partition: int, shard: str, *given: Any) -> Any:
        reply = real(self, partition, shard, *given)
        for loaded in reply:
            self._space.partition(partition).timers[shard].drop(f"x:{loaded.execution}")
        return reply

    patch.setattr(timers.MemoryTimers, "claim_due", claim_due)


@planted("I6", "I3", "I5", "I2", "liveness")
def takes_a_second_result(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(store, "_refuse_result", lambda execution, report: None)


@planted("I6")
def drops_a_result_that_it_accepted(patch: pytest.MonkeyPatch) -> None:
    real = MemoryExecutionStore.report

    def report(self: Any, given: Any) -> Any:
        text = given.event
        if text.endswith(b"}") and b'"COMPLETED"' in text and given.seq % 3 == 0:
            given = replace(given, event=text.replace(b'"COMPLETED"', b'"FAILED"'))
        return real(self, given)

    patch.setattr(MemoryExecutionStore, "report", report)


@planted("I7", "liveness")
def confirms_before_it_archives(patch: pytest.MonkeyPatch) -> None:
    real = Effects.run

    def run(self: Any, partition: int, ids: Any) -> int:
        pending = self._outbox.read(partition, ids)
        self._outbox.confirm(partition, [(one.id, one.stamp) for one in pending], "")
        return real(self, partition, ids)

    patch.setattr(Effects, "run", run)


@planted("I7", "liveness")
def relays_and_forgets(patch: pytest.MonkeyPatch) -> None:
    real = MemoryOutbox.take

    def take(self: Any, partition: int, limit: int, lease_ms: int, **more: Any) -> Any:
        taken = real(self, partition, limit, lease_ms, **more)
        for one in taken:
            self._space.partition(partition).outbox.drop(one.id)
        return taken

    patch.setattr(MemoryOutbox, "take", take)


@planted("I7")
def removes_whatever_the_version(patch: pytest.MonkeyPatch) -> None:
    real = MemoryExecutionReader.remove

    def remove(self: Any, execution: Any, version: int) -> Any:
        stored = self._space.of(execution).executions.get(execution)
        return real(self, execution, stored.version if stored is not None else version)

    patch.setattr(MemoryExecutionReader, "remove", remove)


@planted("I8", "liveness")
def forgets_a_child(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Applier, "_start_child", lambda self, child: None)


@planted("I4", "I8", "liveness")
def does_not_tell_the_parent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Applier, "_deliver", lambda self, target, event: None)


@planted("I10")
def counts_no_permits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queues._Polling, "_limited_until", lambda self, definition, limits: 0)


@planted("I12", "I3", "I4", "I5", "I6", "I8", "liveness")
def loses_the_queues_with_the_tail(patch: pytest.MonkeyPatch) -> None:
    from conductor_py.testing.simulation.space import SimulatedSpace

    real = SimulatedSpace.go_back

    def go_back(self: Any, saved: Any) -> None:
        for partition in saved["partitions"]:
            partition.ready.clear()
        real(self, saved)

    patch.setattr(SimulatedSpace, "go_back", go_back)


@planted("I5")
def refuses_a_commit_that_is_sent_again(patch: pytest.MonkeyPatch) -> None:
    real = MemoryExecutionStore.commit

    def commit(self: Any, given: Commit) -> Any:
        stored = self._space.of(given.execution).executions.get(given.execution)
        if stored is not None and stored.last == given.operation:
            return CommitReply(outcome=Outcome.STALE, now_ms=self._space.clock())
        return real(self, given)

    patch.setattr(MemoryExecutionStore, "commit", commit)


@planted("I5")
def forgets_which_operations_it_knows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(store, "answer_of", lambda execution, operation, now_ms: None)


@planted("I9")
def takes_what_names_a_definition_that_is_not_stored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(store, "_touch_plans", lambda partition, changes, now: True)


@planted("I9")
def collects_definitions_in_use(patch: pytest.MonkeyPatch) -> None:
    real = MemoryPlanStore.collect_unused

    def collect(self: Any, partition: int, unused_ms: int, limit: int) -> Any:
        state = self._space.partition(partition)
        kept, state.references = state.references, {}
        reply = real(self, partition, unused_ms, limit)
        state.references = kept
        return reply

    patch.setattr(MemoryPlanStore, "collect_unused", collect)


@planted("I1", "I4")
def extends_claims_that_have_ended(patch: pytest.MonkeyPatch) -> None:
    real = queues.MemoryTaskQueues.extend

    def extend(self: Any, execution: Any, seq: int, claim: int, *given: Any) -> Any:
        stored = self._space.of(execution).executions.get(execution)
        text = stored.fields.get(f"c:{seq}") if stored is not None else None
        if stored is None or text is None:
            return real(self, execution, seq, claim, *given)
        side = claim_side(stored, seq)
        if side.held and 0 < side.until <= self._space.clock():
            side.until = self._space.clock() + 1
            stored.fields[f"c:{seq}"] = side.encode()
        return real(self, execution, seq, claim, *given)

    patch.setattr(queues.MemoryTaskQueues, "extend", extend)


@planted("I4")
def extends_a_claim_and_not_its_timer(patch: pytest.MonkeyPatch) -> None:
    real = queues.MemoryTaskQueues.extend

    def extend(self: Any, execution: Any, seq: int, *given: Any) -> Any:
        stored = self._space.of(execution).executions.get(execution)
        timers = self._space.of(execution).timers[stored.home if stored is not None else ""]
        member = f"a:{execution}-{seq}"
        before = timers.scores.get(member)
        reply = real(self, execution, seq, *given)
        if before is not None and reply[0] is Outcome.OK:
            timers.put(member, before)
        return reply

    patch.setattr(queues.MemoryTaskQueues, "extend", extend)


@planted("I5")
def tells_of_a_deadline_at_each_firing(patch: pytest.MonkeyPatch) -> None:
    real = timers.MemoryTimers._fire_attempt

    def fire(self: Any, state: Any, shard: str, member: str, now: int) -> bool:
        stored, name = state.executions.get(member[2:38]), f"c:{member[39:]}"
        if stored is not None and name in stored.fields:
            side = claim_side(stored, int(member[39:]))
            side.cb = 0
            stored.fields[name] = side.encode()
        return bool(real(self, state, shard, member, now))

    patch.setattr(timers.MemoryTimers, "_fire_attempt", fire)
    patch.setattr(timers, "REFIRE_MS", 20)


@planted("I4")
def drops_the_timer_of_what_somebody_decides_on(patch: pytest.MonkeyPatch) -> None:
    real = timers.MemoryTimers._due

    def due(self: Any, state: Any, shard: str, name: Any, now: int) -> Any:
        stored = state.executions.get(name)
        if stored is not None and stored.lease_until > now:
            state.timers[stored.home].drop(f"x:{name}")
            return None
        return real(self, state, shard, name, now)

    patch.setattr(timers.MemoryTimers, "_due", due)


@planted("I4")
def arms_no_timer_for_the_poll_timeout(patch: pytest.MonkeyPatch) -> None:
    real = Applier._set_timer

    def set_timer(self: Any, seq: int, due_ms: int) -> None:
        text = self._execution.fields.get(f"a:{seq}", b"")
        real(self, seq, 0 if b'"pollby"' in text else due_ms)

    patch.setattr(Applier, "_set_timer", set_timer)


@planted("I7")
def confirms_what_was_ordered_since(patch: pytest.MonkeyPatch) -> None:
    real = MemoryOutbox.confirm

    def confirm(self: Any, partition: int, done: Any, life: str) -> int:
        effects = self._space.partition(partition).effects
        present = [(name, effects[name][0]) for name, _ in done if name in effects]
        return int(real(self, partition, present, life))

    patch.setattr(MemoryOutbox, "confirm", confirm)


@planted("I5")
def claims_an_instant_for_every_scheduler(patch: pytest.MonkeyPatch) -> None:
    real = MemoryScheduleStore.claim_due

    def claim_due(self: Any, limit: int, lease_ms: int) -> Any:
        return real(self, limit, 0)

    patch.setattr(MemoryScheduleStore, "claim_due", claim_due)


@planted("I8")
def leaves_the_child_of_a_task_that_timed_out_running(patch: pytest.MonkeyPatch) -> None:
    def left(ws: Workspace, attempt: Attempt, reason: str) -> None: ...

    assert callable(ending.leave_child)
    patch.setattr(timeouts, "ending", SimpleNamespace(**{**vars(ending), "leave_child": left}))


@planted("I4", "liveness", "outcome")
def forgets_what_a_pause_postponed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pausing, "postpone_agenda", lambda ws: ws.agenda.clear())


@planted("I3")
def drops_the_entries_of_what_is_paused(patch: pytest.MonkeyPatch) -> None:
    real = queues._Polling._look_at

    def look_at(self: Any, member: str) -> bool:
        served = real(self, member)
        stored = self.partition.executions.get(member[:36])
        if stored is not None and stored.status == "PAUSED":
            stored.parked.discard(int(member[37:]))
        return bool(served)

    patch.setattr(queues._Polling, "_look_at", look_at)


@planted("I6")
def takes_results_under_any_claim(patch: pytest.MonkeyPatch) -> None:
    real = store._refuse_result

    def refuse(execution: Any, report: Any) -> Any:
        refusal = real(execution, report)
        return None if refusal is Outcome.SUPERSEDED else refusal

    patch.setattr(store, "_refuse_result", refuse)


__all__ = ["PLANTED", "Planted"]


@planted("I1")
def takes_records_of_a_claim_that_was_lost(patch: pytest.MonkeyPatch) -> None:
    def held(self: Any, holder: Any, act: Any) -> Any:
        return self._at(holder.execution, holder.seq, act)

    patch.setattr(MemoryCheckpoints, "_held", held)


@planted("I6")
def forgets_a_record_that_it_has_accepted(patch: pytest.MonkeyPatch) -> None:
    real = MemoryCheckpoints.put
    counts = iter(range(1_000_000))

    def put(self: Any, holder: Any, given: Any) -> Any:
        if given.epoch > 1 and next(counts) % 3 == 2:
            return Reply(verdict=Verdict.OK, number=given.epoch)
        return real(self, holder, given)

    patch.setattr(MemoryCheckpoints, "put", put)


@planted("I6")
def gives_a_claim_the_record_of_the_line_before(patch: pytest.MonkeyPatch) -> None:
    real = kept_places.open_place

    def open_place(fields: Any, name: str, root: int) -> Any:
        words = fields.get(f"t:{name}", b"0 0").split()
        return real(fields, name, int(words[1]) or root)

    patch.setattr(checkpoints, "open_place", open_place)


@planted("I3")
def hands_out_what_was_put_off(patch: pytest.MonkeyPatch) -> None:
    real = Applier._offer

    def offer(self: Any, given: Any) -> None:
        real(self, replace(given, due_ms=0))

    patch.setattr(Applier, "_offer", offer)


@planted("liveness")
def calls_of_system_tasks_keep_their_slots(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SystemWorker, "_leave", lambda *_: None)


@planted("liveness", "I7")
def gives_way_for_ever_to_what_was_many_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sweeper, "PATIENCE_MS", 1 << 45)
    patch.setattr(sweeper, "_BEHIND_S", float("inf"))
