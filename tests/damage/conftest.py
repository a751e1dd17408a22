"""A server on the newest Redis, in which nothing is damaged yet."""

from collections.abc import Iterator

import pytest

from conductor_py.testing import FakeClock, MemoryEngine
from tests.conftest import RealRedis
from tests.damage.world import PREFIX, World, made


@pytest.fixture
def world(newest_redis: RealRedis) -> Iterator[World]:
    found = made(newest_redis.url)
    found.redis.delete(f"{PREFIX}damaged")
    yield found
    found.close()


@pytest.fixture
def server(world: World) -> MemoryEngine:
    return world.server


@pytest.fixture
def clock(world: World) -> FakeClock:
    return world.clock
