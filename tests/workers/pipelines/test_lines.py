"""Jobs that are begun anew, and jobs that go back."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conductor_py.pipelines.intervals import Intervals
from conductor_py.sdk import StopRequested
from conductor_workers.manifest import visible_files
from conductor_workers.paths import ANYWHERE
from conductor_workers.pipelines.beginning import RewindRefused
from conductor_workers.pipelines.commit import Ledger
from conductor_workers.pipelines.connectors import Epoch, SinkProblem
from conductor_workers.pipelines.job import Bench
from conductor_workers.pipelines.job_group import end_group
from conductor_workers.pipelines.sinks.file import FileSink
from conductor_workers.pipelines.storage import StoreAway
from conductor_workers.pipelines.storage.local import LocalStorage
from conductor_workers.tasks.pipeline import run_pipelines
from tests.workers.attempts import FakeAttempt
from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="pipelines")]

_ROWS = 5000


def test_a_restarted_job_does_everything_again_and_a_retried_one_goes_on(trial: Trial) -> None:
    database = trial.place / "numbers.db"
    table = {
        "id": "table",
        "kind": "jdbc",
        "input": "a_rows",
        "url": f"sqlite:///{database}",
        "table": "numbers",
        "create": True,
    }
    job = job_of(
        [generated("a", _ROWS, split=500)], [files("out", "a_rows", trial.place / "out"), table]
    )
    first = trial.run(job, token=1)
    assert first.finished, first.document
    trial.keeper.restart()
    trial.stopped_after(job, 1, token=2)
    second = trial.run(job, token=3)
    assert second.finished, second.document
    assert second.document["pipelines"][0]["rows"]["read"] == _ROWS
    twice = Counter(dict.fromkeys(range(_ROWS), 2))
    assert Counter(row["id"] for row in trial.rows(trial.place / "out").collect()) == twice
    with closing(sqlite3.connect(database)) as connection:
        assert Counter(id_ for (id_,) in connection.execute("SELECT id FROM numbers")) == twice
        lines: dict[str, list[int]] = {}
        for task, epoch in connection.execute("SELECT task, epoch FROM _df_epochs ORDER BY epoch"):
            lines.setdefault(task, []).append(epoch)
    assert sorted(lines) == [f"{trial.keeper.task}@{line}" for line in (1, 2)]
    for epochs in lines.values():
        assert epochs == list(range(1, len(epochs) + 1))
    (run,) = (trial.place / "work").iterdir()
    assert [line.name for line in run.iterdir()] == ["l2"]


@pytest.fixture
def cut_off(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first time that files are taken back fails after the manifest is there."""
    take_back, seen = FileSink.take_back, list[int]()

    def broken(self: FileSink, epoch: Epoch, back_to: int, record_hash: str) -> None:
        seen.append(epoch.number)
        take_back(self, epoch, back_to, record_hash)
        if len(seen) == 1:
            raise SinkProblem("SINK_UNAVAILABLE", "The disk is away.")

    monkeypatch.setattr(FileSink, "take_back", broken)
    return seen


def test_a_job_goes_back_to_a_savepoint_and_every_row_is_there_once(
    trial: Trial, cut_off: list[int]
) -> None:
    """With state by key, whose older rows the savepoint keeps from being deleted."""
    out = trial.place / "out"
    job = _remembering(trial, retain=1)
    trial.stopped_after(job, 1, token=1)
    trial.keeper.take_savepoint("early")
    kept = len(_ids(out))
    assert trial.run(job, token=2).finished
    (pipeline,) = trial.keeper.parts
    newest = trial.keeper.parts[pipeline]["epoch"]
    trial.keeper.go_on_from("early")
    with pytest.raises(RewindRefused, match=f"epoch {newest} is published already; --rewind"):
        trial.run(job, token=3)
    assert len(_ids(out)) == _ROWS
    trial.keeper.go_on_from("early", rewind=True)
    result = trial.run(job, token=4)
    assert result.finished, result.document
    assert cut_off == [newest + 1] * 2
    assert result.document["pipelines"][0]["rows"]["read"] == _ROWS
    assert sorted(_ids(out)) == list(range(_ROWS))
    record = trial.keeper.parts[pipeline]["record"]
    early = trial.keeper.savepoints["early"][pipeline]["epoch"]
    assert 0 < kept < _ROWS
    assert Intervals.parse(record["taken_back"]) == Intervals.range(early + 1, newest + 1)
    assert set(out.rglob("*.parquet")) == set(_visible(out))
    epochs = [epoch for _, epoch, _, _ in trial.keeper.history]
    assert epochs == sorted(epochs)


def test_an_epoch_whose_rows_are_deleted_is_not_gone_back_to(trial: Trial) -> None:
    job = _remembering(trial, retain=1)
    trial.stopped_after(job, 1, token=1)
    ((pipeline, part),) = trial.keeper.parts.items()
    early = part["record"]
    assert trial.run(job, token=2).finished
    assert trial.keeper.retain == 1
    (delta, *_) = early["keyed_state"]["once"]["deltas"]
    (rows,) = (trial.place / "work").glob(f"*/*/{delta}")
    shutil.rmtree(rows)
    wish = {"record": early, "epoch": early["epoch"], "rewind": True}
    trial.keeper.parts[pipeline]["resume"] = wish
    sentence = f"what epoch {early['epoch']} needs is deleted already .* can be reached"
    with pytest.raises(RewindRefused, match=sentence):
        trial.run(job, token=3)
    assert sorted(_ids(trial.place / "out")) == list(range(_ROWS))


