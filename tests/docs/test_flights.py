"""The variants of `make run` that the tutorial on flights tells of, without an installation before.

`make run` itself is the README's, whose test runs it; that another worker goes on with what a
killed one had is shown by `tests/acceptance/test_kill_nine.py`.
"""

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.docs.pages import page
from tests.docs.reader import environment_of
from tests.services.processes import answers
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="docs"), pytest.mark.timeout(600)]

_PAGE = page("docs/tutorials/flights.md")
_RUN = (sys.executable, "-m", "conductor_workers.demo")
_LONGEST_S = 400


def _begun(folder: Path, variable: str) -> subprocess.Popen[str]:
    assert f"\n    {variable}=1 make run\n" in _PAGE.text
    return subprocess.Popen(
        _RUN,
        cwd=folder,
        env=environment_of(folder) | {variable: "1"},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_as_from_a_terminal,  # noqa: PLW1509 - one system call
    )


def _as_from_a_terminal() -> None:
    """Hear an interrupt: where this runs in the background, a shell has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_flights_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    with _begun(tmp_path, "SPOIL") as run:
        shown, _ = run.communicate(timeout=_LONGEST_S)
    assert run.returncode == 1
    assert re.search(r"flights_tutorial +FAILED", shown)
    assert "1000 flights were loaded" in shown
    assert not (tmp_path / ".run/flights/results").exists()


def test_flights_stay_up_until_they_are_interrupted(tmp_path: Path) -> None:
    with _begun(tmp_path, "KEEP") as run:
        assert run.stdout is not None
        try:
            kept = next(line for line in run.stdout if line.startswith("Still up: "))
            address = kept.split()[2]
            with urllib.request.urlopen(address) as answer:
                assert answer.status == 200
            tables = (tmp_path / ".run/flights/results").glob("*.csv")
            assert sorted(path.stem for path in tables) == _tables()
        finally:
            run.send_signal(signal.SIGINT)
        assert run.wait(_LONGEST_S) == 130
    port = int(re.findall(r":(\d+)/", address)[0])
    until(lambda: not answers(port))


def _tables() -> list[str]:
    return sorted(re.findall(r"─ (by_\w+)$", _PAGE.text, re.MULTILINE))
