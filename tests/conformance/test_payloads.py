"""The contract of the payload port, for every adapter."""

from __future__ import annotations

import dataclasses
import json
import urllib.error
import urllib.request
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import pytest

from conductor_py.adapters.files.payloads import FilePayloads
from conductor_py.adapters.memory.payloads import MemoryPayloads
from conductor_py.adapters.s3.payloads import S3Payloads, S3Settings
from conductor_py.errors import Conflict, NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.ports.payloads import (
    CONTENT_TYPE,
    Accepted,
    PayloadKind,
    Payloads,
    ServedPayloads,
    UrlRefused,
)
from tests.services.buckets import S3Bucket
from tests.waiting import PATIENCE_S, until

_DOCUMENT = b'{"a": 1}'
_NEVER_WRITTEN = "task/output/00000000-0000-0000-0000-000000000000.json"


class Refused(Exception):
    """The URL was not served."""


class Subject(Protocol):
    """A store, and somebody outside who holds its URLs and no credentials."""

    store: Payloads
    brief: Payloads
    """The same documents; where time is real its URLs live for a second, and `store`'s for long."""

    def upload(self, uri: str, body: bytes) -> None: ...
    def download(self, uri: str) -> bytes: ...
    def expire(self, uri: str) -> None: ...
    def aimed_at(self, uri: str, path: str, other: str) -> str: ...
    def prolonged(self, uri: str) -> str: ...


class Served:
    """Memory and files: the URL ends with a token that this server serves."""

    def __init__(self, make: Callable[[Callable[[], int]], Payloads]) -> None:
        self._now_ms = 1_000_000
        self.store = self.brief = make(lambda: self._now_ms)
        served = self.store
        assert isinstance(served, FilePayloads | MemoryPayloads)
        self._served: ServedPayloads = served

    def upload(self, uri: str, body: bytes) -> None:
        try:
            with self._served.open_upload(uri.rsplit("/", 1)[1]) as upload:
                upload.write(body[:3])
                upload.write(body[3:])
        except (UrlRefused, Conflict) as error:
            raise Refused from error

    def download(self, uri: str) -> bytes:
        try:
            with self._served.open_download(uri.rsplit("/", 1)[1]) as document:
                return document.read()
        except UrlRefused as error:
            raise Refused from error

    def expire(self, uri: str) -> None:
        self._now_ms += 60_000

    def aimed_at(self, uri: str, path: str, other: str) -> str:
        return _rewritten(uri, lambda claims: [other if c == path else c for c in claims])

    def prolonged(self, uri: str) -> str:
        return _rewritten(uri, lambda claims: [c * 2 if c == 1_060_000 else c for c in claims])


