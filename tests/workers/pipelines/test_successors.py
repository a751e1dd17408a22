"""Attempts that follow one another: each publishes what the ones before it had decided."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from conductor_py.pipelines.record import Record
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.commit import Ledger
from tests.waiting import PATIENCE_S
from tests.workers.pipelines.jobs import Job, Trial, generated, job_of

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="pipelines")]

_ROWS = 600


def _table(name: str, given: str, place: Path) -> Job:
    url = f"sqlite:///{place / 'tables.db'}"
    return {
        "id": name,
        "kind": "jdbc",
        "input": given,
        "url": url,
        "table": name,
        "create": True,
    }


def _all_are_there(place: Path, table: str) -> None:
    with closing(sqlite3.connect(place / "tables.db")) as connection:
        found = connection.execute(f"SELECT count(*), count(DISTINCT id) FROM {table}")
        assert found.fetchone() == (_ROWS, _ROWS)


def _taken_over(trial: Trial, token: int) -> None:
    """The attempt of that token has the task: the one before is told so when it next asks."""
    trial.keeper.token = token


def test_an_attempt_that_dies_before_it_has_decided_leaves_its_successor_what_it_published(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of([generated("a", _ROWS, split=50)], [_table("numbers", "a_rows", trial.place)])

    def runs_until(token: int, point: str) -> bool:
        monkeypatch.setattr(
            faults,
            "reach",
            lambda reached: _taken_over(trial, token + 1) if reached == point else None,
        )
        return trial.run(job, token=token).fenced

    assert runs_until(1, "F15")  # an epoch is published, and the engine is not told
    assert runs_until(2, "F5")  # it is looked for once more, and none is decided
    monkeypatch.undo()
    result = trial.run(job, token=3)

    assert result.finished, list(result.failures)
    _all_are_there(trial.place, "numbers")


def test_what_one_pipeline_had_decided_is_published_though_another_has_begun(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("first", "second")
    job = job_of(
        [generated(f"{name}_in", _ROWS, split=50) for name in names],
        [_table(name, f"{name}_in_rows", trial.place) for name in names],
    )
    both = threading.Barrier(2, action=lambda: _taken_over(trial, 2), timeout=60)

    def die(point: str) -> None:
        if point == "F8":  # decided, and not published yet
            both.wait()
            raise faults.InjectedFault("the worker dies")

    monkeypatch.setattr(faults, "reach", die)
    assert trial.run(job, token=1).fenced

    begun = threading.Event()
    publish = Ledger.publish

    def published_late(ledger: Ledger, record: Record) -> None:
        if record.decided is not None and "second" in record.decided.sinks:
            assert begun.wait(PATIENCE_S), "the other pipeline has not begun"
        publish(ledger, record)

    monkeypatch.setattr(Ledger, "publish", published_late)
    monkeypatch.setattr(faults, "reach", lambda point: begun.set() if point == "F1" else None)
    result = trial.run(job, token=2)

    assert result.finished, list(result.failures)
    for name in names:
        _all_are_there(trial.place, name)
