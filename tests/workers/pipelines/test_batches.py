"""What is taken over of a streaming query's directory is what one batch left, and nothing later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor_workers.pipelines.batches import Batch, committed, copy_as_of


def _checkpoint(place: Path, *, offsets: int, commits: int) -> Path:
    """A directory with that many batches begun and committed."""
    files = {"metadata": json.dumps({"id": "the first query"}), "state/0/_metadata/metadata": "v1"}
    for number in range(offsets):
        about = json.dumps({"batchWatermarkMs": 1000 * number, "conf": {}})
        files[f"offsets/{number}"] = f'v1\n{about}\n{{"portion":{number + 1}}}\n{{"portion":7}}'
        files[f"state/0/1/{number + 1}.delta"] = f"of {number}"
        files[f"state/0/1/.{number + 1}.delta.crc"] = "sum"
    for number in range(commits):
        files[f"commits/{number}"] = f'v1\n{{"nextBatchWatermarkMs":{1000 * number + 1000}}}'
    files["state/0/1/left/2.snapshot"] = "whole"
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content)
    return place


def test_newest_batch_is_the_newest_that_was_committed(tmp_path: Path) -> None:
    assert committed(tmp_path) is None
    assert committed(_checkpoint(tmp_path, offsets=3, commits=2)) == Batch(
        number=1,
        offsets=({"portion": 2}, {"portion": 7}),
        watermark_ms=1000,
        next_watermark_ms=2000,
    )


def test_copy_has_nothing_of_later_batches(tmp_path: Path) -> None:
    before = _checkpoint(tmp_path / "before", offsets=4, commits=3)
    after = tmp_path / "after"
    copy_as_of(before, after, 1)
    there = {str(file.relative_to(after)) for file in after.rglob("*") if file.is_file()}
    assert there == {
        *("metadata", "offsets/0", "offsets/1", "commits/0", "commits/1"),
        *("state/0/_metadata/metadata", "state/0/1/1.delta", "state/0/1/2.delta"),
        "state/0/1/left/2.snapshot",
    }
    assert json.loads((after / "metadata").read_text()) != {"id": "the first query"}
    assert committed(after) == committed(_checkpoint(tmp_path / "two", offsets=2, commits=2))


def test_copy_of_what_is_gone_is_refused(tmp_path: Path) -> None:
    before = _checkpoint(tmp_path / "before", offsets=3, commits=2)
    with pytest.raises(FileNotFoundError):
        copy_as_of(before, tmp_path / "after", 2)
    assert not (tmp_path / "after").exists()
