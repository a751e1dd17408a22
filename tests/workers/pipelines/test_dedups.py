"""One row of each key is kept: which one, across rounds, and whatever the columns are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of

pytestmark = pytest.mark.spark


def _node(kind: str, name: str, given: str, **more: Any) -> Job:
    return {"id": name, "kind": kind, "inputs": {"i": given}, "output": f"{name}_out", **more}


def _numbered(folder: Path, sizes: list[int]) -> None:
    """Files whose rows have a number in the order in which they are read, and five keys."""
    folder.mkdir()
    number = 0
    for name, size in enumerate(sizes):
        numbers = range(number, number + size)
        lines = (json.dumps({"k": n % 5, "n": n, "pad": "x" * 40}) for n in numbers)
        (folder / f"{name}.json").write_text("".join(f"{line}\n" for line in lines))
        number += size


_FILES = {"id": "in", "kind": "file", "output": "in_rows", "format": "json"}
_READ: dict[str, Job] = {
    "whole files": {},
    "whole files and pieces": {"split": {"by": "bytes", "size": 500}},
    "rows with all that they have": {"schema": {"extra_columns": "capture"}},
}


_OTHERS = pytest.mark.thorough(target="pipelines")


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=_OTHERS)])
@pytest.mark.parametrize(
    "how",
    [pytest.param(how, marks=() if "pieces" in how else _OTHERS) for how in _READ],
)
def test_the_first_and_the_last_row_of_a_key_are_kept_as_they_stand_in_the_source(
    trial: Trial, how: str, rounds: int
) -> None:
    _numbered(trial.place / "in", [3, 40, 1, 20, 6])
    columns = [{"name": "k", "type": "int"}, {"name": "n", "type": "int"}]
    source = {
        **_FILES,
        "paths": [str(trial.place / "in")],
        **_READ[how],
        "schema": {"columns": columns, **_READ[how].get("schema", {})},
    }
    keeps = ("first", "last")
    job = job_of(
        [source],
        [files(f"out_{keep}", f"{keep}_out", trial.place / keep) for keep in keeps],
        [
            _node("sql", "plain", "in_rows", query="SELECT k, n FROM i WHERE n >= 0"),
            *(_node("dedup", keep, "plain_out", keys=["k"], keep=keep) for keep in keeps),
        ],
        env={"buckets": 2, "round": {"max_splits": rounds}},
    )
    result = trial.run(job)
    assert result.finished, result.document
    for keep, wanted in (("first", range(5)), ("last", range(65, 70))):
        assert sorted(row["n"] for row in trial.rows(trial.place / keep).collect()) == [*wanted]


def test_the_last_row_is_that_of_the_last_epoch_after_a_stop(trial: Trial) -> None:
    job = job_of(
        [generated("a", 60, split=10)],
        [files("out", "once_out", trial.place / "out")],
        [
            _node("map", "keyed", "a_rows", select={"k": "id % 3", "n": "id"}),
            _node("dedup", "once", "keyed_out", keys=["k"], keep="last"),
        ],
        env={"buckets": 2, "round": {"max_splits": 2}},
    )
    trial.stopped_after(job, 1)
    result = trial.run(job, token=2)
    assert result.finished, result.document
    assert sorted(row["n"] for row in trial.rows(trial.place / "out").collect()) == [57, 58, 59]


@pytest.mark.parametrize("keep", ["first", pytest.param("last", marks=_OTHERS)])
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


@pytest.mark.parametrize("kind", ["lookup", pytest.param("join", marks=_OTHERS)])
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
