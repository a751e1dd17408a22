"""A file has the same rows whether it is read whole or cut, and what is read is that file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conductor_py.pipelines import spec
from conductor_workers.pipelines.connectors import Owner
from conductor_workers.pipelines.registry import Place, open_source
from conductor_workers.testing import SourceSample
from conductor_workers.testing.sources import walked

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

_CUTS = {"csv": "bytes", "json": "bytes", "parquet": "row_groups", "orc": "stripes"}

Row = dict[str, Any]


def read(
    spark: SparkSession,
    path: Path,
    columns: str,
    *,
    cut: bool = False,
    options: dict[str, Any] | None = None,
    **rule: Any,
) -> list[Row]:
    """The rows of a file, or of a folder's files, of the format that the suffix of one says; a bad
    one is what is said of it.
    """
    form = next(iter(sorted(path.iterdir()))).suffix[1:] if path.is_dir() else path.suffix[1:]
    named = [column.split(" ", 1) for column in columns.split(", ")]
    node = spec.Source(
        id="in",
        kind="file",
        output="o",
        split=spec.SplitRule(by=_CUTS[form], size_bytes=4) if cut else None,
        schema=spec.Schema(
            columns=tuple(spec.Column(name=name, type=type_) for name, type_ in named), **rule
        ),
        settings={"paths": [str(path)], "format": form, "options": options or {}},
    )
    source: Any = open_source(
        node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir="/nowhere")
    )
    splits, _ = walked(SourceSample(source=source, rows=()), limit=99)
    found = [row.asDict() for row in source.frame(spark, splits, source.schema(spark)).collect()]
    return sorted(map(_judged, found), key=str)


def _judged(row: Row) -> Row:
    bad, raw = row.pop("_bad", None), row.pop("_raw", None)
    return row if bad is None else {"bad": bad, "raw": raw}


def test_a_file_whose_name_reads_as_a_pattern_is_read_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    names = ["a1", "a[1]", "b{x,y}", "bx", "q?", "qa", "s*", "back\\slash", "c d", "p%20q", "h#1"]
    for name in names:
        (tmp_path / f"{name}.csv").write_text(f'name\n"{name}"\n')
    found = read(spark, tmp_path, "name string", options={"header": True})
    assert [row["name"] for row in found] == sorted(names)
