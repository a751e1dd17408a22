"""Sources keep together in event time; none that is finished or idle holds the others."""

from hypothesis import given
from hypothesis import strategies as st

from conductor_py.pipelines.accounts import Account
from conductor_py.pipelines.alignment import EventClock, Progress, held_back, watermark
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.spec import EventTime

_RULE = EventTime(column="at", max_drift_s=60, idle_after_s=30)


def _at(time, **more):
    return Progress(time=time, rule=_RULE, **more)


def test_source_ahead_of_the_slowest_by_more_than_the_drift_waits():
    sources = {"slow": _at(100), "near": _at(160), "far": _at(161)}
    assert held_back(sources) == {"far"}
    assert watermark(sources) == 100


def test_finished_source_leaves_the_minimum():
    sources = {"ended": _at(100, finished=True), "far": _at(500)}
    assert held_back(sources) == frozenset()
    assert watermark(sources) == 500


def test_idle_source_is_waited_for_and_then_left():
    assert held_back({"quiet": _at(1, waiting_since_s=29), "far": _at(500)}) == {"far"}
    assert held_back({"quiet": _at(1, waiting_since_s=30), "far": _at(500)}) == frozenset()


def test_source_that_has_not_begun_holds_the_others_until_it_is_idle():
    assert held_back({"new": _at(None), "far": _at(500)}) == {"far"}
    assert watermark({"new": _at(None), "far": _at(500)}) is None
    assert held_back({"new": _at(None, waiting_since_s=40), "far": _at(500)}) == frozenset()


_sources = st.dictionaries(
    st.sampled_from("abcd"),
    st.builds(
        _at,
        st.none() | st.floats(0, 1000),
        finished=st.booleans(),
        waiting_since_s=st.sampled_from([0.0, 10.0, 100.0]),
    ),
    min_size=1,
)


@given(_sources)
def test_there_is_always_a_live_source_that_may_go_on(sources):
    live = {name for name, each in sources.items() if each.live}
    assert not live or live - held_back(sources)


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=12).map(sorted),
    st.randoms(use_true_random=False),
)
def test_returned_split_brings_no_row_older_than_the_clock(times, random):
    """Splits are finished in any order, as when some are given back again and again."""
    account, clock = Account(discovered=len(times), complete=True), EventClock()
    left = list(range(len(times)))
    while left:
        chosen = random.sample(left, random.randint(1, len(left)))
        ords = Intervals.of(chosen)
        account = account.assign(ords).finish(ords)
        clock = clock.committed({at: times[at] for at in chosen}, account)
        left = [at for at in left if at not in ords]
        if left and clock.time is not None:
            assert clock.time <= min(times[at] for at in left)
    assert clock == EventClock(time=times[-1])


def test_quarantined_split_does_not_stop_the_clock():
    account = Account(discovered=3).quarantine(Intervals.of([0]))
    one = Intervals.of([1])
    clock = EventClock().committed({1: 7.0}, account.assign(one).finish(one))
    assert clock.time == 7.0
