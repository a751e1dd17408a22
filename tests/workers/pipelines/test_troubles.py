"""What goes wrong in a job's rounds, and around them, in one local session."""

from __future__ import annotations

import sqlite3
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest
from pyspark.errors import PySparkException

from conductor_py.pipelines.cutting import cut
from conductor_py.pipelines.edits import Permissions
from conductor_py.pipelines.record import PipelineState
from conductor_py.wire.pipelines import read_job
from conductor_workers.paths import ANYWHERE
from conductor_workers.pipelines.beginning import JobChanged
from conductor_workers.pipelines.connectors import SourceProblem
from conductor_workers.pipelines.job import Bench, JobRun
from conductor_workers.pipelines.storage import StoreAway
from conductor_workers.pipelines.store import Unanswered
from conductor_workers.pipelines.trouble import Trouble, Verdict, trouble
from tests.waiting import until
from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of
from tests.workers.pipelines.stores import MemoryJobStore

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="pipelines")]

_POISON = "SELECT CASE WHEN id = 1234 THEN raise_error('no such thing') ELSE id END AS id FROM t"


def _poisoned(trial: Trial, poison_split: str) -> Job:
    return job_of(
        [generated("a", 4000, split=500)],
        [files("out", "sick_out", trial.place / "out")],
        [
            {
                "id": "sick",
                "kind": "sql",
                "inputs": {"t": "a_rows"},
                "output": "sick_out",
                "query": _POISON,
            }
        ],
        env={"errors": {"split_attempts": 2, "poison_split": poison_split}},
    )


def test_a_poison_split_is_found_and_set_aside(trial: Trial) -> None:
    result = trial.run(_poisoned(trial, "quarantine"))
    assert result.finished, result.document
    (pipeline,) = result.document["pipelines"]
    assert pipeline["splits"] == {
        "discovered": 8,
        "complete": True,
        "done": 7,
        "assigned": 0,
        "pending": 0,
        "quarantined": 1,
    }
    assert "no such thing" in pipeline["lastError"]["message"]
    assert result.remark == "Finished without 1 of 8 splits, which were set aside."
    ids = {row["id"] for row in trial.rows(trial.place / "out").collect()}
    assert ids == set(range(4000)) - set(range(1000, 1500))


def test_a_poison_split_fails_its_pipeline_when_it_is_to(trial: Trial) -> None:
    result = trial.run(_poisoned(trial, "fail"))
    ((_, reason),) = result.failures
    assert "no such thing" in reason
    kept = trial.keeper.parts[result.document["pipelines"][0]["id"]]["record"]
    assert kept["state"] == "FAILED"
    assert kept["reason"].startswith("POISON_SPLIT: ")


class _Silent(MemoryJobStore):
    """Carries every call out, and answers every second one only."""

    calls = 0

    def append(self, pipeline: str, notes: Sequence[Mapping[str, Any]]) -> None:
        """See ``JobStore``."""
        super().append(pipeline, notes)
        self._maybe_silent()

    def put(
        self,
        pipeline: str,
        record: Mapping[str, Any],
        *,
        expected: int,
        epoch: int,
        retain: int,
    ) -> None:
        """See ``JobStore``."""
        super().put(pipeline, record, expected=expected, epoch=epoch, retain=retain)
        self._maybe_silent()

    def _maybe_silent(self) -> None:
        self.calls += 1
        if self.calls % 2:
            raise Unanswered


def test_an_engine_that_does_not_answer_makes_nothing_twice(trial: Trial) -> None:
    out = trial.place / "out"
    job = read_job(job_of([generated("a", 6000)], [files("out", "a_rows", out)]))
    store = _Silent(trial.keeper, token=1)
    result = JobRun(
        job, cut(job), store, Bench(paths=ANYWHERE, spark=trial.spark, work_dir=str(out))
    ).run()
    assert result.finished, result.document
    assert store.calls > 4
    assert trial.rows(out).count() == trial.rows(out).select("id").distinct().count() == 6000


def test_a_changed_job_goes_on_only_when_that_was_allowed(trial: Trial) -> None:
    job = job_of(
        [generated("a", 20_000, split=500)],
        [files("out", "few_out", trial.place / "out")],
        [
            {
                "id": "few",
                "kind": "filter",
                "inputs": {"i": "a_rows"},
                "output": "few_out",
                "where": "id >= 0",
            }
        ],
    )
    trial.stopped_after(job, 1)
    before = trial.rows(trial.place / "out").count()
    job["transforms"][0]["where"] = "id < 0"
    with pytest.raises(JobChanged, match="few: rows that are out already keep their form"):
        trial.run(job, token=2)
    result = trial.run(job, token=3, permissions=Permissions(plan_change=True))
    assert result.finished, result.document
    assert trial.rows(trial.place / "out").count() == before


