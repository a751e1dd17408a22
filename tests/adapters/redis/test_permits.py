"""Permits on Redis: what they cost, and what a partition that is away takes from the others."""

from collections.abc import Iterator

import pytest

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.permits import RedisPermits
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.engine.effects.shared_limits import SharedLimits
from conductor_py.ports.permits import Holding, task_limit
from tests.conftest import RealRedis
from tests.waiting import PATIENCE_S

LIMIT = task_limit("t")
HOLDERS = 24


@pytest.fixture
def scripts(newest_redis: RealRedis) -> Iterator[Scripts]:
    """The scripts of a namespace of many partitions on one server."""
    connection = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    yield Scripts(connection, Namespace("test", HOLDERS + 1))
    connection.close()


def test_asking_many_holders_is_one_round_trip(scripts: Scripts) -> None:
    permits = RedisPermits(scripts)
    _held_in_all(permits)
    limits = SharedLimits(permits)
    limits.obtain(HOLDERS, LIMIT, HOLDERS, 1)  # the server knows the scripts from here on
    _held_in_all(permits)
    before = scripts.connection.round_trips
    assert limits.obtain(HOLDERS, LIMIT, HOLDERS, 1).has_some
    assert scripts.connection.round_trips - before <= 4, "home, all the others, home, itself"


def _held_in_all(permits: RedisPermits) -> None:
    """Every partition but the last has a permit that it does not use."""
    (left,) = permits.adjust(
        LIMIT, HOLDERS, [(Holding(partition=HOLDERS, token=0, number=0), "give")]
    )
    assert left is not None
    permits.share(LIMIT, HOLDERS, HOLDERS, 0, [_nothing(HOLDERS, left.token)])
    for partition in range(HOLDERS):
        own = permits.share(LIMIT, HOLDERS, partition, 1).own
        permits.adjust(LIMIT, HOLDERS, [(own, "keep")])


def _nothing(partition: int, token: int) -> Holding:
    return Holding(partition=partition, token=token, number=0)


def test_server_that_has_forgotten_its_scripts_answers_for_every_partition(
    scripts: Scripts,
) -> None:
    permits = RedisPermits(scripts)
    scripts.connection.command("SCRIPT", "FLUSH")
    answers = permits.adjust(
        LIMIT, 1, [(_nothing(partition, 0), "look") for partition in (0, 1, 2)]
    )
    assert [answer.number for answer in answers if answer is not None] == [0, 0, 0]