@pytest.mark.parametrize("broken", [False, True])
def test_a_rewind_is_judged_by_what_the_sinks_show_and_not_by_what_the_engine_still_has(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    out, job = trial.place / "out", _remembering(trial, retain=20, split=150)
    trial.stopped_after(job, 1, token=1)
    trial.keeper.take_savepoint("early")
    early = json.dumps(trial.keeper.parts)
    trial.stopped_after(job, 3, token=2)
    shown = sorted(_ids(out))
    (pipeline,) = trial.keeper.parts
    newest = trial.keeper.parts[pipeline]["epoch"]
    trial.keeper.parts.update(json.loads(early))  # the engine has lost what came after
    trial.keeper.go_on_from("early")
    with pytest.raises(RewindRefused, match=f"epoch {newest} is published already; --rewind"):
        trial.run(job, token=3)
    assert sorted(_ids(out)) == shown
    trial.keeper.parts.update(json.loads(early))
    trial.keeper.go_on_from("early", rewind=True)
    if broken:  # after the engine was told what the sinks show
        _fail_once(monkeypatch)
    result = trial.run(job, token=4)
    assert result.finished, result.document
    record = trial.keeper.parts[pipeline]["record"]
    first = trial.keeper.savepoints["early"][pipeline]["epoch"] + 1
    assert Intervals.parse(record["taken_back"]) == Intervals.range(first, newest + 1)
    assert sorted(_ids(out)) == list(range(_ROWS))


def _fail_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taking_back, failed = Ledger.taking_back, list[bool]()

    def unlucky(self: Ledger) -> Any:
        if not failed:
            failed.append(True)
            raise StoreAway("The disk is away.")
        return taking_back(self)

    monkeypatch.setattr(Ledger, "taking_back", unlucky)


def _remembering(trial: Trial, *, retain: int, split: int = 500) -> Job:
    """A job with state by key and files that can be taken back."""
    once = {
        "id": "once",
        "kind": "dedup",
        "inputs": {"i": "a_rows"},
        "output": "rows",
        "keys": ["id"],
    }
    return job_of(
        [generated("a", _ROWS, split=split)],
        [files("out", "rows", trial.place / "out", visibility="manifest")],
        [once],
        env={"checkpoint": {"retain": retain}, "buckets": 4},
    )


def _visible(out: Path) -> list[Path]:
    return [out / name for name in visible_files(LocalStorage(out))]


def _ids(out: Path) -> list[int]:
    import pyarrow.parquet as pq

    tables = [pq.read_table(file, columns=["id"]) for file in _visible(out)]
    return [number for table in tables for number in table["id"].to_pylist()]


def test_what_cannot_be_taken_back_is_said_and_leaves_the_task_stopped(trial: Trial) -> None:
    job = job_of([generated("a", _ROWS, split=500)], [files("out", "a_rows", trial.place / "out")])
    trial.stopped_after(job, 1, token=1)
    trial.keeper.take_savepoint("early")
    trial.stopped_after(job, 2, token=2)
    before = json.dumps(trial.keeper.parts)
    trial.keeper.go_on_from("early", rewind=True)
    attempt = FakeAttempt({"job": job})
    bench = Bench(paths=ANYWHERE, spark=trial.spark, work_dir=str(trial.place / "work"))
    with pytest.raises(StopRequested, match="cannot take back what is published: out"):
        run_pipelines(bench, attempt, trial.store(3), lambda: None)
    assert "out" in attempt.lines[0]
    for part in trial.keeper.parts.values():
        del part["resume"]
    assert json.dumps(trial.keeper.parts) == before


class _Spark:
    """A session whose cancelled job has tasks for so many more looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.cancelled: list[str] = []

    def statusTracker(self) -> _Spark:  # noqa: N802 - Spark's own name
        self.looks -= 1
        return self

    def getJobIdsForGroup(self, group: str) -> list[int]:  # noqa: N802
        return [1] if group == "g" else []

    def getJobInfo(self, _: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(status="FAILED", stageIds=[7])

    def getStageInfo(self, _: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(numActiveTasks=int(self.looks > 0))

    def cancelJobGroup(self, group: str) -> None:  # noqa: N802
        self.cancelled.append(group)


@pytest.mark.parametrize(("looks", "ended"), [(1, True), (5, True), (10_000, False)])
def test_the_end_of_a_cancelled_jobs_tasks_is_waited_for_but_not_for_ever(
    looks: int, ended: bool
) -> None:
    passed: list[float] = []
    spark: Any = _Spark(looks)
    found = end_group(spark, "g", within_s=2.0, clock=lambda: sum(passed), rest=passed.append)
    assert (found, len(spark.cancelled)) == (ended, len(passed))
    assert sum(passed) <= 2.1
    assert end_group(spark, "another", clock=lambda: 0.0, rest=passed.append)
