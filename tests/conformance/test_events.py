"""What `EventStore` promises, on every store."""

from tests.conformance.stores import Store

DAY_MS = 24 * 3_600_000


def test_a_handler_is_created_once_and_updated_only_when_it_is_there(store: Store) -> None:
    assert not store.events.put_handler("h", "conductor:wf:q", b"0", create=False)
    assert store.events.put_handler("h", "conductor:wf:q", b"1", create=True)
    assert not store.events.put_handler("h", "conductor:wf:q", b"2", create=True)
    assert store.events.put_handler("h", "conductor:wf:q", b"3\n4", create=False)
    assert store.events.handlers(None) == {"h": b"3\n4"}


def test_handlers_are_found_by_their_present_event_and_no_other(store: Store) -> None:
    store.events.put_handler("b", "x:1", b"b", create=True)
    store.events.put_handler("a", "x:1", b"a", create=True)
    store.events.put_handler("c", "x:2", b"c", create=True)
    assert list(store.events.handlers("x:1").items()) == [("a", b"a"), ("b", b"b")]
    store.events.put_handler("b", "x:2", b"moved", create=False)
    assert store.events.handlers("x:1") == {"a": b"a"}
    assert store.events.handlers("x:2") == {"b": b"moved", "c": b"c"}
    assert store.events.handlers("x") == {}


def test_a_deleted_handler_is_gone(store: Store) -> None:
    store.events.put_handler("h", "x:1", b"1", create=True)
    assert store.events.delete_handler("h")
    assert not store.events.delete_handler("h")
    assert store.events.handlers("x:1") == store.events.handlers(None) == {}


def test_the_first_target_of_an_action_counts_until_it_is_forgotten(store: Store) -> None:
    assert store.events.settle("message:h:0", "first", DAY_MS) == "first"
    assert store.events.settle("message:h:0", "second", DAY_MS) == "first"
    assert store.events.settle("message:h:1", "second", DAY_MS) == "second"
    wanted = ["message:h:1", "unknown", "message:h:0"]
    assert store.events.settled(wanted) == {"message:h:1": "second", "message:h:0": "first"}
    assert store.events.settled([]) == {}


def test_a_held_message_is_kept_once_and_the_oldest_give_way(store: Store) -> None:
    for message in (b"1", b"2", b"1", b"3"):
        assert store.events.hold("x:1", message, 3, DAY_MS) == 0
        store.clock.advance(1)
    assert store.events.held("x:1", 10) == (b"1", b"2", b"3")
    assert store.events.hold("x:1", b"4", 3, DAY_MS) == 1
    assert store.events.held("x:1", 2) == (b"2", b"3")
    store.events.drop_held("x:1", (b"2", b"3"))
    store.events.drop_held("x:1", ())
    assert store.events.held("x:1", 10) == (b"4",)
    assert store.events.held("x:2", 10) == ()


def test_the_newest_records_are_kept_and_all_are_counted(store: Store) -> None:
    store.events.record([("COMPLETED", b"1"), ("FAILED", b"2")], 2)
    store.events.record([("COMPLETED", b"3")], 2)
    store.events.record([], 2)
    store.events.record([("UNDELIVERED", b"")], 2)
    assert store.events.records(10) == (b"3", b"2")
    assert store.events.records(1) == (b"3",)
    assert store.events.counts() == {"COMPLETED": 2, "FAILED": 1, "UNDELIVERED": 1}
