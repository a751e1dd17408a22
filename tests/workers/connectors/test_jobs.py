"""Whole jobs over real servers: what a reader of each target sees in the end."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from conductor_py.pipelines.record import PipelineState
from conductor_workers.manifest import visible_files
from conductor_workers.pipelines.control import Wish
from tests.waiting import PATIENCE_S, until
from tests.workers.connectors.conftest import Sql
from tests.workers.connectors.test_bucket import reached, rows_in, storage_of
from tests.workers.connectors.test_elasticsearch import documents
from tests.workers.connectors.test_kafka import committed, make_topic, send
from tests.workers.pipelines.crews import Crew
from tests.workers.pipelines.host import FINISHED
from tests.workers.pipelines.jobs import Job, Trial, generated, job_of

pytestmark = [pytest.mark.spark, pytest.mark.service, pytest.mark.thorough(target="pipelines")]


def _clicks(servers: str, topic: str, *, split: int) -> Job:
    """A source of messages like ``{"id": 7}``."""
    return {
        "id": "clicks",
        "kind": "kafka",
        "output": "raw",
        "servers": servers,
        "topics": [topic],
        "format": "json",
        "split": {"by": "offsets", "rows": split},
        "schema": {"columns": [{"name": "id", "type": "bigint"}]},
    }


def _table(database: Sql) -> Job:
    """A sink of those messages."""
    return {
        "id": "table",
        "kind": "jdbc",
        "input": "raw",
        "url": database.url,
        "table": database.table,
        "create": True,
    }


def _stopped_once(trial: Trial, job: Job, token: int, enough: Callable[[], bool]) -> None:
    run = trial.prepared(job, token=token)
    states: list[PipelineState] = []
    thread = threading.Thread(target=lambda: states.extend(run.run().states.values()))
    thread.start()
    try:
        until(enough, 90, what="all messages have arrived")
    finally:
        run.want(Wish.STOP)
        thread.join(PATIENCE_S)
    assert states == [PipelineState.STOPPED]


def test_six_partitions_read_by_two_then_three_then_two_at_once(trial, kafka_servers, sqlite):
    topic = make_topic(kafka_servers, 6)
    source, table = _clicks(kafka_servers, topic, split=10), _table(sqlite)
    for token, parallelism in enumerate((2, 3, 2), start=1):
        numbers = range(token * 120, token * 120 + 120)
        send(kafka_servers, topic, numbers, 6, lambda n: json.dumps({"id": n}))
        job = job_of([source], [table], mode="unbounded", env={"parallelism": parallelism})
        count = f"SELECT COUNT(*) FROM {sqlite.table}"
        _stopped_once(
            trial,
            job,
            token,
            lambda: sqlite.rows(count) == [(token * 120,)],  # noqa: B023
        )
    seen = Counter(sqlite.rows(f"SELECT id FROM {sqlite.table}"))
    assert seen == Counter((n,) for n in range(120, 480))
    epochs = [epoch for (epoch,) in sqlite.rows("SELECT epoch FROM _df_epochs ORDER BY epoch")]
    assert epochs == list(range(1, len(epochs) + 1))
    (kept,) = trial.store(4).acquire().values()
    assert kept.record is not None
    positions = kept.record["sources"]["clicks"]["enumerator"]["positions"]
    assert positions == {f"{topic}/{n}": 60 for n in range(6)}


def test_one_epoch_reaches_a_database_a_topic_an_index_and_a_bucket(
    trial, kafka_servers, opensearch_url, postgresql, bucket
):
    topic = make_topic(kafka_servers, 3)
    index = topic
    sinks = [
        {"id": "table", "kind": "jdbc", "url": postgresql.url, "table": postgresql.table}
        | {"create": True, "write": "upsert", "key": ["id"]},
        {"id": "topic", "kind": "kafka", "servers": kafka_servers, "topic": topic, "key": "id"},
        {"id": "index", "kind": "elasticsearch", "hosts": [opensearch_url], "index": index}
        | {"id_from": ["id"], "evidence_index": f"{index}-epochs"},
        {"id": "lake", "kind": "file", "path": f"s3://{bucket.name}/lake", "format": "json"}
        | {"visibility": "manifest", **reached(bucket)},
    ]
    named = {
        "id": "named",
        "kind": "map",
        "inputs": {"i": "numbers_rows"},
        "output": "out",
        "select": {"id": "id", "name": "concat('name ', id)"},
    }
    job = job_of(
        [generated("numbers", 3000, split=500)],
        [{**sink, "input": "out"} for sink in sinks],
        [named],
    )
    result = trial.run(job)
    assert result.finished, result.document
    wanted = Counter((n, f"name {n}") for n in range(3000))
    assert Counter(postgresql.rows(f"SELECT id, name FROM {postgresql.table}")) == wanted
    bodies = [json.loads(value) for _, value in committed(kafka_servers, topic)]
    assert Counter((body["id"], body["name"]) for body in bodies) == wanted
    found = documents(opensearch_url, index)
    assert Counter((each["id"], each["name"]) for each in found) == wanted
    lake = storage_of(bucket, "lake")
    assert Counter(rows_in(lake, visible_files(lake), "json")) == wanted


def test_a_host_that_is_killed_inside_a_transaction_leaves_it_to_its_successor(
    tmp_path, kafka_servers, postgresql, known_bucket
):
    """Another process, with more readers, over a work directory in a bucket."""
    topic = make_topic(kafka_servers, 4)
    send(kafka_servers, topic, range(400), 4, lambda n: json.dumps({"id": n}))
    source, table = _clicks(kafka_servers, topic, split=20), _table(postgresql)
    job = job_of([source], [table], env={"work_dir": f"s3://{known_bucket.name}/work"})
    with Crew(tmp_path, job) as crew:
        killed = crew.start(1, cores=2, fault="F10#2:kill")
        assert killed.ended() == -signal.SIGKILL, killed.said()
        assert len(postgresql.rows(f"SELECT id FROM {postgresql.table}")) < 400
        successor = crew.start(2, cores=3)
        assert successor.ended() == FINISHED, successor.said()
    seen = Counter(postgresql.rows(f"SELECT id FROM {postgresql.table}"))
    assert seen == Counter((n,) for n in range(400))
    assert not [name for name in storage_of(known_bucket).names("") if "/staged/" in name]
