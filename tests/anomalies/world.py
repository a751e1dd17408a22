"""Servers over one store that can be killed at any step, held up in mid-decision, or cut off.

A step is a call of a port that writes. Nothing here knows what is right: the tests say that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from conductor_py.adapters.memory.payloads import MemoryPayloads
from conductor_py.adapters.memory.search import MemorySearch
from conductor_py.adapters.memory.space import Execution, MemorySpace
from conductor_py.codec.execution import load_attempt, load_claim, load_header
from conductor_py.errors import StoreUnavailable
from conductor_py.model.execution import Attempt
from conductor_py.model.ids import task_id
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.testing import adapters as kit
from tests.builders import Json

_STEPS = {
    "store": ("start", "report", "send", "acquire", "renew", "commit"),
    "queues": ("poll", "extend"),
    "timers": ("claim_due",),
    "outbox": ("take", "confirm", "postpone", "order"),
    "plans": ("put",),
    "permits": ("share", "adjust", "lease_rate", "settle_rate"),
    "reader": ("begin_restore", "restore", "remove"),
}
LEASE_S = 3
CLAIM_S = 8


class Killed(BaseException):
    """The process is gone: nothing in it runs on."""


@dataclass(slots=True)
class _Gate:
    """What stands before and behind each step of one server."""

    steps: int = 0
    fault_at: int = 0
    fault: type[BaseException] = Killed
    after: bool = False
    dead: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    meanwhile: dict[str, list[Callable[[], object]]] = field(default_factory=dict)

    def pass_through(self, name: str, call: Callable[[], Any]) -> Any:
        if self.dead:
            raise Killed
        self.steps += 1
        self.counts[name] += 1
        doomed = self.steps == self.fault_at
        waiting = self.meanwhile.get(name)
        if waiting:
            waiting.pop(0)()
        self.dead = doomed and self.fault is Killed
        if doomed and not self.after:
            raise self.fault
        reply = call()
        if doomed:
            raise self.fault
        return reply


class World:
    """Some servers over one store, one archive, one clock."""

    def __init__(
        self,
        servers: int = 2,
        *,
        clock: FakeClock | None = None,
        partitions: int = 1,
        **options: Any,
    ) -> None:
        self.clock = clock or FakeClock()
        self.space = MemorySpace(partitions, self.clock)
        search, payloads = MemorySearch(), MemoryPayloads(now_ms=self.clock)
        with (
            patch.object(kit, "MemorySearch", lambda: search),
            patch.object(kit, "MemoryPayloads", lambda **_: payloads),
        ):
            self.servers = [
                memory_engine(
                    clock=self.clock, space=self.space, server=f"server-{number}", **options
                )
                for number in range(servers)
            ]
        self._gates = [_Gate() for _ in self.servers]
        for server, gate in zip(self.servers, self._gates, strict=True):
            _put_up(server, gate)

    # -- what befalls a server ---------------------------------------------------------------------

    def kill(self, server: int, step: int, *, after: bool) -> None:
        """Let a server die at its n-th step from now on, with that step done or not."""
        self._break(server, step, Killed, after=after)

    def away(self, server: int, step: int, *, after: bool) -> None:
        """Let the store be away at a server's n-th step from now on, or its answer be lost."""
        self._break(server, step, StoreUnavailable, after=after)

    def _break(self, server: int, step: int, fault: type[BaseException], *, after: bool) -> None:
        gate = self._gates[server]
        gate.fault_at, gate.fault, gate.after = gate.steps + step, fault, after

    def revive(self, server: int) -> None:
        """Let a server that died run again; what it was about to do is forgotten."""
        gate = self._gates[server]
        gate.dead, gate.fault_at = False, 0
        gate.meanwhile.clear()

    def calm(self) -> None:
        """Let nothing befall any server from now on."""
        for number in range(len(self.servers)):
            self.revive(number)

    def steps(self, server: int) -> int:
        """Count the steps that a server has done."""
        return self._gates[server].steps

    def counted(self, server: int) -> Counter[str]:
        """Count the steps that a server has done, by name."""
        return self._gates[server].counts

    def meanwhile(self, server: int, step: str, act: Callable[[], object]) -> None:
        """Let something happen right before the next step of that name of a server."""
        self._gates[server].meanwhile.setdefault(step, []).append(act)

    def held_up(self, server: int, step: str, act: Callable[[], object]) -> None:
        """Stop a server before its next step of that name until its lease is over; the others act
        meanwhile.
        """

        def stopped() -> None:
            self.clock.advance(seconds=LEASE_S + 1)
            act()

        self.meanwhile(server, step, stopped)

    # -- time --------------------------------------------------------------------------------------

    def pass_time(self, server: int, *, seconds: float = 0) -> None:
        """Let time pass and one server do what is due."""
        self.clock.advance(seconds=seconds)
        self.servers[server].settle()

    # -- what is in the store ----------------------------------------------------------------------

    @property
    def stored(self) -> list[Execution]:
        return [
            execution
            for partition in self.space.partitions
            for execution in partition.executions.values()
        ]

    def entries(self) -> list[str]:
        """The task ids in all queues, delayed ones too."""
        lanes = [
            lane
            for partition in self.space.partitions
            for lane in (*partition.ready.values(), *partition.delayed.values())
        ]
        return [member for lane in lanes for member in lane.scores]

    def check(self) -> None:
        """What must hold after every step, whoever has just died."""
        entries = self.entries()
        timers = {
            name
            for partition in self.space.partitions
            for lane in partition.timers.values()
            for name in lane.scores
        }
        known = {
            task_id(stored.id, attempt.seq)
            for stored in self.stored
            for attempt in attempts_of(stored)
        }
        assert set(entries) <= known, "a queue entry of nothing"
        for stored in self.stored:
            header = load_header(stored.fields["h"])
            if stored.terminal:
                continue
            woken = f"x:{stored.id}" in timers
            if stored.inbox or stored.status == "PAUSED":
                assert woken or not stored.inbox, "events that nobody will look at"
                continue
            for attempt in open_attempts(stored):
                claim = load_claim(stored.fields.get(f"c:{attempt.seq}", b"{}"))
                if attempt.queue:
                    member = task_id(stored.id, attempt.seq)
                    assert entries.count(member) + claim.held == 1, attempt
            assert header.open_attempts or header.continues, "nothing would wake it"


