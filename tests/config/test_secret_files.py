"""Secrets out of files: what each setting that is one takes, and what is wrong with a file."""

import os
from pathlib import Path

import pytest

from conductor_py.config import Settings, environment_name, environment_of, load
from conductor_py.config.secret_files import SUFFIX
from conductor_py.config.settings import Declared, declared
from conductor_py.config.shown import shown
from conductor_py.errors import ConfigurationError

_KEY = "conductor.elasticsearch.password"
_FILED = [each for each in declared() if each.setting.is_credential]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("tell-nobody\n")
    file.chmod(0o600)
    return file


def _refusal(**flags: str) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load(flags={f"{_KEY}{SUFFIX}": flags["file"]})
    assert "tell-nobody" not in repr(refused.value)
    return refused.value.message


@pytest.mark.parametrize("where", ["flag", "variable", "file"])
@pytest.mark.parametrize("each", _FILED, ids=lambda each: each.setting.key)
def test_every_credential_can_be_given_by_a_file(
    where: str, each: Declared, tmp_path: Path
) -> None:
    key, file = f"{each.setting.key}{SUFFIX}", tmp_path / "secret"
    text = "h:1:rack:tell-nobody" if each.setting.kind == "hosts" else "https://u:tell-nobody@h"
    file.write_text(f"  {text}\n")
    file.chmod(0o600)
    properties = tmp_path / "config.properties"
    properties.write_text(f"{key}={file}\n" if where == "file" else "")
    settings = load(
        file=properties,
        environment={environment_name(key): str(file)} if where == "variable" else {},
        flags={key: str(file)} if where == "flag" else {},
    )
    assert getattr(getattr(settings, each.section), each.attribute) == each.setting.parse(text)
    assert settings.open_files == ()
    assert "tell-nobody" not in repr(settings) + "".join(shown(settings).values())


def test_every_secret_and_every_url_is_among_them() -> None:
    keys = {each.setting.key for each in _FILED}
    assert {each.setting.key for each in declared() if each.setting.secret} <= keys
    assert {"conductor.elasticsearch.url", "conductor.status-notifier.notification.url"} <= keys


def test_other_settings_have_no_file(secret: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no setting conductor\.server\.host"):
        load(flags={"conductor.server.host.file": str(secret)})


def test_a_child_process_is_told_the_file_and_not_the_secret(secret: Path) -> None:
    settings = load(flags={f"{_KEY}{SUFFIX}": str(secret)})
    told = environment_of(settings)
    assert told == {"CONDUCTOR_ELASTICSEARCH_PASSWORD_FILE": str(secret)}
    assert load(environment=told).index.password == "tell-nobody"


def test_the_nearer_source_wins_whichever_way_it_gives_the_value(secret: Path) -> None:
    name = environment_name(_KEY)
    by_file = {f"{name}_FILE": str(secret)}
    assert load(environment=by_file, flags={_KEY: "other"}).index.password == "other"
    found = load(environment={name: "other"}, flags={f"{_KEY}{SUFFIX}": str(secret)})
    assert found.index.password == "tell-nobody"


def test_a_value_and_a_file_from_one_source_are_refused(secret: Path) -> None:
    with pytest.raises(ConfigurationError, match="are both given; one of them is enough"):
        load(flags={_KEY: "other", f"{_KEY}{SUFFIX}": str(secret)})


def test_a_file_that_is_missing_is_named_with_its_place(tmp_path: Path) -> None:
    file = str(tmp_path / "none")
    said = _refusal(file=file)
    assert said == f"flag {_KEY}{SUFFIX}: {file} cannot be read: No such file or directory"
    assert "Is a directory" in _refusal(file=str(tmp_path))


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (b"", "is empty; it must hold the value"),
        (b" \n\n", "is empty; it must hold the value"),
        (b"tell-nobody\xff", "is not UTF-8 text"),
        (b"tell-nobody" * 8_000, "is longer than 65,536 bytes"),
    ],
)
def test_a_file_that_holds_no_secret_is_refused(tmp_path: Path, stored: bytes, said: str) -> None:
    file = tmp_path / "secret"
    file.write_bytes(stored)
    assert said in _refusal(file=str(file))


def test_what_is_wrong_in_a_file_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("tell-nobody")
    with pytest.raises(ConfigurationError) as refused:
        load(flags={"conductor.redis.hosts.file": str(file)})
    assert "the value of conductor.redis.hosts is not right" in refused.value.message
    assert "tell-nobody" not in refused.value.message


@pytest.mark.skipif(os.name != "posix", reason="files have modes on POSIX systems")
def test_a_file_that_others_can_read_is_taken_and_named(secret: Path) -> None:
    secret.chmod(0o644)
    settings = load(flags={f"{_KEY}{SUFFIX}": str(secret)})
    assert settings.index.password == "tell-nobody"
    assert settings.open_files == (str(secret),)


def test_no_file_is_read_where_none_is_given() -> None:
    assert load(flags={f"{_KEY}{SUFFIX}": ""}) == Settings(given=load().given)
