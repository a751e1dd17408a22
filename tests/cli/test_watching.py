"""Watching an execution: each task once, as a tree or as lines, and the exit code of its end."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

import conductor_py.cli.execution_watch as watching
from conductor_py.cli.execution_tree import Line, lines, shortened
from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer
from tests.ui import everything

_PATH = f"/api/workflow/{everything.ID}"
_WORK = everything.part("work", "SIMPLE")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "PAUSE_S", 0)


def at(status: str, *stood: str, **more: Any) -> Reply:
    """An execution whose task has been tried so often, each with its status."""
    listed = [everything.made(_WORK, seq, one) for seq, one in enumerate(stood, 1)]
    return Reply(200, {**everything.execution(status, [_WORK], listed), **more})


# -- lines -----------------------------------------------------------------------------------------


def test_each_task_is_told_once_when_it_has_ended(run: Run, stub: StubServer) -> None:
    stub.on(
        "GET",
        _PATH,
        at("RUNNING", "SCHEDULED"),
        at("RUNNING", "FAILED", "SCHEDULED"),
        at("PAUSED", "FAILED", "IN_PROGRESS"),
        at("COMPLETED", "FAILED", "COMPLETED"),
    )
    outcome = run("workflow", "get", everything.ID, "--watch")
    told = [line.split("Z  ")[1] for line in outcome.err.splitlines()]
    assert told == [
        "RUNNING",
        "work  SIMPLE  FAILED  700 ms",
        "PAUSED",
        "work  SIMPLE  COMPLETED  700 ms",
        "COMPLETED",
    ]
    assert "status    COMPLETED" in outcome.out
    assert "SIMPLE" not in outcome.out
    assert outcome.code == 0


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "TERMINATED"])
def test_the_exit_code_says_whether_it_did_its_work(
    run: Run, stub: StubServer, status: str
) -> None:
    stub.on("GET", _PATH, at(status, "FAILED", reasonForIncompletion="the disk is full"))
    stub.on("POST", "/api/workflow", Reply(200, everything.ID))
    watched = run("workflow", "get", everything.ID, "--watch")
    assert watched.code == 1
    assert f"{status}  the disk is full" in watched.err
    started = run("workflow", "start", "orders", "--watch")
    assert started.code == 1
    assert started.out.splitlines()[0] == everything.ID
    assert f"status    {status}" in started.out
    assert run("workflow", "get", everything.ID).code == 0


def test_for_programs_the_last_document_is_all_that_is_printed(run: Run, stub: StubServer) -> None:
    stub.on("GET", _PATH, at("RUNNING", "SCHEDULED"), at("COMPLETED", "COMPLETED"))
    stub.on("POST", "/api/workflow", Reply(200, everything.ID))
    outcome = run("workflow", "start", "orders", "--watch", "--json")
    assert json.loads(outcome.out)["status"] == "COMPLETED"


def test_for_programs_in_lines_each_task_that_ends_is_a_line(run: Run, stub: StubServer) -> None:
    stub.on(
        "GET",
        _PATH,
        at("RUNNING", "SCHEDULED"),
        at("RUNNING", "FAILED", "SCHEDULED"),
        at("COMPLETED", "FAILED", "COMPLETED"),
    )
    outcome = run("workflow", "get", everything.ID, "--watch", "--jsonl")
    told = [json.loads(line) for line in outcome.out.splitlines()]
    assert [each["status"] for each in told] == ["FAILED", "COMPLETED", "COMPLETED"]
    assert told[0]["referenceTaskName"] == "work"
    assert "tasks" in told[-1]
    assert outcome.err == ""


def test_who_stops_watching_is_told_that_it_goes_on(
    run: Run, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    stub.on("GET", _PATH, at("RUNNING", "SCHEDULED"))
    monkeypatch.setattr("time.sleep", interrupted)
    outcome = run("workflow", "get", everything.ID, "--watch")
    assert outcome.code == 1
    assert f"{everything.ID} goes on." in outcome.err


@pytest.mark.parametrize(("status", "code"), [("COMPLETED", 0), ("RUNNING", 0), ("FAILED", 1)])
def test_what_is_executed_or_tested_ends_with_its_exit_code(
    run: Run, stub: StubServer, status: str, code: int
) -> None:
    standing = {"targetWorkflowId": everything.ID, "targetWorkflowStatus": status, "output": {}}
    stub.on("POST", "/api/workflow/execute/orders/0", Reply(200, standing))
    stub.on("POST", "/api/workflow/test", at(status))
    assert run("workflow", "execute", "orders").code == code
    assert run("workflow", "test", "orders").code == code


# -- the tree --------------------------------------------------------------------------------------


def drawn(document: dict[str, Any], children: dict[str, Any] | None = None) -> list[str]:
    now_ms = everything.STARTED_AT + 100_000
    return [
        f"{'. ' * line.depth}{line.before} {line.status} {line.behind}".rstrip()
        for line in lines(document, children or {}, now_ms)
    ]


def test_tasks_stand_below_what_holds_them_with_their_newest_try_and_iteration() -> None:
    assert drawn(everything.nested()) == [
        "outer  DO_WHILE IN_PROGRESS 1 m 39 s  iteration 2",
        ". inner__2  DO_WHILE IN_PROGRESS 1 m 36 s  iteration 2",
        ". . work__2__1  SIMPLE IN_PROGRESS 1 m 33 s  try 4  iteration 1",
        ". fan__2  FORK_JOIN_DYNAMIC COMPLETED 700 ms  iteration 2",
        ". . deep__2  FORK_JOIN COMPLETED 700 ms  iteration 2",
        ". . . left__2  HTTP FAILED 700 ms  iteration 2",
        ". choice__2  DECISION COMPLETED 700 ms",
    ]


def test_branches_and_cases_stand_below_their_fork_and_switch() -> None:
    a, b, c = (everything.part(name, "SIMPLE") for name in "abc")
    switch = everything.part("s", "SWITCH", decisionCases={"x": [a]}, defaultCase=[b])
    fork = everything.part("f", "FORK_JOIN", forkTasks=[[switch], [c]])
    join = everything.part("j", "JOIN")
    listed = [
        everything.made(each, seq, "COMPLETED")
        for seq, each in enumerate((fork, switch, c, b, join), 1)
    ]
    assert [
        line.rpartition("  ")[0]
        for line in drawn(everything.execution("RUNNING", [fork, join], listed))
    ] == ["f", ". s", ". . b", ". c", "j"]


def test_the_tasks_of_a_sub_workflow_stand_below_it() -> None:
    call = everything.part("call", "SUB_WORKFLOW")
    made = everything.made(call, 1, "IN_PROGRESS", subWorkflowId=everything.CHILD)
    child = everything.execution("RUNNING", [_WORK], [everything.made(_WORK, 1, "SCHEDULED")])
    document = everything.execution("RUNNING", [call], [made])
    assert drawn(document, {everything.CHILD: child})[1].startswith(". work  SIMPLE SCHEDULED")


def test_odd_answers_are_drawn_all_the_same() -> None:
    shown = "\n".join(drawn(everything.odd()))
    assert "\n" + "a b" in shown
    assert "\\u202eevil" in shown
    assert len(drawn(everything.every_type_and_status())) == len(everything.TASK_TYPES) + len(
        everything.TASK_STATUSES
    )


@pytest.mark.parametrize("reference", [None, "", "b"])
def test_a_task_whose_definition_names_no_reference_is_drawn_by_its_own(
    reference: str | None,
) -> None:
    task = {
        "referenceTaskName": "a",
        "status": "COMPLETED",
        "workflowTask": {"taskReferenceName": reference, "type": "SIMPLE"},
    }
    (line,) = lines({"tasks": [task]}, {}, 0)
    assert line.before.startswith("a ")


def test_where_there_is_no_room_what_has_ended_is_left_out_first() -> None:
    def line(name: str, status: str) -> Line:
        return Line(depth=0, status=status, before=name, behind="")

    every = [
        *(line(f"done{n}", "COMPLETED") for n in range(5)),
        line("bad", "FAILED"),
        *(line(f"open{n}", "IN_PROGRESS") for n in range(3)),
    ]
    assert shortened(every, 9) == every
    assert [each.before for each in shortened(every, 5)] == [
        "bad",
        "open0",
        "open1",
        "open2",
        "… 5 more, not shown",
    ]
    assert [each.before for each in shortened(every, 2)] == ["bad", "… 8 more, not shown"]


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_sub_workflows_of_sub_workflows_are_drawn_too(
    run: Run, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, inner = (everything.part(name, "SUB_WORKFLOW") for name in ("call", "inner"))
    deepest = everything.ID[:-1] + "8"

    def calls(part: dict[str, Any], child: str) -> Reply:
        made = everything.made(part, 1, "COMPLETED", subWorkflowId=child)
        return Reply(200, everything.execution("COMPLETED", [part], [made]))

    stub.on("GET", _PATH, calls(call, everything.CHILD))
    stub.on("GET", f"/api/workflow/{everything.CHILD}", calls(inner, deepest))
    stub.on("GET", f"/api/workflow/{deepest}", at("COMPLETED", "COMPLETED"))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert run("workflow", "get", everything.ID, "--watch").code == 0
    assert "      work  SIMPLE  " in terminal.getvalue()


def test_on_a_terminal_the_tree_is_drawn_with_sub_workflows_until_the_end(
    run: Run, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = everything.part("call", "SUB_WORKFLOW")

    def stands(status: str, task: str) -> Reply:
        made = everything.made(call, 1, task, subWorkflowId=everything.CHILD)
        return Reply(200, everything.execution(status, [call], [made]))

    stub.on("GET", _PATH, stands("RUNNING", "IN_PROGRESS"), stands("COMPLETED", "COMPLETED"))
    stub.on("GET", f"/api/workflow/{everything.CHILD}", at("COMPLETED", "COMPLETED"))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert run("workflow", "get", everything.ID, "--watch").code == 0
    shown = terminal.getvalue()
    assert "call  SUB_WORKFLOW  " in shown
    assert "work  SIMPLE  " in shown
    assert len(stub.seen("GET", f"/api/workflow/{everything.CHILD}")) == 1
