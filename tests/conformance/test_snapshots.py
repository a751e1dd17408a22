"""What ``ExecutionReader`` promises of what is much to read, on every store."""

import pytest

from conductor_py.ports.reader import PAGE_BYTES, PAGE_FIELDS, ExecutionChanged
from tests.conformance.stores import NOW, Store, an_id, running

_MANY = {f"o:{number}": b"{}" for number in range(PAGE_FIELDS + 1)}
_LARGE = {f"o:{number}": b'"%s"' % (b"x" * 300_000) for number in range(16)}


class _TooMuch(Exception):
    pass


@pytest.mark.parametrize("more", [_MANY, _LARGE], ids=["many", "large"])
def test_what_is_much_is_read_whole_after_its_reader_was_asked(
    store: Store, more: dict[str, bytes]
) -> None:
    asked: list[int] = []
    store.start(an_id(1), running(fields={**running().fields, **more}))
    found = store.reader.snapshot(an_id(1), before_more=asked.append)
    assert found is not None
    assert found[0] == NOW
    assert {name: value for name, value in found[1].items() if name in more} == more
    assert store.reader.snapshot(an_id(1)) == found
    (size,) = asked
    assert sum(map(len, more.values())) / 2 < size < 2_000_000 + 2 * sum(map(len, more.values()))


def test_who_does_not_want_so_much_reads_nothing(store: Store) -> None:
    def refuse(_: int) -> None:
        raise _TooMuch

    store.start(an_id(1), running(fields={**running().fields, **_LARGE}))
    with pytest.raises(_TooMuch):
        store.reader.snapshot(an_id(1), before_more=refuse)


def test_of_what_is_little_nobody_is_asked(store: Store) -> None:
    def refuse(_: int) -> None:
        raise _TooMuch

    few = {f"o:{number}": b"x" * 1_000 for number in range(PAGE_BYTES // 4_000)}
    store.start(an_id(1), running(fields={**running().fields, **few}))
    found = store.reader.snapshot(an_id(1), before_more=refuse)
    assert found is not None
    assert few.items() <= found[1].items()
    assert store.reader.snapshot(an_id(2), before_more=refuse) is None


@pytest.mark.parametrize(
    "more",
    [
        {},
        {f"o:{number}": b"{}" for number in range(3 * PAGE_FIELDS)},
        {f"o:{number}": b'"%s"' % (b"x" * 300_000) for number in range(48)},
    ],
    ids=["few", "many", "large"],
)
def test_every_field_is_read_some_after_the_other(store: Store, more: dict[str, bytes]) -> None:
    store.start(an_id(1), running(fields={**running().fields, **more}))
    whole = store.reader.snapshot(an_id(1))
    assert whole is not None
    pages = list(store.reader.scan(an_id(1), whole[0]))
    read: dict[str, bytes] = {}
    for page in pages:
        read |= page
    assert read == whole[1]
    if more:
        assert max(sum(map(len, page.values())) for page in pages) < 2 * PAGE_BYTES
        assert len(pages) > 1


def test_who_reads_some_after_the_other_hears_that_it_has_changed(store: Store) -> None:
    store.start(an_id(1), running(fields={**running().fields, **_MANY}))
    pages = store.reader.scan(an_id(1), NOW)
    next(pages)
    store.commit(store.sent(an_id(1)), running())
    with pytest.raises(ExecutionChanged):
        list(pages)
    for execution, version in ((an_id(1), NOW), (an_id(2), NOW)):
        with pytest.raises(ExecutionChanged):
            list(store.reader.scan(execution, version))
