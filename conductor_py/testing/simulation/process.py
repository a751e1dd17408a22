"""Simulated processes: those with an engine, and what befalls them.

A process handles one thing at a time. It dies when it is told to, in the middle of whatever it
does, and comes back a while later with nothing but its name.
"""

from __future__ import annotations

import random
import traceback
from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from conductor_py.engine import Engine
from conductor_py.errors import ConductorError, StoreUnavailable
from conductor_py.records import dataclass
from conductor_py.testing.simulation.faults import Fault, Kind
from conductor_py.testing.simulation.loop import MS, SECOND, Strand

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

_NOT_AGAIN: Final = frozenset(
    {
        "queues.poll",
        "metadata.put_workflow",
        "metadata.delete_workflow",
        "metadata.put_task",
        "metadata.delete_task",
        "metadata.put_tags",
        "events.put_handler",
        "events.delete_handler",
        "events.record",
        "schedules.put",
        "schedules.delete",
        "schedules.claim_due",
    }
)
"""Calls that the client of the real store never sends a second time (``again=False``)."""
_OTHER_STORES: Final = ("search.", "payloads.", "sink.", "webhook.")
_BEFORE: Final = frozenset({Kind.CRASH_BEFORE, Kind.REQUEST_LOST})
_CLEANING_EVERY: Final = 600 * SECOND
_CLEANING_EVERY_IN_WEATHER: Final = 4 * SECOND
_DOWN_MS: Final = (50, 300, 1_000, 4_000, 15_000)


class Killed(BaseException):
    """The process is gone: nothing in it runs on."""


class NoAnswer(Exception):
    """A client got no answer: whether its request was carried out it cannot know."""


class Process:
    """Something with a name that runs, dies and comes back."""

    def __init__(self, world: World, name: str) -> None:
        """Be dead until it begins."""
        self.world = world
        self.name = name
        self.alive = False
        self.chance = random.Random(f"{world.scenario.seed} {name}")
        self.faults: dict[tuple[str, int], Fault] = {}
        self.counts: Counter[str] = Counter()
        self.frozen_until = 0
        self.deaf_until = 0
        self.missed: Counter[str] = Counter()
        self.cut_until = 0
        self.strand: Strand | None = None

    def begin(self, *, at: int = 0) -> None:
        """Start the process, at an instant."""
        self.alive = True
        self.strand = self.world.loop.spawn(self.name, self._live, at=at)

    def _live(self) -> None:
        try:
            self.run()
        except Killed:
            pass
        except Exception:  # noqa: BLE001 - it is a finding
            self.world.violated(self.name, f"it fails: {traceback.format_exc(limit=-6)}")

    def run(self) -> None:
        """Do what the process does."""
        raise NotImplementedError

    def kill(self, why: str) -> None:
        """Let it die where it is, and come back later."""
        if not self.alive or self.strand is None:
            return
        self._die(why)
        self.world.loop.end(self.strand, Killed())

    def _die(self, why: str) -> None:
        self.alive = False
        self.world.note(self.name, f"dies: {why}")
        self.world.counts["crashes"] += 1
        self.on_death()
        down_ms = self.chance.choice(_DOWN_MS)
        self.world.loop.at(self.world.loop.now + down_ms * MS, self.revive)

    def on_death(self) -> None:
        """Let go of what others wait for."""

    def revive(self) -> None:
        """Come back, if it is dead."""
        if not self.alive:
            self.world.note(self.name, "is there again")
            self.begin()

    # -- time --------------------------------------------------------------------------------------

    def pause(self, microseconds: int) -> None:
        """Let time pass; longer, while the process is stopped."""
        loop = self.world.loop
        if not self.alive:
            raise Killed
        loop.sleep(microseconds)
        self._thaw()

    def park(self, until: int) -> None:
        """Wait to be woken, at most until an instant."""
        if not self.alive:
            raise Killed
        self.world.loop.park(until)
        self._thaw()

    def _thaw(self) -> None:
        loop = self.world.loop
        while loop.now < self.frozen_until:
            loop.sleep(self.frozen_until - loop.now)

    def next_fault(self, call: str) -> Fault | None:
        """Count a call; what is to go wrong with it."""
        self.counts[call] += 1
        number = self.counts[call]
        if not self.faults or self.world.calm:
            return None
        return self.faults.pop((call, number), None)

    def befalls(self, fault: Fault) -> None:
        """Say that a fault happens."""
        self.world.faults[fault.kind] += 1
        self.world.note(self.name, f"⚡ {fault.kind.value} ({fault.call})")

    @property
    def is_deaf(self) -> bool:
        """Whether wake-ups are lost on it just now."""
        return self.world.loop.now < self.deaf_until


