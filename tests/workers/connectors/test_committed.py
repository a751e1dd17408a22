"""Who reads what others write sees what is committed: of pipelines, of tasks, of no one else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conductor_workers.destination import Destination, DestinationRefused
from conductor_workers.manifest import DataFile, Manifest, visible_files
from conductor_workers.pipelines.connectors import Epoch, Owner, SinkProblem
from conductor_workers.pipelines.sinks.proofs import Proofs
from conductor_workers.pipelines.sources.listing import files_of
from conductor_workers.pipelines.storage.local import LocalStorage
from tests.workers.attempts import claim


def _file(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("1\n")
    return str(path)


def _found(pattern: Path | str) -> list[str]:
    return [file.path for file in files_of((str(pattern),))]


def _proofs(root: Path, **more: Any) -> Proofs:
    given = {"visibility": "manifest", "data_format": "csv", "where": str(root), **more}
    return Proofs(storage=LocalStorage(root), **given)


def _epoch(number: int, *, line: int = 0, token: int = 5) -> Epoch:
    return Epoch(
        owner=Owner(task="e/load", line=line), pipeline="p", sink="out", number=number, token=token
    )


def _named(name: str) -> list[DataFile]:
    return [DataFile(path=name, bytes=2)]


def test_what_is_staged_or_hidden_is_no_data(tmp_path: Path) -> None:
    seen = _file(tmp_path / "out" / "day=1" / "a.csv")
    for hidden in ("_staging/k/1/b.csv", ".out.conductor/data/c.csv", "day=1/_d.csv", ".e.csv"):
        _file(tmp_path / "out" / hidden)
    for pattern in ("out", "out/**/*.csv", "o*", "out/day=*/*"):
        assert _found(tmp_path / pattern) == [seen]
    meant = _file(tmp_path / "_private" / "f.csv")
    assert _found(tmp_path / "_private" / "*.csv") == [meant]


def test_of_a_place_with_manifests_only_what_they_name_is_read(tmp_path: Path) -> None:
    root = tmp_path / "out"
    named, undecided = (_file(root / f"data/k/000001-t5/{name}.csv") for name in "ab")
    beside = _file(tmp_path / "other" / "data" / "c.csv")
    _proofs(root).prove(_epoch(1), "hash", rows=1, files=_named("data/k/000001-t5/a.csv"))
    assert visible_files(LocalStorage(root)) == ("data/k/000001-t5/a.csv",)
    assert _found(root) == [named]
    assert _found(f"{tmp_path}/**/*.csv") == [beside, named]
    assert Path(undecided).exists()


def test_a_path_that_begins_below_the_data_finds_what_is_committed_there(tmp_path: Path) -> None:
    root = tmp_path / "out"
    named, undecided = (_file(root / f"data/k/000001-t5/{name}.csv") for name in "ab")
    _proofs(root).prove(_epoch(1), "hash", rows=1, files=_named("data/k/000001-t5/a.csv"))
    for below in ("data", "data/*/*/*.csv", "data/k", "data/k/**/*.csv", "data/k/000001-t5/a.*"):
        assert _found(root / below) == [named]
    for pattern in (Path(undecided), root / "data/k/000001-t5/b*"):
        assert _found(pattern) == []
    meant = _file(tmp_path / "data" / "_private" / "data" / "c.csv")
    assert _found(tmp_path / "data" / "_private" / "data" / "*.csv") == [meant]


def test_epochs_that_were_taken_back_are_not_seen_and_other_lines_are(tmp_path: Path) -> None:
    proofs = _proofs(tmp_path)
    for number in (1, 2, 3):
        proofs.prove(_epoch(number), "hash", rows=1, files=_named(f"data/{number}.csv"))
    proofs.prove(_epoch(2, line=9), "hash", rows=1, files=_named("data/other.csv"))
    proofs.take_back(_epoch(4), 1, "taken")
    assert set(visible_files(LocalStorage(tmp_path))) == {"data/1.csv", "data/other.csv"}
    assert list(proofs.forget(_epoch(4), 1)) == ["data/2.csv", "data/3.csv"]
    assert set(visible_files(LocalStorage(tmp_path))) == {"data/1.csv", "data/other.csv"}


def test_an_epoch_is_proven_once_and_never_of_two_records(tmp_path: Path) -> None:
    proofs = _proofs(tmp_path)
    assert not proofs.there(_epoch(1), "hash")
    proofs.prove(_epoch(1), "hash", rows=1, files=_named("data/a.csv"))
    proofs.prove(_epoch(1, token=7), "hash", rows=1, files=_named("data/a.csv"))
    assert proofs.there(_epoch(1), "hash")
    with pytest.raises(SinkProblem, match="another record"):
        proofs.prove(_epoch(1, token=4), "zombie", rows=1, files=_named("data/z.csv"))
    assert visible_files(LocalStorage(tmp_path)) == ("data/a.csv",)


@pytest.mark.parametrize("visibility", ["publish", "manifest"])
def test_the_newest_epoch_is_told_by_its_number_beyond_six_digits(
    tmp_path: Path, visibility: str
) -> None:
    proofs = _proofs(tmp_path, visibility=visibility)
    key = _epoch(1).key
    for number in (99_999, 999_999, 1_000_000):
        proofs.prove(_epoch(number), f"hash-{number}", rows=0, files=())
        found = proofs.newest(key)
        assert found is not None
        assert (found.epoch, found.record_hash) == (number, f"hash-{number}")
    assert proofs.there(_epoch(99_999), "hash-99999")


def test_a_directory_that_a_task_has_written_is_read_by_the_same_reader(tmp_path: Path) -> None:
    out = tmp_path / "out"
    destination = Destination(out)
    staging = destination.prepare(claim(5), overwrite=True)
    _file(staging.data / "part-0.csv")
    manifest = Manifest(
        claim=claim(5), data_format="csv", row_count=1, files=tuple(_named("part-0.csv"))
    )
    destination.publish(staging, manifest, confirm=lambda: True)
    destination.discard(staging)
    assert visible_files(LocalStorage(out)) == ("part-0.csv",)
    assert _found(out) == [str(out / "part-0.csv")]


def test_manifests_of_tasks_and_of_pipelines_have_one_form(tmp_path: Path) -> None:
    out, lake = tmp_path / "out", tmp_path / "lake"
    _proofs(lake).prove(_epoch(1), "hash", rows=1, files=_named("data/a.csv"))
    destination = Destination(out)
    staging = destination.prepare(claim(5), overwrite=True)
    staging.data.mkdir()
    empty = Manifest(claim=claim(5), data_format="csv", row_count=0, files=())
    destination.publish(staging, empty, confirm=lambda: True)
    destination.discard(staging)
    (proof,) = lake.glob("_manifests/*/*.json")
    forms = [json.loads(path.read_text()).keys() for path in (proof, out / "_commit.json")]
    assert forms[0] == forms[1]


def test_a_directory_of_pipelines_is_not_replaced_by_a_task(tmp_path: Path) -> None:
    proofs = _proofs(tmp_path / "out", visibility="publish")
    proofs.prove(_epoch(1), "hash", rows=1, files=_named("a.csv"))
    with pytest.raises(DestinationRefused, match="belongs to data pipelines"):
        Destination(tmp_path / "out").prepare(claim(5), overwrite=True)
