"""Servers that die between any two steps, over the scripts of a real Redis."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from conductor_py.adapters.memory.space import Execution
from conductor_py.adapters.redis.cache import RedisOutputCache
from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.events import RedisEventStore
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.metadata import RedisMetadataStore
from conductor_py.adapters.redis.outbox import RedisOutbox
from conductor_py.adapters.redis.plans import RedisPlanStore
from conductor_py.adapters.redis.queues import RedisTaskQueues
from conductor_py.adapters.redis.reader import RedisExecutionReader
from conductor_py.adapters.redis.schedules import RedisScheduleStore
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.adapters.redis.shards import RedisShardRegistry
from conductor_py.adapters.redis.store import RedisExecutionStore
from conductor_py.adapters.redis.timers import RedisTimers
from conductor_py.adapters.redis.touched import RedisTouchedTasks
from conductor_py.adapters.redis.wakeups import RedisWakeups
from conductor_py.codec.execution import load_header
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import FakeClock
from conductor_py.testing import adapters as kit
from tests.anomalies.test_atomicity import goes_on, outcome, play, told_once
from tests.anomalies.world import Killed, World
from tests.conftest import RealRedis
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.service

_STRIDE = 7
"""Each step of so many is cut in one run; the runs together cut all of them."""
_ADAPTERS: dict[str, Callable[..., Any]] = {
    "MemoryExecutionReader": RedisExecutionReader,
    "MemoryTaskQueues": RedisTaskQueues,
    "MemoryTimers": RedisTimers,
    "MemoryOutbox": RedisOutbox,
    "MemoryTouchedTasks": RedisTouchedTasks,
    "MemoryMetadataStore": RedisMetadataStore,
    "MemoryEventStore": RedisEventStore,
    "MemoryPlanStore": RedisPlanStore,
    "MemoryScheduleStore": RedisScheduleStore,
    "MemoryShardRegistry": RedisShardRegistry,
    "MemoryOutputCache": RedisOutputCache,
}


class RedisWorld(World):
    """The same servers over Redis, which is emptied first."""

    def __init__(
        self, connection: Connection, *, clock: FakeClock | None = None, **options: Any
    ) -> None:
        connection.command("FLUSHALL")
        self._connection = connection
        namespace = Namespace("test", 1)
        clock = clock or FakeClock()
        scripts = Scripts(connection, namespace, clock=clock)
        with ExitStack() as stack:
            for name, adapter in _ADAPTERS.items():
                made = partial(_over, scripts, adapter)
                stack.enter_context(patch.object(kit, name, made))
            stack.enter_context(
                patch.object(
                    kit,
                    "MemoryExecutionStore",
                    lambda _, **flags: RedisExecutionStore(scripts, **flags),
                )
            )
            stack.enter_context(
                patch.object(kit, "MemoryWakeups", lambda _: RedisWakeups(connection, namespace))
            )
            super().__init__(clock=clock, **options)

    @property
    def stored(self) -> list[Execution]:
        names = [name.decode() for name in self._connection.command("KEYS", "*exec:*")]
        return [self._read(ExecutionId(name.rpartition("exec:")[2])) for name in sorted(names)]

    def close(self) -> None:
        for server in self.servers:
            server.ports.wakeups.close()

    def _read(self, execution: ExecutionId) -> Execution:
        found = self.servers[1].ports.reader.snapshot(execution)
        assert found is not None
        header = load_header(found[1]["h"])
        return Execution(
            id=execution,
            version=found[0],
            terminal=header.status.terminal,
            generation=header.generation,
            home=header.home,
            begun="",
            last="",
            status=header.status.value,
            fields=dict(found[1]),
        )

    def entries(self) -> list[str]:
        sizes = self.servers[1].engine.tasks.queue_sizes(None)
        return [name for name, size in sizes.items() for _ in range(size)]


def _over(scripts: Scripts, adapter: Callable[..., Any], _: object, **flags: Any) -> object:
    return adapter(scripts, **flags)


@pytest.fixture
def connection(newest_redis: RealRedis) -> Iterator[Connection]:
    opened = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    yield opened
    opened.close()


@pytest.mark.parametrize("first", range(1, _STRIDE + 1))
def test_over_redis_a_server_that_dies_leaves_what_another_finishes_once(
    connection: Connection, first: int
) -> None:
    with closing(RedisWorld(connection)) as whole:
        told_once(whole.servers[0])
        before = whole.steps(0)
        play(whole, 0)
        steps = whole.steps(0) - before
        whole.pass_time(1, seconds=31)
        expected = outcome(whole)
    assert expected["root"]["status"] == "COMPLETED"
    for step in range(first, steps + 1, _STRIDE):
        for after in (False, True):
            with closing(RedisWorld(connection)) as world:
                told_once(world.servers[0])
                world.kill(0, step, after=after)
                with pytest.raises(Killed):
                    play(world, 0)
                goes_on(world)
                assert outcome(world) == expected, f"killed at step {step}, after it: {after}"
