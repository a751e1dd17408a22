"""Publishing to a bucket under the fencing token: order, repeats, crashes between any two steps."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from conductor_workers.attempt import AttemptEnded, Claim
from conductor_workers.bucket_destination import DATA, BucketDestination, BucketStaging
from conductor_workers.destination import DestinationRefused
from conductor_workers.manifest import (
    MANIFESTS,
    DataFile,
    Manifest,
    manifest_text,
    visible_files,
)
from conductor_workers.pipelines.connectors import SourceProblem
from conductor_workers.pipelines.sources.bucket import BucketSource
from conductor_workers.pipelines.sources.file import FileSource
from conductor_workers.pipelines.storage import StoreAway
from conductor_workers.pipelines.storage.s3 import Listed, S3Storage
from tests.services.buckets import S3Bucket
from tests.workers.attempts import claim
from tests.workers.connectors.test_bucket import storage_of


class Crash(BaseException):
    """The process ends here."""


@pytest.fixture
def storage(bucket: S3Bucket) -> S3Storage:
    return storage_of(bucket, "lake/out")


def _stage(storage: S3Storage, staging: BucketStaging, text: str) -> Manifest:
    name = f"{DATA}/{staging.stem}-{text}.txt"
    staging.begun.append(storage.begin(name, text.encode()))
    return Manifest(
        claim=staging.claim, data_format="csv", row_count=1, schema="a string", files=staging.files
    )


def _write(storage: S3Storage, held: Claim, text: str, *, overwrite: bool = True) -> Manifest:
    destination = BucketDestination(storage)
    staging = destination.prepare(held, overwrite=overwrite)
    try:
        return destination.publish(staging, _stage(storage, staging, text), confirm=lambda: True)
    finally:
        destination.discard(staging)


def _crash(storage: S3Storage, held: Claim, text: str, point: str) -> None:
    """Write as a process that dies at that point: what it did stays."""

    def at(reached: str) -> None:
        if reached == point:
            raise Crash(point)

    destination = BucketDestination(storage, at=at)
    staging = destination.prepare(held, overwrite=True)
    with pytest.raises(Crash):
        destination.publish(staging, _stage(storage, staging, text), confirm=lambda: True)


def _seen(storage: S3Storage) -> list[str]:
    """What readers of manifests see."""
    return [storage.read(name).decode() for name in visible_files(storage)]


def _there(storage: S3Storage) -> list[str]:
    """What those see who list."""
    return [storage.read(name).decode() for name in storage.names(DATA)]


def test_published_data_is_whole_and_replaces_what_was_there(storage: S3Storage) -> None:
    assert _write(storage, claim(5), "old").row_count == 1
    assert _seen(storage) == _there(storage) == ["old"]
    _write(storage, claim(6, task="task-2"), "new")
    assert _seen(storage) == _there(storage) == ["new"]
    assert storage.begun("") == ()


def test_nothing_shows_before_it_is_published(storage: S3Storage) -> None:
    _write(storage, claim(5), "old")
    destination = BucketDestination(storage)
    staging = destination.prepare(claim(6, task="task-2"), overwrite=True)
    _stage(storage, staging, "new")
    assert _seen(storage) == _there(storage) == ["old"]
    destination.discard(staging)
    assert storage.begun("") == ()
    assert _seen(storage) == ["old"]


def test_what_tasks_uploaded_before_another_failed_goes(storage: S3Storage) -> None:
    """A Spark job that fails reports nothing of what its tasks have done."""
    destination = BucketDestination(storage)
    staging = destination.prepare(claim(5), overwrite=True)
    storage.begin(f"{DATA}/day=1/{staging.stem}-00000-0-0-aaaa.parquet", b"x")
    destination.discard(staging)
    assert storage.begun("") == ()


@pytest.mark.parametrize("successor_has_published", [False, True])
def test_a_superseded_claim_cannot_publish(
    storage: S3Storage, successor_has_published: bool
) -> None:
    slow = BucketDestination(storage)
    staging = slow.prepare(claim(5), overwrite=True)
    manifest = _stage(storage, staging, "zombie")
    if successor_has_published:
        _write(storage, claim(6, task="task-2"), "new")
    else:
        BucketDestination(storage).prepare(claim(6, task="task-2"), overwrite=True)
    with pytest.raises(AttemptEnded, match="came too late"):
        slow.publish(staging, manifest, confirm=lambda: True)
    slow.discard(staging)
    expected = ["new"] if successor_has_published else []
    assert _seen(storage) == _there(storage) == expected


def test_one_that_is_superseded_between_the_engines_word_and_its_manifest_publishes_nothing(
    storage: S3Storage,
) -> None:
    """The narrowest place: it has looked, the engine has said yes, its objects are complete."""

    def at(point: str) -> None:
        if point == "completed":
            BucketDestination(storage).prepare(claim(6, task="task-2"), overwrite=True)

    slow = BucketDestination(storage, at=at)
    staging = slow.prepare(claim(5), overwrite=True)
    with pytest.raises(AttemptEnded, match="came too late"):
        slow.publish(staging, _stage(storage, staging, "zombie"), confirm=lambda: True)
    slow.discard(staging)
    assert _seen(storage) == _there(storage) == []


def test_a_superseded_claim_cannot_begin(storage: S3Storage) -> None:
    _write(storage, claim(6, task="task-2"), "new")
    with pytest.raises(AttemptEnded):
        BucketDestination(storage).prepare(claim(5), overwrite=True)


def test_a_newer_claim_of_another_execution_that_has_not_published_does_not_stop_this_one(
    storage: S3Storage,
) -> None:
    mine = BucketDestination(storage)
    staging = mine.prepare(claim(5), overwrite=True)
    BucketDestination(storage).prepare(claim(6, owner="execution-2/load"), overwrite=True)
    mine.publish(staging, _stage(storage, staging, "mine"), confirm=lambda: True)
    assert _seen(storage) == ["mine"]


def test_data_is_not_published_without_the_engines_word(storage: S3Storage) -> None:
    destination = BucketDestination(storage)
    staging = destination.prepare(claim(5), overwrite=True)
    with pytest.raises(AttemptEnded, match="no longer confirms"):
        destination.publish(staging, _stage(storage, staging, "x"), confirm=lambda: False)
    destination.discard(staging)
    assert _seen(storage) == _there(storage) == []
    assert storage.begun("") == ()


def test_a_repeat_by_the_same_task_changes_nothing(storage: S3Storage) -> None:
    first = _write(storage, claim(5), "once")
    found = BucketDestination(storage).adopted(claim(7))
    assert found is not None
    assert (found.claim, found.files) == (first.claim, first.files)
    assert _write(storage, claim(7), "twice").files == first.files
    assert _seen(storage) == _there(storage) == ["once"]
    assert storage.begun("") == ()
    assert BucketDestination(storage).adopted(claim(8, task="task-2")) is None


@pytest.mark.parametrize(
    ("point", "seen"), [("staged", "old"), ("completed", "old"), ("published", "new")]
)
def test_a_crash_leaves_one_whole_state_and_the_next_attempt_the_tidy_rest(
    storage: S3Storage, point: str, seen: str
) -> None:
    _write(storage, claim(4, owner="execution-0/load"), "old")
    _crash(storage, claim(5), "new", point)
    assert _seen(storage) == [seen]
    _write(storage, claim(6, task="task-2"), "newest")
    assert _seen(storage) == _there(storage) == ["newest"]
    assert storage.begun("") == ()


def test_what_a_dead_attempt_published_is_its_successors(storage: S3Storage) -> None:
    _crash(storage, claim(5), "new", "published")
    found = BucketDestination(storage).adopted(claim(6))
    assert found is not None
    assert [file.path for file in found.files] == list(visible_files(storage))


def test_of_many_that_publish_at_once_one_after_the_other_wins(storage: S3Storage) -> None:
    together = threading.Barrier(4)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        held = claim(number, task=f"task-{number}", owner=f"execution-{number}/load")
        destination = BucketDestination(storage)
        staging = destination.prepare(held, overwrite=True)
        manifest = _stage(storage, staging, f"text-{number}")
        together.wait()
        try:
            destination.publish(staging, manifest, confirm=lambda: True)
        except AttemptEnded as ended:  # one with a larger token was there before
            failures.append(ended)
        finally:
            destination.discard(staging)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _seen(storage) == _there(storage) == ["text-4"]
    assert storage.begun("") == ()


def test_one_that_slept_while_it_was_replaced_many_times_publishes_nothing(
    storage: S3Storage,
) -> None:
    def replaced_often(point: str) -> None:
        if point == "completed":
            for number in range(20):
                _write(storage, claim(1, owner=f"execution-{number}/load"), f"text-{number}")

    slow = BucketDestination(storage, at=replaced_often)
    staging = slow.prepare(claim(1), overwrite=True)
    with pytest.raises(StoreAway, match="replaced"):
        slow.publish(staging, _stage(storage, staging, "late"), confirm=lambda: True)
    slow.discard(staging)
    assert _seen(storage) == _there(storage) == ["text-19"]
    assert len(storage.names("_manifests")) <= 10


def _many_replace(storage: S3Storage, before: int) -> None:
    """So many others publish that the manifests of before are deleted."""
    for number in range(6):
        other = claim(before, task=f"task-{number}", owner=f"execution-{number}/save")
        _write(storage, other, f"text-{number}")


@pytest.mark.parametrize("lost", ["the look after it", "the first answer"])
def test_a_manifest_that_comes_too_late_is_none_whatever_answer_is_lost(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """Else its writer would delete what newer manifests show."""
    create, numbered = S3Storage.create, BucketDestination._numbered

    def away(_self: BucketDestination) -> list[str]:
        monkeypatch.setattr(BucketDestination, "_numbered", numbered)
        raise StoreAway("SlowDown")

    def created(self: S3Storage, name: str, content: bytes) -> None:
        monkeypatch.setattr(S3Storage, "create", create)
        create(self, name, content)
        if lost == "the first answer":
            create(self, name, content)  # the client sends it again
        monkeypatch.setattr(BucketDestination, "_numbered", away)

    def at(point: str) -> None:
        if point == "completed":
            _many_replace(storage, before=3)
            monkeypatch.setattr(S3Storage, "create", created)

    slow = BucketDestination(storage, at=at)
    staging = slow.prepare(claim(10), overwrite=True)
    with pytest.raises(StoreAway):
        slow.publish(staging, _stage(storage, staging, "late"), confirm=lambda: True)
    slow.discard(staging)
    assert _seen(storage) == ["text-5"]


def test_a_fence_that_is_raised_too_late_is_none(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, newest = S3Storage.create, BucketDestination._newest
    _write(storage, claim(5), "five")

    def again(self: S3Storage, name: str, content: bytes) -> None:
        monkeypatch.setattr(S3Storage, "create", create)
        create(self, name, content)
        create(self, name, content)

    def looked(self: BucketDestination) -> Manifest:
        monkeypatch.setattr(BucketDestination, "_newest", newest)
        found = newest(self)
        _many_replace(storage, before=5)
        monkeypatch.setattr(S3Storage, "create", again)
        return found

    monkeypatch.setattr(BucketDestination, "_newest", looked)
    with pytest.raises(StoreAway, match="replaced 10 times"):
        BucketDestination(storage).prepare(claim(6, task="task-2"), overwrite=True)
    assert _seen(storage) == ["text-5"]


def test_what_is_interrupted_while_it_decides_deletes_nothing(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = BucketDestination(storage)
    staging = destination.prepare(claim(5), overwrite=True)
    manifest = _stage(storage, staging, "new")
    create = S3Storage.create

    def interrupted(self: S3Storage, name: str, content: bytes) -> None:
        create(self, name, content)
        raise Crash

    monkeypatch.setattr(S3Storage, "create", interrupted)
    with pytest.raises(Crash):
        destination.publish(staging, manifest, confirm=lambda: True)
    destination.discard(staging)
    assert _seen(storage) == ["new"]


def test_uploads_are_completed_once_however_often_others_begin_meanwhile(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete, completed = S3Storage.complete, []

    def counted(self: S3Storage, begun: Mapping[str, Any]) -> None:
        completed.append(begun["name"])
        complete(self, begun)

    others = iter(range(5))

    def at(point: str) -> None:
        number = next(others, None) if point == "completed" else None
        if number is not None:
            other = claim(50 + number, owner=f"execution-{number}/save")
            BucketDestination(storage).prepare(other, overwrite=True)

    monkeypatch.setattr(S3Storage, "complete", counted)
    slow = BucketDestination(storage, at=at)
    staging = slow.prepare(claim(5), overwrite=True)
    slow.publish(staging, _stage(storage, staging, "new"), confirm=lambda: True)
    assert (len(completed), next(others, None)) == (1, None)
    assert _seen(storage) == ["new"]


def test_two_that_begin_a_prefix_at_once_both_may(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = BucketDestination._newest

    def looked(self: BucketDestination) -> Manifest:
        monkeypatch.setattr(BucketDestination, "_newest", newest)
        found = newest(self)
        _write(storage, claim(3, owner="execution-2/save"), "theirs")
        return found

    monkeypatch.setattr(BucketDestination, "_newest", looked)
    _write(storage, claim(5), "mine")
    assert _seen(storage) == ["mine"]


def test_of_two_that_may_not_replace_anything_one_publishes(storage: S3Storage) -> None:
    slow = BucketDestination(storage)
    staging = slow.prepare(claim(5), overwrite=False)
    _write(storage, claim(4, owner="execution-2/save"), "theirs", overwrite=False)
    with pytest.raises(DestinationRefused, match="mode is 'error'"):
        slow.publish(staging, _stage(storage, staging, "mine"), confirm=lambda: True)
    slow.discard(staging)
    assert _seen(storage) == _there(storage) == ["theirs"]


def test_marks_of_folders_and_strange_names_in_the_log_mean_nothing(storage: S3Storage) -> None:
    for name in ("", "_manifests/output/"):
        storage._client.put_object(Bucket=storage.bucket, Key=f"{storage.prefix}/{name}", Body=b"")
    storage.create("_manifests/output/notes.txt", b"mine")
    _write(storage, claim(5), "new")
    assert storage.read("_manifests/output/notes.txt") == b"mine"
    assert storage.names(DATA) == visible_files(storage)[:1]


@pytest.mark.parametrize("name", ["extra.csv", "data/extra.csv", "data/sub/part-x.csv"])
def test_what_others_add_to_a_prefix_stops_its_replacement(storage: S3Storage, name: str) -> None:
    _write(storage, claim(5), "old")
    storage.create(name, b"theirs")
    with pytest.raises(DestinationRefused, match=f"such as {name}"):
        _write(storage, claim(6, task="task-2"), "new")
    assert storage.read(name) == b"theirs"
    assert _seen(storage) == ["old"]


def test_an_output_below_the_data_of_another_is_not_deleted(storage: S3Storage) -> None:
    _write(storage, claim(2), "outer")
    inner = replace(storage, prefix=f"{storage.prefix}/data/sub")
    _write(inner, claim(3, owner="execution-2/save"), "inner")
    with pytest.raises(DestinationRefused):
        _write(storage, claim(5, task="task-2"), "outer")
    assert _seen(inner) == ["inner"]


def test_what_is_there_is_kept_unless_it_may_be_overwritten(storage: S3Storage) -> None:
    _write(storage, claim(5), "old", overwrite=False)
    _write(storage, claim(6, task="task-2"), "mine again", overwrite=False)
    with pytest.raises(DestinationRefused, match="mode is 'error'"):
        _write(storage, claim(7, owner="execution-2/load"), "theirs", overwrite=False)
    assert _seen(storage) == ["mine again"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("orders.csv", "no task's output wrote"),
        ("_SUCCESS", "no task's output wrote"),
        ("_commits/key/000001.json", "belongs to data pipelines"),
        ("_manifests/key/000001.json", "belongs to data pipelines"),
    ],
)
def test_what_others_wrote_is_not_replaced(storage: S3Storage, name: str, why: str) -> None:
    storage.create(name, b"theirs")
    with pytest.raises(DestinationRefused, match=why):
        _write(storage, claim(5), "mine")
    assert storage.names("") == (name,)


def test_a_prefix_that_pipelines_add_to_meanwhile_is_not_replaced(storage: S3Storage) -> None:
    _write(storage, claim(5), "old")
    destination = BucketDestination(storage)
    staging = destination.prepare(claim(6, task="task-2"), overwrite=True)
    manifest = _stage(storage, staging, "new")
    storage.create("_manifests/key/000001.json", b"theirs")
    with pytest.raises(DestinationRefused, match="belongs to data pipelines"):
        destination.publish(staging, manifest, confirm=lambda: True)
    with pytest.raises(DestinationRefused, match="belongs to data pipelines"):
        destination.prepare(claim(7, task="task-3"), overwrite=True)
    destination.discard(staging)
    assert _there(storage) == ["old"]


def _losing_answers(storage: S3Storage, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """From now on a manifest is written, and whoever wrote it is not told so."""
    create = S3Storage.create

    def lost(self: S3Storage, name: str, content: bytes) -> None:
        create(self, name, content)
        if "_manifests" in name:
            if how == "sent again":
                create(self, name, content)
            raise StoreAway("no answer")

    monkeypatch.setattr(S3Storage, "create", lost)


def test_a_manifest_whose_answer_was_lost_and_that_was_sent_again_counts(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = BucketDestination(storage)
    staging = destination.prepare(claim(5), overwrite=True)
    manifest = _stage(storage, staging, "new")
    _losing_answers(storage, monkeypatch, "sent again")
    destination.publish(staging, manifest, confirm=lambda: True)
    destination.discard(staging)
    assert _seen(storage) == _there(storage) == ["new"]


def test_what_may_be_published_is_not_deleted_and_the_next_attempt_finds_it(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = BucketDestination(storage)
    staging = destination.prepare(claim(5), overwrite=True)
    manifest = _stage(storage, staging, "new")
    _losing_answers(storage, monkeypatch, "lost")
    with pytest.raises(StoreAway):
        destination.publish(staging, manifest, confirm=lambda: True)
    destination.discard(staging)
    monkeypatch.undo()
    assert _seen(storage) == _there(storage) == ["new"]
    assert BucketDestination(storage).adopted(claim(6)) is not None


def test_what_cannot_be_tidied_up_is_published_all_the_same(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(storage, claim(5), "old")
    destination = BucketDestination(storage)
    staging = destination.prepare(claim(6, task="task-2"), overwrite=True)

    def refused(_self: S3Storage, _names: object) -> None:
        raise StoreAway("SlowDown")

    monkeypatch.setattr(S3Storage, "delete_objects", refused)
    destination.publish(staging, _stage(storage, staging, "new"), confirm=lambda: True)
    monkeypatch.undo()
    assert _seen(storage) == ["new"]
    _write(storage, claim(7, task="task-3"), "newest")
    assert _seen(storage) == _there(storage) == ["newest"]


def test_uploads_that_a_tried_task_of_spark_forgot_are_dropped(storage: S3Storage) -> None:
    destination = BucketDestination(storage)
    staging = destination.prepare(claim(5), overwrite=True)
    storage.begin(f"{DATA}/{staging.stem}-forgotten.txt", b"of a task that was tried again")
    destination.publish(staging, _stage(storage, staging, "new"), confirm=lambda: True)
    assert storage.begun("") == ()


def test_what_a_dead_execution_had_completed_goes_with_the_next_publication(
    storage: S3Storage,
) -> None:
    _crash(storage, claim(5), "dead", "completed")
    _write(storage, claim(6, task="task-9", owner="execution-2/load"), "new")
    assert _seen(storage) == _there(storage) == ["new"]


def test_tidying_up_costs_the_same_however_often_it_was_done(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[int] = []
    delete = S3Storage.delete_objects

    def counted(self: S3Storage, names: Sequence[str]) -> None:
        deleted.append(len(names))
        delete(self, names)

    monkeypatch.setattr(S3Storage, "delete_objects", counted)
    for number in range(12):
        _write(storage, claim(number + 1, task=f"task-{number}"), f"text-{number}")
    assert max(deleted) <= 2  # the object of the one before, and a manifest


def _reader(storage: S3Storage) -> BucketSource:
    return BucketSource(
        name="in",
        storage=replace(storage, prefix=""),
        patterns=(f"{storage.prefix}/",),
        like=FileSource(name="in", patterns=(), format="csv"),
    )


@pytest.mark.parametrize("before", [(), ("old",)])
def test_a_reader_whose_list_is_older_than_the_manifest_lists_again(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch, before: tuple[str, ...]
) -> None:
    """Between the list and the look at the manifest the data is replaced."""
    BucketDestination(storage).prepare(claim(1, owner="execution-0/load"), overwrite=True)
    for text in before:
        _write(storage, claim(1, owner="execution-0/load"), text)
    replaced: list[str] = []
    listed = S3Storage.listed

    def late(self: S3Storage, prefix: str) -> Iterator[Listed]:
        found = list(listed(self, prefix))
        if self.prefix == "" and not replaced:
            replaced.append(prefix)
            _write(storage, claim(2), "new")
        yield from found

    monkeypatch.setattr(S3Storage, "listed", late)
    found = _reader(storage).found()
    assert [f"{storage.prefix}/{name}" for name in visible_files(storage)] == [
        each.name for each in found
    ]


def test_a_reader_misses_no_object_that_a_manifest_names(storage: S3Storage) -> None:
    manifest = _write(storage, claim(1), "gone")
    storage.delete(manifest.files[0].path)
    with pytest.raises(SourceProblem, match="and there is no such object") as caught:
        _reader(storage).found()
    assert caught.value.retryable


def _epoch(storage: S3Storage, number: int, *, gone: bool = False) -> None:
    """What a data pipeline adds with ``visibility: manifest``."""
    name = f"{DATA}/k/{number:06d}-t1/part-{number}.csv"
    if not gone:
        storage.create(name, b"a\n1\n")
    manifest = Manifest(
        claim=claim(1),
        data_format="csv",
        row_count=1,
        files=(DataFile(path=name, bytes=4),),
        epoch=number,
    )
    storage.create(f"{MANIFESTS}/k-l0/{number:06d}.json", manifest_text(manifest))


def test_a_reader_is_not_kept_waiting_by_a_pipeline_that_adds_epochs(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One epoch more between each list and the look at its manifests."""
    _epoch(storage, 1)
    listed, epochs = S3Storage.listed, itertools.count(2)

    def late(self: S3Storage, prefix: str) -> Iterator[Listed]:
        found = list(listed(self, prefix))
        if self.prefix == "":
            _epoch(storage, next(epochs))
        yield from found

    monkeypatch.setattr(S3Storage, "listed", late)
    assert len(_reader(storage).found()) == 1


def test_an_object_of_a_pipeline_that_somebody_deleted_stops_no_reader(storage: S3Storage) -> None:
    _epoch(storage, 1, gone=True)
    _epoch(storage, 2)
    assert len(_reader(storage).found()) == 1


@pytest.mark.parametrize(
    "foreign",
    [
        "in/registry/_manifests/revisions/sha256/ab/link",
        "in/other/_manifests/output/000001.json",
        "in-old/x/_manifests/m.avro",
        "in-old/_manifests/output/000001.json",
    ],
)
@pytest.mark.parametrize("patterns", [("in/*.csv",), ("in/a.csv",), ("in*/a.csv",)])
def test_manifests_of_others_beside_what_is_read_are_not_looked_at(
    storage: S3Storage, patterns: tuple[str, ...], foreign: str
) -> None:
    root = replace(storage, prefix="")
    root.create("in/a.csv", b"a\n1\n")
    root.create(foreign, b"\xff no JSON")
    found = replace(_reader(storage), patterns=patterns).found()
    assert [each.name for each in found] == ["in/a.csv"]