def attempts_of(stored: Execution) -> list[Attempt]:
    return [
        load_attempt(int(name[2:]), stored.fields[name])
        for name in sorted(stored.fields)
        if name.startswith("a:") and int(name[2:]) >= stored.first_seq()
    ]


def open_attempts(stored: Execution) -> list[Attempt]:
    return [a for a in attempts_of(stored) if a.open and a.generation == stored.generation]


def newest(found: Json) -> Json:
    """What a user sees of an execution, by reference, without ids and times."""
    tasks = {
        task["referenceTaskName"]: (task["status"], task["retryCount"], _plain(task["outputData"]))
        for task in found["tasks"]
    }
    return {"status": found["status"], "output": _plain(found["output"]), "tasks": tasks}


def _plain(output: Json) -> Json:
    return {
        key: _plain(value) if isinstance(value, dict) else value
        for key, value in output.items()
        if key not in {"subWorkflowId", "workflowInstanceId", "workflowId"}
    }


def _put_up(server: MemoryEngine, gate: _Gate) -> None:
    for port, names in _STEPS.items():
        adapter = getattr(server.ports, port)
        for name in names:
            setattr(adapter, name, _gated(gate, f"{port}.{name}", getattr(adapter, name)))


def _gated(gate: _Gate, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def step(*given: Any, **named: Any) -> Any:
        return gate.pass_through(name, lambda: real(*given, **named))

    return step
