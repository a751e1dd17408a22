"""What is told of a running pipeline: what is left of it, when it is done, how far it is behind."""

from __future__ import annotations

from typing import Any

from conductor_py.pipelines.accounts import Account
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.record import Record, SplitDescriptor
from conductor_workers.pipelines.splits import Amount, SplitTable
from conductor_workers.pipelines.view import View


class _Watch:
    """A clock that goes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def _table(sizes: list[int]) -> SplitTable:
    table = SplitTable(None)  # type: ignore[arg-type]  # nothing is kept in objects here
    splits = [
        SplitDescriptor(ord=at, descriptor={}, bytes=size, rows=size // 10)
        for at, size in enumerate(sizes)
    ]
    table.add("orders", splits[:2])
    table.add("orders", splits[2:])
    return table


def _view(watch: _Watch, **more: Any) -> View:
    return View(pipeline="p-1", parallelism=2, guarantees={"lake": "exactly_once"}, **more)


def test_amounts_of_splits_are_those_of_their_intervals() -> None:
    table = _table([100, 200, 300, 400])
    assert table.amount("orders", Intervals.parse("0,2-3")) == Amount(splits=3, rows=80, bytes=800)
    assert table.amount("orders", Intervals()) == Amount()
    assert table.amount("nobody", Intervals()) == Amount()


def test_the_end_is_told_by_what_is_left_and_the_rate_of_rounds() -> None:
    watch = _Watch()
    view = _view(watch, clock=watch)
    account = Account(discovered=4, complete=True)
    view.count({"orders": account}, {"orders": Amount(splits=4, rows=100, bytes=1000)})
    assert view.document()["etaSeconds"] is None
    view.begin(1, 2, "group")
    watch.now += 2
    record = Record(pipeline="p-1", plan_hash="", epoch=1, counters={"bytes_read": 300})
    view.decided(record, rows=30, size=300)
    view.count({"orders": account}, {"orders": Amount(splits=2, rows=70, bytes=700)})
    told = view.document()
    assert (told["bytes"], told["etaSeconds"]) == ({"read": 300, "estimatedTotal": 1000}, 5)
    assert told["lag"] == {}
    view.count({"orders": account}, {"orders": Amount(splits=2)})
    assert view.document()["etaSeconds"] == 2  # no sizes: by splits


def test_lag_is_as_old_as_the_oldest_split_that_is_not_decided() -> None:
    watch = _Watch()
    view = _view(watch, clock=watch, unbounded=True)

    def seconds(account: Account) -> float:
        left = len(account.all - account.done)
        view.count({"clicks": account}, {"clicks": Amount(splits=left)})
        told = view.document()["lag"]["clicks"]
        assert told["splits"] == left
        return float(told["seconds"])

    first = Account(discovered=2)
    assert seconds(first) == 0
    watch.now += 3
    both = first.discover(3, complete=False).assign(Intervals.parse("0-1"))
    assert seconds(both) == 3
    watch.now += 1
    assert seconds(both) == 4  # what a round has taken is not there yet
    done = both.finish(Intervals.parse("0-1"))
    assert seconds(done) == 1
    assert seconds(done.assign(done.pending).finish(done.pending)) == 0
