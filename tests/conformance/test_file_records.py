"""What `FileRecords` promises, on every store."""

import pytest

from conductor_py.adapters.memory.file_records import MemoryFileRecords
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.redis.file_records import RedisFileRecords
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.files import Changed, FileRecords, RecordChange
from conductor_py.ports.payload_holders import PRESENT
from tests.conformance.stores import Store

_MOST = 2


@pytest.fixture
def records(store: Store) -> FileRecords:
    """The records over the store in turn."""
    if store.connection is None:
        return MemoryFileRecords(MemorySpace(clock=store.clock))
    return RedisFileRecords(Scripts(store.connection, Namespace("test"), clock=store.clock))


def _change(
    records: FileRecords,
    file_id: str,
    before: bytes | None,
    after: bytes | None,
    *,
    owner: str = "w",
    check_ms: int = 0,
) -> Changed:
    change = RecordChange(
        file_id=file_id, owner=owner, before=before, after=after, check_ms=check_ms
    )
    return records.change(change, most=_MOST)


def test_a_record_is_read_back_until_it_is_removed(records: FileRecords) -> None:
    assert records.read("f") is None
    assert _change(records, "f", None, b"1") is Changed.OK
    assert records.read("f") == b"1"
    assert _change(records, "f", b"1", None) is Changed.OK
    assert records.read("f") is None


@pytest.mark.parametrize("before", [None, b"2"])
def test_a_record_changes_only_from_what_was_seen(
    records: FileRecords, before: bytes | None
) -> None:
    _change(records, "f", None, b"1")
    assert _change(records, "f", before, b"3") is Changed.OTHER
    assert _change(records, "f", before, None) is Changed.OTHER
    assert records.read("f") == b"1"
    assert _change(records, "g", b"1", b"2") is Changed.OTHER
    assert records.read("g") is None


def test_an_execution_has_no_more_files_than_it_may_have(records: FileRecords) -> None:
    assert _change(records, "f", None, b"1") is Changed.OK
    assert _change(records, "g", None, b"1") is Changed.OK
    assert _change(records, "h", None, b"1") is Changed.FULL
    assert records.read("h") is None
    assert _change(records, "h", None, b"1", owner="other") is Changed.OK
    assert _change(records, "g", b"1", b"2") is Changed.OK
    assert _change(records, "f", b"1", None) is Changed.OK
    assert _change(records, "i", None, b"1") is Changed.OK


def test_what_is_due_is_listed_the_longest_overdue_first(records: FileRecords) -> None:
    for name, at in (("a", 300), ("b", 100), ("c", 200)):
        _change(records, name, None, b"1", owner=name, check_ms=at)
    assert records.due(99, 10) == ()
    assert records.due(200, 10) == ("b", "c")
    assert records.due(1_000, 2) == ("b", "c")
    _change(records, "b", b"1", b"2", owner="b", check_ms=400)
    _change(records, "c", b"1", None, owner="c")
    assert records.due(1_000, 10) == ("a", "b")


def test_what_is_put_off_is_due_later_as_it_was(records: FileRecords) -> None:
    for name in ("a", "b"):
        _change(records, name, None, b"1", owner=name, check_ms=100)
    records.put_off("a", 200)
    records.put_off("nothing", 100)
    assert records.due(199, 10) == ("b",)
    assert records.due(200, 10) == ("b", "a")
    assert records.read("a") == b"1"
    assert _change(records, "a", b"1", None, owner="a") is Changed.OK
    assert _change(records, "c", None, b"1", owner="a") is Changed.OK


def test_what_is_due_and_has_no_record_is_put_off_for_ever(
    records: FileRecords, store: Store
) -> None:
    """As when a store has lost some of what it was given."""
    _change(records, "f", None, b"1", check_ms=5)
    if isinstance(records, MemoryFileRecords):
        del records._records["f"]
    else:
        assert store.connection is not None
        store.connection.command("HDEL", "{test:0}:files", "f")
    assert records.due(10, 10) == ("f",)
    records.put_off("f", 6)
    assert records.due(10, 10) == ()


def test_an_execution_that_is_gone_is_noted_while_it_has_files(records: FileRecords) -> None:
    records.let_go("w", 50, 0)
    assert records.noted("w") == PRESENT
    _change(records, "f", None, b"1")
    _change(records, "g", None, b"1")
    _change(records, "h", None, b"1", owner="other")
    records.let_go("w", 1_800_000_000_000, 0)
    assert records.noted("w") == 1_800_000_000_000
    assert records.noted("other") == PRESENT
    _change(records, "f", b"1", None)
    assert records.noted("w") == 1_800_000_000_000
    _change(records, "g", b"1", None)
    assert records.noted("w") == PRESENT


def test_what_is_noted_changes_only_from_what_was_seen(records: FileRecords) -> None:
    assert not records.note("w", PRESENT, -1)
    _change(records, "f", None, b"1")
    assert records.note("w", PRESENT, -1_800_000_000_000)
    assert not records.note("w", PRESENT, -1_800_000_000_001)
    assert records.noted("w") == -1_800_000_000_000
    records.let_go("w", 1_800_000_000_002, 0)
    assert not records.note("w", -1_800_000_000_000, PRESENT)
    assert records.noted("w") == 1_800_000_000_002
    assert records.note("w", 1_800_000_000_002, PRESENT)
    assert records.noted("w") == PRESENT


def test_notes_are_forgotten_in_time(records: FileRecords) -> None:
    for name in "abcd":
        _change(records, name, None, b"1", owner=name)
    assert records.note("a", PRESENT, -100)
    records.let_go("b", 100, 0)
    assert records.note("c", PRESENT, -101)
    records.let_go("d", 200, 100)
    assert [records.noted(name) for name in "abcd"] == [PRESENT, PRESENT, -101, 200]


def test_nothing_is_left_of_removed_records(records: FileRecords, store: Store) -> None:
    _change(records, "f", None, b"1", check_ms=5)
    records.let_go("w", 5, 0)
    _change(records, "f", b"1", None)
    assert records.due(10, 10) == ()
    if store.connection is not None:
        assert store.keys() == []
