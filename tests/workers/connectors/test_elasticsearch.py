"""Documents in real search servers: OpenSearch and Elasticsearch."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from functools import partial

import pytest

from conductor_py.pipelines import spec
from conductor_workers.pipelines.connectors import Owner, SinkProblem
from conductor_workers.pipelines.registry import Place, open_sink
from conductor_workers.pipelines.sinks.search_client import SearchClient
from conductor_workers.testing import SinkContract, SinkTarget
from conductor_workers.testing.sinks import expected, rows_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.service,
    pytest.mark.xdist_group("spark"),
    pytest.mark.thorough(target="pipelines"),
]


@pytest.fixture(params=["opensearch_url", "elasticsearch_url"])
def url(request) -> str:
    return request.getfixturevalue(request.param)


def sink_of(url, index, work_dir, **settings):
    given = {"hosts": [url], "index": index, "evidence_index": f"{index}-epochs", **settings}
    node = spec.Sink(id="out", kind="elasticsearch", input="i", settings=given)
    return open_sink(node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir=work_dir))


def documents(url: str, index: str) -> list[dict]:
    client = SearchClient(hosts=(url,))
    client.call("POST", f"/{index}/_refresh", missing={})
    body = json.dumps({"size": 10_000, "query": {"match_all": {}}})
    found = client.call("POST", f"/{index}/_search", body, missing={"hits": {"hits": []}})
    return [hit["_source"] for hit in found["hits"]["hits"]]


def target_of(url, work, **settings) -> SinkTarget:
    index = f"t-{uuid.uuid4().hex[:10]}"
    return SinkTarget(
        open=partial(sink_of, url, index, str(work), **settings),
        rows=lambda: [(each["id"], each["name"]) for each in documents(url, index)],
        leftovers=lambda: [str(file) for file in work.rglob("*.parquet")],
        fences=True,
        killed_at=("F9", "F11"),
    )


class TestIdsFromColumns(SinkContract):
    @pytest.fixture
    def target(self, url, tmp_path):
        target = target_of(url, tmp_path / "work", id_from=["id"], bulk_bytes=300)
        return replace(target, replaces=True)


class TestIdsFromPlaces(SinkContract):
    @pytest.fixture
    def target(self, url, tmp_path):
        return target_of(url, tmp_path / "work", refresh=True)


def test_an_older_epoch_does_not_replace_a_newer_ones_document(url, tmp_path, spark):
    target = target_of(url, tmp_path, id_from=["id"])
    sink = target.open()
    old = spark.createDataFrame([(1, "old"), (2, "only old")], "id bigint, name string")
    new = spark.createDataFrame([(1, "new")], "id bigint, name string")
    sink.stage(new, target.epoch(5))
    sink.stage(old, target.epoch(4))
    assert sorted(target.seen()) == [(1, "new"), (2, "only old")]


def test_without_columns_for_ids_nothing_is_seen_before_the_decision(url, tmp_path, spark):
    target = target_of(url, tmp_path)
    sink = target.open()
    staged = sink.stage(rows_of(spark, 1, 11), target.epoch(1))
    assert not target.seen()
    sink.publish(staged, target.epoch(1), "h")
    assert target.seen() == expected(1, 11)


def test_a_document_that_does_not_fit_the_index_is_named(url, tmp_path, spark):
    target = target_of(url, tmp_path)
    sink = target.open()
    sink.publish(sink.stage(rows_of(spark, 1, 3), target.epoch(1)), target.epoch(1), "h1")
    wrong = spark.sql("SELECT 'no number' AS id, 'x' AS name")
    staged = sink.stage(wrong, target.epoch(2))
    with pytest.raises(SinkProblem, match=r"the document \w+ was refused: .*parse") as caught:
        sink.publish(staged, target.epoch(2), "h2")
    assert (caught.value.code, caught.value.retryable) == ("SINK_REFUSED", False)
    found = sink.evidence(target.owner, target.epoch(1).pipeline)
    assert found is not None
    assert found.epoch == 1


def test_a_server_that_is_away_is_worth_another_try(tmp_path, spark):
    sink = sink_of("http://127.0.0.1:1", "i", str(tmp_path), auth="user:very-secret")
    with pytest.raises(SinkProblem) as caught:
        sink.evidence(Owner(task="o"), "p")
    assert caught.value.retryable
    assert "very-secret" not in str(caught.value)
