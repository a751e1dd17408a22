"""The command that runs seeds: figures, a report, and an exit code that tells."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conductor_py.testing.simulation import runner
from conductor_py.testing.simulation.faults import Fault, Kind
from conductor_py.testing.simulation.findings import Violation
from conductor_py.testing.simulation.runner import differences, main, simulate, simulate_many
from conductor_py.testing.simulation.runs import Run
from conductor_py.testing.simulation.world import World
from tests.builders import workflow
from tests.simulation.planted import PLANTED
from tests.simulation.scenes import scene, task

_QUICK = ["--jobs", "1", "--no-shrink"]


def test_figures_are_printed_and_the_report_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "simulation.md"
    asked = ["--seeds", "6", "--from", "40", "--report", str(page), "--commit", "abc123", *_QUICK]
    assert main(asked) == 0
    said, written = capsys.readouterr().out, page.read_text()
    assert "decisions committed" in said
    assert "`make simulate SEEDS=6 FROM=40`" in written
    assert "- commit: `abc123`" in written
    assert "| seeds | 6 |" in written
    assert "| failures | 0 |" in written


def test_a_failure_is_named_and_the_exit_code_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bug = next(one for one in PLANTED if one.name == "confirms_before_it_archives")
    bug.plant(monkeypatch)
    page = tmp_path / "simulation.md"
    assert main(["--seeds", "20", "--fail-fast", "--report", str(page), *_QUICK]) == 1
    assert "FAILED seed " in capsys.readouterr().out
    assert "## Failures" in page.read_text()


def test_a_seed_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", "41", "--trace"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("seed 41\n")
    assert "commits a decision on E" in said


def test_a_long_run_says_how_large_the_store_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--hours", "2"]) == 0
    said = capsys.readouterr().out
    assert "hour   2: executions " in said
    assert "of virtual time" in said


@pytest.mark.thorough(target="simulation")
@pytest.mark.timeout(180)
def test_several_processes_find_what_one_finds() -> None:
    told: list[int] = []
    one = simulate_many(60, 44, jobs=1)
    two = simulate_many(60, 44, jobs=2, tell=lambda found: told.append(found.seeds))
    assert (len(told), told[-1]) == (3, 44)
    assert (one.counts, one.faults, one.steps) == (two.counts, two.faults, two.steps)


@pytest.mark.thorough(target="simulation")
@pytest.mark.timeout(180)
def test_a_run_that_is_killed_leaves_no_process_behind() -> None:
    """Whoever is left holds the pipe open."""
    command = (sys.executable, "-m", "conductor_py.testing.simulation", "--seeds", "400")
    with subprocess.Popen((*command, "--jobs", "2"), stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline()
        run.kill()
        run.communicate(timeout=60)


def test_outcomes_that_differ_are_named() -> None:
    plain, other = simulate(scene(starts=1)), simulate(scene(starts=1))
    assert list(differences(plain.outcomes, other.outcomes)) == []
    changed = {name: dict(document) for name, document in other.outcomes.items()}
    changed["E1"]["status"] = "FAILED"
    (found,) = differences(plain.outcomes, changed)
    assert found.invariant == "outcome"
    assert "E1 came out otherwise" in found.sentence


def test_a_child_whose_parent_went_with_a_lost_tail_is_compared_with_nothing() -> None:
    run = simulate(scene(starts=1))
    children = {
        name: document
        for name, document in run.outcomes.items()
        if document.get("parentWorkflowId")
    }
    assert children
    assert list(differences(run.outcomes, children)) == []


def test_a_child_of_an_iteration_that_is_not_kept_is_compared_with_nothing() -> None:
    run = simulate(scene(starts=1))
    unknown = {name: {**document, "tasks": []} for name, document in run.outcomes.items()}
    said = [violation.sentence for violation in differences(run.outcomes, unknown)]
    assert len(said) == 1
    assert said[0].startswith("E1 ")


def test_a_run_without_faults_that_fails_is_told_as_what_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was taken for the outcome to compare with, and the other run was said to differ."""

    class Stuck(World):
        def run(self) -> Run:
            run = super().run()
            if not self.scenario.faults:
                run.outcomes = {}
                run.violations.append(Violation("liveness", "E1 does not end"))
            return run

    monkeypatch.setattr(runner, "World", Stuck)
    slow = Fault(kind=Kind.SLOW, process="api-1", call="store.commit", number=1, ms=100)
    run = simulate(replace(scene(slow, definition=workflow("w0", task("a"))), faithful=True))
    assert [violation.invariant for violation in run.violations] == ["liveness"]
