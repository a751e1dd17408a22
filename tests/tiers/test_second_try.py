"""A test that fails is tried once more, alone, and a build says so."""

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_FLAKY = """
from pathlib import Path
def test_a_{number}():
    mark = Path(__file__).with_name("before-{number}")
    again = mark.exists()
    mark.touch()
    assert again
"""
_GONE = """
from pathlib import Path
from tests.services.absence import absent
def test_gone():
    mark = Path(__file__).with_name("before")
    if mark.exists():
        absent("its server is gone")
    mark.touch()
    assert not mark.exists()
"""
_SOUND = "def test_sound(): pass"
_WRONG = "def test_wrong(): assert 1 == 2"
_BROKEN = "def test_broken(:"


def _flaky(number: int) -> str:
    return _FLAKY.format(number=number)


@pytest.mark.parametrize(
    ("programs", "status", "last_line"),
    [
        ([_SOUND], 0, "1 passed"),
        ([_SOUND, _flaky(1)], 0, "flaky: test_1.py::test_a_1"),
        ([_flaky(0), _SOUND, _flaky(2)], 0, "flaky: test_2.py::test_a_2"),
        ([_SOUND, _WRONG], 1, "1 failed"),
        ([_WRONG, _flaky(1)], 1, "flaky: test_1.py::test_a_1"),
        ([_flaky(0), _flaky(1), _flaky(2)], 1, "3 tests failed: too many for a second try"),
        ([_SOUND, _GONE], 1, "1 failed"),
        ([_SOUND, _BROKEN], 2, "1 error"),
    ],
    ids=["none", "one", "two", "wrong", "wrong and one", "three", "service gone", "broken"],
)
def test_what_passes_alone_is_named_and_what_fails_twice_is_red(
    tmp_path: Path, programs: list[str], status: int, last_line: str
) -> None:
    told = _told(tmp_path, programs)
    assert told.returncode == status, told.stdout
    assert told.stdout.rstrip().splitlines()[-1].startswith(last_line)


def test_what_failed_in_another_process_is_tried_again(tmp_path: Path) -> None:
    told = _told(tmp_path, [_SOUND, _flaky(1)], "-n", "2", "--dist", "loadgroup")
    assert told.returncode == 0, told.stdout
    assert told.stdout.rstrip().splitlines()[-1] == "flaky: test_1.py::test_a_1"


def _told(folder: Path, programs: list[str], *options: str) -> "subprocess.CompletedProcess[str]":
    (folder / "pytest.ini").write_text("[pytest]\n")
    for number, program in enumerate(programs):
        (folder / f"test_{number}.py").write_text(program)
    return subprocess.run(
        (sys.executable, "-m", "tests.tiers.second_try", "-q", "-p", "xdist", *options),
        cwd=folder,
        env={
            "PYTHONPATH": str(_ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
