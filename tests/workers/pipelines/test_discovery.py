"""What a successor knows of the search for splits: all that was found, and where to go on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conductor_py.pipelines.accounts import restored
from conductor_py.pipelines.record import Note, Record, SourceState, SplitDescriptor
from conductor_workers.pipelines.connectors import Discovery
from conductor_workers.pipelines.intake import Intake
from conductor_workers.pipelines.rounds import Ground
from conductor_workers.pipelines.sources.file import FileSource
from conductor_workers.pipelines.sources.listing import CutRule, FileEnumerator, file_enumerator
from conductor_workers.pipelines.splits import SplitTable

_SPLIT = 10
_CUT = CutRule(by="bytes", size=_SPLIT)


class Tail:
    """A source that begins at the end of a growing log, as an enumerator of its own."""

    def __init__(self) -> None:
        self.end = 100
        self.position: int | None = None

    def enumerator(self, snapshot: Mapping[str, Any]) -> Tail:
        self.position = snapshot.get("position")
        return self

    def discover(self, *, first_ord: int, limit: int) -> Discovery:
        del limit
        if self.position is None:
            self.position = self.end
        begins, self.position = self.position, self.end
        found = [] if begins == self.end else [{"from": begins, "to": self.end}]
        return Discovery(
            found=tuple(
                SplitDescriptor(ord=first_ord + at, descriptor=each)
                for at, each in enumerate(found)
            ),
            complete=False,
        )

    def snapshot(self) -> Mapping[str, Any]:
        return {"position": self.position}

    def close(self) -> None:
        """Nothing is open."""


def _intake(source: Tail, *notes: Note) -> Intake:
    record = Record(pipeline="p", plan_hash="h", sources={"log": SourceState()})
    ground = cast("Ground", SimpleNamespace(sources={"log": source}, token=1))
    return Intake(ground, restored(record, notes), SplitTable(cast("Any", None)))


def _looked(intake: Intake) -> Note | None:
    return intake.discover(["log"], epoch=1, wanted=5)


def test_where_a_search_began_is_noted_though_nothing_was_found() -> None:
    source = Tail()
    note = _looked(_intake(source))
    assert note is not None
    source.end = 150  # written while nobody looks

    found = _looked(_intake(source, note))

    assert found is not None
    (split,) = found.pages["log"]
    assert split.descriptor == {"from": 100, "to": 150}


def test_a_search_that_stands_where_it_stood_is_noted_once() -> None:
    intake = _intake(Tail())

    assert [_looked(intake) is None for _ in range(3)] == [False, True, True]


def _watching(place: Path, snapshot: Mapping[str, Any], found: list[SplitDescriptor]) -> Any:
    enumerator = file_enumerator(snapshot, (f"{place}/*.csv",), "csv", _CUT, watch=True)
    enumerator.recall(found)
    return enumerator


def _written(place: Path, name: str, splits: int, *, at_s: int) -> None:
    file = place / name
    file.write_bytes(b"x" * _SPLIT * splits)
    os.utime(file, (at_s, at_s))


def _pieces(found: list[SplitDescriptor]) -> list[tuple[str, int]]:
    return [
        (Path(split.descriptor["path"]).name, split.descriptor.get("start", 0)) for split in found
    ]


def test_a_watch_remembers_by_its_splits_so_that_its_snapshot_stays_small(tmp_path: Path) -> None:
    for number in range(300):
        _written(tmp_path, f"{number:03d}.csv", 1, at_s=number)
    first = _watching(tmp_path, {}, [])
    found = list(first.discover(first_ord=0, limit=1000).found)
    assert len(found) == 300
    assert len(json.dumps(first.snapshot())) < 300

    _written(tmp_path, "new.csv", 1, at_s=1)
    again = _watching(tmp_path, first.snapshot(), found)

    assert _pieces(again.discover(first_ord=300, limit=1000).found) == [("new.csv", 0)]


def test_a_file_that_is_being_cut_goes_on_before_one_that_came_with_an_older_time(
    tmp_path: Path,
) -> None:
    _written(tmp_path, "large.csv", 4, at_s=50)
    first = _watching(tmp_path, {}, [])
    found = list(first.discover(first_ord=0, limit=2).found)
    _written(tmp_path, "older.csv", 4, at_s=10)

    found += _watching(tmp_path, first.snapshot(), found).discover(first_ord=2, limit=10).found

    whole = [("large.csv", at) for at in range(0, 40, 10)]
    assert _pieces(found) == [*whole, *(("older.csv", at) for at in range(0, 40, 10))]


@pytest.mark.parametrize("watch", [True, False])
def test_the_next_file_is_cut_from_its_beginning_when_the_one_before_vanished(
    tmp_path: Path, watch: bool
) -> None:
    for name in ("a.csv", "b.csv"):
        _written(tmp_path, name, 4, at_s=50)
    enumerator = FileEnumerator(
        patterns=(f"{tmp_path}/*.csv",), format="csv", rule=_CUT, watch=watch
    )
    found = list(enumerator.discover(first_ord=0, limit=2).found)
    (tmp_path / "a.csv").unlink()

    found += enumerator.discover(first_ord=2, limit=10).found

    assert _pieces(found)[2:] == [("b.csv", at) for at in range(0, 40, 10)]


class Folders(Tail):
    """A bounded source of files below folders, of which a job may name more."""

    def __init__(self, *patterns: str) -> None:
        super().__init__()
        self.like = FileSource(name="log", patterns=patterns, format="csv", rule=_CUT)

    def enumerator(self, snapshot: Mapping[str, Any]) -> Any:
        return self.like.enumerator(snapshot)

    def extends(self, snapshot: Mapping[str, Any]) -> bool:
        return self.like.extends(snapshot)


def test_paths_that_are_added_when_all_were_listed_are_listed_too(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("b", "a")]
    for place in places:
        place.mkdir()
        _written(place, "file.csv", 4, at_s=50)
    patterns = [f"{place}/*.csv" for place in places]
    first = _looked(_intake(Folders(patterns[0])))
    assert first is not None
    assert first.complete == ("log",)

    assert _looked(_intake(Folders(patterns[0]), first)) is None
    more = _intake(Folders(*patterns), first)
    assert not more.finished(["log"])
    found = more.discover(["log"], epoch=1, wanted=5)

    assert found is not None
    assert {split.descriptor["path"] for split in found.pages["log"]} == {f"{places[1]}/file.csv"}
    assert [split.ord for split in found.pages["log"]] == [4, 5, 6, 7]
    again = _intake(Folders(*patterns), first, found)
    assert _looked(again) is None
    assert more.accounts["log"].complete


def test_what_was_added_stays_to_be_listed_while_only_a_part_of_it_was(tmp_path: Path) -> None:
    for name, splits in (("a.csv", 1), ("b.csv", 600)):
        _written(tmp_path, name, splits, at_s=50)
    patterns = [f"{tmp_path}/a.csv", f"{tmp_path}/b.csv"]
    first = _looked(_intake(Folders(patterns[0])))
    assert first is not None
    page = _intake(Folders(*patterns), first).discover(["log"], epoch=1, wanted=5)
    assert page is not None
    assert page.complete == ()

    successor = _intake(Folders(*patterns), first, page)
    rest = successor.discover(["log"], epoch=1, wanted=1000)

    assert rest is not None
    assert len(page.pages["log"]) + len(rest.pages["log"]) == 600
    assert rest.complete == ("log",)
