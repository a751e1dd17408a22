"""What `ClusterConnection` promises, against three real primaries with a replica each."""

import threading
import time
from collections.abc import Iterator

import pytest
from redis.crc import key_slot

from conductor_py.adapters.redis.cluster import ClusterConnection
from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.partitions import fix_partitions, partition_warnings
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.adapters.redis.wakeups import RedisWakeups
from conductor_py.errors import ConfigurationError, StoreUnavailable
from tests.conftest import RealRedis
from tests.services import absent
from tests.services.cache import Unobtainable
from tests.services.redis_groups import RedisCluster, RedisNode
from tests.waiting import until

PARTITIONS = 16
KEYS = [f"{{t:{number}}}:x" for number in range(PARTITIONS)]
pytestmark = pytest.mark.thorough(target="versions")


@pytest.fixture(scope="module")
def servers(redis_servers: object) -> Iterator[RedisCluster]:
    """A cluster whose nodes may be killed."""
    try:
        cluster = RedisCluster().start()
    except Unobtainable as error:
        absent(str(error))
    yield cluster
    cluster.stop()


@pytest.fixture
def cluster(servers: RedisCluster) -> RedisCluster:
    """The cluster, whole and empty."""
    servers.heal()
    servers.flush()
    return servers


@pytest.fixture
def connection(cluster: RedisCluster) -> Iterator[ClusterConnection]:
    made = _connected(cluster)
    yield made
    made.close()


def _connected(cluster: RedisCluster, patience_s: float = 10.0) -> ClusterConnection:
    seeds = [node.address for node in cluster.nodes]
    return ClusterConnection(
        "redis://127.0.0.1", seeds, home=KEYS[0], socket_timeout_s=2, patience_s=patience_s
    )


def _slot(key: str) -> int:
    return int(key_slot(key.encode()))


def test_every_key_goes_to_the_node_that_has_its_slot(
    cluster: RedisCluster, connection: ClusterConnection
) -> None:
    for key in KEYS:
        connection.command("SET", key, key)
    assert {cluster.owner(_slot(key)).port for key in KEYS} == {
        node.port for node in cluster.primaries()
    }
    assert connection.pipeline([("GET", key) for key in KEYS]) == [key.encode() for key in KEYS]
    assert connection.command("TIME")


def test_one_seed_is_enough_and_a_dead_one_does_no_harm(cluster: RedisCluster) -> None:
    seeds = [("127.0.0.1", 1), cluster.nodes[-1].address]
    connection = ClusterConnection("redis://127.0.0.1", seeds, home=KEYS[0])
    connection.command("SET", KEYS[1], 1)
    assert connection.command("GET", KEYS[1]) == b"1"
    connection.close()


def test_slot_that_has_moved_is_found_by_every_call(
    cluster: RedisCluster, connection: ClusterConnection
) -> None:
    key = KEYS[2]
    connection.command("TIME")
    source, target = _move(cluster, key)
    assert connection.call("INCR", key, again=False) == 1
    assert target.ask("GET", key) == b"1"
    assert connection.reconnects > 0
    _move(cluster, key, back_to=source)
    # Its key stays behind, as it would not after a real move.
    assert connection.pipeline([("GET", other) for other in KEYS]) == [None] * PARTITIONS


def test_what_goes_to_several_nodes_outlives_broken_connections(
    cluster: RedisCluster, connection: ClusterConnection
) -> None:
    commands = [("SET", key, 1) for key in KEYS]
    assert connection.each(commands) == [b"OK"] * PARTITIONS
    for node in cluster.nodes:
        node.ask("CLIENT", "KILL", "TYPE", "normal")
    assert connection.each(commands) == [b"OK"] * PARTITIONS


def test_slot_in_the_middle_of_a_move_is_left_alone(
    cluster: RedisCluster, connection: ClusterConnection
) -> None:
    scripts = Scripts(connection, Namespace("t", PARTITIONS))
    put = "return redis.call('SET', KEYS[1] .. 'new', 1)"
    key = KEYS[3]
    source = cluster.owner(_slot(key))
    target = next(node for node in cluster.primaries() if node is not source)
    names = {node.port: node.ask("CLUSTER", "MYID") for node in (source, target)}
    connection.command("SET", key, 1)
    target.ask("CLUSTER", "SETSLOT", _slot(key), "IMPORTING", names[source.port])
    source.ask("CLUSTER", "SETSLOT", _slot(key), "MIGRATING", names[target.port])
    try:
        with pytest.raises(StoreUnavailable, match="is being moved"):
            connection.call("EVAL", put, 1, scripts.prefix(3))
        with pytest.raises(StoreUnavailable):
            scripts.run("raise_revision", 3, (5,))
        assert target.ask("DBSIZE") == 0, "something went there"
    finally:
        for node in (source, target):
            node.ask("CLUSTER", "SETSLOT", _slot(key), "STABLE")
    assert connection.call("EVAL", put, 1, scripts.prefix(3)) == b"OK"


def test_calls_outlast_the_failover_of_a_primary(
    cluster: RedisCluster, connection: ClusterConnection
) -> None:
    for key in KEYS:
        connection.command("SET", key, 1)
    until(cluster.is_replicated)
    cluster.owner(_slot(KEYS[0])).kill()
    began = time.monotonic()
    assert connection.pipeline([("GET", key) for key in KEYS]) == [b"1"] * PARTITIONS
    assert connection.command("INCR", KEYS[0]) == 2
    assert time.monotonic() - began < 10


