"""Effects that go from thread to thread within a process."""

import threading
from collections.abc import Sequence

import pytest

from conductor_py.adapters.threads.effect_queue import ThreadEffectQueue
from conductor_py.errors import StoreUnavailable
from tests.waiting import until


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


class Carrier:
    """Carries out on a thread, when it is let; `got` has the ids."""

    def __init__(self, effects: ThreadEffectQueue) -> None:
        self.got: list[tuple[int, tuple[str, ...]]] = []
        self.fails: list[Exception] = []
        self.stop = threading.Event()
        self._effects = effects
        self._thread = threading.Thread(target=effects.carry_out, args=(self.take, self.stop))

    def take(self, partition: int, ids: Sequence[str]) -> None:
        self.got.append((partition, tuple(ids)))
        if self.fails:
            raise self.fails.pop(0)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Let it end, and wait until it has."""
        self.stop.set()
        self._effects.close()
        if self._thread.ident is not None:
            self._thread.join()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def effects(clock: Clock) -> ThreadEffectQueue:
    return ThreadEffectQueue(lease_ms=30_000, monotonic=clock)


@pytest.fixture
def carrier(effects: ThreadEffectQueue):
    made = Carrier(effects)
    yield made
    made.end()


def test_a_batch_reaches_the_handler_as_one_call(
    effects: ThreadEffectQueue, carrier: Carrier
) -> None:
    effects.enqueue(3, ["a", "b"])
    carrier.begin()
    until(lambda: carrier.got == [(3, ("a", "b"))])


def test_batches_that_somebody_waits_for_go_first_but_not_for_ever(
    effects: ThreadEffectQueue, carrier: Carrier
) -> None:
    effects.enqueue(0, ["waits"])
    for number in range(6):
        effects.enqueue_first(0, [f"first-{number}"])

    carrier.begin()

    until(lambda: len(carrier.got) == 7)
    order = [ids[0] for _, ids in carrier.got]
    # The fifth in a row went behind the one that waited; the sixth began anew.
    assert order == ["first-5", "first-3", "first-2", "first-1", "first-0", "waits", "first-4"]


def test_there_is_room_until_a_few_batches_wait(effects: ThreadEffectQueue) -> None:
    rooms = []
    for number in range(9):
        rooms.append(effects.has_room())
        effects.enqueue(0, [str(number)])
    assert rooms == [True] * 8 + [False]


def test_a_batch_that_nobody_reached_within_its_lease_is_dropped(
    effects: ThreadEffectQueue, carrier: Carrier, clock: Clock
) -> None:
    effects.enqueue(0, ["late"])
    clock.now_s += 30.0
    effects.enqueue(0, ["in time"])

    carrier.begin()

    until(lambda: carrier.got)
    assert carrier.got == [(0, ("in time",))]


@pytest.mark.parametrize("error", [StoreUnavailable("away"), ValueError("broken")], ids=repr)
def test_a_batch_that_fails_does_not_stop_the_next(
    effects: ThreadEffectQueue, carrier: Carrier, error: Exception
) -> None:
    carrier.fails = [error]
    effects.enqueue(0, ["fails"])
    effects.enqueue(0, ["next"])

    carrier.begin()

    until(lambda: len(carrier.got) == 2)
    assert [ids for _, ids in carrier.got] == [("fails",), ("next",)]


def test_who_waits_for_a_batch_ends_when_it_is_closed(
    effects: ThreadEffectQueue, carrier: Carrier
) -> None:
    carrier.begin()
    carrier.end()  # returns
    effects.enqueue(0, ["too late"])
    assert carrier.got == []
