"""Pieces of files have together what the file has, wherever the cuts fall."""

from __future__ import annotations

import io
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.pipelines.connectors import SourceProblem
from conductor_workers.pipelines.sources import pieces
from conductor_workers.pipelines.sources.groups import GroupReader
from conductor_workers.pipelines.sources.line_reader import LineReader
from conductor_workers.pipelines.sources.listing import (
    CutRule,
    FileEnumerator,
    file_enumerator,
    files_of,
    unchanged,
)
from conductor_workers.pipelines.sources.pieces import Lines
from conductor_workers.pipelines.storage import StoreAway

_words = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters='",\u2028\u2029\x85'),
    max_size=8,
).filter(lambda text: text == text.strip())


def _enumerator(path: Path, data_format: str, by: str, size: int) -> FileEnumerator:
    rule = CutRule(by=by, size=size)
    return FileEnumerator(patterns=(str(path),), format=data_format, rule=rule, watch=False)


def _splits(enumerator: FileEnumerator) -> list[SplitDescriptor]:
    found: list[SplitDescriptor] = []
    while True:
        page = enumerator.discover(first_ord=len(found), limit=3)
        found.extend(page.found)
        if page.complete:
            return found


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(_words.filter(bool), _words), max_size=30),
    size=st.integers(1, 200),
    header=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
)
def test_byte_ranges_of_csv_have_every_line_once(
    rows: list[tuple[str, str]], size: int, header: bool, ending: str, last: bool
) -> None:
    lines = [*(["a,b"] if header else []), *(f"{one},{other}" for one, other in rows)]
    text = ending.join(lines) + (ending if last and lines else "")
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "data.csv"
        file.write_bytes(text.encode())
        reader = LineReader(lines=Lines(format="csv", header=header), columns=("a", "b"))
        read = [
            (row["a"], row["b"] or "")
            for split in _splits(_enumerator(file, "csv", "bytes", size))
            for batch in reader.read(split)
            for row in batch.to_pylist()
        ]
    assert read == rows


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.dictionaries(st.sampled_from("abc"), st.integers() | _words), max_size=30),
    size=st.integers(1, 300),
)
def test_byte_ranges_of_json_lines_have_every_object_once(
    rows: list[dict[str, object]], size: int
) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "data.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        reader = LineReader(lines=Lines(format="json"), columns=("a", "b", "c"))
        read = [
            {key: value for key, value in row.items() if value is not None}
            for split in _splits(_enumerator(file, "json", "bytes", size))
            for batch in reader.read(split)
            for row in batch.to_pylist()
        ]
    assert read == [{key: str(value) for key, value in row.items()} for row in rows]


@pytest.mark.parametrize("size", [1, 500, 5000])
def test_row_groups_have_every_row_once(tmp_path: Path, size: int) -> None:
    file = tmp_path / "data.parquet"
    table = pa.table({"id": list(range(1000)), "text": [f"t{n}" for n in range(1000)]})
    pq.write_table(table, file, row_group_size=70)
    splits = _splits(_enumerator(file, "parquet", "row_groups", size))
    batches = [
        b
        for split in splits
        for b in GroupReader(format="parquet", schema=table.schema).read(split)
    ]
    assert pa.Table.from_batches(batches).to_pylist() == table.to_pylist()
    assert sum(split.rows for split in splits) == (1000 if len(splits) > 1 else 0)


@pytest.mark.thorough(target="timing")
def test_a_first_line_without_an_end_is_read_in_linear_time(tmp_path: Path) -> None:
    file, size = tmp_path / "data.csv", 64 << 20
    file.write_bytes(b"x" * size)
    (split,) = _splits(_enumerator(file, "csv", "file", 1000))
    before_s = time.process_time()
    assert len(Lines(format="csv", header=True).head(split)) == size
    assert time.process_time() - before_s < 8


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\r\n \n\r"])
@pytest.mark.parametrize("portion", [1, 2, 3, 100])
def test_the_first_line_is_found_wherever_its_portions_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, before: bytes, portion: int
) -> None:
    monkeypatch.setattr(pieces, "_SCAN_BYTES", portion)
    file = tmp_path / "data.csv"
    for rest in (b"", end, end + b"b" + end):
        file.write_bytes(before + b"a,c" + rest)
        (split,) = _splits(_enumerator(file, "csv", "file", 1000))
        lines = Lines(format="csv", header=True)
        assert (lines.head(split), lines.of(split)) == (b"a,c", [b"b"] if b"b" in rest else [])


class _Away(io.BytesIO):
    """A file whose store answers so many reads, and then no more."""

    def __init__(self, content: bytes, answers: int) -> None:
        super().__init__(content)
        self.answers = answers

    def read(self, size: int | None = -1) -> bytes:
        if not self.answers:
            raise StoreAway("The bucket is away.")
        self.answers -= 1
        return super().read(size)


@dataclass(frozen=True)
class _InStore:
    """``Files`` of one file in a store."""

    content: bytes
    answers: int

    def open(self, split: SplitDescriptor) -> BinaryIO:
        return self.place(split)

    def place(self, split: SplitDescriptor) -> BinaryIO:
        return _Away(self.content, self.answers)


@pytest.mark.parametrize("data_format", ["parquet", "orc"])
def test_a_store_that_is_away_is_not_taken_for_a_broken_file(data_format: str) -> None:
    table, content = pa.table({"id": list(range(5000))}), io.BytesIO()
    (orc if data_format == "orc" else pq).write_table(table, content)
    split = SplitDescriptor(ord=0, descriptor={"path": "data"})

    def read(answers: int, content: bytes) -> int:
        files = _InStore(content, answers)
        reader = GroupReader(format=data_format, schema=table.schema, files=files)
        return sum(batch.num_rows for batch in reader.read(split))

    for answers in range(2):
        with pytest.raises(StoreAway, match=r"The bucket is away\."):
            read(answers, content.getvalue())
    assert read(100, content.getvalue()) == table.num_rows
    with pytest.raises(SourceProblem, match="cannot be read as it was found") as found:
        read(100, b"no such file at all")
    assert found.value.code == "SOURCE_CHANGED"


def test_discovery_goes_on_where_it_was_with_the_same_numbers(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.csv").write_text("x" * 100 + "\n")
    (tmp_path / "_hidden.csv").write_text("x\n")
    whole = _splits(_enumerator(tmp_path, "csv", "bytes", 30))
    first = _enumerator(tmp_path, "csv", "bytes", 30)
    begun = list(first.discover(first_ord=0, limit=7).found)
    rule = CutRule(by="bytes", size=30)
    second = file_enumerator(first.snapshot(), (str(tmp_path),), "csv", rule, watch=False)
    second.recall(begun)
    rest = second.discover(first_ord=7, limit=1000)
    assert rest.complete
    assert [*begun, *rest.found] == whole
    assert [split.ord for split in whole] == list(range(20))


def test_a_file_that_changed_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a,b\n1,2\n")
    (split,) = _splits(_enumerator(file, "csv", "file", 1000))
    unchanged(split)
    file.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(SourceProblem, match=r"data\.csv has changed .* it had 8 bytes") as found:
        unchanged(split)
    assert found.value.code == "SOURCE_CHANGED"
    file.unlink()
    with pytest.raises(SourceProblem, match="has vanished"):
        unchanged(split)
    assert files_of((str(tmp_path / "*.csv"),)) == []
