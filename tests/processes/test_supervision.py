"""The supervisor, run as a real process over real children that report what happens to them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor_py.processes.supervision import RestartPolicy
from conductor_py.processes.tether import tethered
from tests.services.processes import is_running
from tests.waiting import PATIENCE_S, until

_SUPERVISOR = """
import json, sys
from conductor_py.processes.supervision import ChildSpec, RestartPolicy, Supervisor
children, policy = json.loads(sys.argv[1])
specs = [ChildSpec(**{**child, "argv": tuple(child["argv"])}) for child in children]
sys.exit(Supervisor(specs, RestartPolicy(**policy)).run())
"""
#: Before the supervisor: a clock that jumps over every deadline once the file says that a child
#: stops.
_JUMPING = """
import time
from conductor_py.processes import supervision
class Clock:
    jumped = 0
    def monotonic():
        Clock.jumped += 7200 * (" stops " in open({journal!r}).read())
        return time.monotonic() + Clock.jumped
supervision.time = Clock
"""
#: Before the supervisor: a machine on which so many starts of the child "scarce" fail.
_SCARCE = """
import errno, subprocess
popen, left = subprocess.Popen, [errno.EAGAIN] * {refusals}
def start(command, **options):
    if "scarce" in command and left:
        raise OSError(left.pop(), "Resource temporarily unavailable")
    return popen(command, **options)
subprocess.Popen = start
"""
#: Writes a line when it starts and when it is told to stop, and how it is asked to end.
_CHILD = """
import os, signal, sys
name, journal, end = sys.argv[1:]
def note(what):
    with open(journal, "a") as file:
        file.write(f"{name} {what} {os.getpid()}\\n")
def stop(number, frame):
    note("stops")
    if end != "stubborn":
        sys.exit(0)
signal.signal(signal.SIGTERM, stop)
note("starts")
if end.startswith("exit "):
    sys.exit(int(end[5:]))
if end == "crash":
    os.kill(os.getpid(), signal.SIGKILL)
if end == "family" and os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note("forked")
while True:
    signal.pause()
"""
#: An hour is what no test lives to see.
_NEVER_MS = 3_600_000
_QUICK = {"first_ms": 10, "longest_ms": 20, "stable_ms": _NEVER_MS, "give_up_after": 4}


class Journal:
    """What the children wrote, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def child(self, name: str, end: str = "", **more: object) -> dict[str, object]:
        argv = [sys.executable, "-c", _CHILD, name, str(self.path), end]
        return {"name": name, "argv": argv, "stop_timeout_ms": _NEVER_MS, **more}

    def lines(self) -> list[tuple[str, str, int]]:
        rows = [line.split() for line in self.path.read_text().splitlines()]
        return [(name, what, int(pid)) for name, what, pid in rows]

    def events(self, what: str) -> list[str]:
        return [name for name, event, _ in self.lines() if event == what]

    def pids(self) -> set[int]:
        return {pid for _, _, pid in self.lines()}


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    path = tmp_path / "journal"
    path.touch()
    return Journal(path)


Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def supervise() -> Iterator[Start]:
    running: list[subprocess.Popen[bytes]] = []

    def start(
        *children: dict[str, object], before: str = "", **policy: int
    ) -> subprocess.Popen[bytes]:
        plan = json.dumps([children, {**_QUICK, **policy}])
        running.append(subprocess.Popen([sys.executable, "-c", before + _SUPERVISOR, plan]))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()


def _gone(journal: Journal) -> bool:
    return not any(is_running(pid) for pid in journal.pids())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_children_the_last_one_first(
    journal: Journal, supervise: Start, number: int
) -> None:
    process = supervise(journal.child("store"), journal.child("api"), journal.child("sweeper"))
    until(lambda: len(journal.events("starts")) == 3)

    process.send_signal(number)

    assert process.wait(PATIENCE_S) == 0
    assert journal.events("stops") == ["sweeper", "api", "store"]
    assert _gone(journal)


def test_a_child_that_dies_is_started_again(journal: Journal, supervise: Start) -> None:
    process = supervise(journal.child("api"), journal.child("sweeper"))
    until(lambda: len(journal.events("starts")) == 2)
    (victim,) = [pid for name, _, pid in journal.lines() if name == "api"]

    os.kill(victim, signal.SIGKILL)

    until(lambda: journal.events("starts").count("api") == 2)
    assert journal.events("starts").count("sweeper") == 1
    process.terminate()
    assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(("end", "code"), [("exit 7", 7), ("exit 0", 0), ("crash", 137)])
def test_a_child_that_cannot_stay_up_ends_all_with_its_code(
    journal: Journal, supervise: Start, end: str, code: int
) -> None:
    process = supervise(journal.child("steady"), journal.child("failing", end))

    assert process.wait(PATIENCE_S) == code
    assert journal.events("starts").count("failing") == _QUICK["give_up_after"]
    assert _gone(journal)


def test_a_child_that_could_not_be_started_is_started_later(
    journal: Journal, supervise: Start
) -> None:
    process = supervise(
        journal.child("steady"), journal.child("scarce"), before=_SCARCE.format(refusals=2)
    )

    until(lambda: sorted(journal.events("starts")) == ["scarce", "steady"])

    process.terminate()
    assert process.wait(PATIENCE_S) == 0


def test_a_child_that_never_can_be_started_ends_all(journal: Journal, supervise: Start) -> None:
    never = _SCARCE.format(refusals=_QUICK["give_up_after"])
    process = supervise(journal.child("steady"), journal.child("scarce"), before=never)

    assert process.wait(PATIENCE_S) == os.EX_OSERR
    assert "scarce" not in journal.events("starts")
    assert _gone(journal)