def test_all_pipelines_begin_again_when_the_job_wants_it_so(trial: Trial) -> None:
    slow = [generated(name, 8000, split=500) for name in "ab"]
    sinks = [files(f"out_{name}", f"{name}_rows", trial.place / name) for name in "ab"]
    job = job_of(slow, sinks, env={"failover": "all"})
    (trial.place / "a").write_text("in the way of the directory")
    run = trial.prepared(job)
    thread = threading.Thread(target=run.run)
    thread.start()
    until(lambda: any(view["restarts"] for view in run.progress()["pipelines"]))
    (trial.place / "a").unlink()
    thread.join()
    for name in "ab":
        rows = trial.rows(trial.place / name)
        assert rows.count() == rows.select("id").distinct().count() == 8000


def test_a_decided_epoch_is_published_by_a_later_attempt(trial: Trial) -> None:
    sinks = [files(name, "a_rows", trial.place / name) for name in ("one", "two")]
    job = job_of([generated("a", 3000)], sinks)
    in_the_way = trial.place / "two" / "_commits"
    in_the_way.parent.mkdir()
    in_the_way.write_text("no directory can be here")
    first = trial.run(job)
    assert set(first.states.values()) == {PipelineState.FAILED}
    assert first.document["pipelines"][0]["restarts"] == 3
    in_the_way.unlink()
    second = trial.run(job, token=2)
    assert second.finished, second.document
    assert second.document["pipelines"][0]["epoch"] == 1
    for name in ("one", "two"):
        assert trial.rows(trial.place / name).count() == 3000


def test_what_cannot_be_gone_on_from_just_now_is_left_as_it_is(trial: Trial) -> None:
    table = {
        "id": "table",
        "kind": "jdbc",
        "input": "a_rows",
        "table": "numbers",
        "create": True,
        "url": f"sqlite:///{trial.place / 'table.db'}",
        "lock_wait_s": 0.05,
    }
    job = job_of([generated("a", 3000, split=500)], [table], env={"round": {"max_splits": 2}})
    trial.stopped_after(job, 1)
    before = dict(trial.keeper.parts)
    with closing(sqlite3.connect(trial.place / "table.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        locked = trial.run(job, token=2)
        ((_, reason),) = locked.failures
        assert "is locked by somebody else" in reason
        assert locked.document["pipelines"][0]["restarts"] == 3
        assert trial.keeper.parts == before
        other.execute("ROLLBACK")
        assert trial.run(job, token=3).finished
        assert other.execute("SELECT count(*), count(DISTINCT id) FROM numbers").fetchone() == (
            3000,
            3000,
        )


@pytest.mark.parametrize(("wanted", "finished"), [(299, False), (300, True), (301, False)])
def test_an_assertion_about_all_rows_is_judged_at_the_end(
    trial: Trial, wanted: int, *, finished: bool
) -> None:
    job = job_of(
        [generated("a", 300, split=100)],
        [{"id": "all", "kind": "assert", "input": "a_rows", "rows": wanted}],
    )
    job["env"]["round"]["max_splits"] = 1
    result = trial.run(job)
    assert result.finished is finished, result.document
    if wanted > 300:
        ((_, reason),) = result.failures
        assert reason == f"all: there were 300 rows in all, and not {wanted}."
        ((_, again),) = trial.run(job, token=2).failures
        assert again == reason


@pytest.mark.parametrize(
    ("raised", "wanted"),
    [
        (
            SourceProblem("SOURCE_UNAVAILABLE", "The store is away.", retryable=True),
            Trouble(
                verdict=Verdict.AGAIN, code="SOURCE_UNAVAILABLE", sentence="The store is away."
            ),
        ),
        (
            SourceProblem("SCHEMA_CHANGED", "A column is gone."),
            Trouble(verdict=Verdict.FAIL, code="SCHEMA_CHANGED", sentence="A column is gone."),
        ),
        (
            StoreAway("The bucket b refused it."),
            Trouble(
                verdict=Verdict.AGAIN, code="WORKER_TROUBLE", sentence="The bucket b refused it."
            ),
        ),
    ],
)
def test_what_a_task_says_of_its_problem_reaches_the_driver(
    raised: Exception, wanted: Trouble
) -> None:
    try:
        raise raised
    except Exception:  # noqa: BLE001 - as a task tells the driver
        told = f"Job aborted.\n{traceback.format_exc()}\n\tat org.apache.spark"
    assert trouble(PySparkException(told)) == wanted
