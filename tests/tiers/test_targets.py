"""The targets of `make test-all` are documented, and their report says what happened."""

import itertools
import subprocess
import sys
from collections.abc import Callable
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


@pytest.fixture(autouse=True)
def _logs_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "LOGS", tmp_path / "logs")


def _target(status: int) -> Target:
    program = _PROGRAM.format(status=status)
    return Target(name="some", shows="something", command=(sys.executable, "-c", program))


def _result(**given: Any) -> Result:
    usual: dict[str, Any] = {
        "commit": "abc",
        "sources": "f00",
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
            _result(target=wrong, status=2, figure="no rule", sources="d1d"),
        ],
        "f00",
        [Target(name="b", shows="two", command=())],
    )
    assert "| `a` | one | green | 2 passed | 7 | 5 | abc | 2026-01-02 |" in page
    assert "| `some` | something | red | 1 \\| 2 | 8 |  | abc | 2026-01-02 |" in page
    assert "| `b` | two | not run |" in page
    assert "2 of 4 ran on the sources of this report" in page
    assert "not green in `a`" not in page
    assert page.count("- `FAILED x`") == 12
    assert "- and 1 more" in page
    assert "- it ended with 2: no rule" in page


def test_a_result_is_kept_until_its_target_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "KEPT", tmp_path / "of-every" / "target")
    target = _target(1)
    assert kept(target) is None
    keep(first := carry_out(target, shown=False))
    assert kept(target) == first
    keep(second := _result(target=target, status=0, figure="fine", reasons=("a", "b")))
    assert kept(target) == second


def test_a_target_demands_every_service_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tell = "import os; print('CI is', repr(os.environ['CI']))"
    target = Target(name="some", shows="something", command=(sys.executable, "-c", tell))
    monkeypatch.delenv("CI", raising=False)
    assert carry_out(target, shown=False).figure == "CI is 'true'"
    monkeypatch.setenv("CI", "")
    assert carry_out(target, shown=False).figure == "CI is ''"


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Two targets, a red one and a green one, that leave a letter each time that they run."""
    ran = tmp_path / "ran"
    ran.touch()

    def leaving(letter: str, status: int) -> Target:
        program = f"open({str(ran)!r}, 'a').write({letter!r}); raise SystemExit({status})"
        return Target(name=letter, shows="it ran", command=(sys.executable, "-c", program))

    monkeypatch.setattr(targets, "TARGETS", (leaving("a", 1), leaving("b", 0)))
    monkeypatch.setattr(targets, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(targets, "REPORT", tmp_path / "report.md")
    return ran.read_text


def test_all_targets_go_on_where_they_were_on_the_same_sources(
    counted: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(targets, "_sources", lambda: "one")
    assert main(["a"]) == 1
    assert main([]) == 1, "what was red on these sources still is"
    assert counted() == "ab"
    assert "stands" in capsys.readouterr().out.splitlines()[1]
    assert "2 of 2 ran" in (tmp_path / "report.md").read_text()
    main(["--again"])
    assert counted() == "abab"
    monkeypatch.setattr(targets, "_sources", lambda: "two")
    main([])
    assert counted() == "ababab"


def test_a_verdict_on_sources_that_changed_meanwhile_is_one_on_none(
    counted: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = itertools.count()
    monkeypatch.setattr(targets, "_sources", lambda: f"{next(seen)}")
    assert carry_out(targets.TARGETS[0], shown=False).sources == ""
    monkeypatch.setattr(targets, "_sources", lambda: "one")
    assert carry_out(targets.TARGETS[0], shown=False).sources == "one"
    monkeypatch.setenv("CI", "")
    assert carry_out(targets.TARGETS[0], shown=False).sources == ""


def test_a_target_is_run_whole_and_one_that_is_killed_says_nothing_that_stands(
    counted: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "_sources", lambda: "one")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    tell = "import os; print(os.environ.get('PYTEST_ADDOPTS')); os.kill(os.getpid(), 9)"
    target = Target(name="c", shows="its end", command=(sys.executable, "-uc", tell))
    killed = carry_out(target, shown=False)
    assert (killed.figure, killed.sources, killed.verdict) == ("None", "", "red")


def test_what_was_red_on_the_same_sources_is_not_forgotten_for_a_luckier_run(
    counted: Callable[[], str],
) -> None:
    red = targets.TARGETS[0]
    keep(_result(target=red, status=1, figure="1 failed", seed="7", reasons=("FAILED x",)))
    keep(_result(target=red, status=0, figure="2 passed", seed="8"))
    page = report([last for last in [kept(red)] if last], "f00")
    assert "red before (seed 7): 1 failed" in page
    assert "FAILED x" in page
    keep(_result(target=red, status=0, figure="2 passed", sources="other"))
    assert kept(red) == _result(target=red, status=0, figure="2 passed", sources="other")


def test_sources_that_are_no_commit_have_nothing_that_stands(
    counted: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "_sources", lambda: "")
    main([])
    main([])
    assert counted() == "abab"


def test_sources_are_those_of_the_commit_but_for_the_pages_that_targets_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "ROOT", tmp_path)

    def git(*command: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(("git", *who, *command), cwd=tmp_path, check=True, capture_output=True)

    def committed(name: str, text: str) -> str:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        git("add", "--all")
        git("commit", "--message", name)
        return targets._sources()

    git("init")
    first = committed("code.py", "1")
    assert committed("docs/reference/fuzz.md", "figures") == first != ""
    assert committed("docs/reference/http-api.md", "routes") != first
    first = committed("code.py", "2")
    (tmp_path / "code.py").write_text("3")
    assert targets._sources() == ""
    git("checkout", "code.py")
    git("config", "status.showUntrackedFiles", "no")
    assert targets._sources() == first
    (tmp_path / "new.py").touch()
    assert targets._sources() == ""


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
