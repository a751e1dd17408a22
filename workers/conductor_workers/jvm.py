"""The driver JVM as a child process whose life is bound to this one.

PySpark can start a JVM itself, but then nothing kills it when the worker is killed in an unlucky
moment. Here the worker starts it through ``guard``, hands PySpark its port and secret, and ends it.
Three things end the JVM: ``stop``, the end of its standard input, and on Linux the death of the
thread that started it, which therefore must be the main thread.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from conductor_py.errors import ConfigurationError, MissingExtra
from conductor_workers.java import Java
from conductor_workers.pipelines.faults import ARMED_BY

logger = logging.getLogger(__name__)

_GUARD = Path(__file__).with_name("guard.py")
_READY_WITHIN_S = 120
_LOOK_EVERY_S = 0.02
_STOP_WITHIN_S = 5
_STDERR = 2
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
#: Settings that a running JVM cannot take any more: they go on Spark's command line.
_LAUNCH_PREFIXES = (
    *("spark.driver.", "spark.jars", "spark.files", "spark.submit", "spark.master"),
    # A cluster's own part of the launcher reads these before there is a session.
    *("spark.archives", "spark.pyspark.", "spark.yarn.", "spark.kubernetes."),
)
#: Variables that Java, Spark, Python and the clients of stores read, AWS's keys among them. The JVM
#: and the tasks in it have no use for whatever else the worker's environment holds, secrets of jobs
#: among it. The page about security lists all of them.
_PASSED: Final = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM"),
        *("LD_LIBRARY_PATH", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "VIRTUAL_ENV", "SSL_CERT_FILE"),
        *("SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
        *("http_proxy", "https_proxy", "no_proxy"),
    )
)
_PASSED_PREFIXES: Final = (
    *("LC_", "JAVA_", "SPARK_", "PYSPARK_", "PYTHON", "HADOOP_", "YARN_", "KUBERNETES_", "KRB5"),
    # Tasks read objects themselves, with what the machine offers.
    *("AWS_", "XDG_", ARMED_BY),
)


def passed(environment: Mapping[str, str], wanted: Collection[str] = ()) -> dict[str, str]:
    """Return what the JVM gets of the worker's environment; ``wanted`` are further names."""
    return {
        name: value
        for name, value in environment.items()
        if name in _PASSED or name in wanted or name.startswith(_PASSED_PREFIXES)
    }


class DriverJvm:
    """One driver JVM; start it once, from the main thread."""

    def __init__(
        self,
        *,
        java: Java,
        work_dir: Path,
        settings: Mapping[str, str],
        environment: Mapping[str, str],
    ) -> None:
        """Prepare to run it with that Java; its temporary files go to ``work_dir``.

        ``environment`` is the whole of it, but for what starts Spark.
        """
        self._given = environment
        self._java = java
        self._work_dir = work_dir
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._connection_file = work_dir / "connection"

    @property
    def pid(self) -> int | None:
        """The JVM's process id, None before the start."""
        return None if self._process is None else self._process.pid

    def alive(self) -> bool:
        """Say whether the JVM runs."""
        return self._process is not None and self._process.poll() is None

    def launch(self) -> None:
        """Start the process and return at once; ``connect`` waits for it.

        Raises:
            MissingExtra: PySpark is not installed.
        """
        home = spark_home()
        self._connection_file = Path(tempfile.mkdtemp(dir=self._work_dir)) / "connection"
        command = [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid())]
        command.append(str(home / "bin" / "spark-submit"))
        for key, value in self._settings.items():
            if key.startswith(_LAUNCH_PREFIXES):
                command += ["--conf", f"{key}={value}"]
        command.append("pyspark-shell")
        # What a runtime says on its own account is no output of the worker's.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=_STDERR, env=self._environment(home)
        )
        logger.info(
            "Starting the driver JVM",
            extra={"action": "jvm_start", "java": self._java.major, "java_from": self._java.source},
        )

    def await_ready(self) -> dict[str, str]:
        """Wait until the JVM listens; return the variables that tell PySpark where.

        Raises:
            ConfigurationError: the JVM ended instead, or does not answer.
        """
        deadline = time.monotonic() + _READY_WITHIN_S
        while not self._connection_file.exists():
            if not self.alive():
                raise ConfigurationError("The driver JVM ended while starting; its log is above.")
            if time.monotonic() > deadline:
                self.stop()
                raise ConfigurationError(f"The driver JVM gave no sign in {_READY_WITHIN_S} s.")
            time.sleep(_LOOK_EVERY_S)
        content = self._connection_file.read_bytes()
        length = int.from_bytes(content[4:8], "big")
        self._connection_file.unlink()
        return {
            "PYSPARK_GATEWAY_PORT": str(int.from_bytes(content[:4], "big")),
            "PYSPARK_GATEWAY_SECRET": content[8 : 8 + length].decode(),
        }

    def stop(self) -> None:
        """End the JVM: close its input, and kill it when that is not enough."""
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        logger.info("The driver JVM has ended", extra={"action": "jvm_stop"})

    def _environment(self, home: Path) -> dict[str, str]:
        # Before the driver a small JVM composes its command; it ends before compiling pays off.
        environment = {"SPARK_LAUNCHER_OPTS": _SHORT_LIVED, **self._given}
        environment.update(
            JAVA_HOME=str(self._java.home),
            SPARK_HOME=str(home),
            SPARK_CONNECT_MODE="0",
            _PYSPARK_DRIVER_CONN_INFO_PATH=str(self._connection_file),
        )
        return environment


def spark_home() -> Path:
    """Return where Spark is installed.

    Raises:
        MissingExtra: PySpark is not installed.
    """
    try:
        import pyspark
    except ImportError as error:
        raise MissingExtra("The worker needs PySpark", extra="spark") from error
    declared = os.environ.get("SPARK_HOME")
    return Path(declared) if declared else Path(str(pyspark.__file__)).parent
