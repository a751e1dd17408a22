"""The path of the README, from a clone to a worker of one's own, in an environment of its own."""

import re
import subprocess
from pathlib import Path

import pytest

from conductor_py.testing import memory_engine
from tests.docs.pages import ROOT, page
from tests.docs.reader import Step, environment_of, follow, steps_of
from tests.ui.picture import executed

_README = page("README.md")
_STEPS = steps_of(_README)
_INSTALLS = re.compile(r"^(make run|python3 -m venv\b.*)$", re.MULTILINE)
_LONGEST_S = 1_500
_PROCESSES = ("API node", "sweeper", "system-task worker", "scheduler", "effects worker")


@pytest.mark.spark
@pytest.mark.thorough(target="docs")
@pytest.mark.timeout(2 * _LONGEST_S)
def test_the_readme_leads_from_a_clone_to_a_worker_of_ones_own(tmp_path: Path) -> None:
    runs, installs = (step for step in _STEPS if _INSTALLS.search(step.text))
    clone = tmp_path / "conductor-py"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    shown = _pasted(runs, installs, folder=clone)
    assert "Frontier Airlines" in shown
    # Without its bytecode every start compiles what it imports.
    assert list(clone.glob(".venv/lib/*/site-packages/conductor_py/__pycache__/*"))

    greets = tuple(step for step in _STEPS if step not in {runs, installs})
    room = tmp_path / "second terminal"
    room.mkdir()
    followed = follow(_README, greets, room, programs=clone / ".venv/bin")
    told = [
        (printed.strip(), (step.prints or "").strip())
        for step, printed in zip(followed.steps, followed.printed, strict=True)
        if step.prints is not None
    ]
    assert told == [("COMPLETED {'said': 'Hello, World.'}",) * 2]


def _pasted(*steps: Step, folder: Path) -> str:
    """Paste blocks into one shell, in which nothing is set."""
    done = subprocess.run(
        ["bash", "--norc", "-eu", "-c", "".join(step.text for step in steps)],
        cwd=folder,
        env=environment_of(folder, programs=Path("/usr/local/bin")),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_the_picture_is_there_and_small() -> None:
    (name,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", _README.text)
    assert (ROOT / name).stat().st_size < 200_000


def test_the_execution_of_the_picture_is_what_it_shows() -> None:
    engine = memory_engine()
    path = engine.path(executed(engine))
    assert path == ["price", "charge", "both", "pack", "tell", "packed", "cool", "how", "fly"]


@pytest.mark.parametrize(
    "name", ["README.md", "docs/tutorials/first-workflow.md", "docs/reference/command-line.md"]
)
def test_pages_name_the_same_processes_of_a_server(name: str) -> None:
    text = " ".join(page(name).text.split())
    assert [process for process in _PROCESSES if process not in text] == []
