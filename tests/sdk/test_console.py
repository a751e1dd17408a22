"""What a worker's program shows on stderr without a word about logging, and what it does not."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from conductor_py.errors import ClaimLost, StoreUnavailable
from conductor_py.sdk.console import FactsFormatter
from conductor_py.sdk.outage import Outage
from tests.sdk.stub import Reply, TaskQueue
from tests.sdk.tasks import polled
from tests.services.ports import free_port
from tests.waiting import PATIENCE_S

_PROGRAM = """
    import logging
    import sys
    from conductor_py.sdk import Client, Worker, worker_task

    {before}

    @worker_task("greet", poll_timeout_ms=50)
    def work(name: str) -> str:
        return "hello " + name

    with Worker(Client(sys.argv[1]), [work]):
        {inside}
        sys.stdin.readline()
"""


class Program:
    """A worker's program that ends when it is told to."""

    def __init__(self, url: str, before: str = "", inside: str = "") -> None:
        text = textwrap.dedent(_PROGRAM).format(before=before, inside=inside)
        self._process = subprocess.Popen(
            [sys.executable, "-c", text, url],
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        self._lines = iter(self._process.stderr.readline, "")
        self.seen: list[str] = []

    def line_with(self, text: str) -> str:
        for line in self._lines:
            self.seen.append(line)
            if text in line:
                return line
        raise AssertionError(f"no line says {text!r}: {self.seen}")

    def end(self) -> list[str]:
        """All that it has said."""
        _, rest = self._process.communicate("\n", timeout=PATIENCE_S)
        return [*self.seen, *rest.splitlines()]

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    begun: list[Program] = []
    yield begun
    for program in begun:
        program.kill()


def _start(programs: list[Program], url: str, **told: str) -> Program:
    programs.append(Program(url, **told))
    return programs[-1]


def test_a_worker_says_its_server_and_its_task_types(stub, programs):
    tasks = TaskQueue(stub)
    program = _start(programs, stub.url)
    line = program.line_with("the worker has started")
    assert f"server={stub.url}" in line
    assert "task_types=greet" in line
    tasks.put(polled(inputData={"name": "world"}))
    tasks.next_report()
    assert [line.split()[1] for line in program.end()] == ["INFO", "INFO"]


@pytest.mark.thorough(target="stories")
def test_a_server_that_is_away_is_said_once_with_the_reason_and_once_when_it_is_back(
    stub, programs
):
    tasks = TaskQueue(stub)
    stub.on(
        "GET",
        "/api/tasks/poll/batch/greet",
        *[Reply(503, {"message": "Redis does not answer"})] * 3,
        tasks._poll,
    )
    program = _start(programs, stub.url)
    line = program.line_with("polls fail")
    assert "WARNING" in line
    assert "Redis does not answer" in line
    assert "task_type=greet" in line
    program.line_with("polls are answered again")
    assert sum("polls" in line for line in program.end()) == 2


def test_a_url_at_which_nothing_listens_is_named(programs):
    url = f"http://127.0.0.1:{free_port()}/api"
    line = _start(programs, url).line_with("polls fail")
    assert url in line
    assert "nothing listens" in line


def test_a_report_that_is_refused_is_said_with_the_reason(stub, programs):
    tasks = TaskQueue(stub)
    stub.on("POST", "/api/tasks", Reply(409, {"message": "another attempt holds it"}))
    program = _start(programs, stub.url)
    tasks.put(polled(inputData={"name": "world"}))
    line = program.line_with("another attempt holds it")
    assert "task_id=t-1" in line


@pytest.mark.parametrize(
    "before",
    [
        "logging.basicConfig(level='INFO', format='own %(message)s')",
        "logging.getLogger('conductor_py').addHandler(logging.NullHandler())",
    ],
)
def test_logging_that_the_program_has_configured_is_left_alone(stub, programs, before):
    tasks = TaskQueue(stub)
    program = _start(programs, stub.url, before=before)
    tasks.put(polled(inputData={"name": "world"}))
    tasks.next_report()
    own = ["own the worker has started", "own the worker has stopped"]
    assert program.end() == (own if "basicConfig" in before else [])


def test_logging_that_is_configured_later_takes_over(stub, programs):
    TaskQueue(stub)
    later = "logging.basicConfig(level='INFO', format='own %(message)s')"
    program = _start(programs, stub.url, inside=later)
    program.line_with("the worker has started")
    assert program.end()[1:] == ["own the worker has stopped"]


def test_a_level_that_the_program_has_chosen_holds(stub, programs):
    tasks = TaskQueue(stub)
    quiet = "logging.getLogger('conductor_py').setLevel('ERROR')"
    program = _start(programs, stub.url, before=quiet)
    tasks.put(polled(inputData={"name": "world"}))
    tasks.next_report()
    assert program.end() == []


def test_a_line_names_the_reason_and_what_it_is_about():
    record = logging.makeLogRecord({"msg": "polls fail", "levelname": "WARNING", "levelno": 30})
    vars(record).update(action="a", error="nothing listens", task_type="greet", domain=None)
    line = FactsFormatter().format(record).partition(" ")[2]
    assert line == "WARNING polls fail: nothing listens (task_type=greet)"


def test_an_outage_is_said_when_it_begins_when_its_kind_changes_and_when_it_ends(caplog):
    caplog.set_level(logging.DEBUG)
    outage = Outage(logging.getLogger("tests.outage"), "fails", "works again")
    outage.ended({})
    for error in (StoreUnavailable("a"), StoreUnavailable("b"), ClaimLost("c"), ClaimLost("d")):
        outage.failed(error, {"action": "x"})
    outage.ended({})
    outage.ended({})
    outage.failed(StoreUnavailable("e"), {})

    said = [
        getattr(record, "error", record.message)
        for record in caplog.records
        if record.levelno > logging.DEBUG
    ]
    assert said == ["a", "c", "works again", "e"]


def test_an_error_that_nobody_expected_is_said_once_with_its_traceback(caplog):
    caplog.set_level(logging.DEBUG)
    outage = Outage(logging.getLogger("tests.outage"), "fails", "works again")
    for _ in range(2):
        outage.failed(RuntimeError("can't start new thread"), {})
    first, second = caplog.records
    assert (first.levelno, second.levelno) == (logging.WARNING, logging.DEBUG)
    assert vars(first)["error"] == "RuntimeError: can't start new thread"
    assert first.exc_info
