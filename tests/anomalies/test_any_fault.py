"""Random executions on servers that die, are held up and lose their store at random steps, while
operations come from all sides: what must hold does, and with good workers everything ends.
"""

from __future__ import annotations

import random
from contextlib import suppress
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conductor_py.errors import ConductorError
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine
from tests.anomalies.world import CLAIM_S, LEASE_S, Killed, World, open_attempts
from tests.builders import Json
from tests.decider.random_definitions import WORKER, definitions

_SERVERS = 3
_STEPS = 60
_ROUNDS = 150
_SILENCE_S = 3_601
"""Longer than the response timeout of a task whose poll was lost with its server."""
_seeds = st.integers(min_value=0, max_value=2**32)


class _Chaos:
    """What befalls one execution and its children, by one seed."""

    def __init__(self, definition: Json, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = World(servers=_SERVERS)
        self.held: list[Json] = []
        self.root = self.world.servers[0].start(definition)

    def step(self) -> None:
        number = self.chance.randrange(_SERVERS)
        draw = self.chance.random()
        if draw < 0.15:
            self.world.revive(number)
            befall = self.chance.choice([self.world.kill, self.world.away])
            befall(number, self.chance.randrange(1, 6), after=self.chance.random() < 0.5)
        elif draw < 0.25:
            other = (number + 1) % _SERVERS
            happens = self.chance.choice([self.world.held_up, self.world.meanwhile])
            happens(number, "store.commit", lambda: self._act(other))
        self._act(number)
        self.world.check()

    def _act(self, number: int) -> None:
        engine = self.world.servers[number]
        with suppress(Killed, ConductorError):
            match self.chance.randrange(8):
                case 0 | 1:
                    lease_s = self.chance.choice([0, CLAIM_S])
                    self.held.extend(engine.poll(WORKER, 3, lease_s=lease_s))
                case 2 | 3 | 4 if self.held:
                    self._report(engine, self.chance.choice(self.held))
                case 5:
                    self._operate(engine)
                case _:
                    seconds = self.chance.choice([0.001, 0.7, LEASE_S, CLAIM_S])
                    self.world.pass_time(number, seconds=seconds)

    def _report(self, engine: MemoryEngine, task: Json) -> None:
        if self.chance.random() < 0.7:
            self.held.remove(task)
        status = self.chance.choice(["COMPLETED"] * 8 + ["FAILED", "IN_PROGRESS"])
        engine.complete(task, {"v": 1}, status=status, claim=task.get("claimToken", 0))

    def _operate(self, engine: MemoryEngine) -> None:
        chosen = self.chance.choice([self.root, *(one.id for one in self.world.stored)])
        steering, recovery = engine.engine.steering, engine.engine.recovery
        verbs = [
            lambda: steering.pause(chosen),
            lambda: steering.resume(chosen),
            lambda: steering.set_variables(chosen, {"x": 1}),
            lambda: engine.engine.executions.terminate(chosen, reason="chance"),
            lambda: recovery.retry(chosen),
            lambda: recovery.retry(chosen, resume_subworkflows=True),
            lambda: recovery.restart(chosen),
            lambda: recovery.rerun(chosen, RerunRequest()),
        ]
        self.chance.choice(verbs)()

    def end_well(self) -> None:
        """From now on nothing fails: paused executions are resumed, and tasks are completed."""
        self.world.calm()
        engine = self.world.servers[-1]
        for number in range(_ROUNDS):
            for stored in self.world.stored:
                if stored.status == "PAUSED":
                    with suppress(ConductorError):
                        engine.engine.steering.resume(stored.id)
            for task in [*self.held, *engine.poll(WORKER, 100, lease_s=CLAIM_S)]:
                with suppress(ConductorError):
                    engine.complete(task, {"v": 1}, claim=task.get("claimToken", 0))
            self.held.clear()
            seconds = CLAIM_S if number % 20 else _SILENCE_S
            self.world.pass_time(_SERVERS - 1, seconds=seconds)
            if all(one.terminal and not one.is_draining() for one in self.world.stored):
                return
        raise AssertionError([(one.id, one.status, one.inbox) for one in self.world.stored])


@pytest.mark.thorough(target="histories")
@pytest.mark.anomaly("A-6")
@pytest.mark.anomaly("A-13")
@pytest.mark.anomaly("A-24")
@pytest.mark.timeout(240)
@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(definition=definitions(), seed=_seeds)
def test_whatever_befalls_servers_every_execution_ends_whole(definition: Json, seed: int) -> None:
    with patch("conductor_py.engine.decisions.operations._ANSWER_WAIT_S", 0.0):
        chaos = _Chaos(definition, seed)
        for _ in range(_STEPS):
            chaos.step()
        chaos.end_well()
    world = chaos.world
    assert world.entries() == []
    assert not any(open_attempts(one) for one in world.stored if not one.terminal)
    for _ in range(6):
        world.pass_time(_SERVERS - 1, seconds=61)
    engine = world.servers[-1]
    assert [(one.id, one.status, one.header()) for one in world.stored] == []
    assert engine.ports.outbox.size(0) == 0
    assert engine.ports.timers.next_due_ms(0, "s0") == 0
    assert engine.workflow(chaos.root)["endTime"] > 0
