"""The worker as a real process: work, drain, lost claims, and no JVM left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from tests.workers.stub_server import StubServer

pytestmark = [
    pytest.mark.spark,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(600),
]

_SECRET = "CONDUCTOR_SECRET_CANARY"
_QUICK = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SLOW = "SELECT max(hash(id)) FROM range(0, 9000000000000, 1, 4)"
_START_WITHIN_S = 300
_END_WITHIN_S = 150
_CANCELLED = "Cancelled a job group"


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer() as stub:
        yield stub


@pytest.fixture
def worker(server: StubServer, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of one test, which may end it."""
    with _worker(server, tmp_path) as process:
        yield process


@dataclass(frozen=True, slots=True)
class Standing:
    """A worker that many tests share, its server, and the tasks that it must not report."""

    server: StubServer
    folder: Path
    lost: set[str] = field(default_factory=set)

    def log(self) -> str:
        """What the worker has said so far."""
        return (self.folder / "log").read_text()

    def result(self, task_id: str) -> dict[str, Any]:
        """The one result of a task, as soon as it is there."""
        until(lambda: self._results(task_id), _END_WITHIN_S, what=f"the result of {task_id}")
        (result,) = self._results(task_id)
        return result

    def is_under_way(self, group: str) -> bool:
        """Whether tasks of a job group were seen at work."""
        told = [p for p in self.server.progress if p.get("jobGroup") == group]
        return any(progress["tasks"]["active"] for progress in told)

    def _results(self, task_id: str) -> list[dict[str, Any]]:
        return [result for result in self.server.results if result["taskId"] == task_id]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    """A worker that nobody ends; it must keep silent to the end about what it has lost."""
    with StubServer() as stub:
        shared = Standing(stub, tmp_path_factory.mktemp("standing"))
        with _worker(stub, shared.folder) as process:
            _polling(stub)
            yield shared
            process.send_signal(signal.SIGTERM)
            assert process.wait(_END_WITHIN_S) == 0
        assert shared.lost.isdisjoint(result["taskId"] for result in stub.results)


@contextmanager
def _worker(server: StubServer, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "conductor_workers.launcher", "--server", server.url]
    command += ["--allow-path", "/", "--master", "local[2]", "--work-dir"]
    command += [str(folder / "work"), "--allow-module", "spark_samples", "--python-path"]
    command += [str(Path(__file__).with_name("modules"))]
    command += ["--conf", _QUICK, "--grace", "120", "--lease", "60"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), _SECRET: "canary"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
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
    standing: Standing,
) -> None:
    given = {"function": "spark_samples:doubled", "arguments": {"count": 4}}
    standing.server.offer("doubled", given, kind="SPARK_PYTHON")
    result = standing.result("doubled")
    assert result["status"] == "COMPLETED", result.get("reasonForIncompletion")
    assert result["outputData"]["doubled"] == [0, 2, 4, 6]


def test_a_killed_worker_leaves_no_jvm(server: StubServer, worker: subprocess.Popen[bytes]) -> None:
    _polling(server)
    jvm = _jvm_of(worker)
    assert not _gone(jvm)
    worker.kill()
    worker.wait()
    until(lambda: _gone(jvm))


def test_the_jvm_of_a_worker_has_none_of_its_secrets(
    server: StubServer, worker: subprocess.Popen[bytes]
) -> None:
    _polling(server)
    kept = Path(f"/proc/{_jvm_of(worker)}/environ").read_bytes()
    assert b"PYTHONPATH=" in kept
    assert _SECRET.encode() not in kept


def test_a_task_whose_claim_moved_is_cancelled_and_not_reported(
    standing: Standing, tmp_path: Path
) -> None:
    server = standing.server
    standing.lost.add("moved")
    server.offer("moved", {"sql": _SLOW, "output": {"path": str(tmp_path / "out")}}, claim=7)
    until(lambda: standing.is_under_way("moved-7"))
    server.superseded.add(7)
    server.offer("next", {"sql": "SELECT 2 AS x", "collect": 1}, claim=8)
    assert standing.result("next")["claimToken"] == 8
    assert not (tmp_path / "out").exists()


def test_a_task_whose_lease_cannot_be_extended_for_its_length_is_cancelled_and_not_reported(
    standing: Standing, tmp_path: Path
) -> None:
    """The server freezes; the job group is cancelled after one lease, which frees the only slot."""
    server = standing.server
    standing.lost.add("frozen")
    server.offer("frozen", {"sql": _SLOW, "output": {"path": str(tmp_path / "out")}}, claim=17)
    until(lambda: standing.is_under_way("frozen-17"))
    before = standing.log().count(_CANCELLED)
    server.awake.clear()
    try:
        until(
            lambda: standing.log().count(_CANCELLED) > before,
            _END_WITHIN_S,
            what="the jobs are cancelled",
        )
    finally:
        server.awake.set()
    server.offer("after", {"sql": "SELECT 2 AS x", "collect": 1}, claim=18)
    assert standing.result("after")["claimToken"] == 18
    assert not (tmp_path / "out").exists()


def test_a_worker_tells_which_spark_it_runs_and_how_busy_it_is(standing: Standing) -> None:
    sign = until(lambda: standing.server.signs)[0]
    assert sign["version"].startswith("spark-")
    assert {load["taskType"] for load in sign["taskTypes"]} == {
        "SPARK_SQL",
        "SPARK_PYTHON",
        "SPARK_PIPELINE",
    }
    assert all(load["running"] <= load["capacity"] for load in sign["taskTypes"])


def test_a_worker_whose_jvm_dies_ends_with_exit_code_1(
    server: StubServer, worker: subprocess.Popen[bytes]
) -> None:
    _polling(server)
    os.kill(_jvm_of(worker), signal.SIGKILL)
    assert worker.wait(_END_WITHIN_S) == 1
