"""The listener of wake-ups lives through a lost connection, and then wakes everybody."""

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.wakeups import RedisWakeups
from tests.conftest import RealRedis
from tests.waiting import PATIENCE_S, until


def test_lost_connection_is_made_again_and_wakes_everybody(newest_redis: RealRedis) -> None:
    connection = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    namespace = Namespace("test")
    wakeups = RedisWakeups(connection, namespace)
    wakeups.ticket("q:task")
    until(lambda: connection.command("PUBLISH", namespace.channel, "q:task") == 1)
    until(lambda: wakeups.ticket("q:task") > wakeups.ticket("x:never-published"))
    seen = {topic: wakeups.ticket(topic) for topic in ("q:task", "x:never-published")}
    connection.command("CLIENT", "KILL", "TYPE", "pubsub")
    for topic, ticket in seen.items():
        assert wakeups.wait(topic, PATIENCE_S, ticket) > ticket
    until(lambda: connection.command("PUBLISH", namespace.channel, "q:task") == 1)
    wakeups.close()
    connection.close()


def test_listener_ends_when_closed(newest_redis: RealRedis) -> None:
    connection = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    wakeups = RedisWakeups(connection, Namespace("test"))
    wakeups.ticket("q:task")
    until(lambda: connection.command("PUBLISH", "test:wake", "q:task") == 1)
    wakeups.close()
    until(lambda: connection.command("PUBLISH", "test:wake", "q:task") == 0)
    assert wakeups.wait("q:other", 3_600, 99) <= 99
    connection.close()
