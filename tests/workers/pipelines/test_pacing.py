"""Sources are kept together in event time, and read no faster than they may be."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as f

from conductor_py.pipelines.accounts import Account
from conductor_py.pipelines.record import Record
from conductor_py.pipelines.record_form import record_from_json
from conductor_workers.pipelines import faults
from conductor_workers.pipelines import job as job_runs
from conductor_workers.pipelines.control import Control, Wish
from conductor_workers.pipelines.coordinator import PipelineCoordinator
from tests.waiting import PATIENCE_S, until
from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of
from tests.workers.pipelines.stores import MemoryJobStore

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="pipelines")]

_DRIFT_S = 1000
_IDLE_S = 30


@dataclass(slots=True)
class World:
    """A clock that goes on while a pipeline rests, and what was decided when."""

    now: float = 0.0
    decided: list[tuple[float, Record]] = field(default_factory=list)

    def rest(self, seconds: float) -> None:
        """Let that time pass."""
        self.now += seconds


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    coordinator = functools.partial(PipelineCoordinator, clock=lambda: made.now)
    monkeypatch.setattr(job_runs, "PipelineCoordinator", coordinator)
    monkeypatch.setattr(Control, "rest", lambda _, seconds: made.rest(seconds))
    put = MemoryJobStore.put

    def watched(
        store: MemoryJobStore,
        pipeline: str,
        record: Mapping[str, Any],
        *,
        expected: int,
        epoch: int,
        retain: int,
    ) -> None:
        put(store, pipeline, record, expected=expected, epoch=epoch, retain=retain)
        if epoch > expected:
            made.decided.append((made.now, record_from_json(record)))

    monkeypatch.setattr(MemoryJobStore, "put", watched)
    return made


def _events(folder: Path, number: int, first: int) -> None:
    """A file of ten events, from that second on."""
    folder.mkdir(exist_ok=True)
    lines = (json.dumps({"at": first + step, "of": folder.name}) for step in range(10))
    aside = folder / f".{number}"
    aside.write_text("".join(f"{line}\n" for line in lines))
    aside.rename(folder / f"{number:02d}.jsonl")


def _joined(trial: Trial, **more: Any) -> Job:
    """Two sources of events that meet in one sink."""
    sources = [
        {
            "id": name,
            "kind": "file",
            "output": f"{name}_rows",
            "paths": [str(trial.place / name)],
            "format": "json",
            "schema": {
                "columns": [{"name": "at", "type": "bigint"}, {"name": "of", "type": "string"}]
            },
            "event_time": {
                "column": "at",
                "max_drift_s": _DRIFT_S,
                "idle_after_s": _IDLE_S,
            },
            **({"watch": True, "poll_s": 1} if more else {}),
        }
        for name in ("fast", "slow")
    ]
    union = {
        "id": "both",
        "kind": "union",
        "inputs": {"a": "fast_rows", "b": "slow_rows"},
        "output": "all",
    }
    made = job_of(sources, [files("out", "all", trial.place / "out")], [union], **more)
    made["env"]["round"] = {"max_splits": 2}
    return made


def _by_epoch(trial: Trial) -> dict[int, dict[str, list[int]]]:
    """The events of each epoch, by source."""
    rows = trial.rows(trial.place / "out").withColumn("file", f.input_file_name()).collect()
    found: dict[int, dict[str, list[int]]] = {}
    for row in rows:
        epoch = int(row["file"].split("-")[-2])
        found.setdefault(epoch, {}).setdefault(row["of"], []).append(row["at"])
    return found


def test_a_fast_source_waits_for_a_slow_one_until_that_is_finished(
    trial: Trial, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        _events(trial.place / "fast", number, 1000 * number)
    for number in range(8):
        _events(trial.place / "slow", number, 150 * number)
    passes = iter(range(1, 100))

    def reach(point: str) -> None:
        if point == "F5" and next(passes) in {2, 5}:
            raise PySparkException("this round is lost, and its splits are given back")

    monkeypatch.setattr(faults, "reach", reach)
    result = trial.run(_joined(trial))
    assert result.finished, result.document
    epochs = _by_epoch(trial)
    events = sorted(at for each in epochs.values() for of in each.values() for at in of)
    assert events == sorted(
        [1000 * n + step for n in range(5) for step in range(10)]
        + [150 * n + step for n in range(8) for step in range(10)]
    )
    before = Record(pipeline="", plan_hash="")
    waited = 0
    for _, record in world.decided:
        came = epochs[record.epoch]
        reached = {name: state.event_time for name, state in before.sources.items()}
        live = [
            reached[name]
            for name, state in before.sources.items()
            if not Account.of(state).finished
        ]
        for name, ats in came.items():
            least = reached.get(name)
            if least is not None:
                assert min(ats) >= least  # nothing is late
                assert all(each is not None and each >= least - _DRIFT_S for each in live)
        waited += "fast" not in came
        before = record
    assert waited >= 3


def test_an_idle_source_is_waited_for_and_then_left_behind(trial: Trial, world: World) -> None:
    for number in range(3):
        _events(trial.place / "fast", number, 2000 * number)
    _events(trial.place / "slow", 0, 0)
    described = _joined(trial, mode="unbounded")
    described["env"]["round"]["max_splits"] = 1
    run = trial.prepared(described)
    thread = threading.Thread(target=run.run)
    thread.start()
    try:
        until(lambda: run.progress()["pipelines"][0]["rows"]["read"] == 40, 90)
    finally:
        run.want(Wish.STOP)
        thread.join(PATIENCE_S)
    when = {record.epoch: moment for moment, record in world.decided}
    came = {min(ats): when[epoch] for epoch, of in _by_epoch(trial).items() for ats in of.values()}
    (last_of_slow,) = (when[epoch] for epoch, of in _by_epoch(trial).items() if "slow" in of)
    assert came[2000] - last_of_slow < _IDLE_S
    assert _IDLE_S <= came[4000] - last_of_slow < _IDLE_S + 5


def test_a_source_is_read_no_faster_than_its_rate(trial: Trial, world: World) -> None:
    rate, split, rows = 2000, 500, 8000
    source = generated("a", rows, split=split, rate={"rows_per_second": rate})
    job = job_of([source], [files("out", "a_rows", trial.place / "out")])
    job["env"]["round"]["max_splits"] = 6
    result = trial.run(job)
    assert result.finished, result.document
    assert trial.rows(trial.place / "out").count() == rows
    taken = 0
    for moment, record in world.decided:
        taken = int(record.counters["rows_read"]["a"])
        assert taken <= rate * (moment + 1) + split  # a second's worth to begin with
    assert taken == rows
    assert world.now == pytest.approx((rows - rate) / rate, abs=1)
