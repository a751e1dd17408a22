"""What `ShardRegistry` promises, on every store."""

from tests.conformance.stores import NOW, Store

LEASE_MS = 10_000


def lease(store: Store, server: str, *wanted: str) -> tuple[str, ...]:
    """Renew as a process that has just begun: it knows no terms."""
    return tuple(terms(store, server, *wanted))


def terms(store: Store, server: str, *wanted: str, **believed: int) -> dict[str, int]:
    return store.shards.lease(server, wanted, LEASE_MS, believed)


def live(store: Store) -> tuple[str, ...]:
    return store.shards.view().live


def servers(store: Store) -> dict[str, tuple[str, ...]]:
    view = store.shards.view()
    return {server.name: view.served_by(server) for server in view.servers}


def test_servers_take_the_first_free_names_and_keep_them(store: Store) -> None:
    assert lease(store, "a") == ("s0",)
    assert lease(store, "b") == ("s1",)
    assert lease(store, "a") == ("s0",)
    assert live(store) == ("s0", "s1")
    assert servers(store) == {"a": ("s0",), "b": ("s1",)}


def test_names_of_a_dead_server_are_taken_over_within_one_lease(store: Store) -> None:
    lease(store, "a")
    lease(store, "b")
    store.clock.advance(LEASE_MS - 1)
    lease(store, "b")
    assert lease(store, "b") == ("s1",)
    store.clock.advance(1)
    assert lease(store, "b") == ("s0", "s1")
    assert servers(store) == {"b": ("s0", "s1")}


def test_name_is_given_back_when_a_server_without_one_is_there(store: Store) -> None:
    lease(store, "a")
    lease(store, "b")
    store.shards.release("a")
    assert lease(store, "b") == ("s0", "s1")
    assert lease(store, "c") == ()
    assert servers(store) == {"b": ("s0", "s1"), "c": ()}
    assert lease(store, "b") == ("s0",)
    assert lease(store, "c") == ("s1",)


def test_configured_names_are_held_whoever_held_them_before(store: Store) -> None:
    assert lease(store, "a") == ("s0",)
    assert lease(store, "b", "s0", "west") == ("s0", "west")
    assert servers(store) == {"a": (), "b": ("s0", "west")}
    assert lease(store, "a") == ("s1",)


def test_configured_server_takes_over_a_dead_ones_name_and_hands_it_back(store: Store) -> None:
    assert lease(store, "a", "east") == ("east",)
    assert lease(store, "b", "west") == ("west",)
    store.clock.advance(LEASE_MS + 1)
    assert lease(store, "a", "east") == ("east", "west")
    assert lease(store, "b", "west") == ("west",)
    assert lease(store, "a", "east") == ("east",)
    assert servers(store) == {"a": ("east",), "b": ("west",)}


def test_released_names_are_served_by_whoever_stays(store: Store) -> None:
    for server in ("a", "b", "c"):
        lease(store, server)
    store.shards.release("b")
    store.shards.release("a")
    assert live(store) == ("s2",)
    assert lease(store, "c") == ("s0", "s1", "s2")
    assert servers(store) == {"c": ("s0", "s1", "s2")}


def test_expired_server_is_not_live(store: Store) -> None:
    lease(store, "a")
    store.clock.advance(LEASE_MS)
    assert live(store) == ()
    assert servers(store) == {}
    assert lease(store, "a") == ("s0",)


def test_tenth_name_comes_after_the_ninth(store: Store) -> None:
    for number in range(12):
        lease(store, f"server{number}")
    assert live(store) == tuple(f"s{number}" for number in range(12))


def test_a_term_stays_while_its_lease_is_renewed(store: Store) -> None:
    begun = terms(store, "a")
    store.clock.advance(LEASE_MS - 1)
    assert terms(store, "a", **begun) == begun
    store.clock.advance(LEASE_MS - 1)
    assert terms(store, "a", **begun) == begun