def _rewritten(uri: str, change: Callable[[list[object]], list[object]]) -> str:
    base, token = uri.rsplit("/", 1)
    if "." not in token:
        return f"{base}/{'A' if token[0] != 'A' else 'B'}{token[1:]}"
    claims, signature = token.split(".")
    before = json.loads(urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    after = change(before)
    assert after != before
    encoded = urlsafe_b64encode(json.dumps(after).encode()).rstrip(b"=").decode()
    return f"{base}/{encoded}.{signature}"


class Presigned:
    """S3: the object store itself serves the URLs."""

    def __init__(self, bucket: S3Bucket) -> None:
        self.store: Payloads = S3Payloads(settings(bucket))
        self.brief: Payloads = S3Payloads(dataclasses.replace(settings(bucket), expiry_ms=1_000))

    def upload(self, uri: str, body: bytes) -> None:
        """Send it as Java's ``HttpURLConnection`` does where nobody names a type: as a form."""
        request = urllib.request.Request(uri, data=body, method="PUT")
        request.add_header("Content-Type", "application/x-www-form-urlencoded")
        _exchange(request)

    def download(self, uri: str) -> bytes:
        """Fetch it: what was sent as something else is answered as JSON."""
        return _exchange(urllib.request.Request(uri), CONTENT_TYPE)

    def expire(self, uri: str) -> None:
        until(lambda: _refused(uri), what="the URL to expire")

    def aimed_at(self, uri: str, path: str, other: str) -> str:
        assert path in uri
        return uri.replace(path, other)

    def prolonged(self, uri: str) -> str:
        assert "X-Amz-Expires=3600&" in uri
        return uri.replace("X-Amz-Expires=3600&", "X-Amz-Expires=7200&")


def settings(bucket: S3Bucket) -> S3Settings:
    return S3Settings(
        bucket=bucket.name,
        region=bucket.region,
        endpoint=bucket.endpoint,
        prefix="payloads/",
        access_key=bucket.access_key,
        secret_key=bucket.secret_key,
        expiry_ms=3_600_000,
    )


def _exchange(request: urllib.request.Request, content_type: str | None = None) -> bytes:
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            body: bytes = answer.read()
            assert content_type in {None, answer.headers["Content-Type"]}
            return body
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (400, 401, 403):
                raise Refused from error
            if error.code == 404:
                raise NotFound from error
        raise


def _refused(uri: str) -> bool:
    try:
        _exchange(urllib.request.Request(uri))
    except Refused:
        return True
    except NotFound:
        pass
    return False


@pytest.fixture(params=["memory", "files", pytest.param("s3", marks=pytest.mark.service)])
def subject(request, tmp_path) -> Subject:
    match request.param:
        case "memory":
            return Served(lambda now_ms: MemoryPayloads(now_ms=now_ms))
        case "files":
            return Served(
                lambda now_ms: FilePayloads(
                    tmp_path / "payloads",
                    base_url="http://127.0.0.1:8080/api/payloads/",
                    now_ms=now_ms,
                )
            )
        case _:
            return Presigned(request.getfixturevalue("s3_bucket"))


@pytest.mark.parametrize("kind", PayloadKind)
def test_a_stored_document_is_read_back_under_a_path_of_its_kind(subject, kind):
    path = subject.store.put(kind, _DOCUMENT)
    assert path.startswith(f"{kind.value}/")
    assert subject.store.get(path) == _DOCUMENT
    assert subject.store.size(path) == len(_DOCUMENT)


def test_every_document_has_a_path_of_its_own(subject):
    paths = {subject.store.put(PayloadKind.TASK_INPUT, _DOCUMENT) for _ in range(3)}
    assert len(paths) == 3


def test_a_deleted_document_is_gone_and_deleting_again_is_harmless(subject):
    path = subject.store.put(PayloadKind.TASK_OUTPUT, _DOCUMENT)
    subject.store.delete(path)
    subject.store.delete(path)
    with pytest.raises(NotFound):
        subject.store.get(path)
    with pytest.raises(NotFound):
        subject.store.size(path)


def test_a_document_never_written_is_not_found(subject):
    subject.store.put(PayloadKind.TASK_INPUT, _DOCUMENT)
    with pytest.raises(NotFound):
        subject.store.get(_NEVER_WRITTEN)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "../secret",
        "task/output/../../signing-secret",
        "/etc/passwd",
        "task/output/",
        f"{_NEVER_WRITTEN}\n",
        f"x/{_NEVER_WRITTEN}",
        "task/output/00000000-0000-0000-0000-00000000000G.json",
    ],
)
def test_a_path_that_was_never_minted_is_not_looked_up(subject, path):
    for use in (
        subject.store.get,
        subject.store.size,
        subject.store.delete,
        subject.store.read_location,
    ):
        with pytest.raises(NotFound):
            use(path)


def test_an_upload_by_url_is_what_the_server_reads(subject):
    location = subject.store.write_location(PayloadKind.WORKFLOW_INPUT)
    subject.upload(location.uri, _DOCUMENT)
    assert subject.store.get(location.path) == _DOCUMENT


def test_a_download_by_url_is_what_the_server_stored(subject):
    path = subject.store.put(PayloadKind.TASK_INPUT, _DOCUMENT)
    location = subject.store.read_location(path)
    assert location.path == path
    assert subject.download(location.uri) == _DOCUMENT


def test_a_download_of_what_was_never_uploaded_is_not_found(subject):
    location = subject.store.write_location(PayloadKind.TASK_OUTPUT)
    with pytest.raises(NotFound):
        subject.download(subject.store.read_location(location.path).uri)


@pytest.mark.parametrize("requested", ["../../etc/passwd", "task/output/mine.json", _NEVER_WRITTEN])
def test_the_path_that_a_client_asks_for_is_never_the_key(subject, requested):
    location = subject.store.write_location(PayloadKind.TASK_OUTPUT, requested)
    assert location.path.startswith("task/output/")
    assert location.path != requested
    assert "mine" not in location.uri


def test_a_url_aimed_at_another_key_is_refused(subject):
    location = subject.store.write_location(PayloadKind.TASK_OUTPUT)
    victim = subject.store.put(PayloadKind.TASK_OUTPUT, b"theirs")
    with pytest.raises(Refused):
        subject.upload(subject.aimed_at(location.uri, location.path, victim), b"mine")
    read = subject.store.read_location(subject.store.put(PayloadKind.TASK_OUTPUT, b"own"))
    with pytest.raises(Refused):
        subject.download(subject.aimed_at(read.uri, read.path, victim))
    assert subject.store.get(victim) == b"theirs"


def test_a_url_to_read_does_not_write(subject):
    path = subject.store.put(PayloadKind.TASK_OUTPUT, _DOCUMENT)
    with pytest.raises(Refused):
        subject.upload(subject.store.read_location(path).uri, b"mine")
    assert subject.store.get(path) == _DOCUMENT


def test_a_url_to_write_does_not_read(subject):
    location = subject.store.write_location(PayloadKind.TASK_OUTPUT)
    subject.upload(location.uri, _DOCUMENT)
    with pytest.raises(Refused):
        subject.download(location.uri)


def test_a_url_whose_expiry_was_changed_is_refused(subject):
    location = subject.store.write_location(PayloadKind.TASK_OUTPUT)
    with pytest.raises(Refused):
        subject.upload(subject.prolonged(location.uri), _DOCUMENT)


