"""The worker as a real process: work, drain, lost claims, and no JVM left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from tests.workers.stub_server import StubServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
_STORY = pytest.mark.thorough(target="stories")

_QUICK = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SLOW = "SELECT max(hash(id)) FROM range(0, 9000000000000, 1, 4)"
_START_WITHIN_S = 150
_END_WITHIN_S = 150


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer() as stub:
        yield stub


@pytest.fixture
def worker(server: StubServer, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "conductor_workers.launcher", "--server", server.url]
    command += ["--master", "local[2]", "--work-dir"]
    command += [str(tmp_path / "work"), "--allow-module", "spark_samples", "--python-path"]
    command += [str(Path(__file__).with_name("modules"))]
    command += ["--conf", _QUICK, "--grace", "120", "--lease", "30"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    yield process
    if process.poll() is None:
        process.kill()
    process.wait()


def _polling(server: StubServer) -> None:
    until(lambda: server.polls, _START_WITHIN_S, what="the worker polls")


def _jvm_of(worker: subprocess.Popen[bytes]) -> int:
    found = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
    [jvm] = [
        int(child) for child in found if b"java" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return jvm


def _gone(pid: int) -> bool:
    """Say whether the process has ended; what nobody has waited for yet has ended as well."""
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


@_STORY
def test_a_worker_reports_with_its_claim_drains_on_sigterm_and_takes_its_jvm_along(
    server: StubServer, worker: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    _polling(server)
    jvm = _jvm_of(worker)
    server.offer("task-1", {"sql": "SELECT 1 AS x", "collect": 5}, claim=41)
    until(lambda: server.results)
    [result] = server.results
    assert (result["status"], result["claimToken"]) == ("COMPLETED", 41)
    assert result["outputData"]["rows"] == [{"x": 1}]
    # A task that is under way is finished, and reported, by a worker that was asked to end.
    given = {
        "function": "spark_samples:at_the_end",
        "arguments": {"count": 1},
        "output": {"path": str(tmp_path / "out")},
    }
    server.offer("task-2", given, claim=42, kind="SPARK_PYTHON")
    until(lambda: any(p.get("jobGroup") == "task-2-42" for p in server.progress))
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(_END_WITHIN_S) == 0
    assert server.results[1]["status"] == "COMPLETED"
    assert (tmp_path / "out" / "_commit.json").exists()
    until(lambda: _gone(jvm))
    assert list((tmp_path / "work").glob("session-*")) == []


def test_functions_of_the_python_path_run_in_sparks_python_processes_too(
    server: StubServer, worker: subprocess.Popen[bytes]
) -> None:
    _polling(server)
    given = {"function": "spark_samples:doubled", "arguments": {"count": 4}}
    server.offer("task-1", given, kind="SPARK_PYTHON")
    until(lambda: server.results)
    [result] = server.results
    assert result["status"] == "COMPLETED", result.get("reasonForIncompletion")
    assert result["outputData"]["doubled"] == [0, 2, 4, 6]


@_STORY
def test_a_killed_worker_leaves_no_jvm(server: StubServer, worker: subprocess.Popen[bytes]) -> None:
    _polling(server)
    jvm = _jvm_of(worker)
    assert not _gone(jvm)
    worker.kill()
    worker.wait()
    until(lambda: _gone(jvm))


@_STORY
def test_a_task_whose_claim_moved_is_cancelled_and_not_reported(
    server: StubServer, worker: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    _polling(server)
    server.offer("task-1", {"sql": _SLOW, "output": {"path": str(tmp_path / "out")}}, claim=7)
    until(lambda: any(p.get("tasks", {}).get("active") for p in server.progress))
    server.superseded.add(7)
    server.offer("task-2", {"sql": "SELECT 2 AS x", "collect": 1}, claim=8)
    until(lambda: server.results)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(_END_WITHIN_S) == 0
    assert [result["taskId"] for result in server.results] == ["task-2"]
    assert not (tmp_path / "out").exists()


@_STORY
def test_a_worker_whose_jvm_dies_ends_with_exit_code_1(
    server: StubServer, worker: subprocess.Popen[bytes]
) -> None:
    _polling(server)
    os.kill(_jvm_of(worker), signal.SIGKILL)
    assert worker.wait(_END_WITHIN_S) == 1
