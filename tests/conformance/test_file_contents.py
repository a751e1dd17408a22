"""What `FileContents` promises, for every storage of bytes, seen from who holds only its URLs."""

from __future__ import annotations

import dataclasses
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import pytest

from conductor_py.adapters.files.contents import DirectoryContents
from conductor_py.adapters.memory.file_records import MemoryFileRecords
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.s3.contents import S3Contents
from conductor_py.adapters.s3.payloads import S3Settings
from conductor_py.codec.files import dump_file, load_file
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.payloads.files import Files
from conductor_py.engine.port_set import FilePorts
from conductor_py.errors import Conflict, InvalidInput, NotFound, PayloadTooLarge
from conductor_py.model.files import FileRecord
from conductor_py.ports.files import Changed, FileContents, RecordChange, StoredContent
from conductor_py.testing.clock import FakeClock
from tests.waiting import PATIENCE_S

_NOW = 1_700_000_000_000
_PART = 5 * 1024 * 1024
"""The least that S3 takes as a part that is not the last."""
_RECORD = FileRecord(
    file_id="0f000000-0000-0000-0000-000000000001",
    workflow_id="w",
    ancestors=(),
    storage_type="",
    created_ms=_NOW,
    updated_ms=_NOW,
    file_name="größe.txt",
    content_type="text/plain",
)


class Subject(Protocol):
    """A storage, and somebody outside who holds only its URLs."""

    @property
    def contents(self) -> FileContents: ...
    def upload(self, url: str, body: bytes) -> str: ...
    def download(self, url: str) -> bytes: ...


class Directory:
    """The server that answers the URLs is played here."""

    def __init__(self, root: Path) -> None:
        self.contents = DirectoryContents(root, now_ms=lambda: _NOW, max_bytes=3 * _PART)
        self.reads = ""

    def upload(self, url: str, body: bytes) -> str:
        query = parse_qs(urlsplit(url).query)
        upload_id = query.get("uploadId", [""])[0]
        part = int(query.get("partNumber", ["0"])[0])
        with self.contents.open_upload(_RECORD.file_id, upload_id, part) as upload:
            upload.write(body[:3])
            upload.write(body[3:])
        return f'"{upload.etag()}"'

    def download(self, url: str) -> bytes:
        assert url.endswith(_RECORD.file_id)
        with self.contents.open_content(_RECORD.file_id, self.reads) as file:
            return file.read()


class Bucket:
    """The object store itself answers the URLs."""

    def __init__(self, bucket: Any) -> None:
        settings = S3Settings(
            bucket=bucket.name,
            region=bucket.region,
            endpoint=bucket.endpoint,
            prefix="files",
            access_key=bucket.access_key,
            secret_key=bucket.secret_key,
        )
        self.contents = S3Contents(settings, now_ms=lambda: _NOW)

    def upload(self, url: str, body: bytes) -> str:
        request = urllib.request.Request(url, data=body, method="PUT")
        # What the official client sends: no content type at all, which urllib would fill in.
        request.add_unredirected_header("Content-Type", "")
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return str(answer.headers["ETag"])

    def download(self, url: str) -> bytes:
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                assert answer.headers["Content-Type"] == "text/plain"
                assert "gr%C3%B6%C3%9Fe.txt" in answer.headers["Content-Disposition"]
                body: bytes = answer.read()
                return body
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    raise NotFound from error
            raise


@pytest.fixture(params=["directory", pytest.param("s3", marks=pytest.mark.service)])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    if request.param == "directory":
        return Directory(tmp_path / "files")
    return Bucket(request.getfixturevalue("s3_bucket"))


def _read(subject: Subject, stored: StoredContent) -> bytes:
    if isinstance(subject, Directory):
        subject.reads = stored.content
    record = dataclasses.replace(_RECORD, content=stored.content)
    return subject.download(subject.contents.download_url(record).url)


def _in_parts(subject: Subject, *bodies: bytes) -> tuple[str, tuple[str, ...]]:
    upload_id = subject.contents.begin_parts(_RECORD.file_id)
    record = dataclasses.replace(_RECORD, upload_id=upload_id)
    urls = [subject.contents.part_url(record, at).url for at in range(1, len(bodies) + 1)]
    return upload_id, tuple(
        subject.upload(url, body) for url, body in zip(urls, bodies, strict=True)
    )


