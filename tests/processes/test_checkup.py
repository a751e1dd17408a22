"""A check-up says what is there, what is not, and what to do about it; and changes nothing."""

from __future__ import annotations

import http.server
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.memory.search import MemorySearch
from conductor_py.config import Settings, load
from conductor_py.errors import StoreUnavailable
from conductor_py.processes import checkup
from conductor_py.processes.checkup import Finding, Verdict, check_up
from conductor_py.wiring.checks import RedisFacts
from tests.services.ports import free_port


def settings(tmp_path: Path, **more: str) -> Settings:
    given = {
        "conductor.server.port": str(free_port()),
        "conductor.data.directory": str(tmp_path / "data"),
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    return load(environment={}, flags=given)


def found(given: Settings, about: str) -> list[Finding]:
    return [each for each in check_up(given) if each.about == about]


def the(given: Settings, about: str) -> Finding:
    (one,) = found(given, about)
    return one


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken


def test_where_all_is_there_nothing_fails_and_nothing_is_made(tmp_path: Path) -> None:
    verdicts = {each.verdict for each in check_up(settings(tmp_path))}
    assert Verdict.FAILURE not in verdicts
    assert list(tmp_path.iterdir()) == []


def test_a_data_directory_that_cannot_be_made_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    given = load(environment={}, flags={"conductor.data.directory": str(tmp_path / "file/data")})
    assert the(given, "data directory").verdict is Verdict.FAILURE


def test_a_data_directory_that_others_can_enter_is_a_warning(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o750)
    one = the(settings(tmp_path), "data directory")
    assert one.verdict is Verdict.WARNING
    assert "chmod" in one.remedy
    data.chmod(0o700)
    assert the(settings(tmp_path), "data directory").verdict is Verdict.OK


def test_a_disk_that_is_nearly_full_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 5_000_000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    assert the(settings(tmp_path), "data directory").verdict is Verdict.WARNING


def test_a_port_that_somebody_else_has_is_a_failure(
    tmp_path: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup, "_REQUEST_S", 0.05)
    port = str(listener.getsockname()[1])
    one = the(settings(tmp_path, conductor_server_port=port), "address")
    assert one.verdict is Verdict.FAILURE
    assert (one.said.count("--port"), one.remedy) == (1, "")


def test_a_port_on_which_something_else_than_http_answers_is_a_failure(
    tmp_path: Path, listener: socket.socket
) -> None:
    def answer() -> None:
        taken, _ = listener.accept()
        with taken:
            taken.recv(1000)
            taken.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

    threading.Thread(target=answer, daemon=True).start()
    port = str(listener.getsockname()[1])
    one = the(settings(tmp_path, conductor_server_port=port), "address")
    assert one.verdict is Verdict.FAILURE
    assert (one.said.count("--port"), one.remedy) == (1, "")


def test_a_server_of_this_kind_that_has_the_port_is_none(tmp_path: Path) -> None:
    class Answering(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"build": {"name": "conductor-py", "version": "9.9"}}')

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        given = settings(tmp_path, conductor_server_port=str(server.server_port))
        one = the(given, "address")
        server.shutdown()
    assert (one.verdict, "9.9 answers" in one.said) == (Verdict.OK, True)


def external(tmp_path: Path, port: int) -> Settings:
    return settings(
        tmp_path,
        conductor_db_type="redis_standalone",
        conductor_redis_hosts=f"127.0.0.1:{port}",
    )


def test_a_redis_that_does_not_answer_is_a_failure(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert the(external(tmp_path, port), "Redis").verdict is Verdict.FAILURE


def test_what_is_odd_about_a_redis_is_a_warning_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = RedisFacts(version="7.4", warnings=("the append-only file is off",), now_ms=0.0)
    monkeypatch.setattr(checkup, "describe_redis", lambda _: facts)
    shown = found(external(tmp_path, 1), "Redis")
    assert [each.verdict for each in shown] == [Verdict.OK, Verdict.WARNING, Verdict.WARNING]
    assert "append-only" in shown[1].said
    assert "apart" in shown[2].said


def test_what_does_not_answer_keeps_nothing_else_from_being_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: Settings) -> None:
        raise StoreUnavailable("the index is away")

    monkeypatch.setattr(checkup, "check_search", away)
    looked = {each.about: each for each in check_up(settings(tmp_path))}
    assert looked["search"].verdict is Verdict.FAILURE
    assert looked["search"].said == "the index is away"
    assert "Spark" in looked


def test_the_index_is_read_and_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def made(given: Settings) -> MemorySearch:
        asked.append(given.index.manage)
        return MemorySearch()

    monkeypatch.setattr("conductor_py.wiring.checks.search_of", made)
    given = settings(tmp_path, conductor_indexing_type="elasticsearch")
    assert the(given, "search").verdict is Verdict.OK
    assert asked == [False]


def test_a_file_of_a_secret_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("tell-nobody")
    file.chmod(0o644)
    (_, odd) = found(
        settings(tmp_path, conductor_elasticsearch_password_file=str(file)), "settings"
    )
    assert odd.verdict is Verdict.WARNING
    assert odd.said == f"every user of this machine can read {file}"


def test_ignored_lines_of_the_file_are_named(tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_text("server.port=9000\n")
    (_, odd) = found(load(file=file), "settings")
    assert odd.verdict is Verdict.WARNING
    assert "server.port is no setting of this server" in odd.said
    assert "conductor.server.port" in odd.said


def test_keys_without_effect_are_named(tmp_path: Path) -> None:
    given = load(environment={}, flags={"conductor.app.stack": "prod"})
    (_, odd) = found(given, "settings")
    assert "conductor.app.stack" in odd.said


@pytest.mark.parametrize(
    ("setting", "module", "about"),
    [
        ("conductor.external-payload-storage.type=s3", "boto3", "payload storage"),
        ("conductor.indexing.type=elasticsearch", "elasticsearch", "search"),
        ("conductor.workflow-execution-lock.type=zookeeper", "kazoo", "lock"),
    ],
)
def test_a_package_that_a_setting_needs_and_that_is_missing_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, module: str, about: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    key, _, value = setting.partition("=")
    given = load(
        environment={}, flags={key: value, "conductor.data.directory": str(tmp_path / "data")}
    )
    one = the(given, "packages")
    assert one.verdict is Verdict.FAILURE
    assert one.said.startswith(f"{setting} needs {module}: pip install '.[")
    assert found(given, about) == []


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ('openjdk version "21.0.1" 2023', Verdict.OK),
        ('java version "1.8.0_292"', Verdict.WARNING),
        ("nothing that is known", Verdict.OK),
    ],
)
def test_a_java_that_is_too_old_for_spark_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, verdict: Verdict
) -> None:
    ended = subprocess.CompletedProcess((), 0, "", said)
    monkeypatch.setenv("JAVA_HOME", "/somewhere")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: ended)
    assert the(settings(tmp_path), "Spark").verdict is verdict


def test_a_java_that_does_not_say_its_version_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: Any, **more: Any) -> None:
        raise subprocess.TimeoutExpired("java", more["timeout"])

    monkeypatch.setenv("JAVA_HOME", "/somewhere")
    monkeypatch.setattr("subprocess.run", hang)
    one = the(settings(tmp_path), "Spark")
    assert one.verdict is Verdict.WARNING
    assert "/somewhere/bin/java -version does not end" in one.said