def test_a_child_that_lived_long_enough_has_a_clean_slate(
    journal: Journal, supervise: Start
) -> None:
    process = supervise(journal.child("failing", "exit 7"), stable_ms=0)

    until(lambda: len(journal.events("starts")) > 2 * _QUICK["give_up_after"])

    process.terminate()
    assert process.wait(PATIENCE_S) == 0


def test_a_wrong_configuration_is_not_tried_again(journal: Journal, supervise: Start) -> None:
    process = supervise(journal.child("steady"), journal.child("failing", "exit 2"))

    assert process.wait(PATIENCE_S) == 2
    assert journal.events("starts").count("failing") == 1
    assert _gone(journal)


def test_the_end_of_a_child_without_restart_is_the_end_of_all(
    journal: Journal, supervise: Start
) -> None:
    process = supervise(journal.child("steady"), journal.child("once", "exit 3", restart=False))

    assert process.wait(PATIENCE_S) == 3
    assert journal.events("starts").count("once") == 1
    assert _gone(journal)


def test_a_child_that_does_not_stop_is_killed_at_its_deadline(
    journal: Journal, supervise: Start
) -> None:
    clock = _JUMPING.format(journal=str(journal.path))
    process = supervise(journal.child("stubborn", "stubborn"), before=clock)
    until(lambda: journal.events("starts"))

    process.terminate()

    assert process.wait(PATIENCE_S) == 1
    assert journal.events("stops") == ["stubborn"]
    assert _gone(journal)


def test_a_second_signal_does_not_wait_for_the_deadline(journal: Journal, supervise: Start) -> None:
    process = supervise(journal.child("stubborn", "stubborn"))
    until(lambda: journal.events("starts"))

    process.terminate()
    until(lambda: journal.events("stops"))
    process.terminate()

    assert process.wait(PATIENCE_S) == 1
    assert _gone(journal)


def test_nothing_is_left_of_a_child_that_had_children(journal: Journal, supervise: Start) -> None:
    process = supervise(journal.child("family", "family"))
    until(lambda: journal.events("forked"))

    process.terminate()

    assert process.wait(PATIENCE_S) == 0
    until(lambda: _gone(journal))


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's signal is Linux's")
def test_killing_the_supervisor_ends_its_children(journal: Journal, supervise: Start) -> None:
    process = supervise(journal.child("api"), journal.child("sweeper"))
    until(lambda: len(journal.events("starts")) == 2)

    process.kill()

    until(lambda: _gone(journal))
    assert sorted(journal.events("stops")) == ["api", "sweeper"]


_TETHERING = """
import subprocess, sys
from conductor_py.processes.tether import tethered
subprocess.run(tethered(sys.argv[2:], mode=sys.argv[1]))
"""


@pytest.mark.parametrize("mode", ["kernel", "watch"])
def test_a_tethered_process_is_told_to_stop_when_its_parent_is_killed(
    journal: Journal, mode: str
) -> None:
    child = journal.child("child")["argv"]
    assert isinstance(child, list)
    parent = subprocess.Popen([sys.executable, "-c", _TETHERING, mode, *child])
    until(lambda: journal.events("starts"))

    parent.kill()
    parent.wait()

    until(lambda: journal.events("stops") == ["child"])
    until(lambda: _gone(journal))


@pytest.mark.parametrize(
    ("mode", "end", "code"),
    [
        ("kernel", "exit 7", 7),
        ("watch", "exit 7", 7),
        ("kernel", "crash", -9),
        ("watch", "crash", 137),
    ],
)
def test_a_tethered_process_hands_its_exit_code_on(
    journal: Journal, mode: str, end: str, code: int
) -> None:
    child = journal.child("child", end)["argv"]
    assert isinstance(child, list)

    assert subprocess.run(tethered(child, mode=mode), check=False).returncode == code


@pytest.mark.parametrize("mode", ["kernel", "watch"])
def test_a_tethered_process_gets_the_signals_of_its_owner(journal: Journal, mode: str) -> None:
    child = journal.child("child")["argv"]
    assert isinstance(child, list)
    process = subprocess.Popen(tethered(child, mode=mode))
    until(lambda: journal.events("starts"))

    process.terminate()

    assert process.wait(PATIENCE_S) == 0
    assert journal.events("stops") == ["child"]


#: Watches over a command, and gets a signal before it knows that the command runs.
_TOLD_EARLY = """
import os, signal, subprocess, sys
from conductor_py.processes import tether
popen, journal = subprocess.Popen, sys.argv[1]
def start(*given, **named):
    process = popen(*given, **named)
    while "starts" not in open(journal).read():
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    return process
subprocess.Popen = start
sys.exit(tether._watch(os.getppid(), sys.argv[2:]))
"""


def test_a_signal_that_comes_while_the_command_is_started_is_passed_on(journal: Journal) -> None:
    child = journal.child("child")["argv"]
    assert isinstance(child, list)

    with subprocess.Popen([sys.executable, "-c", _TOLD_EARLY, str(journal.path), *child]) as watch:
        assert watch.wait(PATIENCE_S) == 0

    assert journal.events("stops") == ["child"]


@pytest.mark.parametrize("mode", ["kernel", "watch"])
def test_a_command_that_does_not_exist_is_named(mode: str) -> None:
    result = subprocess.run(
        tethered(["/nowhere/at-all"], mode=mode), check=False, capture_output=True, text=True
    )

    assert result.returncode == 1
    assert "/nowhere/at-all" in result.stderr


def test_the_wait_doubles_up_to_the_longest() -> None:
    policy = RestartPolicy(first_ms=200, longest_ms=1_000)

    assert [policy.delay_ms(deaths) for deaths in (1, 2, 3, 4, 500)] == [200, 400, 800, 1000, 1000]
