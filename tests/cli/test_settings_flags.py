"""Flags, variables and the file of a process."""

import os
from pathlib import Path
from typing import Any

import click
import pytest

from conductor_py.cli.entry import _COMMANDS
from conductor_py.cli.settings import configured, read, setting
from conductor_py.config import Settings
from conductor_py.config.declaration import RedisHost
from conductor_py.errors import ConfigurationError
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("CONDUCTOR_")]:
        monkeypatch.delenv(name)


def test_a_flag_that_is_a_word_is_the_settings_true() -> None:
    @click.command()
    @setting("--allow-anonymous", "conductor.server.allowAnonymous")
    @configured
    def command(**given: Any) -> Settings:
        return read(given)

    assert command.main(["--allow-anonymous"], standalone_mode=False).server.allow_anonymous
    assert not command.main([], standalone_mode=False).server.allow_anonymous


@pytest.mark.parametrize(
    "words",
    [
        ("--redis", "redis://me:tell-nobody@127.0.0.1"),
        ("--set", "conductor.external-payload-storage.s3.secretKey=tell-nobody"),
        ("--set", "conductor.redis.hosts=127.0.0.1:6379:rack:tell-nobody"),
        ("--set", "conductor.status-notifier.notification.url=https://hooks.example/tell-nobody"),
    ],
)
def test_a_secret_in_the_command_line_is_warned_of_and_not_repeated(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    _read(*words)
    said = capsys.readouterr().err
    assert "every user of this machine can read" in said
    assert "tell-nobody" not in said


def test_a_secret_in_a_file_of_its_own_is_not_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hosts"
    file.write_text("127.0.0.1:6379::tell-nobody\n")
    (host,) = _read("--set", f"conductor.redis.hosts.file={file}").redis.hosts
    assert host.password == "tell-nobody"
    assert capsys.readouterr().err == ""


def test_a_secret_in_a_file_is_not_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.properties"
    file.write_text("conductor.redis.hosts=127.0.0.1:6379::tell-nobody\n")
    _read("--config", str(file), "--redis", "redis://127.0.0.1")
    assert capsys.readouterr().err == ""


def _read(*arguments: str) -> Settings:
    @click.command()
    @setting("--port", "conductor.server.port")
    @configured
    def command(**given: Any) -> Settings:
        return read(given)

    settings = command.main(list(arguments), standalone_mode=False)
    assert isinstance(settings, Settings)
    return settings


def test_a_flag_wins_over_the_variable_and_that_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "config.properties"
    file.write_text("conductor.server.port=1001\nconductor.server.host=::1\n")
    given = ("--config", str(file))

    assert _read(*given).server.port == 1001
    monkeypatch.setenv("CONDUCTOR_SERVER_PORT", "1002")
    assert _read(*given).server.port == 1002
    assert _read(*given, "--port", "1003").server.port == 1003
    assert _read(*given, "--port", "1003").server.host == "::1"


@pytest.mark.parametrize(
    ("url", "host", "more"),
    [
        ("redis://one", RedisHost(host="one", port=6379), {}),
        ("redis://one:7000/3", RedisHost(host="one", port=7000), {"database": 3}),
        ("redis://me:s%2Fx@one", RedisHost(host="one", port=6379, password="s/x"), {"user": "me"}),
        ("rediss://one", RedisHost(host="one", port=6379), {"ssl": True}),
    ],
)
def test_a_redis_url_stands_for_its_settings(
    url: str, host: RedisHost, more: dict[str, object]
) -> None:
    redis = _read("--redis", url).redis

    assert redis.type == "redis_standalone"
    assert redis.hosts == (host,)
    assert {name: getattr(redis, name) for name in more} == more


def test_a_redis_url_may_name_a_socket() -> None:
    assert _read("--redis", "unix:///tmp/a%20b.sock").redis.socket == "/tmp/a b.sock"


@pytest.mark.parametrize("url", ["one:6379", "http://one", "unix://", "redis://"])
def test_what_is_no_redis_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="--redis wants"):
        _read("--redis", url)


def test_any_setting_can_be_set() -> None:
    assert _read("--set", "conductor.app.worker-lost-limit=3").app.worker_lost_limit == 3
    with pytest.raises(ConfigurationError, match="is not KEY=VALUE"):
        _read("--set", "conductor.app.workerLostLimit")


@pytest.mark.parametrize("command", ["server", "api", "sweeper", "effects"])
def test_wrong_settings_are_2_and_one_sentence(run: Run, command: str) -> None:
    outcome = run(command, "--set", "conductor.redis.shard=a")

    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("Error: flag conductor.redis.shard: there is no setting")
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("command", ["server", "api", "sweeper", "effects"])
def test_every_flag_shows_its_variable(run: Run, command: str) -> None:
    text = " ".join(run(command, "--help").out.split())

    flags = [part for part in text.split(" --")[1:] if not part.startswith("help")]
    assert len(flags) >= 4
    assert [flag for flag in flags if "[env var:" not in flag] == []


def test_the_list_of_commands_has_them_all(run: Run) -> None:
    outcome = run("--help")

    assert outcome.code == 0
    assert [name for name in _COMMANDS if f"\n  {name} " not in outcome.out] == []
