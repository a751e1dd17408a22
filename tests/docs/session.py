"""What a reader does with a page, as a program: `session.py <plan>` follows it and says what was
printed.

It may run in a network of its own, where the port of every page, 8080, is free. The plan is a JSON
file: the steps, and whether a server runs before the first. The answer goes beside it.
"""

import fcntl
import json
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

_MARK = "=== next block ==="
_PORT = 8080
_PATIENCE_S = 400.0  # Spark, too, on two cores
_LOOK_S = 0.05
_SIOCSIFFLAGS, _UP_AND_RUNNING = 0x8914, 0x41
_SERVER = re.compile(
    r"^(redis-server|conductor-py (server|api|sweeper|system-worker|scheduler|effects))\b"
)
_WITHOUT_PORT = re.compile(r"^conductor-py (sweeper|system-worker|scheduler|effects)\b")


class Failed(Exception):
    """A step did not do what the page says."""


class Session:
    """The terminals of one reader, in one directory."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._servers: list[subprocess.Popen[bytes]] = []
        self._shell: subprocess.Popen[str] | None = None
        self._program: subprocess.Popen[str] | None = None
        self.errors = folder.with_name("errors")

    def server(self, line: str = "conductor-py server") -> None:
        """Start a server in a terminal of its own, and go on when it answers."""
        words = shlex.split(line)
        port = int(words[words.index("--port") + 1]) if "--port" in words else _PORT
        with self.errors.with_name("server.log").open("ab") as log:
            process = subprocess.Popen(
                words, cwd=self._folder, env=self._environment, stdout=log, stderr=log
            )
        self._servers.append(process)
        deadline = time.monotonic() + _PATIENCE_S
        while not _WITHOUT_PORT.match(line) and not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"{line}: no answer on port {port}")
            threading.Event().wait(_LOOK_S)

    def shell(self, text: str) -> str:
        """Paste a block into the shell."""
        servers = [line for line in text.splitlines() if _SERVER.match(line)]
        script = self._folder.with_name("block.sh")
        script.write_text("\n".join(each for each in text.splitlines() if each not in servers))
        if self._shell is None:
            self._shell = self._start("bash", "--norc", "-eu")
            self._tell(self._shell, "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT")
        self._tell(self._shell, f". '{script}' < /dev/null; echo; echo '{_MARK}'")
        printed = self._printed(self._shell, text)
        for line in servers:
            self.server(line)
        return printed

    def program(self, name: str, blocks: list[str]) -> None:
        """Begin a program that stops behind each of its blocks; the next step lets it go on."""
        system = "__import__('sys')"  # one that the program starts of itself has arguments
        wait = f"{system}.argv[1:] or {system}.stdin.readline()"
        stop = f"\nprint({_MARK!r}, flush=True)\n{wait}\n"
        (self._folder / name).write_text(stop.join(["", *blocks, ""]))
        self._program = self._start("python", "-W", "error", name)
        self._printed(self._program, name)

    def python(self, text: str) -> str:
        """Let the program go on to the end of its next block."""
        assert self._program is not None
        self._tell(self._program, "")
        return self._printed(self._program, text)

    def end(self) -> None:
        """Let the program end, then the shell with its jobs, then the servers."""
        for process in (self._program, self._shell):
            if process is None:
                continue
            if process is self._program and process.poll() is None:
                self._tell(process, "")
            assert process.stdin is not None
            process.stdin.close()
            if process.wait(_PATIENCE_S):
                raise Failed("the program of the page did not end well")
        ended = [str(each.args) for each in self._servers if each.poll() is not None]
        self.stop()
        if ended:
            raise Failed(f"these ended by themselves: {ended}")

    def stop(self) -> None:
        """End what is left."""
        for process in (self._program, self._shell):
            if process is not None and process.poll() is None:
                process.kill()
        for server in reversed(self._servers):  # a server needs its Redis to the end
            server.send_signal(signal.SIGTERM)
            server.wait(_PATIENCE_S)

    def _start(self, *command: str) -> subprocess.Popen[str]:
        with self.errors.open("a") as errors:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    @staticmethod
    def _tell(process: subprocess.Popen[str], line: str) -> None:
        assert process.stdin is not None
        process.stdin.write(f"{line}\n")
        process.stdin.flush()

    @staticmethod
    def _printed(process: subprocess.Popen[str], block: str) -> str:
        assert process.stdout is not None
        timer = threading.Timer(_PATIENCE_S, process.kill)
        timer.start()
        try:
            return _until_mark(process.stdout, block)
        finally:
            timer.cancel()


def _until_mark(stdout: IO[str], block: str) -> str:
    lines: list[str] = []
    for line in stdout:
        if line.strip() == _MARK:
            return "".join(lines)
        lines.append(line)
    raise Failed(f"this ended early:\n{block}\nit printed:\n{''.join(lines)}")


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(_PATIENCE_S)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _raise_loopback() -> None:
    """Switch the one interface of a new network on."""
    request = struct.pack("16sH14x", b"lo", _UP_AND_RUNNING)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, request)


def followed(plan: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Follow a plan; returns what each step printed, and what went wrong."""
    session = Session(folder, plan["environment"])
    printed: list[str] = []
    try:
        if plan["server"]:
            session.server()
        for step in plan["steps"]:
            match step["kind"]:
                case "file":
                    with (folder / step["name"]).open("a") as file:
                        file.write(step["text"])
                    printed.append("")
                case "python":
                    if step["first"]:
                        session.program(step["name"], step["whole"])
                    printed.append(session.python(step["text"]))
                case _:
                    printed.append(session.shell(step["text"]))
        session.end()
    except Exception as error:  # noqa: BLE001 - whatever it is, the test is to say it
        session.stop()
        return {"printed": printed, "failed": f"{type(error).__name__}: {error}"}
    return {"printed": printed, "failed": ""}


if __name__ == "__main__":
    path = Path(sys.argv[1])
    wanted = json.loads(path.read_text())
    if wanted["own_network"]:
        _raise_loopback()
    work = path.parent / wanted["place"]
    work.mkdir()
    os.chdir(work)
    os.environ["PATH"] = wanted["environment"]["PATH"]  # where commands are looked for
    path.with_name("answer.json").write_text(json.dumps(followed(wanted, work)))