def test_what_must_not_be_repeated_is_carried_out_at_most_once_in_a_failover(
    cluster: RedisCluster, connection: ClusterConnection
) -> None:
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            try:
                connection.call("INCR", KEYS[0], again=False)
            except StoreUnavailable:
                continue
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    until(lambda: counted[0] > 100)
    cluster.owner(_slot(KEYS[0])).kill()
    until(lambda: len(cluster.primaries()) == 3)
    before = counted[0]
    until(lambda: counted[0] > before)
    stop.set()
    thread.join()
    # A reply may be lost with the primary, and its last writes; nothing is done twice.
    assert int(connection.command("GET", KEYS[0])) <= counted[0] + 1


def test_partitions_of_the_others_answer_while_a_primary_is_away(cluster: RedisCluster) -> None:
    connection = _connected(cluster, patience_s=0.1)
    scripts = Scripts(connection, Namespace("t", PARTITIONS))
    assert scripts.run_each("look_for_due", ("", "outbox")) == [[]] * PARTITIONS
    dead = cluster.owner(_slot(KEYS[0]))
    gone = {at for at, key in enumerate(KEYS) if cluster.owner(_slot(key)) is dead}
    dead.kill()
    replies = scripts.run_each("look_for_due", ("", "outbox"))
    assert {at for at, reply in enumerate(replies) if reply is None} == gone
    with pytest.raises(StoreUnavailable):
        connection.call("GET", KEYS[0], again=False)
    began = time.monotonic()
    for at in set(range(PARTITIONS)) - gone:
        connection.command("SET", KEYS[at], 1)
    assert time.monotonic() - began < 1
    connection.close()


def test_wake_up_is_heard_whichever_node_publishes_and_whichever_dies(
    cluster: RedisCluster, connection: ClusterConnection
) -> None:
    namespace = Namespace("t", PARTITIONS)
    wakeups = RedisWakeups(connection, namespace)
    wakeups.ticket("q:task")
    wakeups.tickets("q:task")

    def heard(node: RedisNode, partition: int) -> bool:
        before, apart = wakeups.ticket("q:task"), wakeups.tickets("q:task")
        node.ask("PUBLISH", namespace.channel_of("q", partition), "q:task")
        if wakeups.wait("q:task", 1, before) == before:
            return False
        after = wakeups.tickets("q:task")
        return [at for at in range(PARTITIONS) if after[at] != apart[at]] == [partition]

    for at, node in enumerate(cluster.nodes):
        until(lambda node=node, at=at: heard(node, at), 10)  # type: ignore[misc]
    for node in cluster.primaries()[:1]:
        node.kill()
    until(lambda: len(cluster.primaries()) == 3)
    for at, node in enumerate(cluster.primaries()):
        until(lambda node=node, at=at: heard(node, at), 20)  # type: ignore[misc]
    wakeups.close()


def test_primary_without_a_replica_is_warned_of(
    cluster: RedisCluster, connection: ClusterConnection
) -> None:
    def is_warned_of() -> bool:
        return any("has no replica" in warning for warning in connection.check()[1])

    assert connection.check()[0] >= "6.2"
    until(lambda: not is_warned_of(), what="all nodes know of all replicas again")
    (replica, *_) = [node for node in cluster.nodes if node.ask("ROLE")[0] != b"master"]
    replica.kill()
    until(is_warned_of)


def test_redis_that_is_no_cluster_is_refused(newest_redis: RealRedis) -> None:
    node = RedisNode("valkey-newest", "--bind", "127.0.0.1", "--save", "").start()
    connection = ClusterConnection("redis://127.0.0.1", [node.address], home=KEYS[0])
    try:
        with pytest.raises(ConfigurationError, match="is no node of a cluster"):
            connection.check()
    finally:
        connection.close()
        node.stop()


def test_number_of_partitions_is_fixed_in_a_cluster_and_one_is_warned_of(
    connection: ClusterConnection,
) -> None:
    one = Namespace("single")
    fix_partitions(connection, one)
    (warning,) = partition_warnings(connection, one)
    assert "one node of the cluster does all the work" in warning
    assert partition_warnings(connection, Namespace("t", PARTITIONS)) == ()
    with pytest.raises(ConfigurationError):
        fix_partitions(connection, Namespace("single", 2))


def test_many_partitions_on_one_redis_are_warned_of(newest_redis: RealRedis) -> None:
    connection = Connection(newest_redis.url)
    assert partition_warnings(connection, Namespace("t")) == ()
    assert len(partition_warnings(connection, Namespace("t", 2))) == 1
    connection.close()


def _move(
    cluster: RedisCluster, key: str, back_to: RedisNode | None = None
) -> tuple[RedisNode, RedisNode]:
    """Give an empty slot to another primary; from whom, to whom."""
    source = cluster.owner(_slot(key))
    target = back_to or next(node for node in cluster.primaries() if node is not source)
    if back_to is not None:
        source.ask("FLUSHALL")
    name = target.ask("CLUSTER", "MYID")
    for node in (target, source, *cluster.primaries()):
        node.ask("CLUSTER", "SETSLOT", _slot(key), "NODE", name)
    until(lambda: cluster.owner(_slot(key)) is target)
    return source, target