def test_what_a_url_brought_is_taken_with_its_length(subject: Subject) -> None:
    url = subject.contents.upload_url(_RECORD)
    assert url.expires_ms == _NOW + 60_000
    subject.upload(url.url, b"first")
    subject.upload(url.url, b"second")
    stored = subject.contents.take(_RECORD.file_id)
    assert stored is not None
    assert (stored.size, bool(stored.hash)) == (6, True)
    assert _read(subject, stored) == b"second"


def test_nothing_is_taken_when_nothing_came(subject: Subject) -> None:
    assert subject.contents.take(_RECORD.file_id) is None
    subject.upload(subject.contents.upload_url(_RECORD).url, b"x")
    subject.contents.drop_draft(_RECORD.file_id)
    subject.contents.drop_draft(_RECORD.file_id)
    assert subject.contents.take(_RECORD.file_id) is None


def test_what_was_taken_does_not_change_though_the_url_is_still_used(subject: Subject) -> None:
    url = subject.contents.upload_url(_RECORD).url
    subject.upload(url, b"mine")
    stored = subject.contents.take(_RECORD.file_id)
    assert stored is not None
    subject.upload(url, b"theirs")
    subject.contents.drop_draft(_RECORD.file_id)
    assert _read(subject, stored) == b"mine"


def test_parts_are_joined_in_order(subject: Subject) -> None:
    upload_id, etags = _in_parts(subject, b"a" * _PART, b"b")
    stored = subject.contents.join_parts(_RECORD.file_id, upload_id, etags)
    subject.contents.drop_parts(_RECORD.file_id, upload_id)
    assert stored.size == _PART + 1
    assert _read(subject, stored) == b"a" * _PART + b"b"


def test_of_two_joined_uploads_one_is_removed_and_the_other_stays(subject: Subject) -> None:
    first, second = _in_parts(subject, b"first"), _in_parts(subject, b"second")
    lost = subject.contents.join_parts(_RECORD.file_id, *first)
    kept = subject.contents.join_parts(_RECORD.file_id, *second)
    subject.contents.drop(_RECORD.file_id, lost.content)
    assert _read(subject, kept) == b"second"
    with pytest.raises(NotFound):
        _read(subject, lost)