@dataclass(slots=True, eq=False)
class Request:
    """What a client asks of a server."""

    name: str
    act: Callable[[Engine], Any]
    client: Process | None
    answer: Any = None
    error: Exception | None = None
    done: bool = False


class Server(Process):
    """A process with an engine of its own."""

    def __init__(self, world: World, name: str) -> None:
        """Have no engine until it begins."""
        super().__init__(world, name)
        self.engine: Engine | None = None
        self._heard: tuple[str, ...] = ()

    def begin(self, *, at: int = 0) -> None:
        """Start with a new engine: nothing is remembered."""
        super().begin(at=at)
        self.engine = None

    def running(self) -> Engine:
        """The engine, made when it is first used."""
        if self.engine is None:
            self.engine = self.world.build_engine(self)
        return self.engine

    def cross(
        self,
        call: str,
        target: Callable[..., Any],
        given: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> Any:
        """Make one call of a port."""
        world = self.world
        if not self.alive:
            raise Killed
        fault = self.next_fault(call)
        kind = fault.kind if fault is not None else None
        if fault is not None:
            self.befalls(fault)
        self.pause(self._latency(kind, fault))
        if kind is Kind.CRASH_BEFORE:
            self._die(f"before {call}")
            raise Killed
        self._reach(call, lost=kind is Kind.REQUEST_LOST)
        reply = world.observed(self, call, target, given, named)
        if kind is Kind.CRASH_AFTER:
            self._die(f"after {call}")
            raise Killed
        if kind is Kind.STOPPED and fault is not None:
            self.pause(fault.ms * MS)
        again = call not in _NOT_AGAIN and not call.startswith(_OTHER_STORES)
        if kind in {Kind.REPLY_LOST, Kind.REPEATED}:
            self.pause(self.chance.randrange(500, 2 * SECOND))
            if again:
                self._reach(call, lost=False)
                reply = world.observed(self, call, target, given, named)
            if kind is Kind.REPLY_LOST or not again:
                raise StoreUnavailable(f"The answer of {call} is lost.")
        usual = world.scenario.deployment.latency_us
        self.pause(usual // 2 + int(self.chance.random() * usual))
        return reply

    def _latency(self, kind: Kind | None, fault: Fault | None) -> int:
        if kind is Kind.SLOW and fault is not None:
            return fault.ms * MS
        draw = self.chance.random()
        usual = self.world.scenario.deployment.latency_us
        if draw < 0.97:
            return usual // 2 + int(draw * usual)
        return int(self.chance.expovariate(1 / 8) * MS) + usual * 5

    def _reach(self, call: str, *, lost: bool) -> None:
        """Raise when the store cannot be reached."""
        world, now = self.world, self.world.loop.now
        index = call.startswith("search.")
        away_until = world.index_away_until if index else world.store_away_until
        if not lost and now >= max(self.cut_until, away_until):
            return
        self.pause(self.chance.randrange(MS, 300 * MS))
        world.counts["store away"] += 1
        raise StoreUnavailable(f"{call} cannot be asked.")

    def listen(self, topics: tuple[str, ...], timeout_s: float) -> None:
        """Wait until one of the topics is published, at most so long."""
        world = self.world
        until = world.loop.now + max(int(timeout_s * SECOND), 1)
        if self.is_deaf:
            self.park(until)
            return
        assert self.strand is not None
        for topic in topics:
            world.listeners.setdefault(topic, []).append((self, self.strand.asleep + 1))
        self.park(until)

    def tick(self, act: Callable[[], int]) -> int:
        """Do one round of a loop that survives everything but its death."""
        try:
            return act()
        except StoreUnavailable:
            self.pause(200 * MS)
        except ConductorError as error:
            self.world.violated(self.name, f"a round fails: {error.message}")
        except Exception:  # noqa: BLE001 - it is a finding
            self.world.violated(self.name, f"a round fails: {traceback.format_exc(limit=-6)}")
        return 1


class ApiServer(Server):
    """Answers requests, one after the other."""

    def __init__(self, world: World, name: str) -> None:
        """Have nothing to do."""
        super().__init__(world, name)
        self.waiting: deque[Request] = deque()
        self._current: Request | None = None
        self._idle = False

    def accept(self, request: Request) -> None:
        """Take a request, if the server is there."""
        if not self.alive:
            self.world.answer(request, error=NoAnswer())
            return
        self.waiting.append(request)
        if self._idle and self.strand is not None:
            self.world.loop.wake(self.strand)

    def on_death(self) -> None:
        """Leave the clients without an answer."""
        gone = [*self.waiting, *([self._current] if self._current is not None else [])]
        self.waiting.clear()
        self._current = None
        for request in gone:
            self.world.answer(request, error=NoAnswer())

    def run(self) -> None:
        """Serve."""
        engine, keep = self.running(), self.world.keep_every
        self.tick(self._keep)
        while True:
            if not self.waiting:
                self._idle = True
                self.park(self.world.loop.now + keep)
                self._idle = False
                self.tick(self._keep)
                continue
            request = self._current = self.waiting.popleft()
            try:
                answer = request.act(engine)
            except ConductorError as error:
                self.world.answer(request, error=error)
            except Exception as error:  # noqa: BLE001 - it is a finding
                self.world.violated(
                    self.name, f"{request.name} fails: {traceback.format_exc(limit=-8)}"
                )
                self.world.answer(request, error=error)
            else:
                self.world.answer(request, answer=answer)
            self._current = None

    def _keep(self) -> int:
        self.running().shards.keep()
        return 0


class Sweeper(Server):
    """Fires timers and hands effects on, when something is due."""

    def run(self) -> None:
        """Sweep."""
        engine, world = self.running(), self.world
        cleaned = world.loop.now
        while True:
            found = self.tick(engine.sweeper.tick)
            every = _CLEANING_EVERY if world.calm else _CLEANING_EVERY_IN_WEATHER
            if world.loop.now - cleaned > every:
                cleaned = world.loop.now
                self.tick(engine.collector.tick)
            found += self.tick(engine.relay.tick)
            if found:
                self.pause(self.chance.randrange(MS, 20 * MS))
            else:
                self.park(world.sleepers.next_sweep(self))
                world.sleepers.woke_up(self)

    def hand_on(self, partition: int, ids: Any) -> None:
        """Hand effects to whoever carries them out."""
        self.world.hand_on(partition, tuple(ids))


class EffectsWorker(Server):
    """Carries effects out."""

    def run(self) -> None:
        """Work off what was handed on; a batch that it dies with comes again by itself."""
        engine, world = self.running(), self.world
        while True:
            job = world.next_job()
            if job is None:
                world.idle_effects.append(self)
                self.park(world.loop.now + 600 * SECOND)
                if self in world.idle_effects:
                    world.idle_effects.remove(self)
                continue
            partition, ids = job
            self.tick(partial(engine.effects.run, partition, ids))

    def on_death(self) -> None:
        """Wait for nothing any more."""
        if self in self.world.idle_effects:
            self.world.idle_effects.remove(self)


class SchedulerProcess(Server):
    """Fires schedules."""

    def run(self) -> None:
        """Look what is due."""
        engine = self.running()
        while True:
            if not self.tick(engine.scheduler.tick):
                self.pause(self.world.scheduler_rest(self))


__all__ = [
    "ApiServer",
    "EffectsWorker",
    "Killed",
    "NoAnswer",
    "Process",
    "Request",
    "SchedulerProcess",
    "Server",
    "Sweeper",
]
