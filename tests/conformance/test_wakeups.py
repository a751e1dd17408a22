"""What `Wakeups` promises, on every store: what became ready is published."""

import itertools
import threading
from dataclasses import replace
from typing import Any

from conductor_py.ports.store import Effect, Offer
from conductor_py.ports.wakeups import KINDS
from tests.conformance.stores import (
    NOW,
    RESPONSE_MS,
    Store,
    an_id,
    completed,
    offering,
    running,
)
from tests.waiting import PATIENCE_S, until

BRIEFLY_S = 0.05
_numbers = itertools.count(1_000)


def listening(store: Store) -> None:
    """Wait until wake-ups arrive at all: a listener needs a moment to subscribe."""
    execution = an_id(999)
    store.start(execution, running())
    topic = f"x:{execution}"
    for kind in sorted(KINDS):  # the last one is heard when all are
        store.wakeups.ticket(f"{kind}:any")

    def heard() -> bool:
        seen = store.wakeups.ticket(topic)
        store.commit(store.sent(execution), running(answers=(("ping", b"1"),)))
        return store.wakeups.wait(topic, BRIEFLY_S, seen) > seen

    until(heard)


def all_heard(store: Store) -> None:
    """Wait until everything that was published has arrived: what is published now comes last."""
    seen, number = store.wakeups.ticket("e:0"), next(_numbers)
    store.start(an_id(number), running(effects=(Effect(id=f"marker {number}", document=b""),)))
    assert woken(store, "e:0", seen)


def woken(store: Store, topic: str, seen: int) -> bool:
    return store.wakeups.wait(topic, PATIENCE_S, seen) > seen


def test_offered_attempt_wakes_its_queue(store: Store) -> None:
    listening(store)
    seen, other = store.wakeups.ticket("q:task"), store.wakeups.ticket("q:other")
    store.started()
    assert woken(store, "q:task", seen)
    all_heard(store)
    assert store.wakeups.wait("q:other", BRIEFLY_S, other) == other


def test_delayed_entry_wakes_nobody(store: Store) -> None:
    listening(store)
    seen, delayed = store.wakeups.ticket("q:task"), store.wakeups.ticket("q:delayed")
    offer = Offer(seq=1, queue="delayed", shard="s0", score=1, due_ms=NOW + 10)
    store.start(an_id(1), replace(offering(), offers=(offer, *offering().offers)))
    assert woken(store, "q:task", seen)
    all_heard(store)
    assert store.wakeups.ticket("q:delayed") == delayed


def test_freed_permit_wakes_its_queue(store: Store) -> None:
    listening(store)
    seen = store.wakeups.ticket("q:task")
    execution = store.started(count=2, lim=1)
    (task,) = store.poll()
    assert woken(store, "q:task", seen)
    all_heard(store)
    seen = store.wakeups.ticket("q:task")
    store.report(execution, 1, task.claim)
    assert woken(store, "q:task", seen)


def test_unparked_entries_wake_their_queue(store: Store) -> None:
    listening(store)
    seen = store.wakeups.ticket("q:task")
    execution = store.started()
    store.commit(store.sent(execution), replace(running(), status="PAUSED"))
    store.poll()
    assert woken(store, "q:task", seen)
    all_heard(store)
    seen = store.wakeups.ticket("q:task")
    store.commit(store.sent(execution), running(unpark=True))
    assert woken(store, "q:task", seen)


def test_answer_wakes_its_operation_and_execution(store: Store) -> None:
    listening(store)
    execution = store.started()
    loaded = store.sent(execution)
    topics = (f"o:op/{NOW}", f"x:{execution}")
    seen = [store.wakeups.ticket(topic) for topic in topics]
    store.commit(loaded, running(answers=((f"op/{NOW}", b"1"),)))
    assert all(woken(store, *pair) for pair in zip(topics, seen, strict=True))


def test_end_of_an_execution_wakes_who_waits_for_it(store: Store) -> None:
    listening(store)
    execution = store.started()
    loaded = store.sent(execution)
    topic = f"x:{execution}"
    seen = store.wakeups.ticket(topic)
    heard: list[bool] = []
    waiter = threading.Thread(target=lambda: heard.append(woken(store, topic, seen)))
    waiter.start()
    store.commit(loaded, completed())
    waiter.join(2 * PATIENCE_S)
    assert heard == [True]


def test_ordered_effect_wakes_the_relay_of_its_partition(store: Store) -> None:
    listening(store)
    seen = store.wakeups.ticket("e:0")
    store.start(an_id(1), running(effects=(Effect(id="a", document=b""),)))
    assert woken(store, "e:0", seen)


def test_what_was_published_between_looking_and_waiting_is_not_missed(store: Store) -> None:
    listening(store)
    seen = store.wakeups.ticket("q:task")
    store.started()
    until(lambda: store.wakeups.ticket("q:task") > seen, what="the wake-up")
    assert woken(store, "q:task", seen)


def test_closing_wakes_everybody(store: Store) -> None:
    listening(store)
    seen = store.wakeups.ticket("q:task")
    waiter = threading.Thread(target=store.wakeups.wait, args=("q:task", PATIENCE_S * 10, seen))
    waiter.start()
    store.wakeups.close()
    waiter.join(PATIENCE_S)
    assert not waiter.is_alive()


