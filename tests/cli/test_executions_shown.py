"""What ``workflow get`` says of an execution: every type, status, iteration, try and reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer
from tests.ui import everything

_ID = everything.ID


def _shown(run: Run, stub: StubServer, document: dict[str, Any], *options: str) -> str:
    stub.on("GET", f"/api/workflow/{_ID}", Reply(200, document))
    outcome = run("workflow", "get", _ID, *options)
    assert outcome.code == 0
    return outcome.out


def _line(shown: str, ref: str) -> str:
    (line,) = (each for each in shown.splitlines() if each.split()[:1] == [ref])
    return line


def test_every_type_and_every_status_is_named(run: Run, stub: StubServer) -> None:
    shown = _shown(run, stub, everything.every_type_and_status())
    for kind in everything.TASK_TYPES:
        assert kind in _line(shown, f"t_{kind.lower()}").split()
    for status in everything.TASK_STATUSES:
        line = _line(shown, f"s_{status.lower()}")
        assert status in line.split()
        assert line.endswith("because")


@pytest.mark.parametrize("status", everything.WORKFLOW_STATUSES)
def test_every_status_of_an_execution_is_named(run: Run, stub: StubServer, status: str) -> None:
    document = everything.execution(status, [], [])
    assert f"status    {status}\n" in _shown(run, stub, document)


def test_iterations_tries_and_superseded_ones_are_told_apart(run: Run, stub: StubServer) -> None:
    shown = _shown(run, stub, everything.nested())
    tries = [line for line in shown.splitlines() if line.startswith("work__2__1")]
    assert ["FAILED (superseded)" in line for line in tries] == [True, False, False]
    assert "TIMED_OUT (superseded)" in tries[1]
    assert "IN_PROGRESS" in tries[2]
    assert [line.partition(")")[2].strip()[:1] for line in tries[:1]] != [""]
    assert "2" in _line(shown, "inner__2").split()


def test_what_it_belongs_to_is_said(run: Run, stub: StubServer) -> None:
    shown = _shown(run, stub, everything.odd())
    assert f"parent    {everything.CHILD}" in shown
    assert f"rescue    {everything.CHILD}" in shown
    assert 'about     a "quoted" one' in shown
    assert "waits     for its turn" in shown


def test_children_are_named(run: Run, stub: StubServer) -> None:
    shown = _shown(run, stub, everything.every_type_and_status())
    assert everything.CHILD in _line(shown, "t_sub_workflow")
    assert everything.CHILD in _line(shown, "t_start_workflow")
