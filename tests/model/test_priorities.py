"""Places in a queue: what goes first, how long anything is overtaken, that no bit is lost."""

from hypothesis import given
from hypothesis import strategies as st

from conductor_py.model.priorities import (
    MOST_URGENT,
    NAMES,
    QUEUED_AT_ONCE,
    STRICT,
    WORKFLOW_PRIORITIES,
    QueueOrder,
    named_priority,
)

PRIORITIES = st.integers(0, MOST_URGENT)
LEVELS = st.sampled_from((*NAMES, None))
IN_2021, IN_2039 = 1_609_459_200_000, 2**41 - 1
TIMES = st.integers(IN_2021, IN_2039)
ENTRIES = st.tuples(PRIORITIES, LEVELS, TIMES, TIMES)
AGEING = st.one_of(st.just(0), st.integers(1, 86_400_000), st.just(2**62))
Entry = tuple[int, str | None, int, int]
_YEARS_14 = 2**41 // 5


def place(order: QueueOrder, entry: Entry) -> float:
    priority, level, created, enqueued = entry
    return order.place(priority, level, created_ms=created, enqueued_ms=enqueued)


def rank(level: str | None) -> int:
    return NAMES.index(level or "MEDIUM")


def test_names_stand_for_numbers_in_their_order_with_room_at_both_ends() -> None:
    numbers = [WORKFLOW_PRIORITIES[name] for name in NAMES]
    assert numbers == sorted(numbers, reverse=True)
    assert 0 < numbers[-1] < numbers[0] < MOST_URGENT
    assert [named_priority(value) for value in ("HIGH", "high", 70, None)] == [70, None, None, None]


@given(first=ENTRIES, second=ENTRIES)
def test_priorities_are_absolute_then_the_more_urgent_task_then_who_came_first(
    first: Entry, second: Entry
) -> None:
    if abs(first[3] - second[3]) >= _YEARS_14:
        return  # nothing waits for so long
    wanted = [(-e[0], rank(e[1]), e[3]) for e in (first, second)]
    assert (wanted[0] < wanted[1]) == (place(STRICT, first) < place(STRICT, second))


@given(first=ENTRIES, second=ENTRIES)
def test_instance_first_drains_the_older_execution_before_it_looks_at_tasks(
    first: Entry, second: Entry
) -> None:
    order = QueueOrder(instance_first=True)
    if abs(first[2] - second[2]) >= _YEARS_14:
        return
    wanted = [(-e[0], e[2], rank(e[1])) for e in (first, second)]
    assert (wanted[0] < wanted[1]) == (place(order, first) < place(order, second))


@given(old=ENTRIES, new=ENTRIES, ageing=st.integers(5, 600_000))
def test_who_has_waited_long_enough_is_overtaken_by_nobody(
    old: Entry, new: Entry, ageing: int
) -> None:
    """The wait that makes up for the difference of two entries is known beforehand."""
    order = QueueOrder(ageing_ms=ageing)
    worse = (new[0] - old[0]) * 5 + rank(old[1]) - rank(new[1])
    waits = -(-worse * ageing // 5) + 1
    later = (*new[:3], old[3] + max(waits, 1))
    assert place(order, old) <= place(order, later)


@given(entry=ENTRIES, ageing=AGEING, instance_first=st.booleans())
def test_a_place_is_exact_in_a_double(entry: Entry, ageing: int, instance_first: bool) -> None:
    found = place(QueueOrder(instance_first=instance_first, ageing_ms=ageing), entry)
    assert 0 < found < 2**53


@given(entry=ENTRIES, ageing_ms=AGEING)
def test_entries_queued_together_have_their_order_within_the_millisecond(
    entry: Entry, ageing_ms: int
) -> None:
    priority, level, created, enqueued = entry
    order = QueueOrder(ageing_ms=ageing_ms)
    times = {"created_ms": created, "enqueued_ms": enqueued}
    places = [order.place(priority, level, **times, nth=nth) for nth in range(QUEUED_AT_ONCE)]
    later = order.place(priority, level, created_ms=created, enqueued_ms=enqueued + 1)
    assert places == sorted(set(places))
    assert places[0] == place(order, entry)
    assert places[-1] < later == places[0] + 1
