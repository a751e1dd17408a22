"""Joins find every pair, whatever types the two columns have and whatever rows came before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of

pytestmark = pytest.mark.spark

_DAY = "date_add(DATE'2024-01-01', cast(id AS int))"
_PAIRS = 40


def _joined(trial: Trial, left: str, right: str, **more: Any) -> Job:
    """A job that joins rows whose keys are these expressions."""
    return job_of(
        [generated("a", _PAIRS, split=20), generated("b", _PAIRS, split=20)],
        [files("out", "both_out", trial.place / "out")],
        [
            _keyed("left", "a_rows", left),
            _keyed("right", "b_rows", right),
            {
                "id": "both",
                "kind": "join",
                "inputs": {"left": "left_out", "right": "right_out"},
                "output": "both_out",
                "on": [["k", "k"]],
                **more,
            },
        ],
        env={"buckets": 8},
    )


def _keyed(name: str, given: str, key: str) -> Job:
    select = {"k": key, name: "id"}
    return {
        "id": name,
        "kind": "map",
        "inputs": {"i": given},
        "output": f"{name}_out",
        "select": select,
    }


_OTHERS = pytest.mark.thorough(target="pipelines")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param("cast(id AS int)", "id", marks=_OTHERS),
        pytest.param("cast(id AS decimal(20,0))", "cast(id AS decimal(30,2))", marks=_OTHERS),
        pytest.param("cast(id AS double)", "id", marks=_OTHERS),
        pytest.param(_DAY, f"cast({_DAY} AS timestamp)", marks=_OTHERS),
        ("cast(id AS string)", "id"),
    ],
)
def test_a_join_of_keys_of_different_types_finds_all_pairs(
    trial: Trial, left: str, right: str
) -> None:
    result = trial.run(_joined(trial, left, right))
    assert result.finished, result.document
    rows = trial.rows(trial.place / "out")
    assert (rows.count(), rows.where("left = right").count()) == (_PAIRS, _PAIRS)


def test_keys_that_are_never_equal_are_refused_with_their_place(trial: Trial) -> None:
    ((_, reason),) = trial.run(_joined(trial, "id % 2 = 0", "id")).failures
    assert reason == (
        "both.on[0]: a boolean is never equal to a bigint; cast one of the two columns before the "
        "join."
    )


def test_rows_that_are_kept_by_another_type_are_not_joined_in_part(trial: Trial) -> None:
    """An input of an earlier stage, and rows that a version before kept, are hashed already."""
    job = _joined(trial, "cast(id AS int)", "id")
    job["transforms"].insert(
        2,
        {
            "id": "sums",
            "kind": "aggregate",
            "inputs": {"i": "left_out"},
            "output": "sums_out",
            "group_by": ["left"],
            "measures": {"k": "max(k)"},
        },
    )
    job["transforms"][3]["inputs"] = {"left": "left_out", "right": "sums_out"}
    job["transforms"][3]["on"] = [["k", "left"]]
    del job["transforms"][1], job["sources"][1]
    ((_, reason),) = trial.run(job).failures
    assert "both.on[0]: rows are kept by int already, and compared as bigint" in reason


@pytest.mark.parametrize(
    "kind", ["join", *(pytest.param(kind, marks=_OTHERS) for kind in ("lookup", "timed"))]
)
def test_capitals_do_not_tell_columns_of_two_inputs_apart(trial: Trial, kind: str) -> None:
    (trial.place / "side.json").write_text('{"ID": 2, "Name": "two", "then": 1735689602}\n')
    columns = ("ID bigint", "Name string", "then bigint")
    declared = [dict(zip(("name", "type"), each.split(), strict=True)) for each in columns]
    side = {
        "id": "side",
        "kind": "file",
        "output": "side_rows",
        "paths": [str(trial.place / "side.json")],
        "format": "json",
        "schema": {"columns": declared if kind == "lookup" else [declared[0], declared[2]]},
        "read_as": "lookup" if kind == "lookup" else "splits",
    }
    names = ("main", "side") if kind == "lookup" else ("left", "right")
    times = {"left_time": "at", "right_time": "then", "within_s": 9**12}
    both = {
        "id": "both",
        "kind": "lookup" if kind == "lookup" else "join",
        "inputs": dict(zip(names, ("named_out", "side_rows"), strict=True)),
        "output": "both_out",
        "on": [["id", "ID"]],
        "how": "inner",
        **(times if kind == "timed" else {}),
    }
    select = {"id": "id", "name": "text", "at": "at"}
    named = {"id": "named", "kind": "map", "inputs": {"i": "a_rows"}, "output": "named_out"}
    job = job_of(
        [generated("a", 3), side],
        [files("out", "both_out", trial.place / "out")],
        [{**named, "select": select}, both],
        env={"buckets": 2},
    )
    result = trial.run(job)
    assert result.finished, result.document
    (row,) = trial.rows(trial.place / "out").collect()
    assert (row["id"], row["name"]) == (2, "row-2")
    assert sorted(each.lower() for each in row.asDict()) == ["at", "id", "name", "then"]
