"""Run tests of real processes and services; what fails is tried once more, alone.

    python -m tests.tiers.second_try [options of pytest]

A machine that is busy with other work can make such a test fail, and a build that is red by chance
helps nobody. So a test that passes when it is tried again leaves the run green, and one of the last
lines names it: `flaky: <test>`. That is a defect of the test, to be mended. A test that fails twice
is red, and so are more than two failures. The fast tests have no second try.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

MOST_FLAKY: Final = 2
_ALONE: Final = ("-n", "0")
_GROUP = re.compile(r"@[^\]]*$")
"""What pytest-xdist puts behind the name of a test that belongs to a group."""


def run(options: Sequence[str]) -> int:
    """Run the tests that the options select; the exit status of pytest, after second tries."""
    with tempfile.TemporaryDirectory() as cache:
        status = _pytest(*options, "-o", f"cache_dir={cache}")
        failed = _failed(Path(cache))
    if status != pytest.ExitCode.TESTS_FAILED or not failed:
        return status
    if len(failed) > MOST_FLAKY:
        _say(f"{len(failed)} tests failed: too many for a second try")
        return status
    flaky = [test for test in failed if _passes(test, options)]
    for test in flaky:
        _say(f"flaky: {test}")
    return int(pytest.ExitCode.OK if flaky == failed else status)


def _passes(test: str, options: Sequence[str]) -> bool:
    """Whether it passes alone, under the same seed; a service that is away now is a failure."""
    return _pytest(*options, *_ALONE, test, CI="true") == pytest.ExitCode.OK


def _pytest(*options: str, **environment: str) -> int:
    command = (sys.executable, "-m", "pytest", *options)
    return subprocess.run(command, env=os.environ | environment, check=False).returncode


def _failed(cache: Path) -> list[str]:
    """What pytest remembers as failed, by the names that select the tests again."""
    remembered = cache / "v/cache/lastfailed"
    names = json.loads(remembered.read_text()) if remembered.exists() else {}
    return sorted(_GROUP.sub("", name) for name in names)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