def test_poll_and_extend_wake_nobody(store: Store) -> None:
    listening(store)
    first = store.wakeups.ticket("q:task")
    execution = store.started()
    assert woken(store, "q:task", first)
    all_heard(store)
    topics = ("q:task", f"x:{execution}")
    seen = [store.wakeups.ticket(topic) for topic in topics]
    (task,) = store.poll()
    store.clock.advance(RESPONSE_MS - 1)
    store.queues.extend(execution, 1, task.claim, "w", 0, None)
    all_heard(store)
    assert [store.wakeups.ticket(topic) for topic in topics] == seen


def test_whoever_waits_for_several_topics_is_woken_by_one(store: Store) -> None:
    listening(store)
    seen = {topic: store.wakeups.ticket(topic) for topic in ("q:other", "q:task")}
    store.started()
    store.wakeups.wait_any(seen, PATIENCE_S)
    assert store.wakeups.ticket("q:task") > seen["q:task"]
    all_heard(store)
    store.wakeups.wait_any({"q:other": seen["q:other"]}, BRIEFLY_S)
    assert store.wakeups.ticket("q:other") == seen["q:other"]


def test_family_of_queues_is_woken_by_each_of_them(store: Store) -> None:
    listening(store)
    family, other = store.wakeups.ticket("q:HTTP#"), store.wakeups.ticket("q:HTTP")
    offer = Offer(seq=1, queue="HTTP#charge", shard="s0", score=1)
    store.start(an_id(1), replace(offering(), offers=(offer, *offering().offers)))
    assert woken(store, "q:HTTP#", family)
    all_heard(store)
    assert store.wakeups.ticket("q:HTTP") == other


def test_process_wakes_those_who_wait_in_it(store: Store) -> None:
    waiting = store.wakeups.ticket("w:mine")
    heard: list[bool] = []
    waiter = threading.Thread(target=lambda: heard.append(woken(store, "w:mine", waiting)))
    waiter.start()
    store.wakeups.wake("w:mine")
    waiter.join(2 * PATIENCE_S)
    assert heard == [True]


class _Turns:
    """Threads that wait for a turn, one after the other, for a topic."""

    def __init__(self, store: Store, topic: str) -> None:
        self.wakeups, self.topic, self.woken = store.wakeups, topic, dict[int, bool]()
        self.threads: list[threading.Thread] = []
        self.seen = self.wakeups.ticket(topic)

    def join(self) -> None:
        """Let one more wait, from when it does."""
        number = len(self.threads)
        thread = threading.Thread(target=self._wait, args=(number,))
        self.threads.append(thread)
        thread.start()
        until(lambda: self._length() == number + 1, what="another who waits")

    def _wait(self, number: int) -> None:
        wait = self.wakeups.wait_turn
        self.woken[number] = wait(self.topic, 10 * PATIENCE_S, self.seen)

    def _length(self) -> int:
        held: Any = self.wakeups
        turns = held._taking_turns if hasattr(held, "_taking_turns") else held._space.turns
        return len(turns.get(self.topic, ()))


def test_what_is_published_wakes_who_came_last_for_a_turn_and_everybody_else_who_waits(
    store: Store,
) -> None:
    listening(store)
    turns = _Turns(store, "q:task")
    for _ in range(3):
        turns.join()
    beside = threading.Thread(target=woken, args=(store, "q:task", turns.seen))
    beside.start()
    store.started()
    until(lambda: turns.woken == {2: True})
    beside.join(2 * PATIENCE_S)
    assert not beside.is_alive()
    all_heard(store)
    assert turns.woken == {2: True}
    store.wakeups.wake_one("q:task")
    until(lambda: turns.woken == {2: True, 1: True})
    store.wakeups.close()
    until(lambda: turns.woken == {2: True, 1: True, 0: True})


def test_who_would_wait_for_a_turn_at_what_was_published_already_does_not(store: Store) -> None:
    listening(store)
    seen = store.wakeups.ticket("q:task")
    store.started()
    assert woken(store, "q:task", seen)
    assert store.wakeups.wait_turn("q:task", PATIENCE_S * 10, seen)
    seen = store.wakeups.ticket("q:task")
    assert not store.wakeups.wait_turn("q:task", BRIEFLY_S, seen)
    store.wakeups.wake_one("q:task")  # nobody waits any more


def test_many_who_wait_are_woken_each_by_its_own_topic_and_all_at_the_end(store: Store) -> None:
    listening(store)
    wakeups = store.wakeups
    woken: dict[int, int] = {}

    def wait(number: int) -> None:
        topic = f"q:t{number % 3}"
        woken[number] = wakeups.wait(topic, PATIENCE_S, wakeups.ticket(topic))

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()

    def first_are_woken() -> bool:
        wakeups.wake("q:t0")
        return len(woken) == 3

    until(first_are_woken, PATIENCE_S)
    assert sorted(woken) == [0, 3, 6]
    wakeups.close()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(woken) == 9
