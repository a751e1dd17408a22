"""A worker dies or is frozen at a named point; another one, with other parallelism, goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.workers.pipelines.matrix import POINTS, TWICE, Row, Setting, played, rows, settings

#: The one that ``make test`` plays: decided, not yet published.
_AT_HAND = "F8 2 kill 2 1 late bounded"
_LISTED = (Path(__file__).parent / "chaos-rows.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def scenes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Setting]:
    return settings(spark, tmp_path_factory.mktemp("inputs"))


@pytest.mark.spark
@pytest.mark.acceptance
@pytest.mark.timeout(1000)
@pytest.mark.parametrize(
    "row",
    [
        _AT_HAND,
        *(pytest.param(row, marks=pytest.mark.thorough(target="pipelines")) for row in _LISTED),
    ],
)
def test_nothing_is_lost_or_doubled_or_read_again_whatever_happens_to_the_worker(
    scenes: Mapping[str, Setting], tmp_path: Path, row: str
) -> None:
    parsed = Row.parse(row)
    assert played(scenes[parsed.scene], tmp_path, parsed).wrong == []


def test_the_matrix_has_every_point_killed_and_frozen() -> None:
    assert {(row.scene, row.point, row.action) for row in rows(everything=False)} == {
        (scene, point, action)
        for scene, points in POINTS.items()
        for point in points
        for action in ("kill", "freeze", *(("twice",) if point in TWICE else ()))
    }
