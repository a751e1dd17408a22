"""The worker's one Spark session: when it starts, with which settings, and how it ends.

The session is started before the first task is polled for, so that no claim ever waits for a JVM.
Every task gets a session of its own *inside* it (temporary views and SQL settings apart, the Spark
context shared). On a local master everything listens on the loopback interface only. The work
directory of the session is held by a lock; what an earlier worker left behind after a kill is
deleted at the next start.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from conductor_py.errors import ConfigurationError
from conductor_workers.java import find_java
from conductor_workers.jvm import DriverJvm
from conductor_workers.liveness import HeldDirectory, hold, remove_if_abandoned

logger = logging.getLogger(__name__)

_LOOPBACK = "127.0.0.1"
_SESSION_PREFIX = "session-"
_QUIET_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def default_settings(*, master: str, concurrency: int) -> dict[str, str]:
    """Return the settings that a session starts from; the user's own ones win."""
    settings = {
        "spark.master": master,
        "spark.app.name": "conductor-spark-worker",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.catalogImplementation": "in-memory",
        # One meaning of a timestamp, whatever machine the worker runs on.
        "spark.sql.session.timeZone": "UTC",
        # Small tasks must not queue behind a large one.
        "spark.scheduler.mode": "FAIR" if concurrency > 1 else "FIFO",
        "spark.driver.memory": "1g",
    }
    if is_local(master):
        cores = os.cpu_count() or 1
        settings |= {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.sql.shuffle.partitions": str(max(2, cores)),
        }
    return settings


def is_local(master: str) -> bool:
    """Say whether that master runs everything in the driver JVM."""
    return master.partition("[")[0] == "local"


class WorkerSession:
    """Owns the driver JVM and the session in it; ``start`` and ``stop`` from the main thread."""

    def __init__(self, *, work_dir: Path, settings: Mapping[str, str]) -> None:
        """Prepare a session with these settings; nothing is started yet."""
        self._work_dir = work_dir
        self._settings = dict(settings)
        self._directory: HeldDirectory | None = None
        self._jvm: DriverJvm | None = None
        self._session: SparkSession | None = None

    @property
    def spark(self) -> SparkSession:
        """The shared session; ask only after ``start``."""
        if self._session is None:
            raise ConfigurationError("The Spark session has not been started.")
        return self._session

    @property
    def jvm_pid(self) -> int | None:
        """The process id of the driver JVM, None before the start."""
        return None if self._jvm is None else self._jvm.pid

    def alive(self) -> bool:
        """Say whether the driver JVM still runs."""
        return self._jvm is not None and self._jvm.alive()

    def start(self) -> None:
        """Find Java, start the JVM and the session; returns when SQL can be run.

        Raises:
            ConfigurationError: there is no usable Java or PySpark, or the JVM does not come up.
        """
        self._work_dir.mkdir(parents=True, exist_ok=True)
        java = find_java(os.environ, self._work_dir)
        _remove_leftovers(self._work_dir)
        self._directory = hold(self._work_dir / f"{_SESSION_PREFIX}{os.getpid()}")
        if self._directory is None:
            raise ConfigurationError(f"{self._work_dir} is in use by another worker.")
        place = self._directory.path
        self._settings.setdefault("spark.local.dir", str(place / "local"))
        self._settings.setdefault("spark.sql.warehouse.dir", str(place / "warehouse"))
        self._jvm = DriverJvm(
            java=java, work_dir=place, settings=self._settings, environment=self._environment(place)
        )
        self._jvm.launch()
        self._session = self._connected(self._jvm.await_ready())
        # The first query loads most of Spark's classes: now, and not inside somebody's claim.
        self._session.range(1).count()
        logger.info("The Spark session is up", extra={"action": "session_start"})

    def _environment(self, place: Path) -> dict[str, str]:
        """Return what the JVM is told beside its settings."""
        environment = {}
        if is_local(self._settings.get("spark.master", "")):
            environment["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", _LOOPBACK)
        if "SPARK_CONF_DIR" not in os.environ:
            configuration = place / "conf"
            configuration.mkdir()
            (configuration / "log4j2.properties").write_text(_QUIET_LOGGING, encoding="utf-8")
            environment["SPARK_CONF_DIR"] = str(configuration)
        return environment

    def _connected(self, gateway: Mapping[str, str]) -> SparkSession:
        """Let PySpark join the JVM that runs already, in its own way: by environment variables."""
        if is_local(self._settings.get("spark.master", "")):
            # Functions run in this interpreter, not in whichever `python3` is on PATH.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # It prints the stack of every mistake in a statement; the task says it in its reason.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
        builder = SparkSession.builder
        for key, value in self._settings.items():
            builder = builder.config(key, value)
        os.environ.update(gateway)
        try:
            return builder.getOrCreate()
        finally:
            for name in gateway:  # the secret is nobody else's business
                os.environ.pop(name, None)

    def stop(self) -> None:
        """End the session and the JVM, and delete the session's directory. Never raises for a JVM
        that died.
        """
        if self._session is not None and self.alive():
            self._session.stop()
        self._session = None
        if self._jvm is not None:
            self._jvm.stop()
        if self._directory is not None:
            self._directory.release(delete=True)
            self._directory = None


def _remove_leftovers(work_dir: Path) -> None:
    for entry in sorted(work_dir.glob(f"{_SESSION_PREFIX}*")):
        if entry.is_dir() and remove_if_abandoned(entry):
            logger.info("Removed what a killed worker left", extra={"action": "leftover_removed"})
