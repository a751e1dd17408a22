"""A Spark cluster: a master and workers out of PySpark's distribution, on loopback.

Each worker has one core and room for one small executor. What is killed can be started again on
the same ports. Executors end with their worker, so nothing outlives the tests.
"""

import importlib.util
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final

from tests.services.cache import Unobtainable
from tests.services.ports import free_port
from tests.services.processes import Service
from tests.services.search_servers import java_program
from tests.waiting import until

_HOST: Final = "127.0.0.1"
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_NOTHING: Final[dict[str, Any]] = {"workers": []}

EXECUTOR_SETTINGS: Final = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": _QUICK,
}
"""What a session must ask for to get executors here."""


@dataclass(frozen=True, slots=True)
class _Daemon:
    """A master or a worker: its process, and what it is started by."""

    service: Service
    command: tuple[str, ...]
    port: int

    def start(self) -> None:
        self.service.start(
            self.command,
            env={
                "SPARK_LOCAL_IP": _HOST,
                "SPARK_DAEMON_MEMORY": "128m",
                "SPARK_DAEMON_JAVA_OPTS": _QUICK,
            },
        )


def _daemon(home: Path, kind: str, page: int, *arguments: str) -> _Daemon:
    port = free_port()
    command = (
        *(str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"),
        *("--host", _HOST, "--port", str(port), "--webui-port", str(page)),
        *arguments,
    )
    return _Daemon(Service(f"spark {kind}"), command, port)


class SparkCluster:
    """A running cluster; `url` is its master."""

    def __init__(self, home: Path, workers: int) -> None:
        self._page = free_port()
        self._master = _daemon(home, "master.Master", self._page)
        self.url = f"spark://{_HOST}:{self._master.port}"
        small = ("--cores", "1", "--memory", "600m", "--work-dir", "work")
        self._workers = [
            _daemon(home, "worker.Worker", free_port(), *small, self.url) for _ in range(workers)
        ]

    def start(self) -> None:
        """Start all, and wait until the master has heard of each worker."""
        for daemon in (self._master, *self._workers):
            daemon.start()
        wanted = len(self._workers)
        self._master.service.await_ready(lambda: len(self._alive()) == wanted)

    def kill_worker(self, number: int) -> None:
        """Kill -9 one; its executors end by themselves."""
        self._workers[number].service.kill()

    def start_worker(self, number: int) -> None:
        """Start one again, and wait until the master has heard of it."""
        daemon = self._workers[number]
        daemon.start()
        until(lambda: daemon.port in self._alive(), what="the worker is back")

    def worker_pids(self) -> list[int]:
        """The workers that run; executors are their children."""
        return [daemon.service.pid for daemon in self._workers if daemon.service.running()]

    def stop(self) -> None:
        """End all and remove their folders."""
        for daemon in (*self._workers, self._master):
            daemon.service.stop()

    def _alive(self) -> set[int]:
        """The ports of the workers that the master takes for alive."""
        return {int(each["port"]) for each in self._state()["workers"] if each["state"] == "ALIVE"}

    def _state(self) -> dict[str, Any]:
        """What the master says about itself; nothing before it answers."""
        try:
            with urllib.request.urlopen(f"http://{_HOST}:{self._page}/json/", timeout=5) as answer:
                return dict(json.load(answer))
        except (OSError, HTTPException, ValueError):
            return _NOTHING


def start_spark_cluster(workers: int = 2) -> SparkCluster:
    """Start a cluster; Unobtainable when it cannot be had. The caller stops it."""
    java_program()
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise Unobtainable("PySpark is not installed, so there is no cluster to start")
    cluster = SparkCluster(Path(spec.origin).parent, workers)
    try:
        cluster.start()
    except BaseException:
        cluster.stop()
        raise
    return cluster
