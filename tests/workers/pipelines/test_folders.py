"""Columns in the names of folders are columns as others are, and cost no frame a folder."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession

from conductor_py.pipelines import spec
from conductor_workers.testing import SourceSample
from conductor_workers.testing.sources import walked
from tests.workers.pipelines.jobs import Trial, files, job_of
from tests.workers.pipelines.test_file_sources import Row, read, source_of

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="pipelines")]

_FORMS = ["csv", "json", "parquet", "orc"]
_CUT = pytest.mark.parametrize("cut", [False, True])


def _written(place: Path, form: str, **columns: list[Any]) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    file = place / f"a.{form}"
    if form == "csv":
        lines = [",".join(columns), *(",".join(map(str, row.values())) for row in rows)]
        file.write_text("\n".join([*lines, ""]))
    elif form == "json":
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif form == "parquet":
        pq.write_table(pa.table(columns), file, row_group_size=2)
    else:
        orc.write_table(pa.table(columns), file)
    return file


def _read(spark: SparkSession, path: Path, columns: str, form: str, **more: Any) -> list[Row]:
    options = {"header": True} if form == "csv" else {}
    return read(spark, path, columns, form=form, options=more.pop("options", options), **more)


@_CUT
@pytest.mark.parametrize("form", ["csv", "json"])
def test_rows_are_there_when_folders_have_all_declared_columns(
    spark: SparkSession, tmp_path: Path, form: str, cut: bool
) -> None:
    _written(tmp_path / "day=2026-01-01", form, v=[1, 3, 5], w=["a", "b", "c"])
    found = _read(spark, tmp_path, "day date", form, cut=cut)
    assert found == [{"day": date(2026, 1, 1)}] * 3


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_rows_of_typed_files_are_there_when_folders_have_all_declared_columns(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    _written(tmp_path / "day=2026-01-01", form, v=[1, 3, 5])
    assert _read(spark, tmp_path, "day date", form) == [{"day": date(2026, 1, 1)}] * 3


@_CUT
def test_lines_without_header_are_rows_when_folders_have_all_declared_columns(
    spark: SparkSession, tmp_path: Path, cut: bool
) -> None:
    (tmp_path / "day=2026-01-01").mkdir()
    (tmp_path / "day=2026-01-01" / "a.csv").write_text("1,a\n3,b\n5,c\n")
    found = _read(spark, tmp_path, "day date", "csv", cut=cut, options={})
    assert found == [{"day": date(2026, 1, 1)}] * 3


@_CUT
@pytest.mark.parametrize("form", _FORMS)
def test_the_value_of_a_folder_goes_by_the_rules_of_the_schema(
    spark: SparkSession, tmp_path: Path, form: str, cut: bool
) -> None:
    for day in ("2026-01-01", "bad", "__HIVE_DEFAULT_PARTITION__"):
        _written(tmp_path / f"day={day}", form, v=[1])
    columns, good = "day date, v bigint", {"day": date(2026, 1, 1), "v": 1}
    found = _read(spark, tmp_path, columns, form, cut=cut)
    assert [row.get("bad") for row in found] == ["day: bad is no date", None, None]
    assert json.loads(found[0]["raw"])["day"] == "bad"
    assert found[1:] == [{"day": None, "v": 1}, good]
    nulls = _read(spark, tmp_path, columns, form, cut=cut, cast_errors="null")
    assert nulls == [{"day": None, "v": 1}] * 2 + [good]


@pytest.mark.parametrize("form", _FORMS)
def test_a_folder_without_a_value_that_must_be_there_makes_bad_rows(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    for day in ("1", "__HIVE_DEFAULT_PARTITION__"):
        _written(tmp_path / f"day={day}", form, v=[1])
    columns = (
        spec.Column(name="day", type="string", nullable=False),
        spec.Column(name="v", type="bigint"),
    )
    options = {"header": True} if form == "csv" else {}
    source = source_of(tmp_path, form, options=options, schema=spec.Schema(columns=columns))
    splits, _ = walked(SourceSample(source=source, rows=()), limit=9)
    rows = source.placed(spark, splits, source.schema(spark)).collect()
    assert {(row["day"], row["_bad"], row["_code"]) for row in rows} == {
        ("1", None, None),
        (None, "day: is missing", "MISSING_VALUE"),
    }


@_CUT
def test_patterns_of_dates_are_those_of_files_and_not_of_folders(
    spark: SparkSession, tmp_path: Path, cut: bool
) -> None:
    _written(tmp_path / "day=2026-01-31", "csv", at=["01.02.2026"])
    options = {"header": True, "dateFormat": "dd.MM.yyyy"}
    found = _read(spark, tmp_path, "day date, at date", "csv", cut=cut, options=options)
    assert found == [{"day": date(2026, 1, 31), "at": date(2026, 2, 1)}]


@_CUT
@pytest.mark.parametrize("header", [False, True])
def test_a_file_s_own_column_is_read_and_not_its_folder_s(
    spark: SparkSession, tmp_path: Path, header: bool, cut: bool
) -> None:
    place = tmp_path / "v=9"
    file = _written(place, "csv", v=[1, 3], w=[2, 4])
    if not header:
        file.write_text("1,2\n3,4\n")
    (place / "deep").mkdir()
    (place / "deep" / "b.csv").write_text("w\n5\n" if header else "5\n")
    found = _read(spark, tmp_path, "v int, w int", "csv", cut=cut, options={"header": header})
    assert found == [{"v": 1, "w": 2}, {"v": 3, "w": 4}, {"v": 9, "w": 5}]


@pytest.mark.parametrize("form", _FORMS)
def test_a_folder_above_what_a_path_names_is_no_column(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    place = tmp_path / "v=9" / "in"
    _written(place / "w=7" / "x=8", form, v=[1])
    for path in (place, place / "w=7", place / "w=7" / "x=8", place / "w=7" / "*" / "*"):
        found = _read(spark, path, "v bigint, w int, x int", form)
        assert found == [{"v": 1, "w": 7, "x": 8}], path


def test_files_of_many_folders_are_one_frame_in_their_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    for at in range(12):
        _written(tmp_path / f"k={at:02}", "csv", v=[at] * (1 + at % 3))
    columns = (spec.Column(name="k", type="int"), spec.Column(name="v", type="int"))
    for by in ("file", "bytes"):
        source = source_of(
            tmp_path,
            "csv",
            options={"header": True},
            schema=spec.Schema(columns=columns),
            split=spec.SplitRule(by=by, size_bytes=1),
        )
        splits, _ = walked(SourceSample(source=source, rows=()), limit=99)
        schema = source.schema(spark)
        assert len(source.frames(spark, splits, schema)) == 1
        assert source.frame(spark, splits, schema).columns == ["k", "v", "_bad", "_raw"]
        expected = [(at, at) for at in range(12) for _ in range(1 + at % 3)]
        rows = source.ordered(spark, splits, schema).collect()
        assert [(row["k"], row["v"]) for row in rows] == expected


def test_without_a_declared_schema_folders_are_no_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = _written(tmp_path / "v=9", "csv", v=[1, 3])
    source = source_of(file, "csv", options={"header": True})
    splits, _ = walked(SourceSample(source=source, rows=()), limit=9)
    rows = source.frame(spark, splits, source.schema(spark)).collect()
    assert [row["v"] for row in rows] == [1, 3]


@pytest.mark.parametrize(
    "node",
    [
        {"kind": "map", "select": {"d": "day"}},
        {"kind": "map", "select": {"n": "1"}},
        {"kind": "sql", "query": "SELECT day FROM i"},
    ],
)
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_job_may_want_nothing_that_is_in_the_files(
    trial: Trial, form: str, node: dict[str, Any]
) -> None:
    _written(trial.place / "in" / "day=2026-01-01", form, v=["x"] * 5)
    source = {
        "id": "in",
        "kind": "file",
        "output": "in_rows",
        "format": form,
        "paths": [str(trial.place / "in")],
        "options": {"header": True} if form == "csv" else {},
        "schema": {"columns": [{"name": "v", "type": "string"}, {"name": "day", "type": "date"}]},
    }
    wanting = {"id": "m", "inputs": {"i": "in_rows"}, "output": "o", **node}
    out = trial.place / "out"
    job = job_of(
        [source], [files("out", "o", out)], [wanting], env={"restart": {"per_pipeline": 0}}
    )
    assert trial.run(job).finished
    assert trial.spark.read.parquet(str(out)).count() == 5
