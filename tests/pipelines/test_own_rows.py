"""A job that would read what it writes is refused; what only lies near by is not."""

import pytest

from conductor_py.errors import DefinitionError
from conductor_py.wire.pipelines import read_job
from tests.pipelines.jobs import job


def _job(pattern, folder, **more):
    source = {"id": "in", "kind": "file", "output": "rows", "paths": [pattern], "format": "json"}
    sink = {"id": "out", "kind": "file", "input": "rows", "path": folder, "format": "json"}
    return job([source | more.pop("source", {})], [], [sink | more], mode="bounded")


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("/data/in", "/data/in"),
        ("file:///data/in/", "/data/in/"),
        ("/data", "/data/in/out"),
        ("/data/*", "/data/out"),
        ("/data/*", "/data/out/deep"),
        ("/data/in/*.json", "/data/in"),
        ("/data/in/*.json*", "/data/in"),
        ("/data/in/part-*", "/data/in"),
        ("/data/**/*.json", "/data/in"),
        ("/data/**/*.json", "/data"),
        ("/data/./in", "/data/in"),
        ("/data/in", "/data/x/../in"),
        ("/data/_in", "/data/_in/out"),
        ("/data/_in/*.json", "/data/_in"),
        ("/../data", "/data"),
        ("s3://b/in/", "s3://b/in"),
        ("s3a://b/**", "s3://b/in"),
        ("s3://b/in/*.json", "s3://b/in/"),
    ],
)
def test_sink_must_not_write_where_its_source_reads(pattern, folder):
    with pytest.raises(DefinitionError) as refused:
        read_job(_job(pattern, folder))
    (found,) = refused.value.violations
    assert found.path == "$.sinks[0].path"
    assert found.message.startswith(f"must not be where in reads, {pattern}")


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("/data/in", "/data/in2"),
        ("/data/in", "/data"),
        ("/data/in/*.csv", "/data/in"),
        ("/data/*/*.json", "/data"),
        ("/data/*", "/data/.out"),
        ("/data", "/data/.out"),
        ("/data", "/data/_out"),
        ("/data/*", "/data/_out"),
        ("/data/**/*.json", "/data/_out/deep"),
        ("/data/in", "/data/in/../out"),
        ("s3://b/in/", "s3://b/in/_out"),
        ("s3://b/in", "s3://b/x/../in"),
        ("s3://b/in/", "s3://c/in"),
        ("s3://b/in", "s3://b/in"),
        ("s3://b/in/*", "s3://b/in/out"),
        ("/b/in", "s3://b/in"),
        ("/data/${workflow.input.day}", "/data/out"),
    ],
)
def test_sink_may_write_beside_what_its_source_reads(pattern, folder):
    read_job(_job(pattern, folder))


@pytest.mark.parametrize("pattern", ["/data/*/*.json", "/data/day=1/*", "/data/day=[0-9]*"])
def test_folders_of_partitions_count(pattern):
    with pytest.raises(DefinitionError):
        read_job(_job(pattern, "/data", partition_by=["day"]))
    read_job(_job(pattern.replace("day", "night"), "/data/deep/er", partition_by=["day"]))


def test_what_a_manifest_lists_lies_below_data():
    with pytest.raises(DefinitionError):
        read_job(_job("/out/data/**", "/out", visibility="manifest"))
    with pytest.raises(DefinitionError):
        read_job(_job("/out", "/out", visibility="manifest"))
    read_job(_job("/out/data/**", "/out"))
    read_job(_job("/out/*.json", "/out", visibility="manifest"))


@pytest.mark.parametrize(
    ("pattern", "written", "refused"),
    [
        ("/d/*.snappy.parquet", {"format": "parquet"}, True),
        ("/d/*.json.gz", {"options": {"compression": "gzip"}}, True),
        ("/d/*.json.gz", {}, False),
        ("file:/d/*", {}, True),
    ],
)
def test_names_are_those_of_the_codec(pattern, written, refused):
    body = _job(pattern, "/d", **written)
    if not refused:
        read_job(body)
        return
    with pytest.raises(DefinitionError):
        read_job(body)


def test_dead_letters_are_rows_of_the_job_too():
    body = _job("/data/in", "/data/out")
    body["dead_letter"] = {"kind": "file", "path": "/data/in/bad", "format": "json"}
    body["env"] = {"errors": {"bad_rows": "dead_letter"}}
    with pytest.raises(DefinitionError) as refused:
        read_job(body)
    assert [found.path for found in refused.value.violations] == ["$.dead_letter.path"]


def test_sink_of_rows_from_elsewhere_may_write_where_another_source_reads():
    body = _job("/data/in", "/data/out")
    body["sources"].append({"id": "g", "kind": "generator", "rows": 1, "output": "made"})
    body["sinks"].append(body["sinks"][0] | {"id": "more", "input": "made", "path": "/data/in"})
    read_job(body)
