"""A process hears that it is to end, whoever has the signal handlers, and with its parent."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from conductor_py.processes.stopping import JOINED_S, join_all
from conductor_py.processes.supervision import ChildSpec
from tests.services.processes import is_running
from tests.waiting import PATIENCE_S, until

_LISTENER = """
import signal, sys, threading
from conductor_py.processes.stopping import stop_on_signals
stop = threading.Event()
stop_on_signals(stop, install=sys.argv[1] == "own")
if sys.argv[1] != "own":
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
print("listens", flush=True)
stop.wait()
print("stopped", flush=True)
"""
_PARENT = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
sys.stdin.read()
"""
_CHILD = """
import sys
from conductor_py.processes.stopping import end_with_parent
end_with_parent()
print("bound", flush=True)
sys.stdin.read() if sys.stdin else None
import threading
threading.Event().wait()
"""
_DEAF = """
import os, signal, threading
from conductor_py.processes.stopping import end_after_stop, stop_on_signals
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: None)
stop_on_signals(stop, install=False)
os.kill(os.getpid(), signal.SIGTERM)
print("serves", flush=True)
end_after_stop(stop, 0.2)
threading.Event().wait()
"""
_IMPATIENT = """
import os, signal
from conductor_py.processes.http_server import heed_the_first_stop
heed_the_first_stop()
from granian._signals import set_sync_signals
set_sync_signals()
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
    os.kill(os.getpid(), number)
print("goes on", flush=True)
"""
Run = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def run() -> Iterator[Run]:
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("handlers", ["own", "others"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_event(run: Run, handlers: str, number: int) -> None:
    process = run(_LISTENER, handlers)
    assert process.stdout is not None
    assert process.stdout.readline() == "listens\n"

    process.send_signal(number)

    assert process.stdout.readline() == "stopped\n"
    assert process.wait(PATIENCE_S) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
def test_a_process_ends_with_its_parent(run: Run) -> None:
    parent = run(_PARENT, _CHILD)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())

    parent.kill()

    until(lambda: not is_running(child), what="the child is gone")


def test_a_process_that_heard_its_signal_too_early_for_others_ends_all_the_same(run: Run) -> None:
    process = run(_DEAF)
    assert process.stdout is not None
    assert process.stdout.readline() == "serves\n"

    assert process.wait(PATIENCE_S) == 0


def test_a_web_server_that_hears_stop_again_and_again_does_not_wait_for_itself(run: Run) -> None:
    process = run(_IMPATIENT)
    assert process.stdout is not None
    until(lambda: process.poll() is not None, what="it has ended")
    assert (process.stdout.read(), process.returncode) == ("goes on\n", 0)


class _Endless(threading.Thread):
    """A thread that never ends, under a clock that waiting for it moves."""

    def __init__(self, clock: list[float]) -> None:
        super().__init__()
        self._clock = clock

    def join(self, timeout: float | None = None) -> None:
        assert timeout is not None
        self._clock[0] += timeout


def test_scripts_that_never_end_hold_a_process_no_longer_than_its_supervisor_waits() -> None:
    clock = [0.0]
    join_all([_Endless(clock) for _ in range(20)], monotonic=lambda: clock[0])
    assert clock[0] == JOINED_S
    given_s = ChildSpec(name="sweeper", argv=()).stop_timeout_ms / 1000
    assert given_s / 2 >= JOINED_S
