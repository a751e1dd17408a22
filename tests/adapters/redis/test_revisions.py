"""Revisions of definitions: every partition hears of a change, and no number means two things."""

from collections.abc import Iterator

import pytest

from tests.conformance.stores import Clock, Store, redis_store
from tests.conftest import RealRedis


@pytest.fixture
def store(newest_redis: RealRedis) -> Iterator[Store]:
    store = redis_store(newest_redis.url, Clock(), partitions=3)
    yield store
    assert store.connection is not None
    store.connection.close()


def _revisions(store: Store) -> list[int]:
    return [store.metadata.revision(partition) for partition in range(3)]


def _put_back(store: Store, partition: int, revision: int) -> None:
    """Let a partition have an older revision, as after a failover or when nobody told it."""
    assert store.connection is not None
    store.connection.command("SET", f"{{test:{partition}}}:meta:revision", revision)


def test_partition_that_was_not_told_of_a_change_is_told_later(store: Store) -> None:
    store.metadata.put_workflow("w", 1, b"{}", create=False)
    first = store.metadata.revision(0)
    store.metadata.put_workflow("w", 2, b"{}", create=False)
    assert store.metadata.retell() == 0
    _put_back(store, 2, first)
    assert store.metadata.retell() == 1
    assert len(set(_revisions(store))) == 1


def test_change_that_is_lost_makes_everybody_read_again(store: Store) -> None:
    store.metadata.put_workflow("w", 1, b"{}", create=False)
    kept = store.metadata.revision(0)
    store.metadata.put_workflow("w", 2, b"{}", create=False)
    lost = store.metadata.revision(0)
    _put_back(store, 0, kept)
    assert store.metadata.retell() == 3
    assert min(_revisions(store)) > lost
    assert len(set(_revisions(store))) == 1


def test_revision_that_was_lost_is_not_given_to_another_change(store: Store) -> None:
    store.metadata.put_workflow("w", 1, b"{}", create=False)
    kept = store.metadata.revision(0)
    store.metadata.put_workflow("w", 1, b'{"lost":1}', create=False)
    lost = store.metadata.revision(0)
    _put_back(store, 0, kept)
    store.clock.advance(2_000)
    store.metadata.put_workflow("w", 1, b'{"other":1}', create=False)
    assert store.metadata.revision(0) > lost


def test_one_partition_has_nobody_to_tell(newest_redis: RealRedis) -> None:
    store = redis_store(newest_redis.url, Clock())
    store.metadata.put_task("t", b"{}", must_exist=False)
    assert store.metadata.retell() == 0
    assert store.connection is not None
    store.connection.close()
