"""How much is unread, by sizes of answers and the number of connections with something left."""

from conductor_py.api.unread import LARGE, Unread

_MEGABYTE = 1 << 20


def _unread() -> Unread:
    made = Unread(10 * _MEGABYTE)
    made.seen(())
    return made


def test_large_answers_count_until_every_connection_has_read_all() -> None:
    unread = _unread()
    quiet = []
    for act in (
        lambda: unread.given(LARGE - 1),
        lambda: unread.given(LARGE),
        lambda: unread.seen(()),
        lambda: unread.seen(()),
    ):
        act()
        quiet.append(unread.is_quiet)
    assert quiet == [True, False, False, True], "one look may come as an answer begins"


def test_the_largest_answers_are_taken_for_those_that_are_left() -> None:
    unread = _unread()
    for size in (6 * _MEGABYTE, 5 * _MEGABYTE, LARGE):
        unread.given(size)
    assert _state(unread) == "full"
    unread.seen((1,))
    unread.seen((1,))
    assert _state(unread) == "much"
    unread.seen((1,))
    assert _state(unread) == "much", "nothing says that it is another one"
    unread.seen(())
    assert _state(unread) == ""


def test_connection_that_came_later_does_not_keep_what_others_have_read() -> None:
    unread = _unread()
    unread.given(11 * _MEGABYTE)
    unread.seen((1,))
    assert _state(unread) == "full"
    unread.given(LARGE)
    unread.seen((2,))
    assert _state(unread) == "full", "it may have been about to begin"
    unread.given(LARGE)
    unread.seen((3,))
    assert (_state(unread), unread.is_quiet) == ("", False)


def test_answer_that_is_given_as_somebody_looks_takes_no_place_of_an_older_one() -> None:
    unread = _unread()
    unread.given(6 * _MEGABYTE)
    unread.seen((1,))
    unread.seen((1,))
    unread.given(7 * _MEGABYTE)
    for first in ((1,), (1, 3), (1, 3)):
        unread.seen(first)
        assert _state(unread) == "full"
    unread.seen((1,))
    assert _state(unread) == "much"


def test_twice_the_room_is_told_apart() -> None:
    unread = _unread()
    unread.given(20 * _MEGABYTE)
    assert not unread.is_over
    unread.given(LARGE)
    assert unread.is_over


def _state(unread: Unread) -> str:
    return "full" if unread.is_full else "much" if unread.is_much else ""


def test_nothing_is_counted_where_nobody_can_say_what_was_read() -> None:
    unread = Unread(10)
    unread.given(LARGE)
    assert unread.is_quiet
    assert not unread.is_full
