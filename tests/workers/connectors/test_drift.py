"""Files whose columns are not those of the schema: the same rule for every format and place."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.errors import PySparkException

from conductor_py.pipelines import spec
from conductor_workers.pipelines.connectors import Owner, SourceProblem
from conductor_workers.pipelines.registry import Place, open_source
from conductor_workers.pipelines.storage.s3 import S3Storage
from conductor_workers.pipelines.trouble import trouble
from conductor_workers.testing import SourceSample
from conductor_workers.testing.sources import walked

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

_CUTS = {"csv": "bytes", "json": "bytes", "parquet": "row_groups", "orc": "stripes"}
_BUCKET = (
    pytest.mark.service,
    pytest.mark.thorough(target="pipelines"),
)
_PLACES = [
    "whole files",
    pytest.param("pieces", marks=pytest.mark.thorough(target="pipelines")),
    pytest.param("objects", marks=_BUCKET),
]
#: The first file is as declared; the second one has one column less and two more.
_ROWS: tuple[list[dict[str, Any]], ...] = (
    [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}],
    [{"id": 3, "note": 'a "b" ü', "n": 7}, {"id": 4, "note": None, "n": 8}],
)

Put = Callable[[str, bytes], None]


def _content(rows: list[dict[str, Any]], format: str) -> bytes:
    if format == "json":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if format == "csv":
        lines = [",".join(rows[0])]
        for row in rows:
            texts = ("" if each is None else str(each).replace('"', '""') for each in row.values())
            lines.append(",".join(f'"{text}"' if '"' in text else text for text in texts))
        return ("\n".join(lines) + "\n").encode()
    table = pa.Table.from_pylist(rows)
    buffer = io.BytesIO()
    if format == "parquet":
        pq.write_table(table, buffer, row_group_size=1)
    else:
        orc.write_table(table, buffer)
    return buffer.getvalue()


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path) -> tuple[Put, dict[str, Any]]:
    """Where files are put, and the settings of a source that reads them."""
    if request.param == "objects":
        bucket = request.getfixturevalue("bucket")
        reached = {
            "endpoint": bucket.endpoint,
            "region": bucket.region,
            "access_key": bucket.access_key,
            "secret_key": bucket.secret_key,
        }
        storage = S3Storage(bucket=bucket.name, prefix="", **reached)
        return storage.create, {"paths": [f"s3://{bucket.name}/*"], **reached}

    def put(name: str, content: bytes) -> None:
        (tmp_path / name).write_bytes(content)

    given: dict[str, Any] = {"paths": [f"{tmp_path}/*"]}
    return put, {**given, "cut": True} if request.param == "pieces" else given


def _rows(spark, given: dict[str, Any], format: str, **rule: Any) -> list[dict[str, Any]]:
    settings = dict(given)
    split = None
    if settings.pop("cut", False):
        split = spec.SplitRule(by=_CUTS[format], size_bytes=1)
    columns = (spec.Column(name="id", type="bigint"), spec.Column(name="name", type="string"))
    node = spec.Source(
        id="in",
        kind="file",
        output="o",
        split=split,
        schema=spec.Schema(columns=columns, **rule),
        settings={
            **settings,
            "format": format,
            "options": {"header": "true"} if format == "csv" else {},
        },
    )
    source: Any = open_source(
        node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir="/nowhere")
    )
    splits, _ = walked(SourceSample(source=source, rows=()), limit=99)
    frame = source.frame(spark, splits, source.schema(spark))
    found = [row.asDict() for row in frame.collect()]
    assert all(row.pop("_bad", None) is None and row.pop("_raw", None) is None for row in found)
    return sorted(found, key=lambda row: row["id"])


def _problem(spark, given: dict[str, Any], format: str, **rule: Any) -> str:
    with pytest.raises((SourceProblem, PySparkException)) as caught:
        _rows(spark, given, format, **rule)
    told = trouble(caught.value)
    assert told.code == "SCHEMA_CHANGED"
    return told.sentence


@pytest.mark.parametrize("place", _PLACES, indirect=True)
@pytest.mark.parametrize("format", list(_CUTS))
def test_columns_that_came_or_went_are_treated_as_the_schema_says(
    spark, place, format: str
) -> None:
    put, given = place
    for number, rows in enumerate(_ROWS):
        put(f"{number}.{format}", _content(rows, format))
    names = [None if number > 2 else ("one", "two")[number - 1] for number in range(1, 5)]
    plain = [{"id": number, "name": names[number - 1]} for number in range(1, 5)]
    assert _rows(spark, given, format) == plain
    missing = _problem(spark, given, format, missing_columns="fail")
    assert "1." in missing
    assert missing.endswith(" has no column name.")
    extra = _problem(spark, given, format, extra_columns="fail")
    assert extra.endswith(" has a column more: note, n.")
    captured = _rows(spark, given, format, extra_columns="capture")
    beside = [row.pop("_extra") for row in captured]
    assert captured == plain
    seven, eight = ("7", "8") if format == "csv" else (7, 8)
    assert beside[:2] == [None, None]
    found = [json.loads(text) for text in beside[2:]]
    assert found == [{"note": 'a "b" ü', "n": seven}, {"n": eight}]


@pytest.mark.parametrize("place", _PLACES, indirect=True)
@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_column_of_another_type_is_said(spark, place, format: str) -> None:
    put, given = place
    put(f"a.{format}", _content([{"id": "one", "name": "x"}], format))
    assert _problem(spark, given, format).endswith(" has id as string, not as int64.")


@pytest.mark.parametrize(
    "place", ["whole files", pytest.param("objects", marks=_BUCKET)], indirect=True
)
@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize("rule", ["ignore", "capture"])
def test_compressed_lines_are_read(spark, place, format: str, rule: str) -> None:
    put, given = place
    for ending, pack in (("gz", gzip.compress), ("bz2", bz2.compress)):
        put(f"a.{format}.{ending}", pack(_content(_ROWS[0], format)))
    found = _rows(spark, given, format, extra_columns=rule)
    assert [(row["id"], row["name"]) for row in found] == [(1, "one")] * 2 + [(2, "two")] * 2


@pytest.mark.parametrize("place", [pytest.param("objects", marks=_BUCKET)], indirect=True)
def test_a_compression_that_cannot_be_read_is_said(spark, place) -> None:
    put, given = place
    put("a.csv.xz", lzma.compress(_content(_ROWS[0], "csv")))
    assert len(_rows(spark, given, "csv")) == 2
    put("b.csv.snappy", b"sNaPpY")
    with pytest.raises((SourceProblem, PySparkException)) as caught:
        _rows(spark, given, "csv")
    told = trouble(caught.value)
    assert told.code == "SOURCE_UNREADABLE"
    assert told.sentence.startswith("The file b.csv.snappy is compressed as .snappy, and only .gz")
