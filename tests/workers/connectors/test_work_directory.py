"""A work directory in an object store: Spark has no client for it, and jobs go on all the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conductor_workers.pipelines.kept_rows import read_rows, read_values, write_rows
from conductor_workers.pipelines.keyed import BUCKET
from conductor_workers.pipelines.storage import ObjectLost
from conductor_workers.pipelines.trouble import Verdict, trouble
from conductor_workers.pipelines.workplace import Workplace
from tests.services.buckets import S3Bucket
from tests.workers.connectors.test_bucket import storage_of
from tests.workers.pipelines.crews import Crew
from tests.workers.pipelines.host import FINISHED
from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of

pytestmark = [pytest.mark.spark, pytest.mark.service, pytest.mark.thorough(target="pipelines")]


def _node(kind: str, name: str, inputs: dict[str, str], **more: Any) -> Job:
    return {"id": name, "kind": kind, "inputs": inputs, "output": f"{name}_out", **more}


def _job(bucket: S3Bucket, place: Path) -> Job:
    """A lookup, state by key and a join, each of which keeps rows from round to round."""
    return job_of(
        [
            generated("a", 4000, split=1000),
            generated("b", 2000, split=1000),
            generated("names", 20, read_as="lookup"),
        ],
        [
            files("once_files", "named_out", place / "once"),
            files("sums_files", "sums_out", place / "sums"),
        ],
        [
            _node("map", "keyed", {"i": "a_rows"}, select={"k": "id % 700", "id": "id"}),
            _node("dedup", "once", {"i": "keyed_out"}, keys=["k"]),
            _node("map", "twenty", {"i": "once_out"}, select={"k": "k", "n": "k % 40"}),
            _node(
                "lookup",
                "named",
                {"main": "twenty_out", "side": "names_rows"},
                on=[["n", "id"]],
                how="inner",
            ),
            _node("map", "left", {"i": "a_rows"}, select={"id": "id", "x": "id * 2"}),
            _node("map", "right", {"i": "b_rows"}, select={"id": "id", "y": "id % 5"}),
            _node("join", "both", {"left": "left_out", "right": "right_out"}, on=[["id", "id"]]),
            _node(
                "aggregate",
                "sums",
                {"i": "both_out"},
                group_by=["y"],
                measures={"n": "count(*)", "x": "sum(x)"},
            ),
        ],
        env={"work_dir": f"s3://{bucket.name}/work", "buckets": 4},
    )


def test_lookups_state_and_exchanges_are_restored_from_a_bucket(
    trial: Trial, known_bucket: S3Bucket
) -> None:
    job = _job(known_bucket, trial.place)
    job["env"]["round"]["max_splits"] = 2
    with Crew(trial.place, job) as crew:
        attempt = crew.start(1, cores=2, fault="F5#3:raise")
        assert attempt.ended() == FINISHED, attempt.said()
        assert crew.fault_happened(1)
    once = trial.rows(trial.place / "once")
    assert Counter(row["k"] for row in once.collect()) == Counter(
        key for key in range(700) if key % 40 < 20
    )
    assert once.where("text = concat('row-', n)").count() == once.count()
    found = {row["y"]: (row["n"], row["x"]) for row in trial.rows(trial.place / "sums").collect()}
    assert found == {y: (400, sum(2 * n for n in range(2000) if n % 5 == y)) for y in range(5)}
    frames = [name for name in storage_of(known_bucket).names("work") if "/frames/" in name]
    assert {name.partition("/frames/")[2].split("/")[1].partition("-")[0] for name in frames} == {
        "lookup",
        "state",
        "exchange",
    }


def test_rows_that_are_gone_are_missed_and_not_taken_for_none(
    trial: Trial, known_bucket: S3Bucket
) -> None:
    storage = storage_of(known_bucket, "work")
    place = Workplace(
        storage=storage, run="r", address=f"s3://{known_bucket.name}/work", pipeline="p", token=1
    )
    frame = trial.spark.sql(
        f"SELECT id, cast(id % 3 AS int) AS {BUCKET}, timestamp_seconds(id) AS at, "
        "CAST(id AS decimal(9,2)) AS price, array(id) AS list FROM range(30)"
    )
    name = place.frame("exchange", 1)
    write_rows(place, name, frame, by=BUCKET)
    kept = frame.drop(BUCKET)
    both = read_rows(trial.spark, place, [name], kept.schema).exceptAll(kept)
    assert both.isEmpty()
    only = read_values(trial.spark, place, [name], kept.schema, by=BUCKET, values=[0, 2])
    assert {row["id"] % 3 for row in only.collect()} == {0, 2}
    data = next(each for each in storage.names(name) if f"{BUCKET}=0" in each)
    storage.delete(data)
    with pytest.raises(Exception, match="is gone") as caught:
        read_rows(trial.spark, place, [name], kept.schema).collect()
    assert trouble(caught.value).verdict is Verdict.FAIL
    assert trouble(caught.value).code == "NEEDS_OPERATOR"
    storage.delete(f"{name}/_objects.json")
    with pytest.raises(ObjectLost):
        read_rows(trial.spark, place, [name], kept.schema)
