"""Measures of a running aggregate, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from conductor_py.pipelines import spec
from conductor_workers.pipelines.kept_rows import write_rows
from conductor_workers.pipelines.keyed import Keeping, State, partial_sums, remember, totals
from conductor_workers.pipelines.storage.local import LocalStorage
from conductor_workers.pipelines.transforms import TransformRefused
from conductor_workers.pipelines.workplace import Workplace

pytestmark = pytest.mark.spark


@dataclass(slots=True, kw_only=True)
class Rounds:
    """The state of one running aggregate, from round to round."""

    spark: SparkSession
    place: Path
    measures: dict[str, str]
    group_by: tuple[str, ...] = ("k",)
    state: State | None = None
    epoch: int = 0
    shown: DataFrame = field(init=False)

    @property
    def keeping(self) -> Keeping:
        """What the present round keeps its rows with."""
        workplace = Workplace(
            storage=LocalStorage(self.place),
            run="r",
            address=str(self.place),
            pipeline="p",
            token=1,
        )
        return Keeping(
            spark=self.spark, workplace=workplace, epoch=self.epoch, buckets=2, parallelism=1
        )

    def take(self, query: str) -> Sequence[Row]:
        """Take a round with these rows, and return the groups that it shows."""
        self.epoch += 1
        settings = {"group_by": self.group_by, "measures": self.measures, "emit": "running"}
        node = spec.Transform(
            id="sums", kind="aggregate", output="sums", inputs={"i": "rows"}, settings=settings
        )
        sums = partial_sums(node, self.spark.sql(query)).localCheckpoint()
        before, self.state = self.state, remember(node, sums, self.state, self.keeping)
        self.shown = totals(node, before, sums, self.keeping)
        return self.shown.collect()


@pytest.fixture
def rounds(spark: SparkSession, tmp_path: Path) -> Rounds:
    return Rounds(spark=spark, place=tmp_path, measures={"m": "sum(x)", "mean": "avg(x)"})


_PRICE = "SELECT 1 AS k, cast(1.25 AS decimal(12,2)) AS x"


@pytest.mark.thorough(target="pipelines")
def test_sums_of_decimals_go_on_behind_every_base(rounds: Rounds) -> None:
    for number in range(1, 14):
        ((_, total, mean),) = rounds.take(_PRICE)
        assert (total, mean) == (number * Decimal("1.25"), Decimal("1.25"))
        assert rounds.shown.schema["m"].dataType.simpleString() == "decimal(22,2)"


def test_bases_that_were_kept_wider_than_their_record_says_are_read(rounds: Rounds) -> None:
    """As by a version before, whose jobs failed at their eleventh epoch for good."""
    rounds.take(_PRICE)
    assert rounds.state is not None
    wide = rounds.spark.sql("SELECT 1 AS k, cast(10 AS decimal(32,2)) AS m, 8L AS mean_count")
    wide = wide.selectExpr("*", "m AS mean_sum")
    write_rows(rounds.keeping.workplace, "frames/p/old", wide)
    rounds.state = {**rounds.state, "base": "frames/p/old"}
    assert rounds.take(_PRICE) == [(1, Decimal("12.50"), Decimal("1.25"))]


def test_sums_that_have_become_others_are_refused(rounds: Rounds) -> None:
    rounds.take(_PRICE)
    with pytest.raises(
        TransformRefused, match=r"m is kept as decimal\(22,2\) and has become a bigint"
    ):
        rounds.take("SELECT 1 AS k, 1 AS x")


def test_a_measure_may_have_the_name_of_a_part_of_an_average(rounds: Rounds) -> None:
    rounds.group_by = ("m_count",)
    rounds.measures = {"m": "avg(x)", "m_sum": "sum(x)", "M_SUM_": "max(x)"}
    shown: Sequence[Row] = ()
    for number in (1, 2):
        query = f"SELECT 'k' AS m_count, x FROM VALUES ({number}), ({number + 4}) AS t(x)"
        shown = rounds.take(query)
    assert shown == [("k", 3.5, 14, 6)]
