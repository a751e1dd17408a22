"""Minting: no code twice, whatever clocks, restarts and other processes do."""

import os
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.memory.worker_numbers import MemoryWorkerNumbers
from conductor_py.engine.catalog.minting import AHEAD_MS, LEASE_MS, PATIENCE_MS, Minter
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.machine import Machine
from conductor_py.errors import (
    ClockSetBack,
    ConfigurationError,
    InvalidInput,
    LimitExceeded,
    StoreUnavailable,
)
from conductor_py.model.codes import DEFAULT_LAYOUT, CodeLayout
from conductor_py.ports.worker_numbers import Lease
from conductor_py.testing.clock import START_MS, FakeClock

_TWO = CodeLayout(worker_bits=1)


class _Clocks(Machine):
    """The store's clock and that of the processes' machine; a pause moves both."""

    def __init__(self) -> None:
        self.store = FakeClock()
        self.machine = FakeClock(1_000_000)
        self.paused_ms = 0
        self.tokens = 0

    def pass_(self, milliseconds: int) -> None:
        self.store.advance(milliseconds=milliseconds)
        self.machine.advance(milliseconds=milliseconds)

    def set_back(self, milliseconds: int) -> None:
        self.store.advance(milliseconds=-milliseconds)

    def pause(self, seconds: float) -> None:
        waited_ms = round(seconds * 1000)
        self.paused_ms += waited_ms
        self.pass_(waited_ms)

    def token(self, size: int) -> str:
        self.tokens += 1
        return f"{self.tokens:0{2 * size}x}"


class _Numbers(MemoryWorkerNumbers):
    """Worker numbers in memory that may be away, and count what they are asked."""

    def __init__(self, space: MemorySpace) -> None:
        super().__init__(space)
        self.leases: list[Lease] = []
        self.is_away = False
        self.loses_answers = False

    def lease(
        self, owner: str, layout: CodeLayout, ttl_ms: int, held: Lease | None
    ) -> Lease | None:
        if self.is_away:
            raise StoreUnavailable
        found = super().lease(owner, layout, ttl_ms, held)
        if self.loses_answers:
            raise StoreUnavailable
        if found is not None:
            self.leases.append(found)
        return found


@dataclass
class _World:
    """One store, and processes that mint over it."""

    clocks: _Clocks = field(default_factory=_Clocks)

    def __post_init__(self) -> None:
        self.space = MemorySpace(clock=self.clocks.store)
        self.numbers = _Numbers(self.space)

    def process(self, layout: CodeLayout = DEFAULT_LAYOUT, **more: Any) -> Minter:
        clock = StoreClock(self.clocks.store, self.clocks.machine.monotonic)
        return Minter(self.numbers, clock, layout=layout, machine=self.clocks, **more)


@pytest.fixture
def world() -> _World:
    return _World()


def _times(minter: Minter, codes: tuple[int, ...]) -> list[int]:
    return [minter.layout.time_of(code) for code in codes]


def test_codes_grow_and_tell_the_time_of_the_store(world: _World) -> None:
    minter = world.process()
    (first,) = minter.codes()
    world.clocks.pass_(7)
    second, third = minter.codes(2)

    assert first < second < third
    assert _times(minter, (first, second, third)) == [START_MS, START_MS + 7, START_MS + 7]


def test_what_does_not_fit_into_a_millisecond_goes_on_in_the_next(world: _World) -> None:
    minter = world.process()
    codes = minter.codes(130)
    assert _times(minter, codes) == [START_MS] * 64 + [START_MS + 1] * 64 + [START_MS + 2] * 2
    assert minter.codes(1)[0] > codes[-1]
    assert world.clocks.paused_ms == 0


def test_many_codes_at_once_do_not_run_away_from_the_clock(world: _World) -> None:
    minter = world.process()
    codes = tuple(code for _ in range(50) for code in minter.codes(1_000))
    assert len(set(codes)) == 50_000
    assert list(codes) == sorted(codes)
    assert world.clocks.paused_ms > 500
    assert _times(minter, codes)[-1] <= world.clocks.store() + AHEAD_MS + 1_000 // 64 + 1


@pytest.mark.parametrize("count", [0, -1, 1_001])
def test_only_one_to_a_thousand_are_minted_at_a_time(world: _World, count: int) -> None:
    with pytest.raises(InvalidInput, match="1 to 1000 codes"):
        world.process().codes(count)


