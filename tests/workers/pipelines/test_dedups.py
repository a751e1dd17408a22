"""One row of each key is kept: which one, across rounds, and whatever the columns are called."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of

pytestmark = pytest.mark.spark


def _node(kind: str, name: str, given: str, **more: Any) -> Job:
    return {"id": name, "kind": kind, "inputs": {"i": given}, "output": f"{name}_out", **more}


@pytest.mark.parametrize("keep", ["first", "last"])
def test_columns_may_have_a_dot_in_their_names(trial: Trial, keep: str) -> None:
    job = job_of(
        [generated("a", 30, split=10)],
        [files("out", "once_out", trial.place / "out")],
        [
            _node("map", "odd", "a_rows", select={"k.x": "id % 3", "v.x": "id"}),
            _node("dedup", "once", "odd_out", keys=["k.x"], keep=keep),
        ],
        env={"buckets": 2, "round": {"max_splits": 1}},
    )
    result = trial.run(job)
    assert result.finished, result.document
    assert sorted(row[0] for row in trial.rows(trial.place / "out").collect()) == [0, 1, 2]


@pytest.mark.parametrize("kind", ["lookup", "join"])
def test_keys_of_a_join_may_have_a_dot_in_their_names(trial: Trial, kind: str) -> None:
    (trial.place / "side.json").write_text('{"s.k": 2, "name": "two"}\n')
    side: Job = {
        "id": "side",
        "kind": "file",
        "output": "side_rows",
        "paths": [str(trial.place / "side.json")],
        "format": "json",
    }
    names = ["main", "side"] if kind == "lookup" else ["left", "right"]
    join = _node(kind, "both", "", on=[["k.x", "s.k"]], how="inner")
    join["inputs"] = dict(zip(names, ["odd_out", "side_rows"], strict=True))
    if kind == "lookup":
        side["read_as"] = "lookup"
    job = job_of(
        [generated("a", 3), side],
        [files("out", "named_out", trial.place / "out")],
        [
            _node("map", "odd", "a_rows", select={"k.x": "id"}),
            join,
            _node("map", "named", "both_out", select={"k": "`k.x`", "name": "name"}),
        ],
        env={"buckets": 2},
    )
    result = trial.run(job)
    assert result.finished, result.document
    assert trial.rows(trial.place / "out").collect() == [(2, "two")]
