"""Files of executions, as the settings say: none, in a directory, in a bucket."""

from pathlib import Path

from conductor_py.adapters.files.contents import DirectoryContents
from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.adapters.s3.contents import S3Contents
from conductor_py.config import load
from conductor_py.engine.port_set import FilePorts
from conductor_py.model.files import FileRecord
from conductor_py.ports.payloads import PayloadKind
from conductor_py.wiring.files import files_of
from conductor_py.wiring.payloads import payloads_of

_RECORD = FileRecord(
    file_id="f", workflow_id="w", ancestors=(), storage_type="", created_ms=0, updated_ms=0
)


def _files(folder: Path, **flags: str) -> FilePorts | None:
    given = {f"conductor.file-storage.{key.replace('__', '.')}": v for key, v in flags.items()}
    settings = load(flags={"conductor.data.directory": str(folder), **given})
    nowhere = Connection("redis://127.0.0.1:1/0")
    return files_of(settings, Scripts(nowhere, Namespace("test")))


def test_there_are_no_files_unless_they_are_switched_on(tmp_path: Path) -> None:
    assert _files(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_directory_serves_them_at_the_url_that_is_configured(tmp_path: Path) -> None:
    made = _files(
        tmp_path,
        enabled="true",
        conductor__directory=str(tmp_path / "shared"),
        **{"conductor__base-url": "https://files.example", "conductor__max-size": "5"},
    )
    assert made is not None
    assert isinstance(made.served, DirectoryContents)
    assert made.contents.storage_type == "CONDUCTOR"
    url = made.contents.upload_url(_RECORD).url
    assert url == "https://files.example/api/files/content/w/f"
    assert list(tmp_path.iterdir()) == []  # until something is brought


def test_urls_are_signed_where_it_is_wanted_and_last_as_long_as_they_should(
    tmp_path: Path,
) -> None:
    signing = {"conductor__signing.enabled": "true", "signed-url-expiration": "1h"}
    made = _files(tmp_path, enabled="true", **signing)
    plain = _files(tmp_path, enabled="true")
    assert made is not None
    assert plain is not None
    signed = made.contents.upload_url(_RECORD)
    assert "token=" in signed.url
    assert "?" not in plain.contents.upload_url(_RECORD).url
    longer_ms = signed.expires_ms - plain.contents.upload_url(_RECORD).expires_ms
    assert 3_400_000 < longer_ms <= 3_540_000
    assert (tmp_path / "files" / "signing-secret").is_file()


def test_a_bucket_serves_them_itself(tmp_path: Path) -> None:
    made = _files(
        tmp_path,
        enabled="true",
        type="s3",
        **{"s3__bucket-name": "mine", "s3__region": "eu-north-1"},
    )
    assert made is not None
    assert isinstance(made.contents, S3Contents)
    assert (made.contents.storage_type, made.served) == ("S3", None)


def test_urls_into_buckets_name_the_endpoint_that_workers_reach() -> None:
    storage = "conductor.external-payload-storage"
    settings = load(
        flags={
            f"{storage}.type": "s3",
            f"{storage}.s3.endpoint": "http://127.0.0.1:1",
            f"{storage}.s3.publicEndpoint": "https://objects.example",
            f"{storage}.s3.accessKey": "key",
            f"{storage}.s3.secretKey": "secret",
            "conductor.file-storage.enabled": "true",
            "conductor.file-storage.type": "s3",
        }
    )
    files = files_of(settings, Scripts(Connection("redis://127.0.0.1:1/0"), Namespace("test")))
    assert files is not None
    payload = payloads_of(settings).write_location(PayloadKind.WORKFLOW_INPUT)
    assert payload.uri.startswith("https://objects.example/conductor-payloads/")
    file = files.contents.upload_url(_RECORD)
    assert file.url.startswith("https://objects.example/conductor-files/")