def test_a_lease_lasts_for_many_calls_and_is_renewed_when_it_is_over(world: _World) -> None:
    minter = world.process()
    for _ in range(100):
        minter.codes(10)
        world.clocks.pass_(LEASE_MS // 100)
    assert len(world.numbers.leases) == 1
    minter.codes(1)
    assert [lease.number for lease in world.numbers.leases] == [0, 0]


def test_no_code_is_minted_at_or_beyond_the_end_of_its_lease(world: _World) -> None:
    minter = world.process()
    minter.codes(1)
    world.clocks.pass_(LEASE_MS - 1)
    codes = minter.codes(200)  # four milliseconds, of which one is left
    first, second = world.numbers.leases
    times = _times(minter, codes)
    assert min(times) >= second.from_ms >= first.until_ms
    assert max(times) < second.until_ms


def test_without_the_store_minting_goes_on_until_the_lease_is_over(world: _World) -> None:
    minter = world.process()
    minter.codes(1)
    world.numbers.is_away = True
    world.clocks.pass_(LEASE_MS - 1)
    minter.codes(1)
    world.clocks.pass_(1)
    with pytest.raises(StoreUnavailable):
        minter.codes(1)
    world.numbers.is_away = False
    assert minter.codes(1)


def test_sixty_four_processes_mint_and_the_next_one_is_told_so(world: _World) -> None:
    minters = [world.process() for _ in range(64)]
    codes = [code for minter in minters for code in minter.codes(100)]
    assert len(set(codes)) == 6_400
    late = world.process()
    with pytest.raises(LimitExceeded, match="All 64 worker numbers"):
        late.codes(1)

    world.clocks.pass_(LEASE_MS)
    assert late.codes(1)[0] > max(codes)


def test_a_number_that_is_taken_over_is_minted_under_at_later_times_only(world: _World) -> None:
    gone = [world.process(_TWO).codes(500) for _ in range(2)]
    world.clocks.pass_(LEASE_MS)

    minter = world.process(_TWO)
    codes = minter.codes(500)

    had = [code for codes in gone for code in codes]
    assert {_TWO.worker_of(code) for code in codes} <= {_TWO.worker_of(code) for code in had}
    assert min(_times(minter, codes)) > max(_times(minter, tuple(had)))


def test_who_lost_its_number_mints_under_another(world: _World) -> None:
    sleeper, other = world.process(_TWO), world.process(_TWO)
    before = sleeper.codes(64) + other.codes(1)
    world.clocks.pass_(LEASE_MS)
    taken = world.process(_TWO).codes(1)  # that of the sleeper, which is as old and has no owner

    after = sleeper.codes(64)

    assert {_TWO.worker_of(code) for code in taken} == {0}
    assert {_TWO.worker_of(code) for code in after} == {1}
    assert min(after) > max(before)


def test_codes_grow_when_the_new_number_is_smaller(world: _World) -> None:
    world.process(_TWO).codes(1)
    minter = world.process(_TWO)
    minter.codes(1)
    world.clocks.pass_(LEASE_MS - 1)
    (before,) = minter.codes(1)
    # Redis has lost its last moment, and somebody else got the number of this process.
    world.space.numbers = {1: (world.clocks.store() + LEASE_MS, "another")}

    after = minter.codes(64)  # more than is left of the lease, in the same millisecond

    assert _TWO.worker_of(before) == 1
    assert {_TWO.worker_of(code) for code in after} == {0}
    assert min(after) > before


def test_an_answer_that_was_lost_costs_a_number_and_no_code(world: _World) -> None:
    minter = world.process()
    before = minter.codes(1)
    world.clocks.pass_(LEASE_MS)
    world.numbers.loses_answers = True
    with pytest.raises(StoreUnavailable):
        minter.codes(1)
    world.numbers.loses_answers = False

    after = minter.codes(1)

    assert after > before
    assert DEFAULT_LAYOUT.worker_of(after[0]) == 1


def test_a_clock_that_is_corrected_a_little_makes_no_code_smaller(world: _World) -> None:
    minter = world.process()
    before = minter.codes(3)
    world.clocks.set_back(AHEAD_MS)
    world.clocks.machine.advance(seconds=10)  # the estimate is old: the store is asked
    after = minter.codes(3)
    assert min(after) > max(before)
    assert world.clocks.paused_ms == 0


def test_a_clock_that_was_set_back_a_few_seconds_is_waited_for(world: _World) -> None:
    minter = world.process()
    before = minter.codes(3)
    world.clocks.set_back(PATIENCE_MS)
    world.clocks.machine.advance(seconds=10)
    after = minter.codes(3)
    assert min(after) > max(before)
    assert world.clocks.paused_ms == PATIENCE_MS - AHEAD_MS


def test_a_clock_that_was_set_back_far_is_an_error_that_passes(world: _World) -> None:
    minter = world.process()
    before = minter.codes(3)
    world.clocks.set_back(3_600_000)
    world.clocks.machine.advance(seconds=10)
    with pytest.raises(ClockSetBack, match="is 3600 s behind the newest codes") as told:
        minter.codes(3)
    assert (told.value.retry_after_s, told.value.retryable) == (3600, True)
    assert world.clocks.paused_ms == 0

    world.clocks.pass_(3_600_000)
    assert min(minter.codes(3)) > max(before)


def test_a_clock_that_stands_still_is_not_waited_for_without_end(world: _World) -> None:
    minter = world.process()
    minter.codes(1)
    world.clocks.set_back(PATIENCE_MS)
    world.clocks.machine.advance(seconds=10)
    world.clocks.pass_ = lambda milliseconds: None  # type: ignore[method-assign]
    with pytest.raises(ClockSetBack):
        minter.codes(1)
    assert world.clocks.paused_ms < PATIENCE_MS


def test_a_restart_after_the_clock_was_set_back_mints_nothing_twice(world: _World) -> None:
    before = world.process().codes(500)
    world.clocks.set_back(60)

    after = world.process().codes(500)

    assert not {*before} & {*after}
    assert world.clocks.paused_ms == 0


def test_a_restart_waits_for_the_times_that_nobody_had(world: _World) -> None:
    short_ms = 2_000
    before = [c for _ in range(2) for c in world.process(_TWO, lease_ms=short_ms).codes(500)]
    world.clocks.set_back(1_000)

    again = world.process(_TWO, lease_ms=short_ms)
    after = again.codes(500)

    assert world.clocks.paused_ms == 1_000 + short_ms - AHEAD_MS
    assert not {*before} & {*after}
    assert min(_times(again, after)) == START_MS + short_ms


def test_a_restart_is_refused_where_all_numbers_are_far_ahead(world: _World) -> None:
    before = [code for _ in range(2) for code in world.process(_TWO).codes(500)]
    world.clocks.set_back(3_600_000)
    again = world.process(_TWO)
    for _ in range(3):
        with pytest.raises(ClockSetBack, match="is 3610 s behind the newest codes"):
            again.codes(500)
    assert len(world.numbers.leases) == 3  # asking again does not push the end further away

    world.clocks.pass_(3_610_000)
    assert not {*before} & {*again.codes(500)}


def test_a_time_that_the_layout_has_no_codes_for_is_an_error_of_configuration(
    world: _World,
) -> None:
    with pytest.raises(ConfigurationError, match="in the layout 30/6/6"):
        world.process(CodeLayout(time_bits=30)).codes(1)
    world.clocks.store.now_ms = 0
    with pytest.raises(ConfigurationError, match="in the layout 41/6/6"):
        world.process().codes(1)


def test_a_fork_holds_nothing_of_its_parent(world: _World, monkeypatch: pytest.MonkeyPatch) -> None:
    minter = world.process()
    before = minter.codes(1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    after = minter.codes(1)
    assert [DEFAULT_LAYOUT.worker_of(code) for code in before + after] == [0, 1]
    assert after > before


def test_threads_of_a_process_get_no_code_twice(world: _World) -> None:
    minter = world.process()
    found: list[tuple[int, ...]] = []
    threads = [
        threading.Thread(target=lambda: found.extend(minter.codes(97) for _ in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({code for codes in found for code in codes}) == 4 * 20 * 97


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("mint"), st.integers(0, 3), st.integers(1, 1_000)),
        st.tuples(st.just("restart"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("pass"), st.just(0), st.integers(1, 2 * LEASE_MS)),
        st.tuples(st.just("set back"), st.just(0), st.integers(1, 2 * LEASE_MS)),
        st.tuples(st.just("freeze"), st.integers(0, 3), st.integers(1, 2 * LEASE_MS)),
    ),
    max_size=60,
)


@given(steps=_STEPS, worker_bits=st.integers(1, 3))
def test_no_two_processes_mint_the_same_code_whatever_happens(
    steps: list[tuple[str, int, int]], worker_bits: int
) -> None:
    world = _World()
    layout = CodeLayout(worker_bits=worker_bits, sequence_bits=4)
    minters = [world.process(layout) for _ in range(4)]
    newest = [-1] * 4
    minted: set[int] = set()
    for act, who, much in steps:
        if act == "pass":
            world.clocks.pass_(much)
        elif act == "set back":
            world.clocks.set_back(much)
        elif act == "freeze":  # its clock falls behind: it believes in an hour that is over
            world.clocks.store.advance(milliseconds=much)
        elif act == "restart":
            minters[who], newest[who] = world.process(layout), -1
        else:
            try:
                codes = minters[who].codes(much)
            except (ClockSetBack, LimitExceeded):
                continue
            assert len(codes) == much
            assert list(codes) == sorted(codes)
            assert codes[0] > newest[who]
            assert minted.isdisjoint(codes)
            newest[who] = codes[-1]
            minted.update(codes)