def test_an_expired_url_is_refused(subject):
    write = subject.brief.write_location(PayloadKind.TASK_OUTPUT)
    path = subject.store.put(PayloadKind.TASK_OUTPUT, _DOCUMENT)
    assert subject.download(subject.store.read_location(path).uri) == _DOCUMENT
    read = subject.brief.read_location(path)
    subject.expire(read.uri)
    with pytest.raises(Refused):
        subject.download(read.uri)
    with pytest.raises(Refused):
        subject.upload(write.uri, _DOCUMENT)
    with pytest.raises(NotFound):
        subject.store.get(write.path)


def test_a_url_without_its_signature_is_refused(subject):
    location = subject.store.read_location(subject.store.put(PayloadKind.TASK_INPUT, _DOCUMENT))
    with pytest.raises(Refused):
        subject.download(location.uri.split("?")[0].rsplit(".", 1)[0] + "x")


# -- what is accepted, and what is read ------------------------------------------------------------


def test_what_is_sent_to_the_url_of_an_accepted_document_does_not_change_it(subject):
    location = subject.store.write_location(PayloadKind.TASK_OUTPUT)
    subject.upload(location.uri, b"{}")
    accepted = subject.store.accept(location.path, 10, "Task output")
    assert accepted.path.startswith("task/output/")
    assert accepted.size == 2
    with suppress(Refused):
        subject.upload(location.uri, b"[" + b"[]," * 100 + b"[]]")
    assert subject.store.get(accepted.path) == b"{}"
    assert subject.download(subject.store.read_location(accepted.path).uri) == b"{}"


def test_the_same_document_may_be_sent_again(subject):
    location = subject.store.write_location(PayloadKind.WORKFLOW_INPUT)
    subject.upload(location.uri, _DOCUMENT)
    accepted = subject.store.accept(location.path, 100, "Workflow input")
    subject.upload(location.uri, _DOCUMENT)
    assert subject.store.accept(location.path, 100, "Workflow input")
    assert subject.store.get(accepted.path) == _DOCUMENT


def test_what_the_server_has_stored_itself_is_accepted_as_it_is(subject):
    path = subject.store.put(PayloadKind.TASK_OUTPUT, _DOCUMENT)
    assert subject.store.accept(path, 100, "Task output") == Accepted(path=path, size=8)


def test_what_is_too_large_is_not_accepted(subject):
    location = subject.store.write_location(PayloadKind.TASK_OUTPUT)
    subject.upload(location.uri, _DOCUMENT)
    wrong = "Task output of 8 bytes is larger than the limit of 7 bytes"
    with pytest.raises(PayloadTooLarge, match=wrong):
        subject.store.accept(location.path, 7, "Task output")


@pytest.mark.parametrize("path", [_NEVER_WRITTEN, "../secret", ""])
def test_what_was_never_sent_is_not_accepted(subject, path):
    subject.store.put(PayloadKind.TASK_INPUT, _DOCUMENT)
    with pytest.raises(NotFound):
        subject.store.accept(path, 100, "Task output")


def test_no_more_is_read_than_is_asked_for(subject):
    path = subject.store.put(PayloadKind.TASK_OUTPUT, _DOCUMENT)
    assert subject.store.get(path, most=len(_DOCUMENT)) == _DOCUMENT
    with pytest.raises(PayloadTooLarge, match="8 bytes is larger than the limit of 7 bytes"):
        subject.store.get(path, most=7)


def test_a_larger_document_sent_while_one_is_accepted_is_not_accepted(s3_bucket):
    subject = Presigned(s3_bucket)
    location = subject.store.write_location(PayloadKind.TASK_OUTPUT)
    subject.upload(location.uri, b"{}")

    class Swapped(S3Payloads):
        def size(self, path: str) -> int:
            found = super().size(path)
            if path == location.path:
                subject.upload(location.uri, _DOCUMENT)
            return found

    store = Swapped(settings(s3_bucket))
    with pytest.raises(PayloadTooLarge, match="8 bytes"):
        store.accept(location.path, 2, "Task output")
    listed = s3_bucket.client().list_objects_v2(Bucket=s3_bucket.name)["Contents"]
    assert [each["Key"] for each in listed] == [f"payloads/{location.path}"]


def test_credentials_that_the_object_store_refuses_make_it_unavailable(s3_bucket):
    store = S3Payloads(dataclasses.replace(settings(s3_bucket), secret_key="wrong"))
    with pytest.raises(StoreUnavailable):
        store.put(PayloadKind.TASK_INPUT, _DOCUMENT)


def test_a_url_signed_with_other_credentials_is_refused(s3_bucket):
    genuine = Presigned(s3_bucket)
    path = genuine.store.put(PayloadKind.TASK_INPUT, _DOCUMENT)
    forger = S3Payloads(dataclasses.replace(settings(s3_bucket), secret_key="wrong"))
    with pytest.raises(Refused):
        genuine.download(forger.read_location(path).uri)