def test_who_joins_an_upload_that_was_begun_anew_costs_the_new_one_nothing(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another client begins again before the record moves, and completes before the loser drops."""
    clock, contents = FakeClock(), subject.contents
    records = MemoryFileRecords(MemorySpace(clock=clock))
    record = dataclasses.replace(_RECORD, storage_type=contents.storage_type)
    born = RecordChange(
        file_id=record.file_id, owner="w", before=None, after=dump_file(record), check_ms=0
    )
    assert records.change(born, most=1) is Changed.OK
    files = Files(
        FilePorts(records=records, contents=contents),
        StoreClock(clock, clock.monotonic),
        workflow=lambda _: {},
        task=lambda _: {},
    )
    join, drop = contents.join_parts, contents.drop
    later: list[tuple[str, tuple[str, ...]]] = []

    def sent(body: bytes) -> tuple[str, tuple[str, ...]]:
        upload_id = str(files.begin_parts("w", record.file_id)["uploadId"])
        url = str(files.part_url("w", record.file_id, upload_id, 1)["uploadUrl"])
        return upload_id, (subject.upload(url, body),)

    def joined_late(*given: Any) -> StoredContent:
        found = join(*given)
        monkeypatch.setattr(contents, "join_parts", join)
        later.append(sent(b"second"))
        return found

    def dropped_late(*given: Any) -> None:
        monkeypatch.setattr(contents, "drop", drop)
        files.complete_parts("w", record.file_id, *later[0])
        drop(*given)

    first = sent(b"first")
    monkeypatch.setattr(contents, "join_parts", joined_late)
    monkeypatch.setattr(contents, "drop", dropped_late)
    with pytest.raises(Conflict):
        files.complete_parts("w", record.file_id, *first)

    stored = records.read(record.file_id)
    assert stored is not None
    found = load_file(stored)
    kept = StoredContent(content=found.content, size=found.size, hash=found.content_hash or "")
    assert _read(subject, kept) == b"second"


@pytest.mark.service
def test_an_upload_in_parts_that_an_earlier_version_began_is_joined_read_and_removed(
    s3_bucket: Any,
) -> None:
    """All uploads of a file had one key, and the bucket's id of an upload was all of its id."""
    bucket = Bucket(s3_bucket)
    key, client = f"files/{_RECORD.file_id}/joined", bucket.contents._store.get()
    joined, ended, left = (
        str(client.create_multipart_upload(Bucket=s3_bucket.name, Key=key)["UploadId"])
        for _ in range(3)
    )
    record = dataclasses.replace(_RECORD, upload_id=joined)
    etag = bucket.upload(bucket.contents.part_url(record, 1).url, b"bytes")
    stored = bucket.contents.join_parts(_RECORD.file_id, joined, (etag,))
    assert bucket.contents.join_parts(_RECORD.file_id, joined, (etag,)) == stored
    assert stored.content == "joined"
    assert _read(bucket, stored) == b"bytes"

    bucket.contents.drop_parts(_RECORD.file_id, ended)
    listed = client.list_multipart_uploads(Bucket=s3_bucket.name)
    assert [each["UploadId"] for each in listed["Uploads"]] == [left]
    bucket.contents.drop_all(_RECORD.file_id)
    assert not client.list_multipart_uploads(Bucket=s3_bucket.name).get("Uploads")
    with pytest.raises(NotFound):
        _read(bucket, stored)


def test_parts_that_were_not_sent_so_are_refused(subject: Subject) -> None:
    upload_id, etags = _in_parts(subject, b"a" * _PART, b"b")
    for wrong in ((etags[1], etags[0]), (*etags, etags[1]), ('"0123"',)):
        with pytest.raises(InvalidInput):
            subject.contents.join_parts(_RECORD.file_id, upload_id, wrong)
    assert subject.contents.join_parts(_RECORD.file_id, upload_id, etags).size == _PART + 1


def test_an_upload_in_parts_that_ended_takes_nothing(subject: Subject) -> None:
    upload_id = subject.contents.begin_parts(_RECORD.file_id)
    url = subject.contents.part_url(dataclasses.replace(_RECORD, upload_id=upload_id), 1).url
    subject.contents.drop_parts(_RECORD.file_id, upload_id)
    subject.contents.drop_parts(_RECORD.file_id, upload_id)
    with pytest.raises((NotFound, urllib.error.HTTPError)):
        subject.upload(url, b"late")


def test_all_of_a_file_is_removed_at_once(subject: Subject) -> None:
    upload_id, _ = _in_parts(subject, b"part")
    url = subject.contents.upload_url(_RECORD).url
    subject.upload(url, b"x")
    stored = subject.contents.take(_RECORD.file_id)
    assert stored is not None
    subject.contents.drop_all(_RECORD.file_id)
    subject.contents.drop_all(_RECORD.file_id)
    assert subject.contents.take(_RECORD.file_id) is None
    with pytest.raises(NotFound):
        _read(subject, stored)
    with pytest.raises((NotFound, InvalidInput)):
        subject.contents.join_parts(_RECORD.file_id, upload_id, ("0",))


def test_a_removed_content_is_gone(subject: Subject) -> None:
    subject.upload(subject.contents.upload_url(_RECORD).url, b"x")
    stored = subject.contents.take(_RECORD.file_id)
    assert stored is not None
    subject.contents.drop(_RECORD.file_id, stored.content)
    with pytest.raises(NotFound):
        _read(subject, stored)


def test_a_directory_takes_no_more_than_a_file_may_hold(tmp_path: Path) -> None:
    contents = DirectoryContents(tmp_path, now_ms=lambda: _NOW, max_bytes=10)
    with pytest.raises(PayloadTooLarge), contents.open_upload("ab1", "", 0) as upload:
        upload.write(b"x" * 11)
    assert contents.take("ab1") is None
    upload_id = contents.begin_parts("ab1")
    with contents.open_upload("ab1", upload_id, 1) as upload:
        upload.write(b"x" * 6)
    with pytest.raises(PayloadTooLarge), contents.open_upload("ab1", upload_id, 2) as upload:
        upload.write(b"x" * 6)
    with contents.open_upload("ab1", upload_id, 1) as upload:
        upload.write(b"y" * 10)
    kept = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert [one.read_bytes() for one in kept] == [b"y" * 10]
