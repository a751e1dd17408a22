"""Files have about the size that their sink asks for, however many tasks there are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from conductor_workers.pipelines.connectors import Outlook
from conductor_workers.pipelines.sinks.sizes import files_wanted
from tests.workers.pipelines.jobs import Trial, files, generated, job_of

_MB = 1 << 20


@pytest.mark.parametrize(
    ("expected", "cores", "wanted"),
    [
        (1, 8, 1),
        (16 * _MB, 8, 1),
        (17 * _MB, 8, 2),
        (40 * _MB, 2, 2),
        (128 * _MB, 2, 4),
        (128 * _MB, 8, 8),
        (128 * _MB, 64, 8),
        (1280 * _MB, 2, 10),
    ],
)
def test_files_are_no_larger_than_asked_and_no_smaller_than_cores_need(
    expected: int, cores: int, wanted: int
) -> None:
    assert files_wanted(Outlook(bytes=expected, cores=cores), 128 * _MB) == wanted


def _by_epoch(out: Path) -> dict[str, list[int]]:
    """Sizes of the published files, by epoch."""
    found: dict[str, list[int]] = {}
    for file in sorted(out.rglob("part-*")):
        found.setdefault(file.name.split("-")[-2], []).append(file.stat().st_size)
    return found


@pytest.mark.spark
@pytest.mark.thorough(target="pipelines")
def test_small_rounds_are_one_file_and_one_in_each_folder(trial: Trial) -> None:
    plain, folders = trial.place / "plain", trial.place / "folders"
    job = job_of(
        [generated("a", 1600, split=100), generated("b", 800, split=100)],
        [
            files("plain", "a_rows", plain),
            files("folders", "b_days", folders, "json", partition_by=["day"]),
        ],
        [
            {
                "id": "days",
                "kind": "map",
                "inputs": {"i": "b_rows"},
                "output": "b_days",
                "select": {"id": "id", "day": "id % 3"},
            }
        ],
    )
    job["env"]["round"]["max_splits"] = 8
    result = trial.run(job)
    assert result.finished, result.document
    assert [len(sizes) for sizes in _by_epoch(plain).values()] == [1, 1]
    assert trial.rows(plain).count() == 1600
    counted = Counter(file.parent.name for file in folders.rglob("part-*"))
    assert counted == {"day=0": 1, "day=1": 1, "day=2": 1}


@pytest.mark.spark
@pytest.mark.thorough(target="pipelines")
@pytest.mark.parametrize("data_format", ["json", "parquet"])
def test_large_rounds_are_files_of_the_size_that_is_asked_for(
    trial: Trial, data_format: str
) -> None:
    out, size = trial.place / "out", 1 * _MB if data_format == "json" else _MB // 4
    job = job_of(
        [generated("a", 120_000, split=5_000)],
        [files("out", "a_rows", out, data_format, target_file_size=size)],
    )
    job["env"]["round"] = {"min_bytes": 100 * _MB, "max_splits": 12}
    result = trial.run(job)
    assert result.finished, result.document
    assert trial.rows(out, data_format).count() == 120_000
    first, second = _by_epoch(out).values()
    assert len(first) > 1
    assert len(second) == -(-sum(first) // size)  # what the first epoch has taught
    assert max(second) < 1.6 * size
    assert min(second) > 0.4 * size
