"""Cluster discipline: every script stays inside the slot of its partition."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from conductor_py.adapters.redis.connection import Connection
from conductor_py.errors import StoreFailure
from conductor_py.ports.admission import Admission
from conductor_py.ports.queues import LeasedRate
from conductor_py.ports.store import Child, Effect, Message
from tests.conformance.stores import (
    LEASE_MS,
    RESPONSE_MS,
    Clock,
    Store,
    a_poll,
    an_id,
    completed,
    header,
    offering,
    redis_store,
    running,
)
from tests.services import NEWEST_REDIS, absent
from tests.services.cache import Unobtainable
from tests.services.redis_groups import OWN_OPTIONS, RedisNode
from tests.waiting import PATIENCE_S, until

PARTITION = 1


@pytest.fixture(scope="module")
def cluster(redis_servers: object) -> Iterator[str]:
    """One server that owns all slots."""
    try:
        node = RedisNode(NEWEST_REDIS, "--cluster-enabled", "yes", *OWN_OPTIONS).start()
    except Unobtainable as error:
        absent(str(error))
    connection = Connection(node.url, socket_timeout_s=PATIENCE_S)
    try:
        connection.command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        until(lambda: b"cluster_state:ok" in connection.command("CLUSTER", "INFO"))
        yield node.url
    finally:
        connection.close()
        node.stop()


@pytest.fixture
def store(cluster: str) -> Iterator[Store]:
    store = redis_store(cluster, Clock(), partitions=2, first_line="#!lua\n")
    assert store.connection is not None
    yield store
    store.connection.command("FLUSHALL")
    store.connection.close()


def test_key_of_another_slot_is_refused_by_this_server(cluster: str) -> None:
    script = "#!lua\nreturn redis.call('SET', '{b}x', 1)"
    with pytest.raises(StoreFailure, match="same slot"):
        Connection(cluster, socket_timeout_s=PATIENCE_S).command("EVAL", script, 1, "{a}x")


def test_life_of_an_execution_stays_in_its_slot(store: Store) -> None:
    execution = store.started(count=3, lim=5, rl=9, rw=1_000)
    (first, second, _) = store.poll(poll_name="task")
    store.queues.extend(execution, 2, second.claim, "w", 0, b"{}")
    loaded = store.report(execution, 1, first.claim).loaded
    assert loaded is not None
    child = Child(
        home="s0", execution=an_id(50), name="sub", generation=1, fields={"h": header()}, event=b"s"
    )
    store.plans.put(0, "p1", b"{}", {"t1": b'[">ao r:t1","j:x"]'})
    changes = running(
        children=(child,),
        messages=(Message(execution=an_id(50), event=b"m"),),
        effects=(Effect(id="x", document=b"{}"),),
        answers=(("o", b"1"),),
        plans=("p1",),
        own_events=(b"continue",),
        due_ms=1,
    )
    more = store.commit(loaded, changes).more
    assert more is not None
    store.executions.renew(execution, "d", LEASE_MS)
    store.clock.advance(RESPONSE_MS)
    due = store.timers.claim_due(0, "s0", 10, "d", LEASE_MS)
    assert len(due) == 2
    (late,) = (each for each in due if each.execution == execution)
    version = store.commit(late, completed(ended=(1, 2, 3))).version
    assert store.executions.load(execution, ["h", ">a r:t1"]) is not None
    store.reader.append_log(execution, 1, "line", 1)
    assert len(store.outbox.take(0, 10, 1_000)) == 1
    assert store.outbox.confirm(0, [("x", more.version)]) == 1
    assert store.reader.remove(execution, version).value == "OK"
    assert store.plans.collect(0, ("p1",), 1) == 1


def test_limits_over_partitions_keep_to_the_slots_of_their_homes(store: Store) -> None:
    name = "t:task"
    store.start(an_id(1, PARTITION), offering(3, lim=2, rl=9, rw=1_000))
    shared = store.permits.share(name, 2, PARTITION, 2)
    for mode in ("keep", "look"):
        (own,) = store.permits.adjust(name, 2, [(shared.own, mode)])
        assert own is not None
        assert own.number == 2
    granted, _, now = store.permits.lease_rate("task", (9, 1_000), 2, "a", 1_000)
    leased = LeasedRate(definition="task", claims=granted, until_ms=now + 1_000)
    poll = replace(a_poll(), shared=True, leased=leased)
    assert len(store.queues.poll(PARTITION, poll).claimed) == 2
    store.permits.settle_rate("task", "a", granted, 2)
    (own,) = store.permits.adjust("w:k", 2, [(shared.own, "yield")])
    assert own is not None
    assert store.queues.waiting("task", ("s0",)) == {PARTITION}
    store.clock.advance(RESPONSE_MS)
    assert store.timers.due(("s0",)) == ((PARTITION, "s0"),)
    assert store.outbox.due() == ()
    asked = Admission(key="wf:k", limit=1, admitted=b"yes", shared=True)
    store.start(an_id(2, PARTITION), running(admission=asked))
    store.queues.record_poll("task", "", "w", ("s0",), 1)


def test_definitions_and_shards_are_in_the_first_partition(store: Store) -> None:
    assert store.metadata.put_workflow("wf", 1, b"{}", create=False)
    assert store.metadata.revision(PARTITION) == store.metadata.revision(0)
    assert store.metadata.workflows() == (("wf", 1, b"{}"),)
    assert tuple(store.shards.lease("a", (), 1_000, {})) == ("s0",)
    store.shards.sweep(("s0",), 1_000)
    assert store.shards.view().live == ("s0",)
    store.presence.put({"w": b"{}"}, 1_000)
    assert [sign.key for sign in store.presence.present()] == ["w"]
    store.shards.release("a")
