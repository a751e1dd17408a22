"""The fixture for pytest, as a test of somebody else gets it."""

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_CONFTEST = 'pytest_plugins = ["conductor_py.testing.pytest"]\n'
_TESTS = """
def test_one(engine):
    engine.register({"name": "w", "tasks": [{"name": "a", "taskReferenceName": "a"}]})
    engine.mock("a")
    assert engine.run_to_end(engine.start("w"))["status"] == "COMPLETED"


def test_two(engine):
    assert engine.engine.definitions.workflows(dict) == ()
"""


def test_each_test_gets_an_engine_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "test_theirs.py").write_text(_TESTS)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
