"""What only the adapter for files promises: the directory, the secret, the limit."""

from __future__ import annotations

import hmac
import json
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from string import ascii_letters, digits

import pytest

from conductor_py.adapters.files.payloads import FilePayloads
from conductor_py.errors import Conflict, NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.ports.payloads import PayloadKind, UrlRefused


def _store(root: Path, **options) -> FilePayloads:
    return FilePayloads(root, base_url="http://here/api/payloads", now_ms=lambda: 0, **options)


def _token(uri: str) -> str:
    return uri.rsplit("/", 1)[1]


def _upload(store: FilePayloads, uri: str, *chunks: bytes | Exception) -> None:
    with store.open_upload(_token(uri)) as upload:
        for chunk in chunks:
            if isinstance(chunk, Exception):
                raise chunk
            upload.write(chunk)


def test_urls_of_a_release_that_signed_a_content_type_are_still_good(tmp_path):
    store = _store(tmp_path)
    location = store.write_location(PayloadKind.TASK_OUTPUT)
    claims, _ = _token(location.uri).split(".")
    before = [*json.loads(urlsafe_b64decode(claims + "=" * (-len(claims) % 4))), "application/json"]
    signed = json.dumps(before).encode()
    mac = hmac.digest((tmp_path / "signing-secret").read_bytes(), signed, "sha256")
    token = ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in (signed, mac))
    with store.open_upload(token) as upload:
        upload.write(b"{}")
    assert store.get(location.path) == b"{}"


def _left_over(root: Path) -> list[Path]:
    return [file for file in root.rglob("*") if file.is_file() and file.name.startswith(".")]


def test_only_the_owner_can_read_the_signing_secret(tmp_path):
    _store(tmp_path).write_location(PayloadKind.TASK_OUTPUT)
    assert stat.S_IMODE((tmp_path / "signing-secret").stat().st_mode) == 0o600
    assert not _left_over(tmp_path)


def test_processes_of_one_directory_serve_each_others_urls(tmp_path):
    location = _store(tmp_path).write_location(PayloadKind.TASK_OUTPUT)
    with _store(tmp_path).open_upload(_token(location.uri)) as upload:
        upload.write(b"{}")
    assert _store(tmp_path).get(location.path) == b"{}"


def test_a_url_of_another_directory_is_refused(tmp_path):
    location = _store(tmp_path / "one").write_location(PayloadKind.TASK_OUTPUT)
    with pytest.raises(UrlRefused):
        _store(tmp_path / "two").open_upload(_token(location.uri))


@pytest.mark.parametrize("token", ["", ".", "a.b", "é.é", "e30.e30", "x" * 5000, "a b.c d"])
def test_a_token_that_is_none_is_refused(tmp_path, token):
    with pytest.raises(UrlRefused):
        _store(tmp_path).open_download(token)


def test_a_signature_is_accepted_in_one_spelling_only(tmp_path):
    location = _store(tmp_path).write_location(PayloadKind.TASK_OUTPUT)
    token = _token(location.uri)
    # 32 bytes leave two bits of the last letter unused: four letters would decode alike.
    for letter in ascii_letters + digits + "-_":
        if letter != token[-1]:
            with pytest.raises(UrlRefused):
                _store(tmp_path).open_upload(token[:-1] + letter)
    _store(tmp_path).open_upload(token)


def test_an_upload_above_the_limit_stores_nothing(tmp_path):
    store = _store(tmp_path, max_bytes=4)
    location = store.write_location(PayloadKind.TASK_OUTPUT)
    with pytest.raises(PayloadTooLarge):
        _upload(store, location.uri, b"1234", b"5")
    with pytest.raises(NotFound):
        store.get(location.path)
    assert not _left_over(tmp_path)


def test_an_upload_that_breaks_off_leaves_the_document_before_it(tmp_path):
    store = _store(tmp_path)
    location = store.write_location(PayloadKind.TASK_OUTPUT)
    _upload(store, location.uri, b"first")
    with pytest.raises(ConnectionError):
        _upload(store, location.uri, b"sec", ConnectionError())
    assert store.get(location.path) == b"first"
    assert not _left_over(tmp_path)


def test_another_document_sent_to_the_same_url_is_refused_and_the_first_stays(tmp_path):
    store = _store(tmp_path)
    location = store.write_location(PayloadKind.TASK_OUTPUT)
    _upload(store, location.uri, b"first")
    with pytest.raises(Conflict, match="another URL"):
        _upload(store, location.uri, b"other")
    _upload(store, location.uri, b"fi", b"rst")
    assert store.get(location.path) == b"first"
    assert not _left_over(tmp_path)


def test_of_two_uploads_at_once_the_first_that_ends_is_the_document(tmp_path):
    store = _store(tmp_path)
    token = _token(store.write_location(PayloadKind.TASK_OUTPUT).uri)
    late = _store(tmp_path).open_upload(token)
    late.write(b"late")
    with store.open_upload(token) as first:
        first.write(b"first")
    with pytest.raises(Conflict):
        late.__exit__(None, None, None)
    assert [file.read_bytes() for file in tmp_path.rglob("*.json")] == [b"first"]
    assert not _left_over(tmp_path)


def test_a_damaged_secret_is_reported_and_not_used(tmp_path):
    (tmp_path / "signing-secret").write_bytes(b"")
    with pytest.raises(StoreUnavailable):
        _store(tmp_path).put(PayloadKind.TASK_OUTPUT, b"{}")


def test_a_directory_that_cannot_be_made_is_an_unavailable_store(tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = _store(tmp_path / "file" / "payloads")
    with pytest.raises(StoreUnavailable):
        store.put(PayloadKind.TASK_OUTPUT, b"{}")


def test_nothing_is_touched_before_something_is_written(tmp_path):
    store = _store(tmp_path / "payloads")
    assert not (tmp_path / "payloads").exists()
    store.put(PayloadKind.TASK_OUTPUT, b"{}")
    assert stat.S_IMODE((tmp_path / "payloads").stat().st_mode) == 0o700


def test_payloads_of_a_directory_that_is_away_are_not_missing(tmp_path):
    root = tmp_path / "payloads"
    store = _store(root)
    path = store.put(PayloadKind.TASK_OUTPUT, b"{}")
    uri = store.read_location(path).uri
    root.rename(tmp_path / "away")
    for mount_point in (False, True):
        if mount_point:
            root.mkdir()
        for reader in (store, _store(root)):
            for ask in (reader.get, reader.size):
                with pytest.raises(StoreUnavailable, match="away"):
                    ask(path)
        with pytest.raises(StoreUnavailable, match="away"):
            store.open_download(_token(uri))

    root.rmdir()
    (tmp_path / "away").rename(root)
    assert store.get(path) == b"{}"
    store.delete(path)
    with pytest.raises(NotFound):
        store.get(path)


def test_nothing_is_written_below_the_mount_that_is_away(tmp_path):
    root = tmp_path / "payloads"
    store = _store(root)
    location = store.write_location(PayloadKind.TASK_OUTPUT)
    root.rename(tmp_path / "away")
    root.mkdir()
    with pytest.raises(StoreUnavailable, match="away"):
        store.put(PayloadKind.TASK_OUTPUT, b"{}")
    with pytest.raises(StoreUnavailable, match="away"):
        store.open_upload(_token(location.uri))
    assert list(root.iterdir()) == []
