"""CSV that one pipeline writes is what another one reads, wherever it lies, however it is cut."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.wire.pipelines import read_job
from conductor_workers.pipelines.connectors import Owner
from conductor_workers.pipelines.csv_form import form_options, header_line, names_in, whole_only
from conductor_workers.pipelines.registry import Place, open_source
from conductor_workers.pipelines.settings import SettingRefused
from tests.workers.pipelines.jobs import Trial, files, generated, job_of

_ODD = ['say "x"', "a,b", "a;b", "back\\slash", '"', "'", " wide ", "ü", 'end\\"', "\\"]


def test_a_header_is_written_as_its_options_say() -> None:
    assert header_line(["a", 'b "c"', "d;e"], {}) == 'a,"b ""c""",d;e'
    assert header_line(["a", "d;e"], {"sep": ";"}) == 'a;"d;e"'


def test_names_of_columns_are_read_as_they_are_written() -> None:
    for options in ({}, {"sep": ";"}, {"quote": "'"}, {"quote": ""}, {"escape": "\\"}):
        names = ("a", "b c") if "quote" in options else ("a", 'say "what"', "d;e,f")
        assert names_in(header_line(names, options), options) == names


def test_separators_are_those_of_spark() -> None:
    assert header_line(["a", "b"], {"sep": "\\t"}) == "a\tb"
    assert header_line(["a", "b"], {"sep": "||"}) == "a||b"
    assert names_in("a||b", {"sep": "||"}) == ("a", "b")
    assert whole_only("csv", form_options("csv", {"sep": "||"})) == ["sep"]
    assert whole_only("csv", form_options("csv", {"sep": "\\t"})) == []


def test_what_spark_alone_heeds_is_told() -> None:
    plain = {"header": "true", "sep": ";", "nullValue": "-", "multiLine": "false"}
    assert whole_only("csv", form_options("csv", plain)) == []
    assert whole_only("csv", form_options("csv", {"quote": "'"})) == []
    odd = {"escape": "\\", "encoding": "ISO-8859-1", "comment": "#", "multiLine": "true"}
    assert whole_only("csv", form_options("csv", odd)) == sorted(odd)
    assert whole_only("json", {"allowComments": "true"}) == ["allowComments"]
    assert whole_only("parquet", {"mergeSchema": "true"}) == []


def test_quotes_are_written_twice_unless_a_job_says_otherwise() -> None:
    assert form_options("csv", {"header": "true"})["escape"] == '"'
    assert form_options("csv", {"quote": "'"})["escape"] == "'"
    assert form_options("csv", {"escape": "\\"})["escape"] == "\\"
    assert form_options("json", {}) == {}


def _settings(options: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "file", "format": "csv", "options": {"header": True, **options}, **more}


@pytest.mark.spark
@pytest.mark.thorough(target="pipelines")
@pytest.mark.parametrize("options", [{}, {"sep": ";"}, {"escape": "\\"}, {"quote": "'"}])
@pytest.mark.parametrize("cut", [None, {"by": "bytes", "size": 20}])
@pytest.mark.parametrize("there", ["disk", pytest.param("bucket", marks=pytest.mark.service)])
def test_odd_values_come_back_as_they_were(
    request: pytest.FixtureRequest,
    trial: Trial,
    there: str,
    cut: dict[str, Any] | None,
    options: dict[str, str],
) -> None:
    place: dict[str, Any] = {"path": str(trial.place / "csv")}
    if there == "bucket":
        bucket = request.getfixturevalue("bucket")
        place = {
            "path": f"s3://{bucket.name}/csv",
            "endpoint": bucket.endpoint,
            "region": bucket.region,
            "access_key": bucket.access_key,
            "secret_key": bucket.secret_key,
        }
    listed = ", ".join("'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" for text in _ODD)
    odd = {
        "id": "odd",
        "kind": "map",
        "inputs": {"i": "made_rows"},
        "output": "odd_rows",
        "select": {"id": "id", 'say "what"': f"array({listed})[id]"},
    }
    written = {"id": "out", "input": "odd_rows", **_settings(options), **place}
    assert trial.run(job_of([generated("made", len(_ODD))], [written], [odd])).finished

    columns = [{"name": "id", "type": "bigint"}, {"name": 'say "what"', "type": "string"}]
    kept = trial.place / "kept"
    reached = {key: value for key, value in place.items() if key != "path"}
    given = {
        "id": "in",
        "output": "in_rows",
        **_settings(options),
        **reached,
        "paths": [f"{place['path']}/*.csv"],
        "schema": {"columns": columns},
        **({"split": cut} if cut else {}),
    }
    if there == "bucket" and "escape" in options:
        where = Place(owner=Owner(task="e/r"), pipeline="p", work_dir="/nowhere")
        with pytest.raises(
            SettingRefused, match=r"in\.options\.escape is heeded for files on disks"
        ):
            open_source(
                read_job(job_of([given], [files("out", "in_rows", kept)])).sources[0], where
            )
        return
    again = Trial(spark=trial.spark, place=trial.place / "again")
    result = again.run(job_of([given], [files("out", "in_rows", kept)]))
    assert result.finished, result.document
    found = {row["id"]: row[1] for row in again.rows(kept).collect()}
    assert found == dict(enumerate(_ODD))
