"""What every sink promises.

Derive a class whose name begins with ``Test``, give it the fixture ``target``, and have a fixture
``spark`` (see ``spark_session``)::

    class TestMySink(SinkContract):
        @pytest.fixture
        def target(self, tmp_path):
            return SinkTarget(open=partial(make_my_sink, str(tmp_path)), rows=...)

The rows that are written have the columns ``id bigint, name string``.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from conductor_py.pipelines.record import Staged
from conductor_py.pipelines.spec import Guarantee
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import (
    Epoch,
    Evidence,
    Owner,
    Sink,
    SinkProblem,
    TakingBack,
    Withdrawing,
)
from conductor_workers.pipelines.store import Fenced

_PIPELINE = "p-contract"
_COLUMNS = "id bigint, name string"
_CHILD_S = 120
_ATTEMPTS = 5
#: What a process leaves with when it was killed by the signal 9.
_KILLED = -9


def _nothing() -> Sequence[str]:
    return ()


def _somebody() -> Owner:
    return Owner(task=f"execution-{uuid.uuid4().hex[:12]}/load", line=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTarget:
    """A sink and how to look at what it did.

    ``open`` makes a sink on the target, the same in another process: it must pickle. ``rows``
    returns what a reader sees, ``leftovers`` names what is left of staging. ``fences`` says that
    the target itself refuses lower tokens, ``replaces`` that a row replaces one with the same id,
    ``takes_back`` that published epochs can be taken back.
    ``killed_at`` are the fault points inside ``publish``.
    """

    open: Callable[[], Sink]
    rows: Callable[[], Iterable[tuple[Any, ...]]]
    leftovers: Callable[[], Sequence[str]] = field(default=_nothing)
    sink: str = "out"
    owner: Owner = field(default_factory=_somebody)
    fences: bool = False
    replaces: bool = False
    takes_back: bool = False
    killed_at: tuple[str, ...] = ()

    def epoch(self, number: int, token: int = 1, owner: Owner | None = None) -> Epoch:
        """Return an epoch of the sink."""
        return Epoch(
            owner=owner or self.owner,
            pipeline=_PIPELINE,
            sink=self.sink,
            number=number,
            token=token,
        )

    def seen(self) -> Counter[tuple[Any, ...]]:
        """Return what a reader sees, with how often."""
        return Counter(tuple(row) for row in self.rows())


class SinkContract:
    """Derive from it; see the module."""

    @pytest.fixture
    def target(self) -> SinkTarget:
        """Return the sink to hold to its promises."""
        raise NotImplementedError

    def test_what_is_staged_is_json_and_counts_its_rows(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """It is kept in the record."""
        staged = target.open().stage(rows_of(spark, 1, 11), target.epoch(1))
        assert json.loads(json.dumps(staged))["rows"] == 10

    def test_nothing_is_seen_before_the_decision(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """Unless the sink only promises that a redo ends the same."""
        sink = target.open()
        if sink.guarantee is not Guarantee.EXACTLY_ONCE:
            pytest.skip("the sink may show rows early")
        sink.stage(rows_of(spark, 1, 11), target.epoch(1))
        assert not target.seen()

    def test_staged_twice_and_published_once_is_seen_once(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """A round that is redone leaves nothing of its first time."""
        sink = target.open()
        sink.stage(rows_of(spark, 1, 11), target.epoch(1))
        staged = sink.stage(rows_of(spark, 1, 11), target.epoch(1, token=2))
        sink.publish(staged, target.epoch(1, token=2), "hash-1")
        assert target.seen() == expected(1, 11)

    def test_published_three_times_is_seen_once(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """Whoever restores publishes again."""
        staged = target.open().stage(rows_of(spark, 1, 11), target.epoch(1))
        for _ in range(3):
            target.open().publish(staged, target.epoch(1), "hash-1")
        assert target.seen() == expected(1, 11)

    def test_published_by_a_successor_is_seen_once(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """A decided epoch is rolled forward under a newer token."""
        staged = target.open().stage(rows_of(spark, 1, 11), target.epoch(1))
        sink = target.open()
        sink.discard(target.owner, _PIPELINE, below=2, keep=staged)
        sink.publish(staged, target.epoch(1, token=2), "hash-1")
        assert target.seen() == expected(1, 11)

    def test_published_from_two_processes_at_once_is_seen_once(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """A frozen worker that wakes publishes beside its successor."""
        staged = target.open().stage(rows_of(spark, 1, 201), target.epoch(1))
        epochs = (target.epoch(1, token=1), target.epoch(1, token=2))
        children = [_child(target, staged, epoch, "hash-1") for epoch in epochs]
        for child in children:
            child.join(_CHILD_S)
        assert [child.exitcode for child in children] == [0, 0]
        assert target.seen() == expected(1, 201)

    def test_killed_while_publishing_the_next_one_finishes(
        self, target: SinkTarget, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Wherever it falls, the successor ends with the same."""
        epochs = list(enumerate(target.killed_at, start=1))
        for number, point in epochs:
            staged = target.open().stage(
                rows_of(spark, number * 10, number * 10 + 10), target.epoch(number)
            )
            monkeypatch.setenv("CONDUCTOR_PY_FAULT", f"{point}:kill")
            child = _child(target, staged, target.epoch(number), f"hash-{number}")
            child.join(_CHILD_S)
            monkeypatch.delenv("CONDUCTOR_PY_FAULT")
            assert child.exitcode == _KILLED, point
            target.open().publish(staged, target.epoch(number, token=1), f"hash-{number}")
            assert target.seen() == expected(10, number * 10 + 10), point
        if not epochs:
            pytest.skip("the sink has no fault points")

    def test_epochs_add_up_and_the_newest_is_the_evidence(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """A restore looks there for what the engine may have lost."""
        sink = target.open()
        assert sink.evidence(target.owner, _PIPELINE) is None
        for number in (1, 2, 3):
            staged = sink.stage(rows_of(spark, number * 10, number * 10 + 10), target.epoch(number))
            sink.publish(staged, target.epoch(number), f"hash-{number}")
        assert target.open().evidence(target.owner, _PIPELINE) == Evidence(
            epoch=3, record_hash="hash-3"
        )
        assert target.seen() == expected(10, 40)

    def test_an_epoch_without_rows_is_evidence_too(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """All sinks of a pipeline go through the same epochs."""
        sink = target.open()
        staged = sink.stage(rows_of(spark, 1, 1), target.epoch(1))
        sink.publish(staged, target.epoch(1), "hash-1")
        assert sink.evidence(target.owner, _PIPELINE) == Evidence(epoch=1, record_hash="hash-1")
        assert not target.seen()
        assert not list(target.leftovers())

    def test_tasks_that_share_a_target_keep_apart(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """Evidence, staging and epochs are a task's own."""
        sink = target.open()
        mine = sink.stage(rows_of(spark, 1, 11), target.epoch(1))
        another = Owner(task=f"{target.owner.task}-of-another", line=1)
        other = target.epoch(1, token=9, owner=another)
        others = sink.stage(rows_of(spark, 11, 21), other)
        sink.publish(others, other, "hash-of-another")
        assert sink.evidence(target.owner, _PIPELINE) is None
        sink.publish(mine, target.epoch(1), "hash-1")
        assert target.seen() == expected(1, 21)

    def test_a_line_that_begins_anew_counts_from_one_and_adopts_nothing(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """After a restart epochs have the same numbers, and are none of those before; a worker of
        the former line is fenced like a former attempt; what it staged is gone.
        """
        former, again = target.open(), replace(target.owner, line=target.owner.line + 1)
        for number in (1, 2):
            rows = rows_of(spark, number * 10, number * 10 + 10)
            former.publish(
                former.stage(rows, target.epoch(number)), target.epoch(number), f"hash-{number}"
            )
        undecided = former.stage(rows_of(spark, 90, 99), target.epoch(3))
        sink = target.open()
        sink.discard(again, _PIPELINE, below=2, keep=None)
        assert sink.evidence(again, _PIPELINE) is None
        if target.fences:
            with pytest.raises(Fenced):
                former.publish(undecided, target.epoch(3), "hash-3")
        first = target.epoch(1, token=2, owner=again)
        fresh = rows_of(spark, 10, 20).selectExpr("id", "concat('new ', name) AS name")
        sink.publish(sink.stage(fresh, first), first, "hash-again")
        assert sink.evidence(again, _PIPELINE) == Evidence(epoch=1, record_hash="hash-again")
        kept = expected(20, 30) if target.replaces else expected(10, 30)
        early = expected(90, 99) if sink.guarantee is not Guarantee.EXACTLY_ONCE else Counter()
        assert target.seen() - early == kept + Counter((n, f"new name {n}") for n in range(10, 20))
        assert not target.leftovers()

    def test_what_one_attempt_staged_is_taken_back(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """An attempt that ends leaves no undecided rows, and touches nothing else."""
        sink = target.open()
        if not isinstance(sink, Withdrawing):
            pytest.skip("the sink stages nothing that would stay")
        mine, other = target.epoch(2, token=2), target.epoch(2, token=3)
        sink.publish(sink.stage(rows_of(spark, 1, 11), target.epoch(1)), target.epoch(1), "hash-1")
        for _ in range(2):
            sink.stage(rows_of(spark, 11, 21), mine)
        kept = sink.stage(rows_of(spark, 11, 21), other)
        for _ in range(2):
            sink.withdraw(mine)
        sink.publish(kept, other, "hash-2")
        assert target.seen() == expected(1, 21)
        assert not target.leftovers()

    def test_what_readers_saw_is_taken_back(self, target: SinkTarget, spark: SparkSession) -> None:
        """All of it at once, for good, and the epoch that did it is the evidence."""
        sink = target.open()
        if not target.takes_back or not isinstance(sink, TakingBack):
            pytest.skip("the sink takes nothing back")
        staged: Staged = {}
        for number in (1, 2, 3):
            staged = sink.stage(rows_of(spark, number * 10, number * 10 + 10), target.epoch(number))
            sink.publish(staged, target.epoch(number), f"hash-{number}")
        for _ in range(2):
            sink.take_back(target.epoch(4, token=2), 1, "hash-4")
        assert target.seen() == expected(10, 20)
        assert sink.evidence(target.owner, _PIPELINE) == Evidence(epoch=4, record_hash="hash-4")
        with pytest.raises(SinkProblem):
            sink.take_back(target.epoch(4, token=2), 1, "hash-of-another-history")
        assert not target.leftovers()
        with suppress(SinkProblem):  # a worker that wakes
            sink.publish(staged, target.epoch(3), "hash-3")
        fifth = target.epoch(5, token=2)
        sink.publish(sink.stage(rows_of(spark, 50, 60), fifth), fifth, "hash-5")
        assert target.seen() == expected(10, 20) + expected(50, 60)

    def test_another_record_for_a_published_epoch_is_refused(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """Two histories of one task must not mix."""
        sink = target.open()
        sink.publish(sink.stage(rows_of(spark, 1, 11), target.epoch(1)), target.epoch(1), "hash-1")
        seen = target.seen()
        if sink.guarantee is not Guarantee.EXACTLY_ONCE:
            pytest.skip("the sink shows rows before it is asked to publish")
        staged = sink.stage(rows_of(spark, 50, 60), target.epoch(1, token=2))
        with pytest.raises(SinkProblem) as caught:
            sink.publish(staged, target.epoch(1, token=2), "hash-of-another-history")
        assert not caught.value.retryable
        assert target.seen() == seen

    def test_a_lower_token_is_refused(self, target: SinkTarget, spark: SparkSession) -> None:
        """Once a successor has been there, the one before publishes nothing."""
        if not target.fences:
            pytest.skip("the target has no place for tokens")
        zombie = target.open()
        staged = zombie.stage(rows_of(spark, 1, 11), target.epoch(1, token=1))
        target.open().discard(target.owner, _PIPELINE, below=2, keep=staged)
        with pytest.raises(Fenced):
            zombie.publish(staged, target.epoch(1, token=1), "hash-1")
        assert zombie.evidence(target.owner, _PIPELINE) is None
        if zombie.guarantee is Guarantee.EXACTLY_ONCE:
            assert not target.seen()
        target.open().publish(staged, target.epoch(1, token=2), "hash-1")
        assert target.seen() == expected(1, 11)

    def test_discarding_leaves_nothing_but_what_is_kept(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """Only what the record names outlives its attempt."""
        sink = target.open()
        sink.stage(rows_of(spark, 1, 11), target.epoch(1, token=1))
        kept = sink.stage(rows_of(spark, 1, 11), target.epoch(1, token=2))
        sink.stage(rows_of(spark, 11, 21), target.epoch(2, token=2))
        target.open().discard(target.owner, _PIPELINE, below=3, keep=kept)
        target.open().publish(kept, target.epoch(1, token=3), "hash-1")
        if sink.guarantee is Guarantee.EXACTLY_ONCE:
            assert target.seen() == expected(1, 11)
        assert not target.leftovers()

    def test_a_running_attempt_is_not_discarded(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """An attempt deletes only what lower tokens made."""
        sink = target.open()
        staged = sink.stage(rows_of(spark, 1, 11), target.epoch(1, token=2))
        target.open().discard(target.owner, _PIPELINE, below=2, keep=None)
        sink.publish(staged, target.epoch(1, token=2), "hash-1")
        assert target.seen() == expected(1, 11)

    def test_redone_with_the_same_rows_ends_the_same(
        self, target: SinkTarget, spark: SparkSession
    ) -> None:
        """An undecided round comes again, under the same number."""
        target.open().stage(rows_of(spark, 1, 11), target.epoch(1, token=1))
        sink = target.open()
        sink.discard(target.owner, _PIPELINE, below=2, keep=None)
        staged = sink.stage(rows_of(spark, 1, 11).repartition(3), target.epoch(1, token=2))
        sink.publish(staged, target.epoch(1, token=2), "hash-1")
        assert target.seen() == expected(1, 11)
        assert not target.leftovers()


def rows_of(spark: SparkSession, first: int, after: int) -> DataFrame:
    """Return rows with these ids, in two partitions."""
    return spark.range(first, after, 1, numPartitions=2).selectExpr(
        "id", "concat('name ', id) AS name"
    )


def expected(first: int, after: int) -> Counter[tuple[Any, ...]]:
    """Return what a reader should see of ``rows_of``."""
    return Counter((number, f"name {number}") for number in range(first, after))


def _child(
    target: SinkTarget, staged: Mapping[str, Any], epoch: Epoch, record_hash: str
) -> multiprocessing.process.BaseProcess:
    context = multiprocessing.get_context("spawn")
    work = (target.open, dict(staged), epoch, record_hash)
    child = context.Process(target=publish_in_child, args=work)
    child.start()
    return child


def publish_in_child(
    opened: Callable[[], Sink], staged: Mapping[str, Any], epoch: Epoch, record_hash: str
) -> None:
    """Publish as a worker does: again when it may help; being fenced is an end like another."""
    os.environ.setdefault("CONDUCTOR_PY_FAULT_HOST", str(os.getpid()))
    for left in reversed(range(_ATTEMPTS)):
        try:
            opened().publish(staged, epoch, record_hash)
        except Fenced:
            return
        except SinkProblem as problem:
            if not problem.retryable or not left:
                raise
        else:
            return
