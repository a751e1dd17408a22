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
import threading
from collections.abc import Collection, Mapping
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from conductor_py.errors import ConfigurationError
from conductor_workers.bounds import BOUNDS
from conductor_workers.class_archive import OPTIONS, ClassArchive, class_archive, rehearse
from conductor_workers.driver import has_ended
from conductor_workers.java import Java, find_java
from conductor_workers.jvm import DriverJvm, passed, spark_home
from conductor_workers.liveness import HeldDirectory, hold, remove_if_abandoned
from conductor_workers.masters import (
    LOOPBACK,
    lacking,
    master_settings,
    read_master,
    task_python,
)
from conductor_workers.pipelines import faults
from conductor_workers.statements import SETTINGS

logger = logging.getLogger(__name__)

_EXECUTOR_WITHIN_S = 120.0
_SESSION_PREFIX = "session-"
#: There is nothing there, and its name never changes.
_NO_CONFIGURATION = Path(__file__).with_name("no-configuration")
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
    """Return the settings that a session starts from; the user's own ones win.

    Raises:
        ConfigurationError: no worker can have that master.
    """
    return {
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
        **BOUNDS,
        **SETTINGS,
        **master_settings(read_master(master), cores=os.cpu_count() or 1),
    }


def chosen_settings(*, master: str, concurrency: int, given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a session whose user has given some. A master among those wins over
    ``master``, and what follows from a master follows from the one that wins.

    Raises:
        ConfigurationError: no worker can have that master.
    """
    winner = given.get("spark.master", master)
    return default_settings(master=winner, concurrency=concurrency) | dict(given)


class WorkerSession:
    """Owns the driver JVM and the session in it; ``start`` and ``stop`` from the main thread."""

    def __init__(
        self,
        *,
        work_dir: Path,
        settings: Mapping[str, str],
        archive_dir: Path | None = None,
        pass_env: Collection[str] = (),
    ) -> None:
        """Prepare a session with these settings; nothing is started yet.

        With ``archive_dir`` the JVM starts from an archive of its classes that is kept there, and
        makes it when there is none. Of the worker's environment the JVM and tasks on this machine
        get what Spark and its clients read, and the variables named in ``pass_env``.

        Raises:
            ConfigurationError: no worker can have the master that they name.
        """
        self._work_dir = work_dir
        self._archive_dir = archive_dir
        self._pass_env = pass_env
        self._settings = dict(settings)
        self._master = read_master(self._settings.setdefault("spark.master", "local[*]"))
        self._directory: HeldDirectory | None = None
        self._jvm: DriverJvm | None = None
        self._session: SparkSession | None = None
        self._from_archive = False

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
        """Say whether the driver JVM still runs, and its context in it."""
        if self._jvm is None or not self._jvm.alive():
            return False
        return self._session is None or not has_ended(self._session.sparkContext)

    def start(self) -> None:
        """Find Java, start the JVM and the session; returns when SQL can be run.

        Raises:
            ConfigurationError: there is no usable Java or PySpark, the JVM does not come up, or
                the cluster gives nothing.
        """
        missing = lacking(self._master, self._settings, os.environ)
        if missing:
            raise ConfigurationError(missing)
        faults.arm()
        self._work_dir.mkdir(parents=True, exist_ok=True)
        java = find_java(os.environ, self._work_dir)
        _remove_leftovers(self._work_dir)
        self._directory = hold(self._work_dir / f"{_SESSION_PREFIX}{os.getpid()}")
        if self._directory is None:
            raise ConfigurationError(f"{self._work_dir} is in use by another worker.")
        place = self._directory.path
        self._settings.setdefault("spark.local.dir", str(place / "local"))
        self._settings.setdefault("spark.sql.warehouse.dir", str(place / "warehouse"))
        archive = self._archive(java)
        environment = self._environment(place)
        gateway = self._launched(java, place, environment, archive)
        self._session = self._connected(gateway)
        self._warm(self._session)
        if archive is not None:
            self._settle(archive, self._session)
        logger.info("The Spark session is up", extra={"action": "session_start"})

    def _archive(self, java: Java) -> ClassArchive | None:
        if self._archive_dir is None:
            return None
        return class_archive(self._archive_dir, java, spark_home(), self._settings)

    def _launched(
        self,
        java: Java,
        place: Path,
        environment: Mapping[str, str],
        archive: ClassArchive | None,
    ) -> dict[str, str]:
        """Start the JVM and return how to reach it; without the archive if it does not start with
        it.
        """
        settings = self._settings if archive is None else archive.settings(self._settings)
        used = self._from_archive = archive is not None and archive.exists
        self._jvm = DriverJvm(java=java, work_dir=place, settings=settings, environment=environment)
        self._jvm.launch()
        try:
            return self._jvm.await_ready()
        except ConfigurationError:
            if archive is None or not used:
                raise
            archive.drop("The JVM does not start with it.")
        return self._launched(java, place, environment, None)

    def _settle(self, archive: ClassArchive, spark: SparkSession) -> None:
        """Make the archive after the first start, and look whether it was used after others."""
        if not self._from_archive:
            if archive.exists:  # another worker's, made meanwhile
                return
            if self._master.on_this_machine:
                rehearse(spark)
            archive.make(spark.sparkContext._gateway)  # noqa: SLF001 - PySpark's way to its JVM
        elif archive.used_by(self.jvm_pid or 0):
            archive.keep_fresh()
        else:
            archive.drop("It does not fit this Java or this class path.")

    def _environment(self, place: Path) -> dict[str, str]:
        """Return the JVM's environment."""
        environment = passed(os.environ, self._pass_env)
        if self._master.on_this_machine:
            environment["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", LOOPBACK)
        if "SPARK_CONF_DIR" not in os.environ:
            # On the class path, where an archive of classes allows no folder that holds anything.
            environment["SPARK_CONF_DIR"] = str(_NO_CONFIGURATION)
            quiet = place / "log4j2.properties"
            quiet.write_text(_QUIET_LOGGING, encoding="utf-8")
            said = f'"-Dlog4j2.configurationFile={quiet.as_uri()}"'
            # In front: what the user says wins.
            self._settings[OPTIONS] = f"{said} {self._settings.get(OPTIONS, '')}".strip()
        return environment

    def _connected(self, gateway: Mapping[str, str]) -> SparkSession:
        """Let PySpark join the JVM that runs already, in its own way: by environment variables."""
        python = task_python(self._master, self._settings, os.environ, sys.executable)
        if python is not None:
            os.environ["PYSPARK_PYTHON"] = python
        # It prints the stack of every mistake in a statement; the task says it in its reason.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
        builder = SparkSession.builder
        for key, value in self._settings.items():
            builder = builder.config(key, value)
        os.environ.update(gateway)
        try:
            return builder.getOrCreate()
        except (Py4JError, OSError) as error:
            raise ConfigurationError(
                f"Spark does not start on {self._master.address}: {_first_line(error)}"
            ) from error
        finally:
            for name in gateway:  # the secret is nobody else's business
                os.environ.pop(name, None)

    def _warm(self, spark: SparkSession) -> None:
        """Run the first query, which loads most of Spark's classes: now, not in somebody's claim.

        On a cluster it also waits for an executor, which may never come.
        """
        waiting = threading.Timer(_EXECUTOR_WITHIN_S, spark.sparkContext.cancelAllJobs)
        waiting.daemon = True
        waiting.start()
        try:
            spark.range(1).count()
        except (Py4JError, PySparkException, OSError) as error:
            raise ConfigurationError(
                f"{self._master.address} ran no job of this worker within "
                f"{_EXECUTOR_WITHIN_S:.0f} s: {_first_line(error)}"
            ) from error
        finally:
            waiting.cancel()

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


def _first_line(error: Exception) -> str:
    """Return what an error says, without the stacks of the driver and of Python."""
    told = getattr(error, "java_exception", None)
    return str(told if told is not None else error).strip().partition("\n")[0]


def _remove_leftovers(work_dir: Path) -> None:
    for entry in sorted(work_dir.glob(f"{_SESSION_PREFIX}*")):
        if entry.is_dir() and remove_if_abandoned(entry):
            logger.info("Removed what a killed worker left", extra={"action": "leftover_removed"})
