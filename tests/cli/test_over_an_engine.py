"""Commands over a real engine: what is not there, and what was done by half, is said so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import dag, simple, sub_workflow
from tests.cli.conftest import Run
from tests.sdk.bridge import Bridge
from tests.sdk.stub import StubServer


@pytest.fixture
def bridge(stub: StubServer) -> Bridge:
    return Bridge(stub)


def _saved(run: Run, file: Path, name: str, *more: str, version: int | None = None) -> None:
    document = dag(name, [simple("a"), simple("b")], "a > b")
    file.write_text(
        json.dumps({key: value for key, value in document.items() if key != "version"})
        if version is None
        else json.dumps(document | {"version": version})
    )
    noun = ("dag", "save") if version is None else ("definition", "register")
    outcome = run(*noun, str(file), *more)
    assert outcome.code == 0, outcome.err


@pytest.mark.usefixtures("bridge")
def test_a_schedule_that_is_not_there_is_not_said_to_be_removed(run: Run) -> None:
    request = {"name": "report"}
    document = {"name": "nightly", "cronExpression": "0 0 3 * * *", "startWorkflowRequest": request}
    assert run("schedule", "save", json.dumps(document)).code == 0

    wrong = run("schedule", "delete", "totally-wrong")
    assert (wrong.code, "is removed" in wrong.err) == (1, False)
    assert "totally-wrong" in wrong.err

    assert "schedule nightly is removed" in run("schedule", "delete", "nightly").err
    assert run("schedule", "delete", "nightly").code == 1


@pytest.mark.usefixtures("bridge")
def test_a_schedule_is_warned_about_with_what_its_workflow_lacks(run: Run, tmp_path: Path) -> None:
    _saved(run, tmp_path / "uk.json", "uk")
    _saved(run, tmp_path / "day_job.json", "day_job", version=1)

    def warned(**request: object) -> str:
        document = {
            "name": "s",
            "cronExpression": "0 0 3 * * *",
            "startWorkflowRequest": request,
        }
        outcome = run("schedule", "save", json.dumps(document))
        assert outcome.code == 0
        return outcome.err

    assert "workflow uk is saved in the catalog, but not published: no instant" in warned(name="uk")
    assert "workflow day_job is registered, but not with version 77: no instant" in warned(
        name="day_job", version=77
    )
    assert "workflow none is not registered: no instant" in warned(name="none", version=2)
    assert "warning" not in warned(name="day_job", version=1)


@pytest.mark.usefixtures("bridge")
def test_a_version_whose_publication_is_refused_is_said_to_be_saved(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "etl.json"
    document = dag("etl", [simple("a"), sub_workflow("b", "missing")], "a > b")
    file.write_text(json.dumps({key: each for key, each in document.items() if key != "version"}))

    refused = run("dag", "save", str(file), "--publish")

    code = json.loads(run("dag", "list", "--json").out)[0]["code"]
    assert (refused.code, refused.out) == (1, "")
    first, second = refused.err.splitlines()[:2]
    assert first == f"etl ({code}) is saved as version 1, not published:"
    assert second.startswith("Error: ")
    assert "$.tasks[1].subWorkflowParam.name" in refused.err
    assert run("dag", "get", "etl").code == 0


def test_logs_tell_a_task_that_logged_nothing_from_one_that_is_not_there(
    run: Run, bridge: Bridge
) -> None:
    execution = bridge.start()
    task = bridge.poll().task_id

    silent = run("task", "logs", task)
    assert (silent.code, silent.out, silent.err) == (0, "", f"{task} has logged nothing.\n")
    assert json.loads(run("task", "logs", task, "--json").out) == []

    wrong = run("task", "logs", f"{execution}-99")
    assert (wrong.code, wrong.out) == (1, "")
    assert f"No such task found by id: {execution}-99" in wrong.err


def test_what_is_removed_is_said_to_be_in_the_archive_as_long_as_it_is(
    run: Run, bridge: Bridge
) -> None:
    execution = bridge.start()
    bridge.engine.engine.executions.terminate(execution, reason=None)
    bridge.engine.settle()

    for _ in range(2):  # the second time it is in the archive only already
        kept = run("workflow", "remove", execution)
        assert (kept.code, "removed." in kept.err) == (0, False)
        assert f"{execution} is in the archive only, where searches and reads still" in kept.err
        assert "--no-archive" in kept.err
        assert run("workflow", "get", execution).code == 0

    gone = run("workflow", "remove", execution, "--no-archive")
    assert f"{execution} is removed, and not in the archive any more." in gone.err
    assert run("workflow", "get", execution).code == 1
