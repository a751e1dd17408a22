"""The run of what grows, with parts that are made up: a part renews its section of the page."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import scale_run
from benchmarks.figures import Figure


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a run writes, whose parts take no time and find how many there are to be."""

    def measured(parts: Sequence[str], many: int) -> list[Figure]:
        return [
            Figure(key=part, part=f"Of {part}", title=part, value=value, unit="ms")
            for part in parts
            for value in (len(parts), many)
        ]

    monkeypatch.setattr(scale_run, "_PAGE", file := tmp_path / "benchmarks-scale.md")
    monkeypatch.setattr(scale_run, "measure", measured)
    return file


def _of(section: str) -> list[str]:
    return [line for line in section.splitlines() if line.startswith("| ")][1:]


def test_a_part_alone_renews_its_section_and_says_of_which_commit_it_is(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale_run, "own_version", lambda: "the first commit")
    scale_run.main([])
    monkeypatch.setattr(scale_run, "own_version", lambda: "the second commit")
    scale_run.main(["--only", "timers"])

    found = scale_run.sections(page.read_text())
    assert list(found) == ["## Of archive", "## Of open", "## Of timers", "## Of wide"]
    assert _of(found["## Of timers"]) == ["| timers | 1 ms |  |", "| timers | 1,000,000 ms |  |"]
    assert _of(found["## Of wide"]) == ["| wide | 4 ms |  |", "| wide | 1,000,000 ms |  |"]
    assert "the second commit" in found["## Of timers"]
    assert all("the first commit" in found[f"## Of {part}"] for part in ("archive", "open", "wide"))


def test_less_of_it_is_printed_only(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scale_run.main(["--only", "wide", "--many", "40"]) == 0

    assert not page.exists()
    assert "| wide | 40 ms |" in capsys.readouterr().out
