"""A pytest plugin: writes down how a run ended, for whoever planted a bug.

A catch is honest when a test ran and found something wrong. A module that cannot be imported, a
script that does not compile or a test that hangs says little: any typing error would do the same.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

import conductor_py

ENVIRONMENT: Final = "MUTANTS_VERDICT"

_BROKEN: Final = (SyntaxError, ImportError, NameError)
_BROKEN_TEXTS: Final = ("Error compiling script", "nonexistent global variable")
_HUNG_TEXT: Final = "from pytest-timeout"
_LONGEST: Final = 300


class _Verdict:
    """What happened in a session."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._passed = 0
        self._failure: dict[str, str] | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that passed."""
        self._passed += report.when == "call" and report.passed

    def pytest_exception_interact(
        self, call: pytest.CallInfo[Any], report: pytest.TestReport | pytest.CollectReport
    ) -> None:
        """Note the first failure."""
        if self._failure is None and call.excinfo is not None:
            error = call.excinfo.value
            text = f"{type(error).__name__}: {error}"
            ran = isinstance(report, pytest.TestReport) and report.when == "call"
            kind = "caught" if ran else "broken"
            if _HUNG_TEXT in text:
                kind = "hung"
            elif isinstance(error, _BROKEN) or any(sign in text for sign in _BROKEN_TEXTS):
                kind = "broken"
            self._failure = {"kind": kind, "test": report.nodeid, "error": text[:_LONGEST]}

    def pytest_sessionfinish(self) -> None:
        """Write it down."""
        found = self._failure or {"kind": "green" if self._passed else "absent"}
        self._file.write_text(json.dumps(found))


def pytest_configure(config: pytest.Config) -> None:
    """Write to where the environment says. Refuse to judge another tree than the one tested."""
    assert str(conductor_py.__file__).startswith(str(config.rootpath)), conductor_py.__file__
    config.pluginmanager.register(_Verdict(Path(os.environ[ENVIRONMENT])), "mutants-verdict")
