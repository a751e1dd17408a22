"""What web servers for WSGI cost, before an application that does nothing, in turns.

.venv/bin/python benchmarks/web_servers.py [TURNS]

Eight clients keep a connection each and send what a worker sends. CPU is of all processes of a
server. The servers are fetched once, into the cache that the tests have.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT))

from benchmarks.clients import Http  # noqa: E402 - found where this file is
from benchmarks.machine import cost_of  # noqa: E402
from benchmarks.peers.child import environment  # noqa: E402
from benchmarks.web_server_child import SERVERS  # noqa: E402
from tests.services.ports import free_port  # noqa: E402
from tests.services.processes import answers, die_with_parent  # noqa: E402
from tests.waiting import until  # noqa: E402

_PACKAGES = ("granian==2.8.7", "waitress==3.0.2", "cheroot==11.1.2", "gunicorn==27.0.1")
_CHILD = _ROOT / "benchmarks" / "web_server_child.py"
_CLIENTS = 8
_REQUESTS = 500
_TASK = {"workflowInstanceId": "w" * 36, "taskId": "t" * 36, "status": "COMPLETED"}


def main(turns: int = 8) -> int:
    """Measure and print a table: CPU of a request, and requests a second."""
    programs = environment(*_PACKAGES)
    with ExitStack() as stack:
        served = {name: stack.enter_context(_serving(programs, name)) for name in SERVERS}
        for port, _ in served.values():
            _load(port)
        taken = [{name: _turn(*each) for name, each in served.items()} for _ in range(turns)]
    print("| server | CPU of a request (ms) | of granian's | requests (/s) |")
    print("|---|---:|---:|---:|")
    for name in SERVERS:
        print(_row(name, taken))
    return 0


def _row(name: str, taken: list[Mapping[str, tuple[float, float]]]) -> str:
    first = next(iter(SERVERS))
    spent = statistics.median(turn[name][0] for turn in taken)
    times = statistics.median(turn[name][0] / turn[first][0] for turn in taken)
    rate = statistics.median(turn[name][1] for turn in taken)
    return f"| {name} | {spent:.3f} | {times:.2f} | {rate:,.0f} |"


def _turn(port: int, pid: int) -> tuple[float, float]:
    before, began = cost_of(pid).cpu_ms, time.monotonic()
    _load(port)
    seconds = time.monotonic() - began
    requests = _CLIENTS * _REQUESTS
    return (cost_of(pid).cpu_ms - before) / requests, requests / seconds


def _load(port: int) -> None:
    clients = [threading.Thread(target=_ask, args=(port,)) for _ in range(_CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()


def _ask(port: int) -> None:
    with Http(port) as http:
        for _ in range(_REQUESTS):
            http.json("POST", "/tasks", _TASK)


@contextmanager
def _serving(programs: Path, name: str) -> Iterator[tuple[int, int]]:
    port = free_port()
    process = subprocess.Popen(
        (str(programs / "python"), str(_CHILD), name, str(port)),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, libc already loaded
    )
    try:
        until(lambda: answers(port), what=f"{name} listens")
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
