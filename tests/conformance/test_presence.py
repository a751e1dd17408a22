"""What `Presence` promises, on every store."""

from tests.conformance.stores import NOW, Store

LEASE_MS = 30_000


def there(store: Store) -> dict[str, bytes]:
    return {sign.key: sign.document for sign in store.presence.present()}


def test_a_sign_counts_for_its_lease_and_is_gone_after_it(store: Store) -> None:
    store.presence.put({"a": b'{"n": 1}', "b b": b""}, LEASE_MS)
    (a, b) = store.presence.present()
    assert (a.key, a.document, a.at_ms, a.until_ms) == ("a", b'{"n": 1}', NOW, NOW + LEASE_MS)
    assert (b.key, b.document) == ("b b", b"")
    store.clock.advance(LEASE_MS - 1)
    assert set(there(store)) == {"a", "b b"}
    store.clock.advance(1)
    assert there(store) == {}


def test_a_repeat_replaces_the_sign_and_begins_its_lease_anew(store: Store) -> None:
    store.presence.put({"a": b"1"}, LEASE_MS)
    store.clock.advance(LEASE_MS - 1)
    store.presence.put({"a": b"2"}, LEASE_MS)
    store.clock.advance(LEASE_MS - 1)
    assert there(store) == {"a": b"2"}


def test_what_has_ended_leaves_the_store_with_the_next_sign(newest_store: Store) -> None:
    store = newest_store
    store.presence.put({f"{number}": b"x" for number in range(450)}, LEASE_MS)
    assert len(there(store)) == 450
    store.clock.advance(LEASE_MS)
    store.presence.put({"late": b"y"}, LEASE_MS)
    assert store.connection is not None
    assert store.connection.command("HLEN", "{test:0}:signs") == 1
    assert store.connection.command("ZCARD", "{test:0}:signs:until") == 1


def test_beyond_ten_thousand_those_that_end_first_go(store: Store) -> None:
    store.presence.put({"early": b"x"}, LEASE_MS - 1)
    store.presence.put({f"{number:05}": b"x" for number in range(10_000)}, LEASE_MS)
    found = there(store)
    assert len(found) == 10_000
    assert "early" not in found
