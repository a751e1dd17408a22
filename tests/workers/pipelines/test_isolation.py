"""Three pipelines in one job, of which one's tasks die: the other two never notice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conductor_py.pipelines.record import PipelineState
from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of
from tests.workers.pipelines.reads import newest_query, reads_of

pytestmark = pytest.mark.spark


def _job(trial: Trial, mark: Path) -> Job:
    deadly = {
        "id": "deadly",
        "kind": "python",
        "inputs": {"i": "c_rows"},
        "output": "c_out",
        "function": "tests.workers.modules.deadly:while_there",
        "arguments": {"id": 1234, "mark": str(mark)},
    }
    outputs = {"a": "a_rows", "b": "b_rows", "c": "c_out"}
    return job_of(
        [generated("a", 4000), generated("b", 6000), generated("c", 4000, split=500)],
        [files(f"out_{name}", given, trial.place / name) for name, given in outputs.items()],
        [deadly],
        env={"errors": {"split_attempts": 2}},
    )


def _by_sink(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {sink[-1]: each for each in document["pipelines"] for sink in each["sinks"]}


def _published(trial: Trial, name: str) -> dict[str, int]:
    """The files that readers see, each with the moment it was written."""
    return {file.name: file.stat().st_mtime_ns for file in (trial.place / name).glob("*.parquet")}


@pytest.mark.thorough(target="pipelines")
def test_a_pipeline_whose_tasks_are_killed_takes_nothing_from_the_others(trial: Trial) -> None:
    mark = trial.place / "deadly"
    mark.touch()
    job = _job(trial, mark)

    first = trial.run(job)
    seen = _by_sink(first.document)
    assert {name: first.states[each["id"]] for name, each in seen.items()} == {
        "a": PipelineState.FINISHED,
        "b": PipelineState.FINISHED,
        "c": PipelineState.FAILED,
    }
    assert "Python worker exited unexpectedly" in seen["c"]["lastError"]["message"]
    assert [(seen[name]["epoch"], seen[name]["restarts"]) for name in "ab"] == [(1, 0), (2, 0)]
    published = {name: _published(trial, name) for name in "ab"}

    mark.unlink()
    before = newest_query(trial.spark)
    second = trial.run(job, token=2)

    assert second.finished, second.document
    after = _by_sink(second.document)
    assert {name: _published(trial, name) for name in "ab"} == published
    assert [(after[name]["epoch"], after[name]["restarts"]) for name in "ab"] == [(1, 0), (2, 0)]
    for name, rows in (("a", 4000), ("b", 6000), ("c", 4000)):
        found = trial.rows(trial.place / name)
        assert found.count() == found.select("id").distinct().count() == rows
    left = 4000 - seen["c"]["rows"]["read"]
    assert left >= 500
    assert reads_of(trial.spark, after=before) == {after["c"]["id"]: {"Range": left}}
