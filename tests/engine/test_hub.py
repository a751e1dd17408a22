"""The hub: a poll asks where something may be, and nothing that happens meanwhile is missed."""

from dataclasses import replace

import pytest

from conductor_py.engine.tasks.hub import Candidate, Hub
from conductor_py.ports.permits import task_limit
from conductor_py.ports.queues import Poll, PollReply
from tests.conformance.stores import (
    Clock,
    Store,
    a_poll,
    an_id,
    completed,
    memory_store,
    offering,
)

SHARDS = ("s0",)
AWAY = 1
"""The partition that has something."""


class _Polled:
    """A hub over two partitions under a clock that stands, so that it never looks around again."""

    def __init__(self) -> None:
        self.store: Store = memory_store(Clock(), partitions=2)
        clock = self.store.clock
        self.hub = Hub(
            self.store.queues, self.store.wakeups, lambda _: clock(), lambda: clock() / 1000
        )
        self.hub.candidates(("task", ""), SHARDS)

    def candidates(self) -> dict[int, Candidate]:
        return {one.partition: one for one in self.hub.candidates(("task", ""), SHARDS)}

    def poll(self, candidate: Candidate, **more: object) -> PollReply:
        poll: Poll = replace(a_poll(), shards=SHARDS, **more)  # type: ignore[arg-type]
        return self.store.queues.poll(candidate.partition, poll)

    def asked(self, candidate: Candidate, reply: PollReply) -> None:
        self.hub.asked(("task", ""), candidate, reply)


@pytest.fixture
def polled() -> _Polled:
    return _Polled()


def test_partition_whose_poll_stopped_at_its_bytes_is_asked_again_at_once(polled: _Polled) -> None:
    polled.store.start(an_id(1, AWAY), offering(3))
    candidate = polled.candidates()[AWAY]
    reply = polled.poll(candidate, max_bytes=10)
    assert len(reply.claimed) == 1
    polled.asked(candidate, reply)
    assert AWAY in polled.candidates()


def test_partition_with_more_dead_entries_than_one_poll_looks_at_is_asked_again_at_once(
    polled: _Polled,
) -> None:
    dead = an_id(1, AWAY)
    polled.store.start(dead, offering(250))
    polled.store.commit(polled.store.sent(dead), completed())
    candidate = polled.candidates()[AWAY]
    polled.asked(candidate, polled.poll(candidate, count=1))
    again = polled.candidates()[AWAY]
    polled.asked(again, polled.poll(again, count=1))
    assert AWAY not in polled.candidates(), "nothing is left there"


def test_permit_that_comes_free_while_a_poll_is_answered_is_not_missed(polled: _Polled) -> None:
    polled.store.start(an_id(1, AWAY), offering(1, lim=1))
    candidate = polled.candidates()[AWAY]
    reply = polled.poll(candidate, shared=True)
    assert reply.short is not None
    polled.store.wakeups.wake("q:task")
    polled.asked(candidate, reply)
    assert AWAY in polled.candidates()


def test_partition_without_permits_is_not_asked_before_something_happens(polled: _Polled) -> None:
    polled.store.start(an_id(1, AWAY), offering(1, lim=1))
    candidate = polled.candidates()[AWAY]
    polled.asked(candidate, polled.poll(candidate, shared=True))
    assert AWAY not in polled.candidates()
    own = polled.store.permits.share(task_limit("task"), 1, AWAY, 1).own
    polled.store.permits.adjust(task_limit("task"), 1, [(own, "keep")])
    polled.store.wakeups.wake("q:task")
    candidate = polled.candidates()[AWAY]
    assert len(polled.poll(candidate, shared=True).claimed) == 1
