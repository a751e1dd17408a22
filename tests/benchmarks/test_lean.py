"""The run of a lean server, with parts that are made up: its figures, its page, what is a trial."""

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import lean_part, lean_run
from benchmarks.figures import Figure
from benchmarks.peers.peer import Outcome, Peer
from tests.services.cache import Unobtainable

_CPU = {"one_cpu": 2.0, "eight_cpu": 2.0, "chain_cpu": 1.0, "fork_1000": 1.0}


def _nobody() -> Any:
    raise Unobtainable("nowhere")


def _outcome(*factors: float, reason: str = "") -> Outcome:
    turns = tuple({key: value * factor for key, value in _CPU.items()} for factor in factors)
    peer = Peer(name="p", title="p", keeps="", counted="", start=_nobody)
    return Outcome(peer=peer, turns=turns, reason=reason)


def test_what_is_wanted_beside_java_is_the_median_of_neighbours() -> None:
    figures = list(lean_part.figures_beside_java(_outcome(1, 3, 2), _outcome(10, 10, 10)))

    assert {figure.value for figure in figures} == {0.2}
    assert [figure.is_on_target for figure in figures] == [True, True, False, True]
    assert figures[0].title.endswith("(4 ms) over its (20 ms); all turns 0.10 to 0.30")


def test_without_java_there_is_nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [_outcome(1), _outcome(reason="no such package")]
    monkeypatch.setattr(lean_part, "measure", lambda _peers, _turns: outcomes)

    with pytest.raises(Unobtainable, match="no such package"):
        lean_part.measure_beside_java(1)


def test_a_branch_of_a_wide_fork_is_wanted_at_a_part_of_what_it_was() -> None:
    keys = [key for key, *_ in lean_part._BESIDE_BEFORE]
    turns = [[{key: {"value": value} for key in keys}] for value in (1.0, 0.65)]

    *others, fork = lean_part.figures_beside_before("abc", *turns)

    assert not fork.is_on_target
    assert fork.value == pytest.approx(0.65)
    assert all(figure.target is None for figure in others)
    assert fork.part == "Beside `abc` of this server, in turns"


def test_one_process_is_told_beside_processes_apart_in_the_unit_of_each_figure() -> None:
    keys = [key for key, *_ in lean_part._BESIDE_APART]
    apart, together = ([{key: {"value": value} for key in keys}] for value in (4.0, 1.0))

    figures = list(lean_part.figures_of_shapes(apart, together))

    assert [figure.value for figure in figures] == [0.25] * len(keys)
    assert "(1 ms) over its (4 ms)" in figures[0].title
    assert "(1 MB) over its (4 MB)" in figures[-1].title


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a run writes, whose parts take no time."""
    file = tmp_path / "benchmarks-lean.md"

    def measured(part: str, _given: Any, lines: list[str]) -> list[Figure]:
        lines += [f"## More of {part}", ""]
        target = 0.5 if part == "idle" else None
        return [Figure(key=part, part=part, title=part, value=1.0, unit="x", target=target)]

    monkeypatch.setattr(lean_run, "_PAGE", file)
    monkeypatch.setattr(lean_run, "_measured", measured)
    return file


def test_a_whole_run_writes_the_page_with_what_is_missed(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lean_run.main([]) == 0
    written = page.read_text()

    assert "| idle | 1 x | at most 0.5 (missed) |" in written.splitlines()
    assert re.findall(r"^## (\w+)$", written, re.MULTILINE) == list(lean_run._PARTS)
    assert "## More of memory" in written
    assert "what else runs on the machine" in written
    assert "6 figures, 1 beyond what is wanted" in capsys.readouterr().out


@pytest.mark.parametrize("less", [["--only", "idle"], ["--many", "40"], ["--seconds", "1"]])
def test_less_of_it_is_printed_only(
    page: Path, less: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert lean_run.main(less) == 0

    assert not page.exists()
    assert "| idle | 1 x |" in capsys.readouterr().out
