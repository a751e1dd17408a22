"""The targets of `make test-all` are documented, and their report says what happened."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import targets
from tests.tiers.targets import (
    TARGETS,
    Result,
    Target,
    carry_out,
    keep,
    kept,
    line_of,
    main,
    report,
)

_ROOT = Path(__file__).parents[2]
_PROGRAM = """
print("seed 17")
print("ERROR    conductor_py.engine:1 a line of a log")
print("FAILED tests/test_a.py::test_b[x|y] - assert 1 == 2")
print("FAILED tests/test_a.py::test_b[x|y] - assert 1 == 2")
print("===== 1 failed | 3 passed in 2.00s =====")
raise SystemExit({status})
"""


def _target(status: int) -> Target:
    program = _PROGRAM.format(status=status)
    return Target(name="some", shows="something", command=(sys.executable, "-c", program))


def _result(**given: Any) -> Result:
    usual: dict[str, Any] = {
        "commit": "abc",
        "date": "2026-01-02",
        "seconds": 0,
        "seed": "",
        "reasons": (),
    }
    return Result(**usual | given)


def test_the_verdict_is_the_exit_status_and_the_figure_the_last_line() -> None:
    result = carry_out(_target(1), shown=False)
    assert (result.verdict, result.seed) == ("red", "17")
    assert result.figure == "1 failed | 3 passed in 2.00s"
    assert result.reasons == ("FAILED tests/test_a.py::test_b[x|y] - assert 1 == 2",)
    assert line_of(result).split() == [
        *("some", "red", str(result.seconds), "s"),
        *("1", "failed", "|", "3", "passed", "in", "2.00s"),
    ]
    assert carry_out(_target(0), shown=False).verdict == "green"


def test_a_report_lists_every_target_and_what_is_not_green() -> None:
    sound, wrong = Target(name="a", shows="one", command=()), _target(1)
    many = ("FAILED x",) * 13
    page = report(
        [
            _result(target=sound, status=0, figure="2 passed", seconds=7, seed="5"),
            _result(target=wrong, status=1, figure="1 | 2", seconds=8, reasons=many),
            _result(target=wrong, status=2, figure="no rule"),
        ],
        [Target(name="b", shows="two", command=())],
    )
    assert "| `a` | one | green | 2 passed | 7 | 5 | abc | 2026-01-02 |" in page
    assert "| `some` | something | red | 1 \\| 2 | 8 |  | abc | 2026-01-02 |" in page
    assert "| `b` | two | not run |" in page
    assert "not green in `a`" not in page
    assert page.count("- `FAILED x`") == 12
    assert "- and 1 more" in page
    assert "- it ended with 2: no rule" in page


def test_a_result_is_kept_until_its_target_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(targets, "KEPT", tmp_path / "of-every" / "target")
    target = _target(1)
    assert kept(target) is None
    keep(first := carry_out(target, shown=False))
    assert kept(target) == first
    keep(second := _result(target=target, status=0, figure="fine", reasons=("a", "b")))
    assert kept(target) == second


def test_a_target_demands_every_service_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "LOGS", tmp_path)
    tell = "import os; print('CI is', repr(os.environ['CI']))"
    target = Target(name="some", shows="something", command=(sys.executable, "-c", tell))
    monkeypatch.delenv("CI", raising=False)
    assert carry_out(target, shown=False).figure == "CI is 'true'"
    monkeypatch.setenv("CI", "")
    assert carry_out(target, shown=False).figure == "CI is ''"


def test_an_unknown_target_is_named_beside_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["nonsense"]) == 2
    said = capsys.readouterr().err
    assert "nonsense" in said
    assert all(target.name in said for target in TARGETS)


def test_every_target_is_in_the_list_of_commands_and_on_the_page() -> None:
    names = [target.name for target in TARGETS]
    makefile = (_ROOT / "Makefile").read_text()
    (listed,) = [line for line in makefile.splitlines() if line.startswith("test-%:")]
    assert listed.rpartition(": ")[2].split() == names
    page = (_ROOT / "docs/explanation/testing.md").read_text()
    assert [name for name in names if f"| `make test-{name}` |" not in page] == []
