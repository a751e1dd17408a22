"""Jobs whose sources have nothing to read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of

pytestmark = pytest.mark.spark

_COUNTED: Job = {
    "id": "counted",
    "kind": "aggregate",
    "output": "counted_out",
    "measures": {"n": "count(*)", "most": "max(id)"},
}
_PAIRS: Job = {
    "id": "pairs",
    "kind": "join",
    "inputs": {"left": "a_rows", "right": "b_rows"},
    "output": "pairs_out",
    "on": [["id", "id"]],
    "how": "semi",
}


def _shown(trial: Trial, *transforms: Any, sources: str = "a") -> list[Any]:
    job = job_of(
        [generated(name, 0) for name in sources],
        [files("out", "counted_out", trial.place / "out")],
        list(transforms),
        env={"buckets": 2},
    )
    result = trial.run(job)
    assert result.finished, result.document
    out = trial.place / "out"
    return trial.rows(out).collect() if any(out.glob("*.parquet")) else []


def test_an_aggregate_of_one_group_has_a_row_for_no_rows(trial: Trial) -> None:
    assert _shown(trial, {**_COUNTED, "inputs": {"i": "a_rows"}}) == [(0, None)]


def test_an_aggregate_of_one_group_behind_a_join_of_nothing_has_a_row(trial: Trial) -> None:
    shown = _shown(trial, _PAIRS, {**_COUNTED, "inputs": {"i": "pairs_out"}}, sources="ab")
    assert shown == [(0, None)]


def test_an_aggregate_of_groups_has_none_for_no_rows(trial: Trial) -> None:
    grouped = {**_COUNTED, "inputs": {"i": "a_rows"}, "group_by": ["text"]}
    assert _shown(trial, grouped) == []
