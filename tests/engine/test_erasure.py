"""What was removed leaves the files of the stores some time later, many removals at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conductor_py.engine import assembly
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.port_set import ErasurePorts, Ports
from conductor_py.engine.sweeping.erasure import NEVER, Erasure
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.erasure import Removals
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import simple, workflow

_HOUR_MS = 3_600_000


class Record:
    """Remembers in memory."""

    def __init__(self) -> None:
        self.removals = Removals()

    def read(self) -> Removals:
        return self.removals

    def removed(self, at_ms: int) -> None:
        self.removals = replace(self.removals, removed_ms=at_ms)

    def erased(self, as_of_ms: int) -> None:
        self.removals = replace(self.removals, erased_ms=as_of_ms)


class Files:
    """Files that take some steps to write anew."""

    def __init__(self, steps: int = 1) -> None:
        self.steps, self.taken, self.rounds, self.is_away = steps, 0, 0, False

    def erase(self) -> bool:
        if self.is_away:
            raise StoreUnavailable("the disk is full")
        self.taken += 1
        done = self.taken % self.steps == 0
        self.rounds += done
        return done


class World:
    """An erasure over two kinds of files."""

    def __init__(self, interval_ms: int = _HOUR_MS) -> None:
        self.now_ms = 10 * _HOUR_MS
        self.first, self.second = Files(steps=3), Files()
        self.record = Record()
        self.interval_ms = interval_ms
        self.erasure = self.server()

    def server(self) -> Erasure:
        ports = ErasurePorts(record=self.record, erasers=(self.first, self.second))
        clock = StoreClock(lambda: self.now_ms, lambda: self.now_ms / 1000)
        return Erasure(ports, clock, interval_ms=self.interval_ms)

    def run(self) -> tuple[int, int]:
        """Tick until nothing is left to do; rounds of both."""
        while self.erasure.tick():
            pass
        return self.first.rounds, self.second.rounds


@pytest.fixture
def world() -> World:
    return World()


def test_nothing_is_written_anew_while_nothing_is_removed(world: World) -> None:
    world.now_ms += 100 * _HOUR_MS
    assert world.run() == (0, 0)
    assert world.first.taken == 0


def test_many_removals_share_one_round_in_an_interval(world: World) -> None:
    world.erasure.removed()
    assert world.run() == (1, 1)
    for _ in range(60):
        world.now_ms += 59_000
        world.erasure.removed()
        assert world.run() == (1, 1)
    world.now_ms += 60_000
    assert world.run() == (2, 2)
    world.now_ms += 100 * _HOUR_MS
    assert world.run() == (2, 2)


def test_what_is_removed_during_a_round_is_erased_by_the_next(world: World) -> None:
    world.erasure.removed()
    assert world.erasure.tick() == 1
    world.now_ms += 1_000
    world.erasure.removed()
    assert world.run() == (1, 1)
    world.now_ms += _HOUR_MS
    assert world.run() == (2, 2)


def test_a_round_that_fails_is_no_round_and_begun_anew_later(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.second.is_away = True
    world.erasure.removed()
    assert world.run() == (1, 0)
    assert world.run() == (1, 0)
    assert "stays in the files" in caplog.text
    assert world.record.removals.erased_ms == 0
    world.second.is_away = False
    world.now_ms += 600_000
    assert world.run() == (2, 1)


def test_files_that_cannot_be_written_keep_no_others_from_it(world: World) -> None:
    world.first.is_away = True
    world.erasure.removed()
    assert world.run() == (0, 1)
    assert world.record.removals.erased_ms == 0
    world.first.is_away = False
    world.now_ms += 600_000
    assert world.run() == (1, 2)


def test_another_server_does_not_repeat_a_round_and_takes_over_one_that_was_not_ended(
    world: World,
) -> None:
    world.erasure.removed()
    assert world.erasure.tick() == 1
    world.erasure = world.server()
    world.first.taken = 0
    assert world.run() == (1, 1)
    world.erasure = world.server()
    assert world.run() == (1, 1)


def test_an_interval_of_nothing_erases_and_notes_nothing() -> None:
    world = World(NEVER)
    world.erasure.removed()
    assert world.run() == (0, 0)
    assert world.record.removals == Removals()


# -- what counts as a removal ----------------------------------------------------------------------


class Noted:
    """An engine in memory whose removals are noted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.record = Record()
        assemble = assembly.assemble

        def assembled(ports: Ports, *parts: Any, **named: Any) -> Any:
            erasing = ErasurePorts(record=self.record, erasers=())
            return assemble(replace(ports, erasure=erasing), *parts, erasure_ms=1, **named)

        monkeypatch.setattr("conductor_py.testing.engine.assemble", assembled)
        self.engine: MemoryEngine = memory_engine(**options)

    def ended(self) -> str:
        execution = self.engine.start(workflow("w", simple("a")))
        self.engine.run("a")
        self.engine.settle()
        return execution

    def passes(self, seconds: int) -> None:
        self.engine.clock.advance(seconds=seconds)
        self.engine.settle()

    @property
    def is_noted(self) -> bool:
        return self.record.removals.removed_ms > 0


@pytest.mark.parametrize("seconds", [0, 3_700], ids=["stored", "archived"])
def test_a_removal_is_noted_wherever_the_execution_is(
    monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    noted = Noted(monkeypatch)
    execution = noted.ended()
    noted.passes(seconds)
    assert not noted.is_noted
    noted.engine.engine.steering.remove(execution, archive=False)
    noted.passes(1)
    assert noted.is_noted


def test_what_leaves_the_archive_by_its_age_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = Noted(monkeypatch, retention_ms=_HOUR_MS)
    noted.ended()
    noted.passes(2 * 3_600)
    assert not noted.is_noted
    assert noted.engine.engine.retention.tick() == 1
    assert noted.is_noted
