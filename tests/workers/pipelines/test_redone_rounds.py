"""A round that is lost and made again gives the rows that it gave at first."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_workers.pipelines import faults
from tests.workers.pipelines.jobs import Trial, files, generated, job_of

pytestmark = pytest.mark.spark


def test_a_round_that_is_redone_gives_the_same_rows(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = trial.place / "out"
    query = "SELECT id, now() AS at, current_date, unix_timestamp() AS s FROM t"
    job = job_of(
        [generated("a", 400, split=100)],
        [files("out", "timed_out", out)],
        [
            {
                "id": "timed",
                "kind": "sql",
                "inputs": {"t": "a_rows"},
                "output": "timed_out",
                "query": query,
            }
        ],
    )
    first: list[Any] = []

    def reach(point: str) -> None:
        if point == "F5" and not first:
            staged = trial.rows(out / "_staging", recursiveFileLookup="true")
            first.extend(staged.orderBy("id").collect())
            raise faults.InjectedFault("the round is lost")

    monkeypatch.setattr(faults, "reach", reach)
    result = trial.run(job)
    assert result.finished, result.document
    rows = trial.rows(out).orderBy("id").collect()
    assert len(first) == 400
    assert rows == first
    assert rows[0]["current_date()"] == rows[0]["at"].date()


def test_values_that_are_drawn_are_refused_in_functions_too(trial: Trial) -> None:
    function = "tests.workers.modules.pipeline_functions:drawn"
    job = job_of(
        [generated("a", 10)],
        [files("out", "drawn_out", trial.place / "out")],
        [{"id": "drawn", "kind": "python", "output": "drawn_out", "function": function}],
    )
    ((_, reason),) = trial.run(job).failures
    assert "it draws values" in reason
