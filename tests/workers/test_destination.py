"""Publishing under the fencing token: order, repeats, crashes between any two steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conductor_workers import destination as module
from conductor_workers.attempt import AttemptEnded, Claim
from conductor_workers.destination import Destination, DestinationRefused, Staging, local_path
from conductor_workers.manifest import (
    DataFile,
    Manifest,
    UnknownFormat,
    read_fence,
    read_manifest,
)
from tests.workers.attempts import claim

CRASH_POINTS = ["staged", "intended", "swapped", "published"]
_ALL_POINTS = [*CRASH_POINTS, "retired"]


class Crash(BaseException):
    """The process ends here."""


def _crash_at(point: str):
    def at(reached: str) -> None:
        if reached == point:
            raise Crash(point)

    return at


def _stage(staging: Staging, text: str) -> Manifest:
    staging.data.mkdir()
    name = f"part-0-{staging.claim.name}.txt"
    (staging.data / name).write_text(text)
    return Manifest(
        claim=staging.claim,
        data_format="csv",
        row_count=1,
        schema="a string",
        files=(DataFile(path=name, bytes=len(text)),),
    )


def _write(destination: Destination, held: Claim, text: str) -> Manifest:
    staging = destination.prepare(held, overwrite=True)
    try:
        return destination.publish(staging, _stage(staging, text), confirm=lambda: True)
    finally:
        destination.discard(staging)


def _crash(path: Path, held: Claim, text: str, point: str) -> None:
    """Write as a process that dies at that point: its lock goes, its files stay."""
    destination = Destination(path, at=_crash_at(point))
    staging = destination.prepare(held, overwrite=True)
    with pytest.raises(Crash):
        destination.publish(staging, _stage(staging, text), confirm=lambda: True)
    os.close(staging.held.descriptor)


def _content(path: Path) -> str:
    """What a reader of the destination sees: the one data file, which the manifest must name."""
    [file] = [entry for entry in path.iterdir() if not entry.name.startswith("_")]
    manifest = read_manifest(path)
    assert manifest is not None
    assert [named.path for named in manifest.files] == [file.name]
    return file.read_text()


def _staged_places(path: Path) -> list[str]:
    staging = path.with_name(f".{path.name}.conductor") / "staging"
    return sorted(entry.name for entry in staging.iterdir())


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "out"


def test_published_data_is_whole_and_named_by_its_manifest(target: Path) -> None:
    published = _write(Destination(target), claim(5), "new")
    assert _content(target) == "new"
    assert read_manifest(target) == published
    assert _staged_places(target) == []


def test_a_newer_claim_replaces_the_data(target: Path) -> None:
    _write(Destination(target), claim(5), "old")
    _write(Destination(target), claim(6, task="task-2"), "new")
    assert _content(target) == "new"


def test_a_superseded_claim_cannot_publish_over_a_newer_one(target: Path) -> None:
    slow = Destination(target)
    staging = slow.prepare(claim(5), overwrite=True)
    manifest = _stage(staging, "zombie")
    _write(Destination(target), claim(6, task="task-2"), "new")
    with pytest.raises(AttemptEnded, match="came too late"):
        slow.publish(staging, manifest, confirm=lambda: True)
    assert _content(target) == "new"


def test_a_superseded_claim_cannot_publish_before_the_newer_one_did(target: Path) -> None:
    slow = Destination(target)
    staging = slow.prepare(claim(5), overwrite=True)
    manifest = _stage(staging, "zombie")
    Destination(target).prepare(claim(6, task="task-2"), overwrite=True)
    with pytest.raises(AttemptEnded):
        slow.publish(staging, manifest, confirm=lambda: True)
    assert not target.exists()


def test_a_superseded_claim_cannot_begin(target: Path) -> None:
    _write(Destination(target), claim(6, task="task-2"), "new")
    with pytest.raises(AttemptEnded):
        Destination(target).prepare(claim(5), overwrite=True)


def test_a_newer_claim_of_another_execution_that_has_not_published_does_not_stop_this_one(
    target: Path,
) -> None:
    mine = Destination(target)
    staging = mine.prepare(claim(5), overwrite=True)
    Destination(target).prepare(claim(6, owner="execution-2/load"), overwrite=True)
    mine.publish(staging, _stage(staging, "mine"), confirm=lambda: True)
    assert _content(target) == "mine"


def test_data_is_not_published_without_the_engines_word(target: Path) -> None:
    destination = Destination(target)
    staging = destination.prepare(claim(5), overwrite=True)
    with pytest.raises(AttemptEnded, match="no longer confirms"):
        destination.publish(staging, _stage(staging, "x"), confirm=lambda: False)
    assert not target.exists()


def test_a_repeat_by_the_same_claim_changes_nothing(target: Path) -> None:
    first = _write(Destination(target), claim(5), "once")
    before = target.stat().st_ino
    assert Destination(target).published_by(claim(5)) == first
    again = _write(Destination(target), claim(5), "twice")
    assert again == first
    assert _content(target) == "once"
    assert target.stat().st_ino == before


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_after_a_crash_readers_see_old_or_new_and_the_next_claim_goes_on(
    target: Path, point: str
) -> None:
    _write(Destination(target), claim(5), "old")
    _crash(target, claim(6, task="task-2"), "new", point)
    seen = _content(target)
    assert seen == ("new" if point in ("swapped", "published") else "old")
    _write(Destination(target), claim(7, task="task-3"), "newest")
    assert _content(target) == "newest"
    assert _staged_places(target) == []
    fence = read_fence(target.with_name(".out.conductor") / "fence.json")
    assert fence.swap is None
    assert fence.published == claim(7, task="task-3")


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_a_superseded_claim_is_refused_after_any_crash_of_the_newer_one(
    target: Path, point: str
) -> None:
    slow = Destination(target)
    staging = slow.prepare(claim(5), overwrite=True)
    manifest = _stage(staging, "zombie")
    _crash(target, claim(6, task="task-2"), "new", point)
    with pytest.raises(AttemptEnded):
        slow.publish(staging, manifest, confirm=lambda: True)


@pytest.mark.parametrize("point", _ALL_POINTS)
def test_without_an_exchange_a_crash_is_mended_by_the_next_to_come(
    target: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "exchange", lambda _first, _second: False)
    _write(Destination(target), claim(5), "old")
    _crash(target, claim(6, task="task-2"), "new", point)
    Destination(target).prepare(claim(7, task="task-3"), overwrite=True)
    late = point in ("retired", "swapped", "published")
    assert _content(target) == ("new" if late else "old")


def test_a_living_writers_staging_is_left_alone_and_a_dead_ones_is_deleted(target: Path) -> None:
    living = Destination(target).prepare(claim(5, owner="execution-2/load"), overwrite=True)
    dead = Destination(target).prepare(
        claim(6, task="task-2", owner="execution-3/load"), overwrite=True
    )
    os.close(dead.held.descriptor)
    Destination(target).prepare(claim(7, task="task-3"), overwrite=True)
    places = [name for name in _staged_places(target) if not name.endswith(".lock")]
    assert places == ["task-1-5", "task-3-7"]
    assert living.held.path.exists()


def test_a_killed_process_loses_its_hold_on_the_staging_place(target: Path) -> None:
    script = (
        "import os, sys, pathlib\n"
        "from conductor_workers.attempt import Claim\n"
        "from conductor_workers.destination import Destination\n"
        "held = Claim(task_id='task-1', token=5, owner='e/l')\n"
        "Destination(pathlib.Path(sys.argv[1])).prepare(held, overwrite=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", script, str(target)], check=False, env=environment, timeout=60
    )
    assert ended.returncode == -9
    assert "task-1-5" in _staged_places(target)
    Destination(target).prepare(claim(6, task="task-2"), overwrite=True)
    assert "task-1-5" not in _staged_places(target)


def test_a_directory_of_somebody_else_is_never_replaced(target: Path) -> None:
    target.mkdir(parents=True)
    (target / "thesis.txt").write_text("years of work")
    with pytest.raises(DestinationRefused, match="no Spark output wrote"):
        Destination(target).prepare(claim(5), overwrite=True)
    assert (target / "thesis.txt").read_text() == "years of work"


def test_a_file_or_a_link_is_never_replaced(target: Path) -> None:
    target.parent.mkdir()
    target.write_text("a file")
    with pytest.raises(DestinationRefused, match="not a directory"):
        Destination(target).prepare(claim(5), overwrite=True)
    link = target.with_name("link")
    link.symlink_to(target.parent)
    with pytest.raises(DestinationRefused, match="not a directory"):
        Destination(link).prepare(claim(5), overwrite=True)


def test_mode_error_refuses_the_output_of_another_task_and_allows_this_ones_own(
    target: Path,
) -> None:
    _write(Destination(target), claim(5), "old")
    with pytest.raises(DestinationRefused, match="mode is 'error'"):
        Destination(target).prepare(claim(6, owner="execution-2/load"), overwrite=False)
    staging = Destination(target).prepare(claim(6, task="task-2"), overwrite=False)
    Destination(target).publish(staging, _stage(staging, "again"), confirm=lambda: True)
    assert _content(target) == "again"


def test_a_fence_of_a_newer_format_is_left_alone(target: Path) -> None:
    _write(Destination(target), claim(5), "old")
    fence = target.with_name(".out.conductor") / "fence.json"
    fence.write_text(json.dumps({"format": 2}))
    with pytest.raises(UnknownFormat):
        Destination(target).prepare(claim(6), overwrite=True)
    assert json.loads(fence.read_text()) == {"format": 2}


@pytest.mark.parametrize("text", ["/data/out", "file:///data/out", "file:/data/out"])
def test_local_paths_are_taken(text: str) -> None:
    assert local_path(text) == Path("/data/out")


@pytest.mark.parametrize(
    "text", ["s3a://bucket/out", "hdfs://host/out", "data/out", "/", "/a/../etc", "file://h/out"]
)
def test_other_paths_are_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(DestinationRefused):
        local_path(text)


@pytest.mark.parametrize(
    ("point", "exchanges"),
    [*((point, True) for point in CRASH_POINTS), *((point, False) for point in _ALL_POINTS)],
)
def test_what_a_killed_worker_had_published_is_the_output_of_the_next_one(
    target: Path, point: str, *, exchanges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanges:
        monkeypatch.setattr(module, "exchange", lambda _first, _second: False)
    _write(Destination(target), claim(4, task="task-0"), "old")
    _crash(target, claim(5), "once", point)
    destination = Destination(target)
    adopted = destination.adopted(claim(6))
    shown = point in ("retired", "swapped", "published")
    assert (adopted is not None and adopted.claim == claim(5)) is shown
    assert _content(target) == ("once" if shown else "old")
    assert destination.adopted(claim(6, task="task-2")) is None
    assert destination.adopted(claim(3)) is None
