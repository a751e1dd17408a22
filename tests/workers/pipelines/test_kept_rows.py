"""Rows of the work directory are on the disk before a record names them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conductor_workers.pipelines.connectors import Owner
from conductor_workers.pipelines.kept_rows import write_rows
from conductor_workers.pipelines.storage.local import LocalStorage
from conductor_workers.pipelines.workplace import Workplace, line_address


class _Frame:
    """Writes as Spark does: files in folders, and nothing asked of the disk."""

    def __init__(self) -> None:
        self.folder = ""

    @property
    def write(self) -> _Frame:
        return self

    def partitionBy(self, column: str) -> _Frame:  # noqa: N802 - Spark's own name
        self.folder = f"{column}=1/"
        return self

    def parquet(self, address: str) -> None:
        place = Path(address.removeprefix("file://"))
        (place / self.folder).mkdir(parents=True)
        for name in (f"{self.folder}part-0.parquet", "_SUCCESS"):
            (place / name).write_text("rows")


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The inodes of what was made durable, as it was at that moment."""
    found: set[int] = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        found.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return found


@pytest.mark.parametrize("by", ["", "bucket"])
def test_rows_and_all_folders_that_lead_to_them_are_durable(
    tmp_path: Path, synced: set[int], by: str
) -> None:
    address = line_address(str(tmp_path / "work"), Owner(task="e/load", line=1))
    workplace = Workplace(
        storage=LocalStorage.at(address), run="r", address=address, pipeline="p", token=3
    )
    name = workplace.frame("state", 7)
    frame: Any = _Frame()
    write_rows(workplace, name, frame, by=by)
    written = Path(address) / name
    below = [written, *written.rglob("*")]
    above = [each for each in written.parents if each.is_relative_to(tmp_path)]
    assert any(each.name.endswith(".parquet") for each in below)
    left_out = {each for each in (*below, *above) if each.stat().st_ino not in synced}
    assert left_out == set()


def test_what_is_deleted_while_a_folder_is_settled_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir()
    for name in ("a", "b"):
        (tmp_path / "state" / name).write_text("rows")
    walk = os.walk

    def late(*given: Any, **more: Any) -> Any:
        for each in list(walk(*given, **more)):
            (tmp_path / "state" / "a").unlink(missing_ok=True)
            yield each

    monkeypatch.setattr(os, "walk", late)
    LocalStorage(tmp_path).settle("state")
    assert [each.name for each in (tmp_path / "state").iterdir()] == ["b"]
