"""The tutorial's workflow while every process of its deployment is killed with -9 in mid-work."""

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conductor_workers.demo.data import export_tables
from tests.acceptance.deployment import Api, Deployment, Process, await_gone, deployed
from tests.acceptance.flights import SparkWorker, attempts, in_progress, start_flights, tables
from tests.acceptance.stories import finish, start, status, take_all
from tests.services import RedisServer, absent, start_redis
from tests.services.cache import Unobtainable
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.spark,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(400),
]

_RUN_S = 120.0
_SPARK_S = 90.0


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    """A Redis of this test alone, which writes each command to its disk before it answers."""
    try:
        server = start_redis(append_only=True)
    except Unobtainable as error:
        absent(str(error))
    with server.client() as client:
        client.config_set("appendfsync", "always")
    yield server
    server.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Flights:
    """All processes of a deployment, each by its own command."""

    redis: RedisServer
    folder: Path
    api: Api
    sweeper: Process
    effects: Process
    spark: SparkWorker

    def processes(self) -> tuple[Process, ...]:
        return (self.api, self.sweeper, self.effects, self.spark)

    def due_timers(self) -> list[str]:
        """Timers of attempts whose time has come and that nobody has fired."""
        with self.redis.client() as client:
            seconds, micros = client.time()
            now_ms = seconds * 1000 + micros // 1000
            names = list(client.scan_iter(match="*timers:*"))
            due = [m for name in names for m in client.zrangebyscore(name, 0, now_ms)]
        return [member.decode() for member in due if member.startswith(b"a:")]

    def effects_under_way(self) -> int:
        """Jobs that an effects worker has taken and not finished."""
        with self.redis.client() as client:
            return sum(
                client.llen(name) for name in client.scan_iter(match="rq:queue:*:intermediate")
            )

    def archived(self) -> set[str]:
        """The executions whose archive is written."""
        with closing(sqlite3.connect(self.folder / "data" / "search.sqlite3")) as file:
            rows = file.execute("SELECT workflowId FROM archive").fetchall()
        return {row[0] for row in rows}

    @contextmanager
    def search_file_held(self) -> Iterator[None]:
        """Let nobody write to the search file: an effects worker waits in mid-job."""
        with closing(sqlite3.connect(self.folder / "data" / "search.sqlite3")) as file:
            file.isolation_level = None
            file.execute("BEGIN IMMEDIATE")
            yield
            file.execute("ROLLBACK")


@pytest.fixture
def flights(tmp_path: Path, redis: RedisServer) -> Iterator[Flights]:
    shared = ("--redis", redis.url, "--data", str(tmp_path / "data"))
    with deployed(tmp_path) as deployment:
        api = deployment.serve(Api(tmp_path / "api", "api", *shared))
        effects = deployment.run(
            "effects", "effects", *shared, "--set", "conductor.effects.lease=2s"
        )
        sweeper = deployment.run(
            "sweeper", "sweeper", *shared, "--set", "conductor.effects.lease=2s"
        )
        spark = SparkWorker(tmp_path / "spark", f"http://127.0.0.1:{api.port}/api")
        deployment.processes.append(spark)
        spark.start()
        yield Flights(
            redis=redis, folder=tmp_path, api=api, sweeper=sweeper, effects=effects, spark=spark
        )


