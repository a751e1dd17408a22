"""The Redis of the chaos program loses what a lost machine would lose, and no more."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from tests.chaos.store import ChaosStore
from tests.services import absent
from tests.services.cache import Unobtainable

pytestmark = [pytest.mark.service, pytest.mark.thorough(target="stories")]


@pytest.fixture(params=["always", "everysec"])
def store(request: pytest.FixtureRequest) -> Iterator[ChaosStore]:
    try:
        made = ChaosStore(request.param, random.Random(3))
    except Unobtainable as error:
        absent(str(error))
    yield made
    made.stop()


def test_what_is_left_after_a_crash_is_a_prefix_of_what_was_written(store: ChaosStore) -> None:
    written, end = 0, time.monotonic() + 1.5
    with store.client() as client:
        while time.monotonic() < end:
            written += 1
            client.rpush("numbers", written)
    restart = store.die()
    store.revive()

    with store.client() as client:
        left = [int(number) for number in client.lrange("numbers", 0, -1)]
    assert left == list(range(1, len(left) + 1))
    assert restart.killed_ms - 1_000 <= restart.kept_until_ms <= restart.killed_ms
    if restart.lost_bytes:
        assert len(left) < written
    else:
        assert len(left) == written


def test_always_loses_nothing(store: ChaosStore) -> None:
    with store.client() as client:
        always = client.config_get("appendfsync")["appendfsync"] == "always"
        client.set("a", 1)
    restart = store.die()
    store.revive()

    if always:
        assert restart.lost_bytes == 0
        with store.client() as client:
            assert client.get("a") == b"1"
