"""A worker dies or is frozen at a named point; another one, with other parallelism, goes on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.workers.pipelines.chaos import results
from tests.workers.pipelines.chaos.__main__ import Play, playing
from tests.workers.pipelines.chaos.rows import POINTS, TWICE, Row, Strike, rows

_LISTED = (Path(__file__).parent / "chaos-rows.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def play(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    with playing(spark, tmp_path_factory.mktemp("chaos")) as played:
        yield played


@pytest.mark.spark
@pytest.mark.acceptance
@pytest.mark.timeout(1000)
@pytest.mark.thorough(target="pipelines")
@pytest.mark.parametrize("row", _LISTED)
def test_nothing_is_lost_or_doubled_or_read_again_whatever_happens_to_the_worker(
    play: Play, tmp_path: Path, row: str
) -> None:
    assert play(Row.parse(row), tmp_path).wrong == []


def test_rows_are_written_as_they_are_read() -> None:
    written = [str(row) for row in rows()]
    assert [str(Row.parse(row)) for row in written] == written
    assert len(set(written)) == len(written)
    assert set(_LISTED) <= set(written)


def test_the_matrix_has_every_point_with_every_strike_and_change_of_cores() -> None:
    seen = {
        (row.scene, row.point, row.strike, _change(row))
        for row in rows()
        if row.scene != "event-time" and row.strike is not Strike.TWICE
    }
    assert seen == {
        (scene, point, strike, change)
        for scene in ("one-file", "one-table", "bounded")
        for point in POINTS[scene]
        for strike in Strike
        if strike is not Strike.TWICE
        for change in ("same", "fewer", "more")
    }
    by_event_time = {(row.point, row.strike) for row in rows() if row.scene == "event-time"}
    assert by_event_time == {
        *((point, strike) for point in POINTS["event-time"] for strike in ("driver", "freeze")),
        *((point, "twice") for point in TWICE),
    }


def test_a_result_belongs_to_the_code_of_all_that_plays_a_row() -> None:
    files = {path for path in results.OF_ANY if path.endswith(".py")}
    named = {
        f"{(node.module or '').replace('.', '/')}.py"
        for path in files
        for node in ast.walk(ast.parse((results.ROOT / path).read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.workers.")
    }
    assert named <= files
    assert all((results.ROOT / path).exists() for path in (*results.OF_ANY, *results.OF_ATTEMPTS))


def _change(row: Row) -> str:
    return "same" if row.before == row.after else "fewer" if row.after < row.before else "more"
