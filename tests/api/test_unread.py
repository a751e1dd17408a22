"""How much is unread, by sizes of answers and the number of connections with something left."""

from conductor_py.api.unread import LARGE, Unread

_MEGABYTE = 1 << 20


def _unread() -> Unread:
    made = Unread(10 * _MEGABYTE)
    made.seen(0)
    return made


def test_large_answers_count_until_every_connection_has_read_all() -> None:
    unread = _unread()
    quiet = []
    for act in (
        lambda: unread.given(LARGE - 1),
        lambda: unread.given(LARGE),
        lambda: unread.seen(0),
    ):
        act()
        quiet.append(unread.is_quiet)
    assert quiet == [True, False, True]


def test_the_largest_answers_are_taken_for_those_that_are_left() -> None:
    unread = _unread()
    for size in (6 * _MEGABYTE, 5 * _MEGABYTE, LARGE):
        unread.given(size)
    assert _state(unread) == "full"
    unread.seen(1)
    assert _state(unread) == "much"
    unread.seen(1)
    assert _state(unread) == "much", "nothing says that it is another one"
    unread.seen(0)
    assert _state(unread) == ""


def _state(unread: Unread) -> str:
    return "full" if unread.is_full else "much" if unread.is_much else ""


def test_nothing_is_counted_where_nobody_can_say_what_was_read() -> None:
    unread = Unread(10)
    unread.given(LARGE)
    assert unread.is_quiet
    assert not unread.is_full
