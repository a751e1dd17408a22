"""The processes that the tutorial starts, and ends again: a server and a Spark worker."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from conductor_py.errors import ConductorError, ConfigurationError
from conductor_py.sdk import Client
from conductor_workers import guard

_SERVER_WITHIN_S = 60
_STOP_WITHIN_S = 20
_LOOK_EVERY_S = 0.1
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Child:
    """A process of the tutorial; its output goes to a log file."""

    def __init__(
        self, name: str, command: list[str], environment: dict[str, str], log: Path
    ) -> None:
        """Start it in a session of its own, so that the terminal's interrupt reaches us first.

        On Linux it dies with us, even when nobody has the time to stop it.
        """
        guarded = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), *command]
        self.name = name
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                guarded,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def check(self) -> None:
        """Say so when it has ended by itself.

        Raises:
            ConfigurationError: it has; the end of its log is in the message.
        """
        code = self._process.poll()
        if code is not None:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
            raise ConfigurationError(f"The {self.name} ended with code {code}:\n{tail}")

    def stop(self) -> None:
        """Ask it to end, and make it when it does not."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def start_server(run_dir: Path, port: int) -> Child:
    """Start the all-in-one server on that port, with its data below ``run_dir``."""
    environment = {
        "CONDUCTOR_SERVER_PORT": str(port),
        "CONDUCTOR_DATA_DIRECTORY": str(run_dir / "server"),
    }
    return Child(
        "server", [_program("conductor-py"), "server"], environment, run_dir / "server.log"
    )


def start_worker(run_dir: Path, server_url: str) -> Child:
    """Start a Spark worker for that server; its JVM is tuned to start fast."""
    command = [sys.executable, "-m", "conductor_workers.launcher"]
    command += ["--server", server_url, "--task-types", "SPARK_SQL", "--concurrency", "3"]
    command += ["--allow-path", str(run_dir)]
    command += ["--lease", "10", "--work-dir", str(run_dir / "spark")]
    command += ["--conf", f"spark.driver.extraJavaOptions={_QUICK_JVM}"]
    return Child("Spark worker", command, {}, run_dir / "worker.log")


def _program(name: str) -> str:
    """Return a command of this installation: beside the interpreter, else on PATH."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise ConfigurationError(f"{name} is not installed; run `pip install conductor-py`.")
    return found


def await_server(client: Client, server: Child) -> None:
    """Wait until the server answers.

    Raises:
        ConfigurationError: it ended, or gave no sign in time.
    """
    deadline = time.monotonic() + _SERVER_WITHIN_S
    while True:
        server.check()
        try:
            client.version()
        except ConductorError:
            if time.monotonic() > deadline:
                raise ConfigurationError(
                    f"The server gave no sign in {_SERVER_WITHIN_S} s; see {server.log}."
                ) from None
            time.sleep(_LOOK_EVERY_S)
        else:
            return
