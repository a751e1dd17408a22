"""Objects of a real store as sources and as sinks: nothing renamed, nothing seen early."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conductor_py.pipelines import spec
from conductor_workers.manifest import DataFile, visible_files
from conductor_workers.pipelines.connectors import Epoch, Owner, SourceProblem
from conductor_workers.pipelines.registry import Place, open_sink, open_source
from conductor_workers.pipelines.sinks.object_writer import prepared
from conductor_workers.pipelines.sinks.proofs import Proofs
from conductor_workers.pipelines.storage import AlreadyThere, StoreAway
from conductor_workers.pipelines.storage.s3 import S3Storage, _client
from conductor_workers.testing import SinkContract, SinkTarget, SourceContract, SourceSample
from conductor_workers.testing.sinks import rows_of
from conductor_workers.testing.sources import walked
from tests.workers.connectors.test_files import content_of

pytestmark = [pytest.mark.spark, pytest.mark.service, pytest.mark.xdist_group("spark")]


@pytest.fixture
def storage(bucket) -> S3Storage:
    return storage_of(bucket)


def storage_of(bucket, prefix="") -> S3Storage:
    return S3Storage(bucket=bucket.name, prefix=prefix, **reached(bucket))


def reached(bucket) -> dict[str, str]:
    return {
        "endpoint": bucket.endpoint,
        "region": bucket.region,
        "access_key": bucket.access_key,
        "secret_key": bucket.secret_key,
    }


# --------------------------------------------------------------------------------------- storage


def test_a_name_is_taken_once(storage):
    storage.create("a/b", b"first")
    with pytest.raises(AlreadyThere):
        storage.create("a/b", b"second")
    assert storage.read("a/b") == b"first"


def test_a_directory_of_many_objects_is_listed_and_deleted(storage):
    for number in range(12):
        storage.create(f"d/{number:02d}", b"x")
    storage.create("dd", b"x")
    assert storage.names("d") == tuple(f"d/{number:02d}" for number in range(12))
    storage.delete("d")
    assert storage.names("") == ("dd",)
    with pytest.raises(FileNotFoundError):
        storage.read("d/00")


def test_an_upload_is_invisible_until_it_is_completed_and_completing_twice_is_once(storage):
    content = bytes(range(256)) * (70_000)
    begun = json.loads(json.dumps(storage.begin("big", content)))
    assert len(begun["parts"]) == 2
    assert storage.names("") == ()
    for _ in range(3):
        storage.complete(begun)
    assert storage.read("big") == content
    assert storage.begun("") == ()


def test_an_object_is_a_file_of_the_version_that_was_listed(storage):
    content = bytes(range(256)) * 20_000
    storage.create("f", content)
    (listed,) = storage.listed("")
    with storage.open("f", size=listed.size, etag=listed.etag) as file:
        file.seek(-300, io.SEEK_END)
        assert file.read() == content[-300:]
        file.seek(1_000_000)
        assert file.read(10) == content[1_000_000:1_000_010]
    storage.delete("f")
    storage.create("f", content[::-1])
    file = storage.open("f", size=listed.size, etag=listed.etag)
    with pytest.raises(FileNotFoundError):
        file.read(1)


def test_a_storm_of_refusals_is_waited_out(storage, monkeypatch):
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", _no_delay)
    refused = _refuse(storage, times=5)
    storage.create("a", b"x")
    assert storage.read("a") == b"x"
    assert refused == [503] * 5


def test_a_storm_without_end_is_a_problem_that_may_pass(storage, monkeypatch):
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", _no_delay)
    _refuse(storage, times=1000)
    with pytest.raises(StoreAway, match="SlowDown"):
        storage.create("a", b"x")


def _no_delay(*_):
    return 0


def _refuse(storage: S3Storage, times: int) -> list[int]:
    """Answer the next requests as a store does that is asked too much."""
    from botocore.awsrequest import AWSResponse

    refused: list[int] = []
    body = b"<Error><Code>SlowDown</Code><Message>slower</Message></Error>"

    class Raw(io.BytesIO):
        def stream(self, **_):
            yield body

    def answer(request, **_):
        if len(refused) >= times:
            return None
        refused.append(503)
        headers: Any = {"content-length": str(len(body))}
        return AWSResponse(request.url, 503, headers, Raw(body))

    _client(storage).meta.events.register("before-send.s3", answer)
    return refused


# ------------------------------------------------------------------------------------------ sink


def sink_of(url, work_dir, settings):
    node = spec.Sink(id="out", kind="file", input="i", settings={"path": url, **settings})
    return open_sink(node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir=work_dir))


def rows_in(storage: S3Storage, names, format: str) -> list[tuple]:
    found = []
    for name in names:
        content = storage.read(name)
        if format == "parquet":
            table = pq.read_table(io.BytesIO(content))
            found += [tuple(row.values()) for row in table.to_pylist()]
        elif format == "json":
            bodies = (json.loads(line) for line in content.decode().splitlines())
            found += [(body["id"], body["name"]) for body in bodies]
        else:
            lines = (line.split(",") for line in content.decode().splitlines())
            found += [(int(number), name) for number, name in lines if number != "id"]
    return found


class TestPublished(SinkContract):
    format = "parquet"
    visibility = "publish"

    @pytest.fixture
    def target(self, bucket, tmp_path):
        storage = storage_of(bucket, "lake/orders")
        settings = {"format": self.format, "visibility": self.visibility, **reached(bucket)}
        url = f"s3://{bucket.name}/lake/orders"

        def visible():
            if self.visibility == "manifest":
                return visible_files(storage)
            return [name for name in storage.names("") if not name.startswith("_")]

        def leftovers():
            uploads = [name for name, _ in storage.begun("")]
            if self.visibility == "manifest":
                return [*uploads, *(set(storage.names("data")) - set(visible()))]
            return [*uploads, *storage.names("data")]

        return SinkTarget(
            open=partial(sink_of, url, str(tmp_path), settings),
            rows=lambda: rows_in(storage, visible(), self.format),
            leftovers=leftovers,
            takes_back=self.visibility == "manifest",
            killed_at=("F9", "F11"),
        )


class TestManifest(TestPublished):
    format = "json"
    visibility = "manifest"


@pytest.mark.parametrize("visibility", ["publish", "manifest"])
def test_no_object_is_copied_or_renamed(bucket, tmp_path, spark, visibility):
    storage = storage_of(bucket, "lake")
    asked: list[str] = []
    settings = {"visibility": visibility, **reached(bucket)}
    target = SinkTarget(
        open=partial(sink_of, f"s3://{bucket.name}/lake", str(tmp_path), settings), rows=list
    )
    _client(storage).meta.events.register(
        "before-call.s3", lambda model, **_: asked.append(model.name)
    )
    sink = target.open()
    sink.publish(sink.stage(rows_of(spark, 1, 11), target.epoch(1)), target.epoch(1), "h")
    assert asked
    assert "CopyObject" not in asked


def test_rows_go_to_folders_of_their_values(bucket, tmp_path, spark):
    settings = {"format": "csv", "partition_by": ["day"], "options": {"header": True}}
    target = SinkTarget(
        open=partial(
            sink_of, f"s3://{bucket.name}/lake", str(tmp_path), {**settings, **reached(bucket)}
        ),
        rows=list,
    )
    sink = target.open()
    frame = spark.sql("SELECT id, IF(id = 3, NULL, concat('a/', id % 2)) AS day FROM range(4)")
    staged = sink.stage(frame.coalesce(1), target.epoch(1))
    sink.publish(staged, target.epoch(1), "h")
    storage = storage_of(bucket, "lake")
    found = {
        name.partition("/")[0]: storage.read(name).decode()
        for name in storage.names("")
        if not name.startswith("_")
    }
    assert found == {
        "day=a%2F0": "id\n0\n2\n",
        "day=a%2F1": "id\n1\n",
        "day=__HIVE_DEFAULT_PARTITION__": "id\n3\n",
    }


@pytest.mark.parametrize("partition_by", [(), ("day",)])
def test_folders_go_to_python_as_text(spark, partition_by):
    """Spark counts the lists of a batch again for each row of it."""
    frame = prepared(spark.sql("SELECT 1 AS id, 'a' AS day"), "parquet", {}, partition_by)
    assert {kind for _, kind in frame.dtypes} == {"string", "int"}


def test_objects_have_about_the_size_that_is_asked_for(bucket, tmp_path, spark):
    size = 1 << 20
    settings = {"format": "parquet", "target_file_size": size, **reached(bucket)}
    url = f"s3://{bucket.name}/lake"
    sink = sink_of(url, str(tmp_path), settings)
    rows = spark.range(150_000).selectExpr("id", "xxhash64(id) AS drawn")
    staged = sink.stage(rows.coalesce(1), SinkTarget(open=lambda: sink, rows=list).epoch(1))
    sizes = [each["bytes"] for each in staged["objects"]]
    assert len(sizes) > 1
    assert max(sizes) < 1.5 * size
    assert sorted(sizes)[1] > 0.7 * size  # all but the last one


# ---------------------------------------------------------------------------------------- source


def source_of(bucket, pattern, *, format, split=None, schema=None, **settings):
    given = {"paths": [f"s3://{bucket.name}/{pattern}"], "format": format, **reached(bucket)}
    node = spec.Source(
        id="in", kind="file", output="o", split=split, schema=schema, settings={**given, **settings}
    )
    return open_source(node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir="/nowhere"))


DATA = [(number, f"name {number}") for number in range(300)]
SCHEMA = spec.Schema(
    columns=(spec.Column(name="id", type="bigint"), spec.Column(name="name", type="string"))
)


def fill(bucket, format: str) -> None:
    storage = storage_of(bucket)
    for part in range(3):
        rows = DATA[part * 100 : part * 100 + 100]
        if format == "parquet":
            table = pa.table({"id": [r[0] for r in rows], "name": [r[1] for r in rows]})
            buffer = io.BytesIO()
            pq.write_table(table, buffer, row_group_size=20)
            content = buffer.getvalue()
        else:
            content = ("id,name\n" + "".join(f"{n},{name}\n" for n, name in rows)).encode()
        storage.create(f"in/{part}.{format}", content)
    storage.create(f"in/_hidden.{format}", b"nothing")
    storage.create(f"in/deep/er.{format}", b"nothing")


class TestCsvRanges(SourceContract):
    @pytest.fixture
    def sample(self, bucket):
        fill(bucket, "csv")
        split = spec.SplitRule(by="bytes", size_bytes=333)
        source = source_of(
            bucket, "in/*.csv", format="csv", split=split, schema=SCHEMA, options={"header": True}
        )
        nothing = source_of(bucket, "none/*.csv", format="csv")
        return SourceSample(
            source=source, rows=DATA, broken=lambda: {"SOURCE_UNAVAILABLE": _Schemaless(nothing)}
        )


class _Schemaless:
    """Asks for the columns first, as a coordinator does."""

    def __init__(self, source) -> None:
        self.schema = source.schema
        self.reader = source.reader
        self.enumerator = source.enumerator


class TestRowGroups(SourceContract):
    @pytest.fixture
    def sample(self, bucket):
        fill(bucket, "parquet")
        split = spec.SplitRule(by="row_groups", size_bytes=500)
        return SourceSample(
            source=source_of(bucket, "in/*.parquet", format="parquet", split=split), rows=DATA
        )


@pytest.mark.thorough(target="pipelines")
class TestFormats(SourceContract):
    @pytest.fixture(params=[("json", "bytes"), ("json", "file"), ("orc", "stripes")])
    def sample(self, request, bucket):
        form, by = request.param
        for part in range(3):
            content = content_of(DATA[part * 100 : part * 100 + 100], form)
            storage_of(bucket).create(f"in/{part}.{form}", content)
        rule = spec.SplitRule(by=by, size_bytes=500)
        source = source_of(bucket, "in/*", format=form, split=rule, schema=SCHEMA)
        return SourceSample(source=source, rows=DATA)


class TestWatched(SourceContract):
    @pytest.fixture
    def sample(self, bucket):
        fill(bucket, "csv")
        source = source_of(bucket, "in/?.csv", format="csv", watch=True, options={"header": "true"})
        return SourceSample(source=source, rows=DATA, bounded=False)


def test_columns_are_found_in_the_first_object(bucket, spark):
    fill(bucket, "csv")
    source = source_of(bucket, "in/*.csv", format="csv", options={"header": "true"})
    assert source.schema(spark).simpleString() == "struct<id:int,name:string>"


def test_an_object_that_was_replaced_is_not_read(bucket, storage, spark):
    fill(bucket, "csv")
    source = source_of(bucket, "in/*.csv", format="csv", schema=SCHEMA, options={"header": "true"})
    splits, _ = walked(SourceSample(source=source, rows=()), limit=9)
    content = storage.read("in/1.csv")
    storage.delete("in/1.csv")
    storage.create("in/1.csv", content.replace(b"name 150", b"NAME 150"))
    reader = source.reader(source.schema(spark))
    assert sum(batch.num_rows for batch in reader.read(splits[0])) == 100
    with pytest.raises(SourceProblem) as caught:
        list(reader.read(splits[1]))
    assert caught.value.code == "SOURCE_CHANGED"


def test_bad_lines_are_set_aside(bucket, storage, spark):
    storage.create("in/a.csv", b"id,name\n1,one\nx,two\n3,three\n")
    source = source_of(bucket, "in/*.csv", format="csv", schema=SCHEMA, options={"header": "true"})
    splits, _ = walked(SourceSample(source=source, rows=()), limit=9)
    rows = source.frame(spark, splits, source.schema(spark)).collect()
    assert sorted(row["id"] for row in rows if row["_bad"] is None) == [1, 3]


def test_a_store_that_is_away_is_worth_another_try(bucket, monkeypatch, spark):
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", _no_delay)
    source = source_of(bucket, "in/*.csv", format="csv", endpoint="http://127.0.0.1:1")
    with pytest.raises(SourceProblem) as caught:
        source.enumerator({}).discover(first_ord=0, limit=1)
    assert (caught.value.code, caught.value.retryable) == ("SOURCE_UNAVAILABLE", True)


@pytest.mark.parametrize("pattern", ["lake/", "lake/**/*.csv", "**", "lake/data/", "lake/data/k/*"])
def test_of_a_place_with_manifests_only_what_they_name_is_read(bucket, pattern: str) -> None:
    lake = storage_of(bucket, "lake")
    for name in ("data/k/a.csv", "data/k/undecided.csv", "_staging/b.csv"):
        lake.create(name, b"1,one\n")
    proofs = Proofs(storage=lake, visibility="manifest", data_format="csv", where="the lake")
    epoch = Epoch(owner=Owner(task="e/r"), pipeline="p", sink="out", number=1, token=5)
    proofs.prove(epoch, "hash", rows=1, files=[DataFile(path="data/k/a.csv", bytes=6)])
    assert visible_files(lake) == ("data/k/a.csv",)
    source = source_of(bucket, pattern, format="csv", schema=SCHEMA)
    assert [each.name for each in source.found()] == ["lake/data/k/a.csv"]
