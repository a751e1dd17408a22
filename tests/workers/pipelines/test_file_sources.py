"""A file has the same rows whether it is read whole or cut, and what is read is that file."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from conductor_py.errors import DefinitionError
from conductor_py.pipelines import spec
from conductor_workers.pipelines.connectors import Owner, SourceProblem
from conductor_workers.pipelines.registry import Place, open_source
from conductor_workers.pipelines.sources.listing import CutRule, file_enumerator
from conductor_workers.pipelines.trouble import trouble
from conductor_workers.testing import SourceSample
from conductor_workers.testing.sources import walked
from tests.workers.pipelines.jobs import Trial, files, generated, job_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
#: Of variants that differ little, one or two go with every change.
_OTHERS = pytest.mark.thorough(target="pipelines")

_CUTS = {"csv": "bytes", "json": "bytes", "parquet": "row_groups", "orc": "stripes"}

Row = dict[str, Any]


def source_of(path: Path, form: str, **more: Any) -> Any:
    """A source of the files at a path."""
    settings = {"paths": [str(path)], "format": form, "options": more.pop("options", None) or {}}
    node = spec.Source(id="in", kind="file", output="o", settings=settings, **more)
    return open_source(node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir="/nowhere"))


def read(
    spark: SparkSession,
    path: Path,
    columns: str,
    *,
    cut: bool = False,
    form: str = "",
    options: dict[str, Any] | None = None,
    **rule: Any,
) -> list[Row]:
    """The rows of a file, or of a folder's files, of the format that a suffix says; a bad one is
    what is said of it.
    """
    form = form or (min(path.iterdir()) if path.is_dir() else path).suffix[1:]
    size = max(4, path.stat().st_size // 9) if path.is_file() else 4
    named = [column.split(" ", 1) for column in columns.split(", ")]
    schema = spec.Schema(
        columns=tuple(spec.Column(name=name, type=type_) for name, type_ in named), **rule
    )
    split = spec.SplitRule(by=_CUTS[form], size_bytes=size) if cut else None
    source = source_of(path, form, options=options, schema=schema, split=split)
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


@pytest.mark.parametrize("by", ["file", pytest.param("bytes", marks=_OTHERS)])
def test_files_of_any_name_and_header_are_read_in_the_order_of_their_splits(
    spark: SparkSession, tmp_path: Path, by: str
) -> None:
    names = ["a 1", "50%", "p%20q", "h#1", "a[1]", "a1", "b{x,y}", "q?", "s*", "back\\slash", "c+d"]
    names += ["\u00fc", "k=v", "c&d;e"]
    for at, name in enumerate(names):
        rows = [f'"{name}",{number}' for number in range(6 + (7 * at) % 5)]
        if at % 2:  # the columns of every second file stand in the other order
            rows = [",".join(reversed(row.rsplit(",", 1))) for row in rows]
        head = "n,name" if at % 2 else "name,n"
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *rows, ""]))
    columns = (spec.Column(name="name", type="string"), spec.Column(name="n", type="int"))
    source = source_of(
        tmp_path,
        "csv",
        options={"header": True},
        schema=spec.Schema(columns=columns),
        split=spec.SplitRule(by=by, size_bytes=20),
    )
    splits, _ = walked(SourceSample(source=source, rows=()), limit=999)
    assert (len(splits) > len(names)) == (by == "bytes")
    rows = source.ordered(spark, splits, source.schema(spark)).collect()
    assert [row["name"] for row in rows] == [
        name
        for name in sorted(names, key=lambda each: f"{each}.csv")
        for _ in _lines_of(tmp_path, name)
    ]
    for name in names:
        counts = [row["n"] for row in rows if row["name"] == name]
        assert counts == list(range(len(counts)))


def _lines_of(place: Path, name: str) -> list[str]:
    return (place / f"{name}.csv").read_text().splitlines()[1:]


def _same(spark: SparkSession, path: Path, columns: str, **more: Any) -> list[Row]:
    """The rows of a file that has the same ones whole and cut."""
    whole = read(spark, path, columns, **more)
    assert read(spark, path, columns, cut=True, **more) == whole
    return whole


def test_capitals_do_not_tell_the_columns_of_a_file_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [{"id": 1, "amount": 1.5}, {"id": 2, "amount": 2.5}]
    table = pa.table({"ID": [1, 2], "Amount": [1.5, 2.5]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    orc.write_table(table, tmp_path / "a.orc")
    (tmp_path / "a.csv").write_text("ID,Amount\n1,1.5\n2,2.5\n")
    for form in ("parquet", "orc", "csv"):
        options = {"header": True} if form == "csv" else {}
        for rule in ({}, {"missing_columns": "fail", "extra_columns": "fail"}):
            found = _same(
                spark, tmp_path / f"a.{form}", "id bigint, amount double", options=options, **rule
            )
            assert found == rows


def test_capitals_do_not_tell_the_fields_inside_a_column_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    inner = pa.struct([("Y", pa.int32())])
    fields = [("X", pa.int64()), ("L", pa.list_(inner)), ("M", pa.map_(pa.string(), inner))]
    values = [{"X": 1, "L": [{"Y": 2}], "M": [("K", {"Y": 3})]}, None]
    table = pa.table({"id": pa.array(values, pa.struct(fields))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    orc.write_table(table, tmp_path / "a.orc")
    y = "struct<y:bigint,z:int>"
    for form in ("parquet", "orc"):
        path = tmp_path / f"a.{form}"
        none, found = _same(spark, path, f"id struct<l:array<{y}>,m:map<string,{y}>,x:bigint>")
        assert none == {"id": None}
        assert found["id"] == ([(2, None)], {"K": (3, None)}, 1)


@pytest.mark.parametrize("made", [pa.large_list, lambda inner: pa.list_(inner, 1)])
def test_capitals_do_not_tell_the_fields_of_lists_of_other_kinds_apart(
    spark: SparkSession, tmp_path: Path, made: Any
) -> None:
    lists = pa.array([[{"Y": 2}], [{"Y": 3}]], made(pa.struct([("Y", pa.int32())])))
    pq.write_table(pa.table({"id": lists}), tmp_path / "a.parquet", row_group_size=1)
    found = _same(spark, tmp_path / "a.parquet", "id array<struct<y:bigint>>")
    assert [row["id"] for row in found] == [[(2,)], [(3,)]]


@pytest.mark.parametrize("cut", [False, True])
def test_a_column_that_a_file_has_twice_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, cut: bool
) -> None:
    pq.write_table(pa.table({"id": [1], "A": [1], "a": [2]}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("id,a,A\n1,x,y\n")
    for form, type_ in (("parquet", "bigint"), ("csv", "string")):
        path, options = tmp_path / f"a.{form}", {"header": True} if form == "csv" else {}
        told = _refused(spark, path, f"a {type_}", cut=cut, options=options)
        assert "SCHEMA_CHANGED" in told
        assert "more than once: " in told
        assert str(path) in told
        assert read(spark, path, "id bigint", cut=cut, options=options) == [{"id": 1}]


def _refused(spark: SparkSession, path: Path, columns: str, **more: Any) -> str:
    with pytest.raises((SourceProblem, PySparkException)) as caught:
        read(spark, path, columns, **more)
    told = trouble(caught.value)
    return f"{told.code}: {told.sentence}"


_ODD_CSV = (
    *(
        b'1,""',
        b"1,",
        b",",
        b'"",""',
        b'1,a"b',
        b'1,"a"b',
        b'1,""a',
        b'1, "a"',
        b'1,"a" ',
        b'"1","b',
    ),
    *(b"1,a\rb", b"  ", b"1", b"1,2,3", b"1,\x00x", b"1,caf\xe9", b'1,"x,y', b'"1,2', b'1,\\"x'),
    *(b'1,"\\"x"', b"1,\xe2\x80\xa8x", b"1,\xc2\x85x", b"1,x\x0by", b'1,"a"",b', b"1,\xf0\x9f\x98"),
    *(b"NA,NA", b'"NA",x', b'1,"x\ny"', b"1," + b"x" * (1 << 21)),
)


@pytest.mark.parametrize("null", [None, "NA"])
def test_an_odd_line_of_csv_is_the_same_row_whole_and_cut(
    spark: SparkSession, tmp_path: Path, null: str | None
) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,a\n" + b"".join(each + b"\n" for each in _ODD_CSV))
    options = {"header": True} | ({"nullValue": null} if null else {})
    found = _same(spark, tmp_path / "a.csv", "id string, a string", options=options)
    assert len(found) == len(_ODD_CSV) + 1
    assert [row["id"] for row in found if "caf" in str(row.get("a"))] == ["1"]


def test_a_quoted_empty_value_is_an_empty_text_and_nothing_at_all_is_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text('id,a,n\n1,"",""\n2,,\n3,NA,NA\n4,"NA","4"\n')
    for null, third in ((None, "NA"), ("NA", None)):
        options = {"header": True} | ({"nullValue": null} if null else {})
        found = _same(spark, tmp_path / "a.csv", "id int, a string, n string", options=options)
        texts = [(row["a"], row["n"]) for row in found]
        assert texts == [("", ""), (None, None), (third, third), (third, "4")]
    options = {"header": True, "nullValue": "NA"}
    found = _same(spark, tmp_path / "a.csv", "id int, n int", options=options)
    assert [row["n"] for row in found] == [None, None, None, 4]


_ODD_JSON = (
    *(
        b'{"id":1.50,"a":{"x":1,"y":[1.0]}}',
        b'{"id":1e3}',
        b'{"id":-0}',
        b'{"id":NaN}',
        b"{'id':1}",
    ),
    *(b'{"id":1} x', b'[{"id":1},{"id":2,"a":[1.50]}]', b"[]", b"[1]", b'{"id":"\\ud800x"}'),
    *(
        b'{"id":"caf\xe9"}',
        b"null",
        b"5",
        b"{}",
        b'{"id":null}',
        b'{"id":true}',
        b'{"id":1,"id":2}',
    ),
    *(
        b'{"id":"a\tb"}',
        b'{"id":1}\r{"id":2}',
        b"\t",
        b'{"id":01}',
        b'{"id":"\\u00e9"}',
        b'{"id":1',
    ),
    *(b'{"id": [1, 2] , "a" : { "z" : "\\u00e9" } }', b'{"id":' + b"[" * 5000 + b"]" * 5000 + b"}"),
    *(b'{"Id":1}', b'\xef\xbb\xbf{"id":1}', b'{"id":12345678901234567.89}', b'  {"id":1}  '),
    *(b'\x0c{"id":1}', b'\xc2\xa0{"id":1}', b'\x0b{"id":1}', b'\xe2\x80\x80{"id":1}'),
    *(b'{"id":+INF,"a":"-INF"}', b'{"id":-INF,"a":[+Infinity,{"b":-INF}]}', b'{"id":+Infinity}'),
    *(b'[{"id":1},{"id":+INF,"a":null}]', b'{"id":-INF1}', b'{"id":1+INF}', b'{"id":-+INF}'),
    *(b'{"id":INF}', b'{"id":"\\"+INF","a":-INF}', b'{"id":-INF,"a', b'{"+INF":1,"id":+INF} -INF'),
    *(b'{"id":-inf}', b'{"id":-INF.5}', b'{"id":"x" -INF}', b'{"id":NaN,"a":true,"b":-INF}'),
    *(b'{"i\\u0064":1,"a":[ {} ]}', b'{"id":"' + b"x" * (1 << 21) + b'"}'),
)


def test_an_odd_line_of_json_is_the_same_row_whole_and_cut(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_bytes(b"".join(each + b"\n" for each in _ODD_JSON))
    found = _same(spark, tmp_path / "a.json", "id string, a string")
    ids = {row.get("id") for row in found}
    assert {"1.50", "1e3", "-0", "12345678901234567.89", "?x"} <= ids


def test_decimals_of_json_are_what_the_file_says(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"id":1,"a":12345678901234567.89,"b":0.10}\n{"id":2,"a":0.1234567890123456789}\n'
    )
    texts = ["12345678901234567.8900000000000000000", "0.1234567890123456789"]
    found: list[Row] = []
    for rule in ({}, {"extra_columns": "capture"}):
        found = _same(spark, tmp_path / "a.json", "id int, a decimal(38,19)", **rule)
        assert [str(row["a"]) for row in found] == texts
    assert [row["_extra"] for row in found] == ['{"b":0.10}', None]


def test_blank_lines_and_any_ends_of_lines_are_heeded(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"id": "1", "a": "x"}, {"id": "2", "a": "y"}]
    for text in (
        "\n \na,id\nx,1\ny,2\n",
        "id,a\r1,x\r2,y\r",
        "id,a\r\n1,x\r\n\r\n2,y",
        "\ufeffid,a\n1,x\n2,y\n",
    ):
        (tmp_path / "a.csv").write_bytes(text.encode())
        assert (
            _same(spark, tmp_path / "a.csv", "id string, a string", options={"header": True})
            == rows
        )


def test_a_header_is_read_as_the_options_say(spark: SparkSession, tmp_path: Path) -> None:
    for content, options in (
        ("id,montant_é\n1,é\n".encode("latin-1"), {"encoding": "ISO-8859-1"}),
        (
            "id, montant_é \n1,é\n".encode(),
            {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True},
        ),
        ("# by hand\nid,montant_é\n1,é\n".encode(), {"comment": "#"}),
        ('id,"montant_é"\n1,"é"\n'.encode("utf-16"), {"encoding": "UTF-16", "multiLine": True}),
    ):
        (tmp_path / "a.csv").write_bytes(content)
        found = read(
            spark,
            tmp_path / "a.csv",
            "id int, montant_é string",
            options={"header": True, **options},
        )
        assert found == [{"id": 1, "montant_é": "é"}], options


@pytest.mark.parametrize("cut", [False, True])
def test_a_csv_file_with_none_of_the_columns_is_named(
    spark: SparkSession, tmp_path: Path, cut: bool
) -> None:
    (tmp_path / "a.csv").write_text("id;a\n1;x\n")
    told = _refused(
        spark, tmp_path / "a.csv", "id int, a string", cut=cut, options={"header": True}
    )
    assert told.startswith(
        f"SCHEMA_CHANGED: The file {tmp_path}/a.csv has none of the columns id, a"
    )
    assert told.endswith("its first line names id;a. Look at options.sep and options.header.")


def test_a_column_without_a_name_has_the_one_that_spark_gives_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(",a,a\n0,x,1\n1,y,2\n")
    columns = "_c0 int, a1 string, a2 int"
    found = _same(spark, tmp_path / "a.csv", columns, options={"header": True})
    assert found == [{"_c0": 0, "a1": "x", "a2": 1}, {"_c0": 1, "a1": "y", "a2": 2}]


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    "header",
    [
        "id,_raw",
        *(
            pytest.param(header, marks=_OTHERS)
            for header in ("id,_at", "_bad,id,_code", "id,_line,_row,0", "id,id2,ID2,id22,id22")
        ),
    ],
)
def test_columns_that_nobody_asked_for_may_have_any_name(
    spark: SparkSession, tmp_path: Path, header: str, cut: bool
) -> None:
    names = header.split(",")
    rows = [",".join(name if name == "id" else f"v{at}" for name in names) for at in range(4)]
    (tmp_path / "a.csv").write_text("\n".join([header, *rows, f"{rows[0]},more", ""]))
    more: dict[str, Any] = {"cut": cut, "options": {"header": True}}
    good, bad = {"id": "id"}, {"bad": "the row cannot be taken apart", "raw": f"{rows[0]},more"}
    assert read(spark, tmp_path / "a.csv", "id string", **more) == [bad, *[good] * 4]
    found = read(spark, tmp_path / "a.csv", "id string", extra_columns="capture", **more)
    kept = [json.loads(row["_extra"]) for row in found if row.get("_extra")]
    assert [list(each.values()) for each in kept] == [
        [f"v{at}"] * (len(names) - 1) for at in range(4)
    ]
    (bad_id,) = {row["raw"] for row in read(spark, tmp_path / "a.csv", "id int", **more)[:1]}
    assert set(map(str.lower, json.loads(bad_id))) >= {"id"}


_TYPED: dict[str, tuple[Any, str, str]] = {
    "at": (pa.array([0] * 2, pa.timestamp("us")), "timestamp_ntz", "date"),
    "d": (
        pa.array([Decimal("1.2300")] * 2, pa.decimal128(10, 4)),
        "decimal(12,4)",
        "decimal(10,2)",
    ),
    "u": (pa.array([4_000_000_000] * 2, pa.uint32()), "bigint", "int"),
    "c": (pa.array(["x"] * 2).dictionary_encode(), "string", "int"),
    "day": (pa.array([date(2026, 1, 1)] * 2, pa.date32()), "date", "timestamp"),
    "s": (pa.array([{"X": 1}] * 2), "struct<x:bigint>", "struct<x:string>"),
    "l": (pa.array([[1]] * 2), "array<bigint>", "array<int>"),
    "m": (
        pa.array([[(1, 2)]] * 2, pa.map_(pa.int64(), pa.int32())),
        "map<bigint,int>",
        "map<int,int>",
    ),
    "twice": (
        pa.array([{"X": 1, "x": 2, "y": 3}] * 2),
        "struct<y:bigint>",
        "struct<x:bigint,y:bigint>",
    ),
    "long": (pa.array([2**64 - 1] * 2, pa.uint64()), "decimal(20,0)", "decimal(22,0)"),
}


#: One that is wider, one that has fields, and the one that no type of Spark's holds.
_TYPICAL = {"u", "s", "long"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in _TYPICAL else _OTHERS) for name in _TYPED],
)
def test_a_type_that_loses_something_is_refused_whole_and_cut(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    values, fits, loses = _TYPED[name]
    pq.write_table(pa.table({name: values}), tmp_path / "a.parquet", row_group_size=1)
    assert len(_same(spark, tmp_path / "a.parquet", f"{name} {fits}")) == 2
    for cut in (False, True):
        told = _refused(spark, tmp_path / "a.parquet", f"{name} {loses}", cut=cut)
        assert told.startswith(f"SCHEMA_CHANGED: The file {tmp_path}/a.parquet has {name} as ")


def test_a_time_keeps_its_microseconds(spark: SparkSession, tmp_path: Path) -> None:
    instants = pa.array([1_767_225_600_000_001_999] * 2, pa.timestamp("ns"))
    orc.write_table(pa.table({"at": instants}), tmp_path / "a.orc")
    found = _same(spark, tmp_path / "a.orc", "at timestamp")
    assert [row["at"].microsecond for row in found] == [1, 1]


def test_parquet_that_spark_has_no_types_for_is_read_all_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "in"
    place.mkdir()
    for name, unit, half in (("a", "ns", pa.float16()), ("b", "us", pa.float32())):
        at = pa.array([1_767_225_600_000_001_999, None], pa.int64())
        at = (at if unit == "ns" else pc.divide(at, 1000)).cast(pa.timestamp(unit, "UTC"))
        inner = pa.StructArray.from_arrays([at], names=["at"])
        table = pa.table({"at": at, "half": pa.array([1.5, -2.0], half), "s": inner})
        pq.write_table(table, place / f"{name}.parquet", row_group_size=1)
    columns = "at timestamp, half double, s struct<at:timestamp>"
    found = _same(spark, place / "a.parquet", columns)
    assert [row["half"] for row in found] == [-2.0, 1.5]
    assert found[1]["at"].microsecond == found[1]["s"]["at"].microsecond == 1
    assert read(spark, place, columns) == sorted(found * 2, key=str)
    named = [spec.Column(name="half", type="double")]
    source = source_of(place, "parquet", schema=spec.Schema(columns=tuple(named)))
    splits, _ = walked(SourceSample(source=source, rows=()), limit=9)
    rows = source.ordered(spark, splits, source.schema(spark)).collect()
    assert [row["half"] for row in rows] == [1.5, -2.0] * 2


def test_a_time_of_any_year_in_the_form_that_spark_once_wrote_is_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    moments = [datetime(1, 1, 1), datetime(2026, 1, 1, 1), datetime(9999, 12, 31)]  # noqa: DTZ001
    table = pa.table({"at": pa.array(moments, pa.timestamp("us"))})
    file = tmp_path / "a.parquet"
    pq.write_table(table, file, row_group_size=1, use_deprecated_int96_timestamps=True)
    assert pq.read_metadata(file).schema.column(0).physical_type == "INT96"
    for rule in (None, spec.SplitRule(by="row_groups", size_bytes=1)):
        schema = spec.Schema(columns=(spec.Column(name="at", type="timestamp"),))
        source = source_of(file, "parquet", schema=schema, split=rule)
        splits, _ = walked(SourceSample(source=source, rows=()), limit=9)
        rows = source.frame(spark, splits, source.schema(spark)).selectExpr("string(at)").collect()
        assert [row["at"] for row in rows] == [str(moment) for moment in moments]


def test_a_path_that_names_one_thing_must_be_there(tmp_path: Path) -> None:
    def found(pattern: str, *, watch: bool = False) -> int:
        enumerator = file_enumerator({}, (f"{tmp_path}/{pattern}",), "csv", CutRule(), watch=watch)
        return len(enumerator.discover(first_ord=0, limit=9).found)

    with pytest.raises(SourceProblem, match=r"/nowhere/a\.csv is not there") as told:
        found("nowhere/a.csv")
    assert (told.value.code, told.value.retryable) == ("SOURCE_UNAVAILABLE", True)
    assert found("nowhere/*.csv") == found("nowhere", watch=True) == found("") == 0


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_rows_of_which_only_the_folder_is_wanted_are_all_there(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    place = tmp_path / "day=2026-01-01"
    place.mkdir()
    table = pa.table({"id": [1, 2, 3]})
    if form == "parquet":
        pq.write_table(table, place / "a.parquet", row_group_size=2)
    else:
        orc.write_table(table, place / "a.orc")
    found = _same(spark, place / f"a.{form}", "day date")
    assert found == [{"day": date(2026, 1, 1)}] * 3


@pytest.mark.parametrize(
    "form",
    ["csv", "parquet", *(pytest.param(form, marks=_OTHERS) for form in ("json", "orc"))],
)
def test_columns_that_a_sink_makes_folders_of_come_back(trial: Trial, form: str) -> None:
    options = {"header": True} if form == "csv" else {}
    made = {
        "id": "made",
        "kind": "map",
        "inputs": {"i": "g_rows"},
        "output": "rows",
        "select": {"id": "id", "day": "array(date'2026-01-01', null)[id % 2]", "note": "'a/b=é '"},
    }
    lake = trial.place / "lake"
    written = files("out", "rows", lake, form, partition_by=["day", "note"], options=options)
    assert trial.run(job_of([generated("g", 4)], [written], [made])).finished
    for cut in (False, True):
        found = read(
            trial.spark,
            lake,
            "note string, id bigint, day date",
            form=form,
            cut=cut,
            options=options,
        )
        assert sorted((row["id"], row["day"], row["note"]) for row in found) == [
            (number, None if number % 2 else date(2026, 1, 1), "a/b=é ") for number in range(4)
        ]


def test_a_line_that_is_no_json_is_a_bad_row_and_makes_no_column(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text('{"id":1}\nbad\n{"id":2}\n')
    source = source_of(tmp_path / "a.json", "json")
    schema = source.schema(spark)
    assert schema.names == ["id"]
    splits, _ = walked(SourceSample(source=source, rows=()), limit=9)
    found = source.frame(spark, splits, schema).collect()
    assert [row["_raw"] for row in found if row["_bad"]] == ["bad"]


@pytest.mark.parametrize("options", [{}, {"multiLine": True}])
def test_what_a_sink_writes_as_csv_is_read_back(trial: Trial, options: dict[str, Any]) -> None:
    texts = ["cast(null as string)", "''", "'a\"b'", "'x,y'", "' s '", "'back\\\\slash'", "'\"'"]
    texts += ["'l\\nm'", "'\\r\\n'"] if options else []
    made = {
        "id": "made",
        "kind": "map",
        "inputs": {"i": "g_rows"},
        "output": "rows",
        "select": {"id": "id", "a": f"array({', '.join(texts)})[id]"},
    }
    out = trial.place / "out"
    given = {"header": True, **options}
    written = files("out", "rows", out, "csv", options=given)
    assert trial.run(job_of([generated("g", len(texts))], [written], [made])).finished
    for cut in (False, True):
        found = read(trial.spark, out, "id int, a string", form="csv", cut=cut, options=given)
        assert [row["a"] for row in sorted(found, key=lambda row: row["id"])] == [
            *(None, "", 'a"b', "x,y", " s ", "back\\slash", '"'),
            *(["l\nm", "\r\n"] if options else []),
        ]


@pytest.mark.parametrize("by", ["folder", "row"])
def test_a_sink_that_would_leave_files_without_columns_is_refused(trial: Trial, by: str) -> None:
    made = {
        "id": "made",
        "kind": "sql" if by == "row" else "map",
        "inputs": {"i": "g_rows"},
        "output": "rows",
        **({"query": "select id as p from i"} if by == "row" else {"select": {"p": "id"}}),
    }
    sink = files("out", "rows", trial.place / "out", partition_by=["P"])
    job = job_of([generated("g", 2)], [sink], [made], env={"restart": {"per_pipeline": 0}})
    if by == "folder":
        with pytest.raises(DefinitionError) as refused:
            trial.run(job)
        (found,) = refused.value.violations
        assert found.path == "$.sinks[0].partition_by"
        assert "at least one column must be left" in found.message
        return
    (told,) = (each["lastError"] for each in trial.run(job).document["pipelines"])
    assert told["code"] == "SINK_REFUSED"
    assert told["message"].startswith("out: partition_by names all columns")
