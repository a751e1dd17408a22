"""Properties of decide and of whole executions, over random definitions and random results."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from conductor_py.adapters.memory.space import Execution as Stored
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.execution import load_attempt, load_claim, load_field, load_header
from conductor_py.decider.decide import decide
from conductor_py.decider.need import Need
from conductor_py.decider.workspace import Execution, Limits
from conductor_py.errors import Conflict, NotFound
from conductor_py.model.ids import task_id
from conductor_py.model.status import TaskStatus
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import Json
from tests.decider.random_definitions import WORKER, definitions

_STEPS = 600
_settings = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
    ],
)
_limits = st.sampled_from([Limits(), Limits(), Limits(attempts=1), Limits(attempts=3, rounds=2)])
_seeds = st.integers(min_value=0, max_value=2**32)


class _World:
    """One engine, one execution and its children, and a worker that does as it likes."""

    def __init__(self, definition: Json, seed: int, limits: Limits) -> None:
        self.chance = random.Random(seed)
        self.clock = FakeClock()
        self.space = MemorySpace(clock=self.clock)
        self.engine: MemoryEngine = memory_engine(clock=self.clock, space=self.space, limits=limits)
        self.held: list[Json] = []
        self.seen: dict[str, dict[str, str]] = {}
        self.root = self.engine.start(definition)

    @property
    def stored(self) -> list[Stored]:
        return list(self.space.partition(0).executions.values())

    def step(self) -> None:
        """One random thing happens."""
        draw = self.chance.random()
        if draw < 0.4:
            lease_s = self.chance.choice([0, 0, 4])
            self.held.extend(self.engine.poll(WORKER, 3, lease_s=lease_s))
        elif draw < 0.85 and self.held:
            self._report(self.chance.choice(self.held))
        elif draw > 0.995:
            self._terminate()
        else:
            self.clock.advance(milliseconds=self.chance.choice([1, 700, 3000]))
            self.engine.settle()

    def _report(self, task: Json) -> None:
        statuses = ["COMPLETED"] * 12 + ["FAILED", "FAILED", "IN_PROGRESS", "COMPLETED_WITH_ERRORS"]
        status = self.chance.choice(statuses)
        if self.chance.random() < 0.8:
            self.held.remove(task)
        try:
            self.engine.complete(task, {"v": 1}, status=status, claim=task.get("claimToken", 0))
        except (Conflict, NotFound):  # a loop forgets its old iterations
            return

    def _terminate(self) -> None:
        running = [stored.id for stored in self.stored if not stored.terminal]
        if running:
            chosen = self.chance.choice(running)
            self.engine.engine.executions.terminate(chosen, reason="chance")

    def run(self, check: Any = None) -> str:
        """Until the execution has ended; its status."""
        for _ in range(_STEPS):
            self.step()
            if check is not None:
                check(self)
            status: str = self.engine.workflow(self.root)["status"]
            if status != "RUNNING":
                return status
        raise AssertionError(self.engine.workflow(self.root))

    def run_well(self, tick_ms: int) -> Json:
        """Until the execution has ended, with a worker that always succeeds, also with what it
        holds already; the execution.
        """
        found: Json = {}
        for task in self.held:
            with suppress(Conflict, NotFound):
                self.engine.complete(task, {"v": 1}, claim=task.get("claimToken", 0))
        self.held.clear()
        for _ in range(_STEPS):
            while tasks := self.engine.poll(WORKER, 100):
                for task in tasks:
                    self.engine.complete(task, {"v": 1})
            self.clock.advance(milliseconds=tick_ms)
            self.engine.settle()
            found = self.engine.workflow(self.root)
            if found["status"] != "RUNNING":
                break
        return found


@_settings
@given(definitions(), _seeds, _limits)
def test_every_execution_ends(definition: Json, seed: int, limits: Limits) -> None:
    world = _World(definition, seed, limits)
    status = world.run()
    assert status in {"COMPLETED", "FAILED", "TERMINATED", "TIMED_OUT"}
    for _ in range(12):
        world.clock.advance(seconds=2)
        world.engine.settle()
    for stored in world.stored:
        header = load_header(stored.fields["h"])
        assert header.status.terminal
        assert not header.drain
        assert _open_attempts(stored) == []


@_settings
@given(definitions(), _seeds, _limits)
def test_execution_that_gets_only_successes_completes(
    definition: Json, seed: int, limits: Limits
) -> None:
    """Unless the definition itself says otherwise, by a TERMINATE that fails."""
    world = _World(definition, seed, limits)
    found = world.run_well(1500)
    fails = "'terminationStatus': 'FAILED'" in str(definition)
    assert found["status"] == "COMPLETED" or fails, found


@pytest.mark.thorough(target="histories")
@_settings
@given(definitions(), _seeds)
def test_outcome_does_not_depend_on_the_bounds_of_a_decision(definition: Json, seed: int) -> None:
    """But for definitions whose branches race to end the workflow, or to set what others read."""
    assume("TERMINATE" not in str(definition))
    assume("workflow.variables" not in str(definition))
    outcomes = []
    for limits in (Limits(), Limits(attempts=1), Limits(rounds=1)):
        world = _World(definition, seed, limits)
        found = world.run_well(4000)
        tasks = sorted((t["referenceTaskName"], t["status"]) for t in found["tasks"])
        outcomes.append((found["status"], tasks))
    assert outcomes[0] == outcomes[1] == outcomes[2]


@_settings
@given(definitions(), _seeds, _limits)
def test_what_is_terminal_stays_terminal(definition: Json, seed: int, limits: Limits) -> None:
    """I2."""
    world = _World(definition, seed, limits)
    before: dict[str, dict[int, TaskStatus]] = {}
    ended: dict[str, str] = {}

    def check(world: _World) -> None:
        for stored in world.stored:
            attempts = before.setdefault(stored.id, {})
            for attempt in _attempts(stored):
                known = attempts.get(attempt.seq)
                if known is not None and known.terminal:
                    assert attempt.status is known
                attempts[attempt.seq] = attempt.status
            if stored.id in ended:
                assert stored.status == ended[stored.id]
            if stored.terminal:
                ended[stored.id] = stored.status

    world.run(check)
    for task in world.held:
        try:
            world.engine.complete(task, {"late": True}, claim=task.get("claimToken", 0))
        except Conflict:
            continue
        except NotFound:  # a loop forgets its old iterations
            found = world.engine.workflow(task["workflowInstanceId"])
            assert task["taskId"] not in {each["taskId"] for each in found["tasks"]}
    check(world)


@_settings
@given(definitions(), _seeds, _limits)
def test_every_open_worker_attempt_is_queued_once_or_held(
    definition: Json, seed: int, limits: Limits
) -> None:
    """I3, and of I4 that a running execution has something that will wake it."""

    def check(world: _World) -> None:
        partition = world.space.partition(0)
        entries: list[str] = []
        for lanes in (partition.ready, partition.delayed):
            for members in lanes.values():
                entries.extend(members.scores)
        for stored in world.stored:
            if stored.terminal or stored.inbox:
                continue
            open_ = _open_attempts(stored)
            for attempt in open_:
                member = task_id(stored.id, attempt.seq)
                claim = load_claim(stored.fields.get(f"c:{attempt.seq}", b"{}"))
                if attempt.queue:
                    assert entries.count(member) + claim.held == 1, attempt
            header = load_header(stored.fields["h"])
            containers = [a for a in open_ if a.type in {"JOIN", "EXCLUSIVE_JOIN", "DO_WHILE"}]
            assert header.containers == len(containers)
            assert header.open_attempts == len(open_) - len(containers)
            assert header.open_attempts or header.continues, "nothing would wake it"

    _World(definition, seed, limits).run(check)


@_settings
@given(definitions(), _seeds, _limits)
def test_each_place_has_one_open_attempt_at_most(
    definition: Json, seed: int, limits: Limits
) -> None:
    """I5."""

    def check(world: _World) -> None:
        for stored in world.stored:
            if stored.terminal:
                continue
            places = [(a.ref, a.vector) for a in _open_attempts(stored)]
            assert len(places) == len(set(places))

    _World(definition, seed, limits).run(check)


@_settings
@given(definitions(), _seeds, _limits)
def test_decide_is_a_function_of_what_it_is_told(
    definition: Json, seed: int, limits: Limits
) -> None:
    """Twice the same gives the same, changes nothing it was given, and needs lose nothing:
    everything known in one pass gives what asking step by step gives.
    """
    with _observed() as observer:
        world = _World(definition, seed, limits)
        observer.space = world.space
        world.run()
    assert observer.compared > 0


class _Observer:
    """Compares every call of decide with others that must give the same."""

    def __init__(self) -> None:
        self.space: MemorySpace | None = None
        self.compared = 0

    def decide(
        self, plan: Any, execution: Execution, events: Any, now_ms: int, limits: Limits
    ) -> Any:
        header = copy.deepcopy(execution.header)
        known = copy.copy(execution.known)
        documents = copy.deepcopy({k: v for k, v in known.items() if isinstance(v, dict)})
        first = decide(plan, execution, events, now_ms, limits)
        assert decide(plan, execution, events, now_ms, limits) == first
        assert execution.header == header
        assert execution.known == known
        assert {k: v for k, v in execution.known.items() if isinstance(v, dict)} == documents
        self.compared += 1
        if not isinstance(first, Need) and self.space is not None and not execution.complete:
            whole = decide(plan, self._whole(execution), events, now_ms, limits)
            assert whole == first
        return first

    def _whole(self, execution: Execution) -> Execution:
        assert self.space is not None
        stored = self.space.partition(0).executions[execution.id]
        fields = {name: load_field(name, text) for name, text in stored.fields.items()}
        return replace(execution, known={**execution.known, **fields}, complete=True)


@contextmanager
def _observed() -> Iterator[_Observer]:
    observer = _Observer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("conductor_py.engine.decisions.deliberation.decide", observer.decide)
        yield observer


def _attempts(stored: Stored) -> list[Any]:
    names = (name for name in stored.fields if name.startswith("a:"))
    return [load_attempt(int(name[2:]), stored.fields[name]) for name in names]


def _open_attempts(stored: Stored) -> list[Any]:
    return [attempt for attempt in _attempts(stored) if attempt.open]
