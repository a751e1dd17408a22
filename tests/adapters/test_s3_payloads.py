"""What the adapter for S3 does where no server is needed to see it."""

from __future__ import annotations

import pytest

from conductor_py.adapters.s3.contents import S3Contents
from conductor_py.adapters.s3.payloads import S3Payloads, S3Settings
from conductor_py.errors import StoreUnavailable
from conductor_py.model.files import FileRecord
from conductor_py.ports.payloads import PayloadKind
from tests.services import free_port


def _settings(**changes) -> S3Settings:
    return S3Settings(
        **{
            "bucket": "payloads",
            "endpoint": f"http://127.0.0.1:{free_port()}",
            "access_key": "key",
            "secret_key": "hidden",
            **changes,
        }
    )


def test_a_store_that_is_away_is_an_unavailable_store():
    with pytest.raises(StoreUnavailable) as away:
        S3Payloads(_settings()).put(PayloadKind.TASK_INPUT, b"{}")
    assert "hidden" not in str(away.value)


def test_settings_do_not_show_their_secret():
    assert "hidden" not in repr(_settings())


def test_urls_name_the_endpoint_that_workers_reach():
    store = S3Payloads(_settings(public_endpoint="https://objects.example.com", prefix="/a/"))
    location = store.write_location(PayloadKind.TASK_OUTPUT, "mine")
    assert location.uri.startswith(f"https://objects.example.com/payloads/a/{location.path}?")
    assert "X-Amz-SignedHeaders=host&" in location.uri
    assert "hidden" not in location.uri


def test_urls_of_files_name_the_endpoint_that_workers_reach():
    store = S3Contents(
        _settings(public_endpoint="https://objects.example.com", prefix="files"), now_ms=lambda: 0
    )
    record = FileRecord(
        file_id="f",
        workflow_id="w",
        ancestors=(),
        storage_type="S3",
        created_ms=0,
        updated_ms=0,
        upload_id="u",
        content="c",
    )
    signed = (store.upload_url(record), store.part_url(record, 1), store.download_url(record))
    assert [each.url.partition("?")[0] for each in signed] == [
        f"https://objects.example.com/payloads/files/f/{name}" for name in ("draft", "joined", "c")
    ]


def test_the_server_itself_does_not_use_the_endpoint_of_workers():
    settings = _settings(public_endpoint="https://objects.example.com")
    for store in (S3Payloads(settings), S3Contents(settings, now_ms=lambda: 0)):
        assert store._store.get().meta.endpoint_url == settings.endpoint


def test_one_client_serves_the_whole_process():
    store = S3Payloads(_settings())
    assert store._store.get() is store._store.get()
    assert store._signer is store._store
