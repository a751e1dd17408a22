"""What `SentinelConnection` promises, with three real sentinels, a primary and a replica."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.sentinel import SentinelConnection, Watched, watched_of
from conductor_py.adapters.rq.connection import connect, queue_name
from conductor_py.adapters.rq.job import handle_with
from conductor_py.adapters.rq.queue import RqEffectQueue
from conductor_py.adapters.rq.worker import worker_of
from conductor_py.errors import ConfigurationError, StoreUnavailable
from tests.services import absent
from tests.services.cache import Unobtainable
from tests.services.redis_groups import WatchedRedis
from tests.waiting import until

pytestmark = pytest.mark.thorough(target="versions")


@pytest.fixture(scope="module")
def servers(redis_servers: object) -> Iterator[WatchedRedis]:
    try:
        watched = WatchedRedis().start()
    except Unobtainable as error:
        absent(str(error))
    yield watched
    watched.stop()


@pytest.fixture
def watched(servers: WatchedRedis) -> WatchedRedis:
    """Both servers up, one following the other."""
    servers.heal()
    return servers


def _place(watched: WatchedRedis, master: str = "") -> Watched:
    sentinels = tuple(node.address for node in watched.sentinels)
    return Watched(sentinels=sentinels, master=master or watched.master)


@pytest.fixture
def connection(watched: WatchedRedis) -> Iterator[SentinelConnection]:
    made = SentinelConnection(_place(watched), socket_timeout_s=2, patience_s=15)
    yield made
    made.close()


def test_calls_outlast_a_failover_and_go_to_the_new_primary(
    watched: WatchedRedis, connection: SentinelConnection
) -> None:
    connection.command("SET", "k", 1)
    until(watched.is_replicated)
    old = watched.primary()
    old.kill()
    assert connection.command("GET", "k") == b"1"
    assert connection.command("INCR", "k") == 2
    assert watched.primary() is not old
    assert connection.reconnects > 0
    old.start()  # believes for a moment that it is the primary still
    number = 2

    def follows() -> bool:
        nonlocal number
        number += 1
        assert connection.command("INCR", "k") == number
        return bool(old.ask("ROLE")[0] == b"slave")

    until(follows, what="the old primary follows")


def test_primary_that_was_demoted_is_left_at_once(
    watched: WatchedRedis, connection: SentinelConnection
) -> None:
    connection.command("SET", "k", 1)
    until(watched.is_replicated)
    old = watched.primary()
    watched.sentinels[0].ask("SENTINEL", "FAILOVER", watched.master)
    done = 1

    def moved() -> bool:
        nonlocal done
        done = connection.call("INCR", "k", again=True)
        return watched.primary() is not old

    until(moved)
    assert connection.command("GET", "k") == b"%d" % done


def test_name_that_no_sentinel_knows_is_said(watched: WatchedRedis) -> None:
    connection = SentinelConnection(_place(watched, master="other"), patience_s=0.2)
    with pytest.raises(StoreUnavailable, match="other"):
        connection.command("PING")
    connection.close()


def test_sentinels_that_are_not_there_are_said_and_one_of_them_is_enough(
    watched: WatchedRedis,
) -> None:
    nowhere = Watched(sentinels=(("127.0.0.1", 1),), master=watched.master)
    connection = SentinelConnection(nowhere, patience_s=0.2)
    with pytest.raises(StoreUnavailable, match="No sentinel says"):
        connection.command("PING")
    connection.close()
    one = Watched(sentinels=(("127.0.0.1", 1), watched.sentinels[0].address), master=watched.master)
    connection = SentinelConnection(one)
    assert connection.command("PING") == b"PONG"
    connection.close()


def test_what_is_wrong_with_the_deployment_is_warned_of(
    watched: WatchedRedis, connection: SentinelConnection
) -> None:
    assert not any("replica" in warning for warning in connection.check()[1])
    (replica,) = [server for server in watched.servers if server is not watched.primary()]
    replica.kill()
    until(lambda: any("no replica" in warning for warning in connection.check()[1]))


def test_listener_hears_the_primary(connection: SentinelConnection) -> None:
    from conductor_py.adapters.redis.keys import Namespace
    from conductor_py.adapters.redis.wakeups import RedisWakeups

    wakeups = RedisWakeups(connection, Namespace("t"))
    wakeups.ticket("q:task")
    until(lambda: connection.command("PUBLISH", "t:wake:q", "q:task") == 1)
    wakeups.close()


def test_job_queue_goes_where_the_primary_is(watched: WatchedRedis) -> None:
    queue = RqEffectQueue(_place(watched).url, namespace="n", lease_ms=30_000)
    queue.enqueue(3, ["a", "b"])
    assert _worked_off(watched) == [(3, ["a", "b"])]
    watched.primary().kill()

    def enqueued() -> bool:
        with suppress(StoreUnavailable):
            queue.enqueue(4, ["c"])
            return True
        return False

    until(enqueued)
    assert _worked_off(watched) == [(4, ["c"])]


def _worked_off(watched: WatchedRedis) -> list[tuple[int, list[str]]]:
    """What a worker finds in the queue."""
    found: list[tuple[int, list[str]]] = []
    handle_with(lambda partition, ids: found.append((partition, list(ids))))
    client = connect(_place(watched).url, timeout_s=None)
    worker_of(queue_name("n"), client).work(burst=True, logging_level="WARNING")
    client.close()
    return found


def test_url_of_a_watched_redis_says_all_of_it() -> None:
    place = Watched(
        sentinels=(("a", 1), ("::1", 2)),
        master="m n",
        user="u",
        password="p/@:",
        sentinel_password="x?/y",
        database=3,
        ssl=True,
        ca_file="/c a&.pem",
    )
    for said in (place, replace(place, sentinel_password=""), replace(place, ca_file="")):
        assert watched_of(said.url) == said
    for wrong in (
        "redis+sentinel://a:1",
        "redis+sentinel://",
        "redis://a:1/m",
        "redis+sentinel://a:1/m?x=y",
    ):
        with pytest.raises(ConfigurationError):
            watched_of(wrong)


def test_plain_connection_does_not_write_to_a_replica(watched: WatchedRedis) -> None:
    (replica,) = [server for server in watched.servers if server is not watched.primary()]
    connection = Connection(f"redis://127.0.0.1:{replica.port}")
    with pytest.raises(StoreUnavailable, match="read-only"):
        connection.command("SET", "k", 1)
    script = "return redis.call('SET', KEYS[1], 1)"
    with pytest.raises(StoreUnavailable, match="read-only"):
        connection.command("EVAL", script, 1, "k")
    connection.close()
