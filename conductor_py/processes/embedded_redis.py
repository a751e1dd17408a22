"""The embedded store: a real Redis or Valkey server, run for this process on a data directory.

The server listens on a unix socket only, keeps an append-only file, never evicts, and ends with
this process, also when that is killed with -9. A server that dies by itself is started again on its
data. One thread starts it and stays until the end, because the kernel ties a process to the
*thread* that started it. What the server may open, and who owns the directory, is in
``data_directory``.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import socket
import stat
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from conductor_py.errors import ConfigurationError
from conductor_py.processes.data_directory import DataDirectory
from conductor_py.processes.heaps import environment_that_keeps_little
from conductor_py.processes.memory import memory_bytes
from conductor_py.processes.redis_binary import find_binary, read_engine
from conductor_py.processes.store_memory import StoreMemory
from conductor_py.processes.tether import tethered

_log = logging.getLogger(__name__)

#: The kernel refuses longer socket paths (104 bytes on macOS, 108 on Linux).
_SOCKET_PATH_BYTES: Final = 90
_SHORT: Final = "conductor-"
_OWNER_GONE_S: Final = 5.0
_READY_S: Final = 120.0
_STOP_S: Final = 15.0
_LOOK_S: Final = 0.005
_RESTART_S: Final = (0.1, 0.5, 2.0, 5.0)
_STABLE_S: Final = 30.0


class EmbeddedRedis:
    """A supervised server on ``directory``.

    ``binary`` names the server to run; without it one is looked for. ``appendfsync`` is
    ``everysec`` (a crash of the machine may lose the last second) or ``always``. ``max_bytes`` is
    how much it holds before it takes nothing new; 0: half of the memory that there is.
    """

    def __init__(
        self,
        directory: str | Path,
        binary: str | Path | None = None,
        appendfsync: Literal["everysec", "always"] = "everysec",
        *,
        max_bytes: int = 0,
    ) -> None:
        """Touch nothing yet."""
        self._directory = DataDirectory(Path(directory).absolute())
        self._binary = binary
        self._appendfsync = appendfsync
        self._max_bytes = max_bytes or memory_bytes() // 2
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._spawned = threading.Event()
        self._keeper: threading.Thread | None = None
        self._ready = False
        self._refusal = f"it had no process within {_READY_S:.0f} s"
        self.socket: Path = _socket_path(self._directory.path)

    @property
    def pid(self) -> int | None:
        """The server's process id, while it runs."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> Path:
        """Start the server, wait until it answers, and return the path of its socket.

        Raises ConfigurationError, one sentence, when there is no binary, the directory is in use or
        was written by a newer server, or the server does not start on it.
        """
        assert self._keeper is None, "started once"
        binary = find_binary(self._binary)
        engine = read_engine(binary)
        self._directory.claim(timeout_s=_OWNER_GONE_S)
        try:
            self._directory.admit(engine)
            _prepare_socket(self.socket)
            self._keeper = threading.Thread(
                target=self._keep, args=(self._command(binary),), name="embedded-redis", daemon=True
            )
            self._keeper.start()
            self._await_ready()
        except BaseException:
            self.stop()
            raise
        threading.Thread(
            target=StoreMemory(self.socket, self._stopping).keep_small,
            name="store-memory",
            daemon=True,
        ).start()
        _log.info(
            "The embedded store is ready.",
            extra={"action": "embedded_redis_ready", "engine": str(engine), "pid": self.pid},
        )
        return self.socket

    def stop(self) -> None:
        """Let the server finish its file and wait for its end; calling it again does nothing."""
        self._stopping.set()
        if self._keeper is not None:
            self._spawned.wait(_STOP_S)
            if self._process is not None:
                self._process.terminate()
            self._keeper.join(_STOP_S)
            if self._keeper.is_alive() and self._process is not None:
                self._process.kill()
                self._keeper.join()
        with contextlib.suppress(FileNotFoundError):
            self.socket.unlink()
        self._directory.release()

    def _command(self, binary: Path) -> tuple[str, ...]:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self._directory.path),
            "logfile": str(self._directory.path / "redis.log"),
            "appendonly": "yes",
            "appendfsync": self._appendfsync,
            "save": "",
            "maxmemory": str(self._max_bytes),
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        return tethered([str(binary), *arguments])

    def _keep(self, command: tuple[str, ...]) -> None:
        """Run the server until stopped, again after each unexpected end. The life of the thread."""
        quick_ends = 0
        while not self._stopping.is_set():
            started = time.monotonic()
            code = self._run(command)
            if self._stopping.is_set() or not self._ready:
                return
            quick_ends = 0 if time.monotonic() - started > _STABLE_S else quick_ends + 1
            _log.error(
                "The embedded store ended by itself and is started again.",
                extra={"action": "embedded_redis_restart", "exit_code": code},
            )
            self._stopping.wait(_RESTART_S[min(quick_ends, len(_RESTART_S) - 1)])

    def _run(self, command: tuple[str, ...]) -> int | None:
        """Run the server to its end; its exit code, or None when no process could be had for it."""
        try:
            # Its own session: an interrupt from the terminal must not end the store first.
            process = self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(self._directory.lock,),
                start_new_session=True,
                env=environment_that_keeps_little(),
            )
        except OSError as error:
            self._refusal = str(error)
            facts = {"action": "embedded_redis_refused", "error": self._refusal}
            _log.error("The embedded store could not be started.", extra=facts)
            return None
        finally:
            self._spawned.set()
        if self._stopping.is_set():
            process.terminate()
        return process.wait()

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _READY_S
        self._spawned.wait(_READY_S)
        if self._process is None:
            raise ConfigurationError(
                f"The embedded store on {self._directory.path} could not be started: "
                f"{self._refusal}"
            )
        while not is_ready(self.socket):
            if self._process.poll() is not None:
                raise ConfigurationError(
                    f"The embedded store did not start on {self._directory.path}: "
                    f"{_last_line(self._directory.path / 'redis.log')}"
                )
            if time.monotonic() > deadline:
                raise ConfigurationError(
                    f"The embedded store on {self._directory.path} did not answer within "
                    f"{_READY_S:.0f} s"
                )
            self._stopping.wait(_LOOK_S)
        self._ready = True


def is_ready(path: Path) -> bool:
    """Whether a server answers PING on the socket; one that still loads its data is not ready."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False


def _socket_path(directory: Path) -> Path:
    """Put the socket into the directory, or where the path is too long, into a short private
    one.
    """
    path = directory / "redis.sock"
    if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES:
        return path
    # The same name every time, so that an owner that is killed leaves one folder at most.
    digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"{_SHORT}{os.getuid()}-{digest}", "redis.sock")


def _prepare_socket(path: Path) -> None:
    """Make the socket's directory, and drop a socket that an owner who was killed left there."""
    try:
        path.parent.mkdir(mode=0o700)
    except FileExistsError as error:
        found = path.parent.lstat()
        # In a folder that everybody may write to, somebody else may have been first.
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if path.parent.name.startswith(_SHORT) and (not is_ours or found.st_mode & 0o077):
            raise ConfigurationError(
                f"The directory {path.parent} must belong to this user and be open to no other"
            ) from error
    path.unlink(missing_ok=True)


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return "it wrote no log"
    return lines[-1].strip() if lines else "its log is empty"
