"""Lines of CSV are taken apart in tasks where all readers agree on them, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.pipelines.sources import plain_rows
from conductor_workers.pipelines.sources.pieces import LINE, Lines
from conductor_workers.pipelines.sources.plain_rows import PlainRows


def _rows(place: Path, content: bytes, **options: str) -> list[list[str | None]]:
    """The values of each row; of one that Spark is to take apart, the line alone."""
    file = place / "data.csv"
    file.write_bytes(content)
    about = {"path": str(file), "size": len(content), "mtime_ns": file.stat().st_mtime_ns}
    reader = PlainRows(lines=Lines(format="csv"), columns=2, options=options)
    split = SplitDescriptor(ord=0, descriptor=about)
    found = [row for batch in reader.read(split) for row in batch.to_pylist()]
    return [
        [row[LINE]] if row[LINE] is not None else [row[name] for name in reader.made[:-1]]
        for row in found
    ]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a,b\n,c\n", [["a", "b"], [None, "c"]]),
        (b"a,b\r\n\n c ,d", [["a", "b"], [" c ", "d"]]),
        (b'"a","b,c"\n"",d\n', [["a", "b,c"], ["", "d"]]),
        (b'"say ""a""",b\n"""",""""""\n', [['say "a"', "b"], ['"', '""']]),
    ],
)
def test_rows_on_which_all_readers_agree_are_taken_apart(tmp_path, content, rows):
    assert _rows(tmp_path, content) == rows


@pytest.mark.parametrize(
    "line",
    [
        'a"b,c',
        '"a"b,c',
        '"a,c',
        '"a" ,c',
        ',",x"y',
        '"a,"b",c"',
        "a",
        "a,b,c",
        "\0a,b",
        "a,\ufeffb",
    ],
)
def test_a_line_that_readers_take_apart_in_other_ways_is_left_to_spark(tmp_path, line):
    assert _rows(tmp_path, f"{line}\n".encode()) == [[line]]


def test_a_line_that_is_no_utf8_is_left_to_spark(tmp_path):
    assert _rows(tmp_path, b"a\xe9,b\n") == [["a\ufffd,b"]]


def test_a_quoted_value_that_may_be_what_null_is_called_is_left_to_spark(tmp_path):
    assert _rows(tmp_path, b'"NA",b\n', nullValue="NA") == [['"NA",b']]
    assert _rows(tmp_path, b"NA,b\n", nullValue="NA") == [[None, "b"]]


@pytest.mark.parametrize("options", [{"quote": " "}, {"quote": "\t"}, {"sep": "\\"}, {"sep": " "}])
def test_blanks_as_quotes_and_odd_separators_are_left_to_spark(tmp_path, options):
    line = "a,b".replace(",", options.get("sep", ","))
    assert _rows(tmp_path, f"{line}\n".encode(), **options) == [[line]]


def test_one_odd_line_sends_no_others_the_long_way_but_those_of_its_block(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_rows, "_BLOCK_BYTES", 1)
    assert _rows(tmp_path, b'a,b\nc"d,e\nf,g\n') == [["a", "b"], ['c"d,e'], ["f", "g"]]
