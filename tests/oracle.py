"""Which rows of the edge-case oracle and which known anomalies have a test that passes.

A pytest plugin: `make fast` runs with it, and fails unless every row has at least one passing test
there, or stands with its reason in docs/reference/compatibility.md. A row with a test that fails,
or with nothing but skipped ones, counts as uncovered.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROWS = tuple(range(1, 51))
ANOMALIES = tuple(f"A-{number}" for number in range(1, 66))
_PAGE = Path(__file__).parents[1] / "docs/reference/compatibility.md"
_DIFFERS = re.compile(r"^\| oracle (\d+) \||^\| (A-\d+) \|", re.MULTILINE)
_PROPERTY = "covers"


def names_of(item: pytest.Item) -> list[str]:
    """What a test says it covers: `oracle 7`, `A-3`."""
    rows = [f"oracle {row}" for mark in item.iter_markers("oracle") for row in mark.args]
    return rows + [str(name) for mark in item.iter_markers("anomaly") for name in mark.args]


def wanted() -> list[str]:
    """Everything that must be covered, in order."""
    return [*(f"oracle {row}" for row in ROWS), *ANOMALIES]


def excused() -> set[str]:
    """What the page on compatibility says differs on purpose."""
    text = _PAGE.read_text() if _PAGE.exists() else ""
    return {f"oracle {row}" if row else anomaly for row, anomaly in _DIFFERS.findall(text)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each report carry what its test covers, also from another process."""
    for item in items:
        item.user_properties.append((_PROPERTY, " | ".join(names_of(item))))


class Coverage:
    """Counts outcomes by row over a session."""

    def __init__(self) -> None:
        self.passed: defaultdict[str, int] = defaultdict(int)
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that ran, or one whose set-up or end failed."""
        covered = str(dict(report.user_properties).get(_PROPERTY, ""))
        for name in filter(None, covered.split(" | ")):
            if report.failed:
                self.failed.add(name)
            elif report.when == "call" and report.passed:
                self.passed[name] += 1

    def missing(self) -> list[str]:
        """What neither a test nor the page covers."""
        covered = {name for name in self.passed if name not in self.failed} | excused()
        return [name for name in wanted() if name not in covered]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many rows are covered, and name those that are not."""
        missing = self.missing()
        total = len(wanted())
        terminalreporter.section("oracle and anomalies")
        terminalreporter.line(f"{total - len(missing)} of {total} covered")
        for name in missing:
            terminalreporter.line(f"no passing test: {name}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session that leaves a row uncovered."""
        if not hasattr(session.config, "workerinput") and self.missing():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    """Count in the process that gathers the reports."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Coverage(), "oracle-coverage")
