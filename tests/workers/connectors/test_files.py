"""Files on disks and generated rows keep the promises of connectors."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from conductor_py.pipelines import spec
from conductor_workers.manifest import visible_files
from conductor_workers.pipelines.connectors import Owner
from conductor_workers.pipelines.registry import Place, open_sink, open_source
from conductor_workers.pipelines.storage.local import LocalStorage
from conductor_workers.testing import SinkContract, SinkTarget, SourceContract, SourceSample

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

DATA = [(number, f"name {number}") for number in range(300)]
SCHEMA = spec.Schema(
    columns=(spec.Column(name="id", type="bigint"), spec.Column(name="name", type="string"))
)


def source_of(folder, **settings):
    split = settings.pop("split", None)
    node = spec.Source(
        id="in",
        kind="file",
        output="o",
        split=split,
        schema=SCHEMA,
        settings={"paths": [f"{folder}/*"], **settings},
    )
    return open_source(node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir="/nowhere"))


class TestCsv(SourceContract):
    split: spec.SplitRule | None = None

    @pytest.fixture
    def sample(self, tmp_path):
        for part in range(3):
            rows = DATA[part * 100 : part * 100 + 100]
            lines = "".join(f"{number},{name}\n" for number, name in rows)
            (tmp_path / f"{part}.csv").write_text(f"id,name\n{lines}")
        source = source_of(tmp_path, format="csv", options={"header": "true"}, split=self.split)
        return SourceSample(source=source, rows=DATA)


class TestCsvRanges(TestCsv):
    split = spec.SplitRule(by="bytes", size_bytes=333)


class TestJson(SourceContract):
    @pytest.fixture
    def sample(self, tmp_path):
        lines = (json.dumps({"id": number, "name": name}) + "\n" for number, name in DATA)
        (tmp_path / "a.jsonl").write_text("".join(lines))
        return SourceSample(source=source_of(tmp_path, format="json"), rows=DATA)


@pytest.mark.thorough(target="pipelines")
class TestPieces(SourceContract):
    @pytest.fixture(
        params=[
            ("json", "bytes"),
            ("parquet", "file"),
            ("parquet", "row_groups"),
            ("orc", "file"),
            ("orc", "stripes"),
        ]
    )
    def sample(self, request, tmp_path):
        form, by = request.param
        for part in range(3):
            content = content_of(DATA[part * 100 : part * 100 + 100], form)
            (tmp_path / f"{part}.{form}").write_bytes(content)
        rule = spec.SplitRule(by=by, size_bytes=500)
        return SourceSample(source=source_of(tmp_path, format=form, split=rule), rows=DATA)


def content_of(rows, format: str) -> bytes:
    named = [{"id": number, "name": name} for number, name in rows]
    if format == "json":
        return "".join(json.dumps(row) + "\n" for row in named).encode()
    buffer = io.BytesIO()
    if format == "parquet":
        pq.write_table(pa.Table.from_pylist(named), buffer, row_group_size=20)
    else:
        orc.write_table(pa.Table.from_pylist(named), buffer)
    return buffer.getvalue()


def sink_of(path, settings):
    node = spec.Sink(id="out", kind="file", input="i", settings={"path": path, **settings})
    return open_sink(node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir="/nowhere"))


class TestPublished(SinkContract):
    visibility = "publish"

    @pytest.fixture
    def target(self, tmp_path):
        root = tmp_path / "out"

        def visible() -> list[Path]:
            if self.visibility == "manifest":
                return [root / name for name in visible_files(LocalStorage(root))]
            return [
                file
                for file in root.rglob("*.parquet")
                if "_" not in file.relative_to(root).parts[0][:1]
            ]

        def rows():
            tables = (pq.read_table(file) for file in visible())
            return [tuple(row.values()) for table in tables for row in table.to_pylist()]

        def leftovers():
            return sorted(
                {str(file) for file in root.rglob("*.parquet")} - {str(f) for f in visible()}
            )

        settings = {"format": "parquet", "visibility": self.visibility}
        return SinkTarget(
            open=partial(sink_of, str(root), settings),
            rows=rows,
            leftovers=leftovers,
            takes_back=self.visibility == "manifest",
            killed_at=("F9", "F11"),
        )


class TestManifest(TestPublished):
    visibility = "manifest"
