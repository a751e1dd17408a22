"""Rows are found in the order of their splits, however their files are named and read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.pipelines.places import in_order
from conductor_workers.pipelines.reading import rows_of
from conductor_workers.pipelines.sources.bucket import BucketSource
from conductor_workers.pipelines.sources.listing import CutRule, file_enumerator, files_of
from conductor_workers.pipelines.sources.pieces import LocalFiles
from conductor_workers.pipelines.storage.s3 import S3Storage
from conductor_workers.testing import SourceSample
from conductor_workers.testing.sources import walked
from tests.workers.pipelines.test_file_sources import source_of

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="pipelines")]

_SCHEMA = spec.Schema(columns=(spec.Column(name="id", type="string"),))


class _OnDisk(BucketSource):
    """Objects that are files."""

    __slots__ = ()

    @property
    def _files(self) -> Any:
        return LocalFiles()


_NOWHERE = S3Storage(bucket="none")


def _in_order(spark: SparkSession, path: str) -> tuple[DataFrame, list[SplitDescriptor]]:
    source = source_of(Path(path), "csv", options={"header": True}, schema=_SCHEMA)
    splits, _ = walked(SourceSample(source=source, rows=()), limit=99)
    return source.ordered(spark, splits, source.schema(spark)), list(splits)


def _plan(frame: DataFrame) -> str:
    java: Any = frame._jdf
    return str(java.queryExecution().executedPlan().toString())


def _some_files(place: Path) -> list[str]:
    """Files of which Spark reads the last one first."""
    place.mkdir()
    for at in range(4):
        (place / f"f{at}.csv").write_text("id\n" + f"f{at}\n" * (at + 2))
    return [f"f{at}" for at in range(4) for _ in range(at + 2)]


def test_the_split_of_a_row_is_looked_up_and_neither_searched_nor_taken_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    expected = _some_files(tmp_path / "in")
    found, _ = _in_order(spark, str(tmp_path / "in"))
    assert [row["id"] for row in found.collect()] == expected
    assert "NestedLoop" not in _plan(found)
    assert "regexp_replace" not in _plan(found)


def test_a_row_of_a_file_that_no_split_names_fails_and_takes_no_other_place(
    spark: SparkSession, tmp_path: Path
) -> None:
    _some_files(tmp_path / "in")
    source = source_of(tmp_path / "in", "csv", options={"header": True}, schema=_SCHEMA)
    splits, _ = walked(SourceSample(source=source, rows=()), limit=99)
    rows = source.placed(spark, splits, source.schema(spark))
    with pytest.raises(PySparkException, match=r"No split is known of the row at .*/in/f3\.csv"):
        in_order(rows, splits[:3]).collect()


@pytest.mark.parametrize("path", ["in/../in", "in//*.csv", "./in/./", "link/../in/*.csv", "/in"])
def test_files_below_a_path_of_odd_steps_are_read_in_their_order(
    spark: SparkSession, tmp_path: Path, path: str
) -> None:
    (tmp_path / "far" / "away").mkdir(parents=True)
    expected = _some_files(tmp_path / "in")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    found, _ = _in_order(spark, f"{tmp_path}/{path}")
    assert [row["id"] for row in found.collect()] == expected


def test_a_file_that_is_found_by_two_ways_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "far" / "away").mkdir(parents=True)
    expected = _some_files(tmp_path / "far" / "in")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    ways = ("link/../in", "far/in/../in/*.csv", "far//in", "far/in/./*")
    paths = tuple(f"{tmp_path}/{way}" for way in ways)
    node = source_of(tmp_path, "csv", options={"header": True}, schema=_SCHEMA)
    node = replace(node, patterns=paths)
    splits, _ = walked(SourceSample(source=node, rows=()), limit=99)
    assert [split.descriptor["path"] for split in splits] == [
        f"{tmp_path}/far/in/f{at}.csv" for at in range(4)
    ]
    found = node.ordered(spark, splits, node.schema(spark))
    assert [row["id"] for row in found.collect()] == expected


def test_a_pattern_that_goes_back_below_a_link_finds_its_files(tmp_path: Path) -> None:
    (tmp_path / "real" / "a").mkdir(parents=True)
    (tmp_path / "data").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "y").mkdir()
    (tmp_path / "real" / "y" / "f.csv").write_text("id\n1\n")
    for pattern in ("data/[a]/../y/*.csv", "data/a/../y", "data/a/../y/f.csv"):
        found = files_of((f"{tmp_path}/{pattern}",))
        assert [each.path for each in found] == [f"{tmp_path}/real/y/f.csv"]


def test_rows_of_a_file_that_an_earlier_version_listed_twice_are_there_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "f.csv").write_text("id\na\nb\n")
    source = source_of(tmp_path, "csv", options={"header": True}, schema=_SCHEMA)
    (split,), _ = walked(SourceSample(source=source, rows=()), limit=99)
    again = replace(split, ord=2, descriptor={**split.descriptor, "path": f"{tmp_path}//f.csv"})
    found = source.ordered(spark, [split, again], source.schema(spark))
    assert sorted(row["id"] for row in found.collect()) == ["a", "a", "b", "b"]


def test_a_watched_path_of_odd_steps_goes_on_after_what_was_found(tmp_path: Path) -> None:
    _some_files(tmp_path / "in")
    pattern = f"{tmp_path}/in/../in/*.csv"
    known = [
        SplitDescriptor(ord=at, descriptor={"path": f"{tmp_path}/in/../in/f{at}.csv"}, bytes=1)
        for at in range(3)
    ]
    enumerator = file_enumerator({"patterns": [pattern]}, (pattern,), "csv", CutRule(), watch=True)
    enumerator.recall(known)
    found = enumerator.discover(first_ord=3, limit=9).found
    assert [split.descriptor["path"] for split in found] == [f"{tmp_path}/in/f3.csv"]


@pytest.mark.parametrize("parts", ["headers", "folders"])
def test_objects_of_several_headers_or_folders_are_read_in_their_order(
    spark: SparkSession, tmp_path: Path, parts: str
) -> None:
    expected = [f"f{at}" for at in range(5) for _ in range(5 - at)]
    for at in range(5):
        odd = at % 2 and parts == "headers"
        place = tmp_path / (f"day={at % 2}" if parts == "folders" else "in") / f"f{at}.csv"
        place.parent.mkdir(exist_ok=True)
        row = f"k,f{at}" if odd else f"f{at},k"
        place.write_text("\n".join(["a,id" if odd else "id,a", *[row] * (5 - at), ""]))
    columns = tuple(spec.Column(name=name, type="string") for name in ("id", "day"))
    like = source_of(tmp_path, "csv", options={"header": True}, schema=spec.Schema(columns=columns))
    found, _ = walked(SourceSample(source=like, rows=()), limit=99)
    by_name = sorted(found, key=lambda split: Path(split.descriptor["path"]).name)
    splits = [replace(split, ord=at) for at, split in enumerate(by_name)]
    objects = _OnDisk(name="in", storage=_NOWHERE, patterns=(f"{tmp_path}/",), like=like)
    rows = rows_of(spark, objects, splits, like.schema(spark), ordered=True)
    assert rows.columns == ["id", "day", "_bad", "_raw"]
    assert [row["id"] for row in rows.collect()] == expected
