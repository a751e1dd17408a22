"""Publishing to a bucket under the fencing token: order, repeats, crashes between any two steps."""

from __future__ import annotations

import threading

import pytest

from conductor_workers.attempt import AttemptEnded, Claim
from conductor_workers.bucket_destination import DATA, BucketDestination, BucketStaging
from conductor_workers.destination import DestinationRefused
from conductor_workers.manifest import Manifest, visible_files
from conductor_workers.pipelines.storage import StoreAway
from conductor_workers.pipelines.storage.s3 import S3Storage
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