def test_a_term_grows_with_each_taking_and_a_late_renewal_under_an_old_one_is_refused(
    store: Store,
) -> None:
    first = terms(store, "a")
    assert first["s0"] >= NOW
    lease(store, "b")
    store.clock.advance(LEASE_MS)
    assert terms(store, "b").keys() == {"s1"}
    taken = terms(store, "b")
    assert taken["s0"] > first["s0"]

    # The one that slept believes that it has s0 and s1, under terms that are over.
    late = terms(store, "a", **first)

    assert late == {}
    assert servers(store) == {"a": (), "b": ("s0", "s1")}
    (s0, s1) = store.shards.view().shards
    assert (s0.server, s0.term) == ("b", taken["s0"])
    assert (s1.server, s1.term) == ("b", taken["s1"])


def test_a_lease_that_expired_is_taken_anew_under_a_higher_term(store: Store) -> None:
    first = terms(store, "a")
    store.clock.advance(LEASE_MS)

    again = terms(store, "a", **first)

    assert again["s0"] > first["s0"]
    # A second process of the server still believes in the old term: it is told, and asks anew.
    assert terms(store, "a", **first) == {}
    assert terms(store, "a") == again


def test_terms_outlast_a_release(store: Store) -> None:
    first = terms(store, "a")
    store.shards.release("a")
    assert terms(store, "b")["s0"] > first["s0"]


def test_servers_that_are_configured_for_one_name_share_it(store: Store) -> None:
    first = terms(store, "a", "east")
    assert terms(store, "b", "east") == first
    assert terms(store, "a", "east", **first) == first
    assert servers(store) == {"a": ("east",), "b": ("east",)}
    assert live(store) == ("east",)


def test_a_shared_name_stays_with_who_is_left(store: Store) -> None:
    first = terms(store, "a", "east")
    lease(store, "b", "east")
    assert lease(store, "c") == ("s0",)
    store.clock.advance(LEASE_MS - 1)
    lease(store, "b", "east")
    lease(store, "c")
    store.clock.advance(1)

    assert lease(store, "c") == ("s0",)
    assert live(store) == ("s0", "east")
    assert terms(store, "b", "east")["east"] > first["east"]
    assert servers(store) == {"b": ("east",), "c": ("s0",)}


def test_a_view_tells_when_servers_renewed_and_who_sweeps(store: Store) -> None:
    lease(store, "a")
    lease(store, "b", "west")
    store.clock.advance(1_000)
    lease(store, "a")
    store.shards.sweep(("s0",), LEASE_MS)

    view = store.shards.view()

    a, b = view.servers
    assert (a.name, a.configured, a.renewed_ms) == ("a", (), NOW + 1_000)
    assert a.until_ms == NOW + 1_000 + LEASE_MS
    assert (b.name, b.configured, b.renewed_ms) == ("b", ("west",), NOW)
    s0, west = view.shards
    assert (s0.name, s0.server, s0.swept_ms) == ("s0", "a", NOW + 1_000 + LEASE_MS)
    assert (west.name, west.server, west.swept_ms) == ("west", "b", 0)


def test_a_name_that_nobody_holds_stays_known(store: Store) -> None:
    lease(store, "a")
    store.clock.advance(LEASE_MS)
    (s0,) = store.shards.view().shards
    assert (s0.name, s0.server, s0.until_ms) == ("s0", "", 0)
    assert live(store) == ()


def test_a_name_that_was_made_known_is_taken_over_by_who_is_there(store: Store) -> None:
    store.shards.make_known("s0")
    (s0,) = store.shards.view().shards
    assert (s0.name, s0.server, s0.term, s0.until_ms) == ("s0", "", 0, 0)
    assert live(store) == ()

    assert terms(store, "a", "east").keys() == {"s0", "east"}
    assert terms(store, "a", "east")["s0"] >= NOW
    assert servers(store) == {"a": ("s0", "east")}


def test_a_name_that_was_made_known_is_the_first_free_one(store: Store) -> None:
    store.shards.make_known("s0")
    assert lease(store, "a") == ("s0",)
    assert lease(store, "b") == ("s1",)


def test_making_a_name_known_takes_it_from_nobody(store: Store) -> None:
    held = terms(store, "a")
    store.shards.make_known("s0")
    assert terms(store, "a", **held) == held
    assert servers(store) == {"a": ("s0",)}
