"""What `ShardRegistry` promises, on every store."""

from tests.conformance.stores import Store

LEASE_MS = 10_000


def lease(store: Store, server: str, *wanted: str) -> tuple[str, ...]:
    return store.shards.lease(server, wanted, LEASE_MS)


def test_servers_take_the_first_free_names_and_keep_them(store: Store) -> None:
    assert lease(store, "a") == ("s0",)
    assert lease(store, "b") == ("s1",)
    assert lease(store, "a") == ("s0",)
    assert store.shards.live() == ("s0", "s1")
    assert store.shards.servers() == {"a": ("s0",), "b": ("s1",)}


def test_names_of_a_dead_server_are_taken_over_within_one_lease(store: Store) -> None:
    lease(store, "a")
    lease(store, "b")
    store.clock.advance(LEASE_MS - 1)
    lease(store, "b")
    assert lease(store, "b") == ("s1",)
    store.clock.advance(1)
    assert lease(store, "b") == ("s0", "s1")
    assert store.shards.servers() == {"b": ("s0", "s1")}


def test_name_is_given_back_when_a_server_without_one_is_there(store: Store) -> None:
    lease(store, "a")
    lease(store, "b")
    store.shards.release("a")
    assert lease(store, "b") == ("s0", "s1")
    assert lease(store, "c") == ()
    assert store.shards.servers() == {"b": ("s0", "s1"), "c": ()}
    assert lease(store, "b") == ("s0",)
    assert lease(store, "c") == ("s1",)


def test_configured_names_are_held_whoever_held_them_before(store: Store) -> None:
    assert lease(store, "a") == ("s0",)
    assert lease(store, "b", "s0", "west") == ("s0", "west")
    assert store.shards.servers() == {"a": (), "b": ("s0", "west")}
    assert lease(store, "a") == ("s1",)


def test_configured_server_takes_over_a_dead_ones_name_and_hands_it_back(store: Store) -> None:
    assert lease(store, "a", "east") == ("east",)
    assert lease(store, "b", "west") == ("west",)
    store.clock.advance(LEASE_MS + 1)
    assert lease(store, "a", "east") == ("east", "west")
    assert lease(store, "b", "west") == ("west",)
    assert lease(store, "a", "east") == ("east",)
    assert store.shards.servers() == {"a": ("east",), "b": ("west",)}


def test_released_names_are_served_by_whoever_stays(store: Store) -> None:
    for server in ("a", "b", "c"):
        lease(store, server)
    store.shards.release("b")
    store.shards.release("a")
    assert store.shards.live() == ("s2",)
    assert lease(store, "c") == ("s0", "s1", "s2")
    assert store.shards.servers() == {"c": ("s0", "s1", "s2")}


def test_expired_server_is_not_live(store: Store) -> None:
    lease(store, "a")
    store.clock.advance(LEASE_MS)
    assert store.shards.live() == ()
    assert store.shards.servers() == {}
    assert lease(store, "a") == ("s0",)


def test_tenth_name_comes_after_the_ninth(store: Store) -> None:
    for number in range(12):
        lease(store, f"server{number}")
    assert store.shards.live() == tuple(f"s{number}" for number in range(12))
