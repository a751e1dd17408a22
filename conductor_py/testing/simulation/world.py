"""The world of one run: a store, the processes around it, time, and what goes wrong.

First the rough part: faults happen and clients do what the scenario says. Then the calm one:
nothing goes wrong any more, every process is there, workers do well, somebody looks after what
waits for people. What has not ended then, and left the store, never would.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from conductor_py.adapters.memory.shards import MemoryShardRegistry
from conductor_py.adapters.quickjs.direct import DirectScripts
from conductor_py.engine import Engine
from conductor_py.testing.adapters import memory_ports
from conductor_py.testing.clock import START_MS
from conductor_py.testing.simulation.afterwards import Afterwards, archived, waits_for
from conductor_py.testing.simulation.attendant import Attendant, Customer
from conductor_py.testing.simulation.clients import Behave, draw_behaviour, faithful, well_behaved
from conductor_py.testing.simulation.engines import build_engine, register
from conductor_py.testing.simulation.faults import AT_CALLS, Fault, Kind
from conductor_py.testing.simulation.findings import Promised, Violation
from conductor_py.testing.simulation.gates import Listener
from conductor_py.testing.simulation.invariants import Checks
from conductor_py.testing.simulation.journal import Journal, silence
from conductor_py.testing.simulation.long_tasks import LongWorker
from conductor_py.testing.simulation.loop import MS, SECOND, Loop
from conductor_py.testing.simulation.names import Names
from conductor_py.testing.simulation.process import (
    ApiServer,
    EffectsWorker,
    Killed,
    Process,
    Request,
    SchedulerProcess,
    Server,
    Sweeper,
)
from conductor_py.testing.simulation.runs import Run
from conductor_py.testing.simulation.scenario import Scenario
from conductor_py.testing.simulation.sleepers import Sleepers
from conductor_py.testing.simulation.space import SimulatedSpace
from conductor_py.testing.simulation.system import CALLED, SystemTaskWorker
from conductor_py.testing.simulation.words import words_of

_HOUR_MS: Final = 3_600_000
_EMPTY_S: Final = 1_800
_SCRIPTS: Final = DirectScripts()


class World:
    """See the module."""

    fencing = True

    def __init__(
        self, scenario: Scenario, *, keeps_words: bool = False, behave: Behave | None = None
    ) -> None:
        """Build it; nothing has happened yet."""
        self.scenario = scenario
        self.loop = Loop(lambda told: self.violated("liveness", told))
        self.journal = Journal(keeps=keeps_words)
        self.counts: Counter[str] = Counter()
        self.faults: Counter[Kind] = Counter()
        self.violations: list[Violation] = []
        self.calm = False
        self.sizes: list[dict[str, int]] = []
        self.store_away_until = 0
        self.index_away_until = 0
        self._deaf: list[Process] = []
        self.listeners: dict[str, list[tuple[Process, int]]] = {}
        self.idle_effects: list[Server] = []
        if scenario.faithful:
            behave = faithful(scenario.seed)
        self.behave: Behave = behave or draw_behaviour(scenario.seed)
        self._behave_calmly = behave or well_behaved
        self._offset_ms = 0
        self.sleepers = Sleepers(self)
        self._jobs: list[tuple[int, tuple[str, ...]]] = []
        deployment = scenario.deployment
        self.keep_every = deployment.shard_lease_ms * MS // 4
        self.space = SimulatedSpace(
            deployment.partitions,
            self._store_ms,
            alarm=self.sleepers.alarm,
            published=self._published,
        )
        self.names = Names(self.space)
        self.listener = Listener()
        self.ports = memory_ports(self.space, scripts=_SCRIPTS, webhook=self.listener)
        self._registry = MemoryShardRegistry(self.space)
        self.checks = Checks(self)
        self.apis = [ApiServer(self, name) for name in deployment.names("api")]
        self.processes: list[Process] = [
            *self.apis,
            *(Sweeper(self, name) for name in deployment.names("sweeper")),
            *(EffectsWorker(self, name) for name in deployment.names("effects")),
            *(SchedulerProcess(self, name) for name in deployment.names("scheduler")),
            *(SystemTaskWorker(self, name) for name in deployment.names("system")),
            *(LongWorker(self, name, n) for n, name in enumerate(deployment.names("worker"))),
            *(
                Customer(self, f"client-{number}", action)
                for number, action in enumerate(scenario.actions, 1)
            ),
        ]
        self._attendant = Attendant(self, "attendant")
        self._by_name = {process.name: process for process in self.processes}
        register(scenario, self.ports, self._store_ms())
        self._plan_faults()

    # -- beginning ---------------------------------------------------------------------------------

    def _plan_faults(self) -> None:
        for fault in self.scenario.faults:
            if fault.kind in AT_CALLS:
                process = self._by_name.get(fault.process)
                if process is not None:
                    process.faults[(fault.call, fault.number)] = fault
            else:
                lead = fault.ms if fault.kind is Kind.LOST_TAIL else 0
                at_ms = max(fault.at_ms - lead, 0)
                self.loop.at(at_ms * MS, partial(self._befall, fault))

    def build_engine(self, server: Server) -> Engine:
        """Make the engine of a process."""
        return build_engine(self, server, self._registry)

    # -- the run -----------------------------------------------------------------------------------

    def run(self) -> Run:
        """Let it all happen."""
        with silence():
            try:
                self._rough()
                if not self.violations:
                    self._calm()
            finally:
                self._close()
        return Run(
            seed=self.scenario.seed,
            violations=self.violations,
            checksum=self.journal.checksum,
            virtual_ms=self.loop.now // MS,
            steps=self.loop.steps,
            counts=self.counts,
            faults=self.faults,
            journal=self.journal,
            outcomes=dict(self._outcomes()),
            sizes=self.sizes,
        )

    def _outcomes(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The archive's document of each execution, by its short name."""
        for execution in self.checks.seen:
            document = archived(self, execution)
            if document is not None:
                yield self.names.of_execution(execution), document

    def _rough(self) -> None:
        for process in self.processes:
            at = process.action.at_ms * MS if isinstance(process, Customer) else 0
            process.begin(at=at + process.chance.randrange(MS))
        if self.scenario.attended:
            self._attendant.begin()
        for hour in range(1, self.scenario.span_ms // _HOUR_MS + 1):
            self.loop.at(hour * _HOUR_MS * MS, self._measure)
        self.loop.run(self.scenario.span_ms * MS, lambda: bool(self.violations))
        if not self.violations:
            self.checks.look_at_all()

    def _measure(self) -> None:
        self.sizes.append(self.space.sizes())

    def _calm(self) -> None:
        self.note("world", "nothing goes wrong from here on")
        self.calm = True
        self.behave = self._behave_calmly
        self.store_away_until = self.index_away_until = 0
        for process in self.processes:
            process.frozen_until = process.deaf_until = process.cut_until = 0
            if not process.alive and not isinstance(process, Customer):
                process.revive()
        if not self._attendant.alive:
            self._attendant.begin()
        if not self._until(self._all_ended, self.scenario.calm_s):
            for stored in self.running() if not self.violations else ():
                name = self.names.of_execution(stored.id)
                self.violated(
                    "liveness", f"{name} does not end: {stored.status}, {waits_for(stored)}"
                )
            return
        self._until(self._is_empty, _EMPTY_S)
        if not self.violations:
            self.checks.look_at_all()
        if not self.violations:
            Afterwards(self, self.checks).look()

    def _until(self, done: Callable[[], bool], seconds: int) -> bool:
        """Let time pass until something is so, at most so long."""
        end = self.loop.now + seconds * SECOND
        if not done():
            self.loop.run(end, lambda: bool(self.violations) or done())
        return done() and not self.violations

    def _all_ended(self) -> bool:
        customers = (p for p in self.processes if isinstance(p, Customer))
        return not self.running() and all(one.is_over for one in customers)

    def _is_empty(self) -> bool:
        return all(
            not partition.executions and not len(partition.outbox)
            for partition in self.space.partitions
        )

    def running(self) -> list[Any]:
        """List what has not ended."""
        return [
            stored
            for partition in self.space.partitions
            for stored in partition.executions.values()
            if not stored.terminal
        ]

    def _close(self) -> None:
        for process in (*self.processes, self._attendant):
            process.alive = False
            if process.strand is not None:
                self.loop.end(process.strand, Killed())

    # -- what goes wrong ---------------------------------------------------------------------------

    def _befall(self, fault: Fault) -> None:
        if self.calm:
            return
        now, ms = self.loop.now, fault.ms * MS
        if fault.kind is Kind.LOST_TAIL:
            saved, promised = self.space.saved(), Promised.by(self.checks)
            self.loop.at(now + ms, lambda: self._lose_tail(saved, promised, now))
            return
        self.faults[fault.kind] += 1
        self.note(fault.process or "store", f"⚡ {fault.words()}")
        process = self._by_name.get(fault.process)
        match fault.kind:
            case Kind.CLOCK:
                self._offset_ms += fault.ms
                self.checks.clock_stepped(fault.ms)
                self.sleepers.wake_all()
            case Kind.STORE_AWAY:
                self.store_away_until = now + ms
            case Kind.INDEX_AWAY:
                self.index_away_until = now + ms
            case Kind.KILL if process is not None:
                process.kill("kill -9")
            case Kind.FREEZE if process is not None:
                process.frozen_until = now + ms
            case Kind.CUT_OFF if process is not None:
                process.cut_until = now + ms
            case Kind.DEAF if process is not None:
                process.deaf_until = now + ms
                self._deaf.append(process)

    def _lose_tail(self, saved: dict[str, Any], promised: Promised, since: int) -> None:
        if self.calm or self.violations:
            return
        self.faults[Kind.LOST_TAIL] += 1
        self.note(
            "store", f"⚡ dies and comes back as it was {(self.loop.now - since) / SECOND} s ago"
        )
        self.space.go_back(saved)
        self.store_away_until = self.loop.now + 300 * MS
        self.checks.lost_tail(promised)
        self.sleepers.wake_all()

    # -- time of the store -------------------------------------------------------------------------

    def _store_ms(self) -> int:
        return START_MS + self._offset_ms + self.loop.now // MS

    def instant(self, store_ms: int) -> int:
        """Convert an instant of the store's clock."""
        return (store_ms - START_MS - self._offset_ms) * MS

    def scheduler_rest(self, server: Server) -> int:
        """Choose how long an idle scheduler rests (microseconds)."""
        head = self.space.schedules.due.first()
        rest = 5 * SECOND
        if head is not None:
            rest = min(rest, max(self.instant(head[0]) - self.loop.now, 50 * MS))
        return rest + int(server.chance.random() * 100 * MS)

    # -- between processes -------------------------------------------------------------------------

    def observed(
        self,
        server: Server,
        call: str,
        target: Callable[..., Any],
        given: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> Any:
        """Make a call, with the checks around it, and write it down."""
        self.counts["calls"] += 1
        around = self.checks.around.get(call)
        checked = target if around is None else partial(around, target)
        reply = checked(*given, **named)
        outcome = getattr(reply, "outcome", None)
        word = outcome.value if outcome is not None else ""
        self.journal.call(
            self.loop.now,
            server.name,
            call,
            word,
            lambda: words_of(call, given, reply, self.names.put_into),
        )
        return reply

    def choose_api(self, chance: random.Random, turn: int | None = None) -> ApiServer:
        """Choose a server, one that is there if there is one: any, or that whose turn it is."""
        there = [server for server in self.apis if server.alive] or self.apis
        return chance.choice(there) if turn is None else there[turn % len(there)]

    def answer(
        self,
        request: Request,
        *,
        answer: Any = None,
        error: Exception | None = None,
    ) -> None:
        """Bring a client the answer, over the network."""
        client = request.client
        if client is None:
            return

        def arrive() -> None:
            if request.client is None or not client.alive or client.strand is None:
                return
            request.answer, request.error, request.done = answer, error, True
            self.loop.wake(client.strand)

        self.loop.at(self.loop.now + 100 + int(client.chance.random() * 1_500), arrive)

    def hand_on(self, partition: int, ids: tuple[str, ...]) -> None:
        """Queue a batch of effects."""
        self._jobs.append((partition, ids))
        if self.idle_effects:
            worker = self.idle_effects.pop(0)
            if worker.alive and worker.strand is not None:
                self.loop.wake(worker.strand)

    def next_job(self) -> tuple[int, tuple[str, ...]] | None:
        """Take a batch of effects."""
        return self._jobs.pop(0) if self._jobs else None

    def queues(self) -> tuple[str, ...]:
        """Name all task queues that workers ask for; those of system tasks have workers of their
        own, where there are any.
        """
        lanes = {queue for partition in self.space.partitions for queue, _ in partition.lanes}
        if self.scenario.deployment.systems:
            lanes = {queue for queue in lanes if not queue.startswith(CALLED)}
        return tuple(sorted(lanes))

    def rest(self, worker: Process, kinds: tuple[str, ...], microseconds: int) -> None:
        """Let a worker wait for tasks of its kinds, at most so long."""
        assert worker.strand is not None
        if not worker.is_deaf:
            for kind in kinds:
                waiting = self.listeners.setdefault(f"q:{kind}", [])
                waiting.append((worker, worker.strand.asleep + 1))
        worker.park(self.loop.now + microseconds)

    def _published(self, topic: str) -> None:
        family, within, _ = topic.partition("#")
        names = (topic, family + within) if within else (topic,)
        for process in self._deaf:
            if process.is_deaf:
                process.missed.update(names)
        for name in names if self.listeners else ():
            for process, asleep in self.listeners.pop(name, ()):
                strand = process.strand
                if process.alive and strand is not None and strand.asleep == asleep:
                    self.loop.wake(strand, 200 + int(process.chance.random() * 800))

    # -- words -------------------------------------------------------------------------------------

    def note(self, who: str, what: str) -> None:
        """Write down what somebody did."""
        self.journal.note(self.loop.now, who, what)

    def violated(self, invariant: str, sentence: str) -> None:
        """Write down what does not hold; the run ends with it."""
        self.violations.append(Violation(invariant, sentence, self.loop.now))
        self.note("CHECK", f"{invariant}: {sentence}")


__all__ = ["World"]