class Diary:
    """Says what was killed when, for the reader of a test run; and remembers who lived."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._began = time.monotonic()
        self.seen: dict[int, str] = {}

    def say(self, sentence: str) -> None:
        with self._capsys.disabled():
            sys.stdout.write(f"\n  {time.monotonic() - self._began:6.1f} s  {sentence}")
            sys.stdout.flush()

    def kill(self, process: Process, name: str) -> None:
        """Kill -9 that process alone; whatever it started has to go by itself."""
        family = process.family()
        self.seen |= family
        process.kill()
        await_gone(family)
        self.say(f"{name} killed, {len(family)} in all")


def test_whatever_is_killed_with_minus_9_the_tables_are_the_same(
    flights: Flights, capsys: pytest.CaptureFixture[str]
) -> None:
    diary, client = Diary(capsys), flights.api.client
    export_tables(flights.folder / "csv")
    workflow = start_flights(client, flights.folder / "disturbed", flights.folder / "csv")

    until(lambda: in_progress(client, workflow), _SPARK_S, what="a Spark task is claimed")
    diary.kill(flights.api, "API server, with tasks claimed,")
    flights.api.start()

    lost: Any = until(
        lambda: _in_mid_job(flights, workflow), _SPARK_S, what="a Spark job is under way"
    )
    os.kill(flights.sweeper.pid, signal.SIGSTOP)
    diary.kill(flights.spark, f"Spark worker, in the middle of {lost['referenceTaskName']},")
    flights.spark.start()
    until(flights.due_timers, what="the lease of the lost worker has ended")
    diary.kill(flights.sweeper, "sweeper, with a timer due,")
    flights.sweeper.start()
    # Only the sweeper gives the task of a worker that is gone to another one.
    until(lambda: _was_replaced(flights, workflow, lost), what="the lost task is offered")

    until(
        lambda: "by_weather" in in_progress(client, workflow), _SPARK_S, what="a query is claimed"
    )
    with flights.redis.client() as asked:
        redis_pid = asked.info("server")["process_id"]
    flights.redis.kill()
    await_gone([redis_pid])
    diary.say("Redis killed, with queries claimed")
    flights.redis.start()
    until(flights.api.is_healthy, what="healthy again")

    with flights.search_file_held():
        until(lambda: status(client, workflow) == "COMPLETED", _RUN_S, what="completed")
        diary.say("completed")
        until(flights.effects_under_way, what="its archive is under way")
        diary.kill(flights.effects, "effects worker, in the middle of a job,")
        assert workflow not in flights.archived()
    flights.effects.start()
    until(lambda: workflow in flights.archived(), what="archived")
    diary.say("archived")

    undisturbed = start_flights(client, flights.folder / "undisturbed", flights.folder / "csv")
    until(lambda: status(client, undisturbed) == "COMPLETED", _RUN_S, what="completed")
    diary.say("a run without disturbance completed")
    disturbed_tables = tables(flights.folder / "disturbed")
    assert len(disturbed_tables) == 3
    assert all(len(table.splitlines()) > 3 for table in disturbed_tables.values())
    assert disturbed_tables == tables(flights.folder / "undisturbed")
    assert _output(flights, workflow) == _output(flights, undisturbed)

    for process in flights.processes():
        diary.seen |= process.family()
    assert [process.terminate() for process in flights.processes()] == [0, 0, 0, 0]
    await_gone(diary.seen)
    assert _started_by(flights.folder) == []


def _in_mid_job(flights: Flights, workflow: str) -> dict[str, Any] | None:
    """A task whose progress shows a Spark job that runs."""
    for task in in_progress(flights.api.client, workflow).values():
        if task.get("progress") and task["progress"]["jobs"]["active"]:
            return task
    return None


def _was_replaced(flights: Flights, workflow: str, lost: dict[str, Any]) -> bool:
    old, *newer = attempts(flights.api.client, workflow, lost["referenceTaskName"])
    return bool(newer) and old["status"] == "CANCELED" and "lost" in old["reasonForIncompletion"]


def _output(flights: Flights, workflow: str) -> object:
    return flights.api.client.get_workflow(workflow)["output"]


def _started_by(folder: Path) -> list[str]:
    """Command lines of processes, whoever their parent is, that work in that folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            place = str((entry / "cwd").readlink())
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if str(folder) in line or place.startswith(str(folder)):
            found.append(line)
    return found


def test_an_embedded_redis_that_is_killed_comes_back_with_all_it_answered(
    tmp_path: Path, shape: tuple[str, ...]
) -> None:
    with deployed(tmp_path) as deployment:
        server = deployment.server(*shape, "--set", "conductor.embedded.redis.appendfsync=always")
        _embedded_redis_is_killed(deployment, server)


def _embedded_redis_is_killed(deployment: Deployment, server: Api) -> None:
    (redis,) = [pid for pid, line in server.family().items() if "redis.sock" in line]
    workflows = [start(server.client, number) for number in range(10)]
    held = take_all(server.client, 5)
    for task in held[:3]:
        finish(server.client, task)

    # At once: what was answered is on the disk already.
    os.kill(redis, signal.SIGKILL)
    await_gone([redis])
    until(server.is_healthy, what="healthy again")

    for task in held[3:]:
        finish(server.client, task)
    for task in take_all(server.client, 5):
        finish(server.client, task)
    assert {status(server.client, each) for each in workflows} == {"COMPLETED"}
    assert server.terminate() == 0
