"""Users' own workflows under faults: what they say of workers is done, and stuck ones are found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from conductor_py.cli.simulate import simulate as command
from conductor_py.errors import InvalidInput
from conductor_py.model.status import TaskStatus
from conductor_py.testing.simulation.own import (
    TaskBehaviour,
    behave_as,
    own_scenario,
    read_behaviours,
)
from conductor_py.testing.simulation.world import World
from tests.builders import Json, policy, wait, workflow

_ORDER = workflow("order", policy("charge", retryCount=3), wait("later", duration="3 days"))


def _files(folder: Path, **documents: object) -> dict[str, str]:
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return {name: str(folder / f"{name}.json") for name in documents}


def _statuses(definition: Json, behaviours: dict[str, Json], seed: int) -> list[str]:
    behave = behave_as(read_behaviours(behaviours), seed)
    run = World(own_scenario([definition], seed), behave=behave).run()
    assert not run.violations
    return [str(document["status"]) for document in run.outcomes.values()]


@pytest.mark.parametrize("seed", range(4))
def test_a_workflow_of_days_ends_in_a_moment(seed: int) -> None:
    assert _statuses(_ORDER, {"charge": {"failTimes": 2}}, seed) == ["COMPLETED"] * 2


def test_workers_do_what_they_are_told() -> None:
    assert _statuses(_ORDER, {"charge": {"failTimes": 9}}, 0) == ["FAILED"] * 2
    ends = {"charge": {"status": "FAILED_WITH_TERMINAL_ERROR"}}
    assert _statuses(_ORDER, ends, 0) == ["FAILED"] * 2


def test_a_task_that_never_comes_to_an_end_is_found() -> None:
    endless = workflow("endless", policy("a", retryCount=0, timeoutSeconds=0))

    def never(_: object) -> object:
        from conductor_py.testing.simulation.clients import Behaviour

        return Behaviour(status=TaskStatus.IN_PROGRESS, callback_s=3_600)

    scenario = replace(own_scenario([endless], 0), calm_s=6 * 3_600)
    run = World(scenario, behave=never).run()  # type: ignore[arg-type]
    assert [found.invariant for found in run.violations][:1] == ["liveness"]
    assert "open: a a" in run.violations[0].sentence


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], ""),
        ({"a": 3}, "$.a"),
        ({"a": {"second": 3}}, "$.a.second"),
        ({"a": {"status": "IN_PROGRESS"}}, "$.a.status"),
        ({"a": {"failureRate": 2}}, "$.a.failureRate"),
        ({"a": {"failTimes": True}}, "$.a.failTimes"),
        ({"a": {"output": []}}, "$.a.output"),
    ],
)
def test_behaviours_that_are_wrong_are_refused_where(body: object, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_behaviours(body)
    assert [found.path for found in refused.value.violations] == ([path] if path else [])


def test_behaviours_are_read() -> None:
    found = read_behaviours({"a": {"status": "FAILED", "output": {"x": 1}, "seconds": 2}})
    wanted = TaskBehaviour(status=TaskStatus.FAILED, output={"x": 1}, seconds=2.0)
    assert found == {"a": wanted}


def test_command_prints_what_came_of_each_seed(tmp_path: Path) -> None:
    files = _files(tmp_path, order=_ORDER, tasks={"charge": {"failTimes": 9}}, input={"v": 1})
    arguments = [files["order"], "--seeds", "2", "--tasks", files["tasks"]]
    found = CliRunner().invoke(command, [*arguments, "--input", files["input"]])
    assert found.exit_code == 0, found.output
    assert found.stdout.count("2 FAILED") == 2
    assert found.stdout.splitlines()[0].split()[:2] == ["seed", "weather"]


def test_command_traces_in_words(tmp_path: Path) -> None:
    files = _files(tmp_path, order=_ORDER)
    asked = [files["order"], "--seed", "1", "--seeds", "1", "--executions", "1", "--trace"]
    found, again = (CliRunner().invoke(command, asked) for _ in range(2))
    assert "hands charge(1) of E1" in found.stdout
    assert found.stdout == again.stdout


def test_command_refuses_what_is_no_workflow(tmp_path: Path) -> None:
    files = _files(tmp_path, task={"name": "a"}, bad=workflow("w", {"name": "a"}))
    assert isinstance(CliRunner().invoke(command, [files["task"]]).exception, InvalidInput)
    assert isinstance(CliRunner().invoke(command, [files["bad"]]).exception, InvalidInput)
