"""The page renders, and a ratio below its floor fails; nothing here measures."""

import json
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compare, suite
from benchmarks.compare import table, worse
from benchmarks.figures import Bare, Figure, quantile, shortfalls
from benchmarks.report import render

FACTS = {
    "command": "make bench",
    "date": "2026-11-21",
    "machine": "a machine",
    "software": "some software",
    "bare": "10,000 pairs a second",
}


def _figure(ratio: float | None = 0.5, **changed: Any) -> Figure:
    given: dict[str, Any] = {
        "key": "starts",
        "part": "Engine",
        "title": "starts",
        "value": 800.0,
        "unit": "/s",
    }
    return Figure(ratio=ratio, **(given | changed))


def test_a_ratio_below_its_floor_fails() -> None:
    assert shortfalls([_figure(0.39)], {"starts": 0.4}) == [
        "starts: ratio 0.39 is below its floor 0.4"
    ]


def test_a_ratio_on_its_floor_passes() -> None:
    assert shortfalls([_figure(0.4)], {"starts": 0.4}) == []


def test_a_floor_of_what_was_not_measured_fails() -> None:
    assert shortfalls([_figure()], {"starts": 0.1, "polls": 0.1}) == [
        "polls: has a floor and was not measured"
    ]


def test_a_ratio_without_floor_fails() -> None:
    assert shortfalls([_figure()], {}) == ["starts: has a ratio and no floor"]


def test_a_figure_without_ratio_needs_no_floor() -> None:
    assert shortfalls([_figure(None)], {}) == []


def test_the_page_shows_value_ratio_floor_and_what_is_wanted() -> None:
    page = render([_figure(target=800.0, bound="at least")], {"starts": 0.4}, FACTS)
    assert "| starts | 800 /s | 0.5 | 0.4 | at least 800 |" in page.splitlines()
    assert "a machine" in page
    assert "`make bench`" in page


def test_the_page_says_what_is_missed() -> None:
    page = render([_figure(target=900.0, bound="at least")], {}, FACTS)
    assert "at least 900 (missed)" in page


def test_ratios_of_rates_and_times_grow_with_speed() -> None:
    bare = Bare(10_000)
    assert bare.rate(1000) == pytest.approx(0.1)
    assert bare.time(1.0) == pytest.approx(0.1)
    assert bare.rate(2000) > bare.rate(1000)
    assert bare.time(0.5) > bare.time(1.0)


def test_quantile_of_one_value_is_that_value() -> None:
    assert quantile([3.0], 0.99) == 3.0
    assert quantile(range(101), 0.5) == 50


def test_the_comparison_takes_medians_and_skips_what_one_side_lacks() -> None:
    def measured(value: float) -> dict[str, dict[str, Any]]:
        return {"starts": {"part": "E", "title": "starts", "unit": "/s", "value": value}}

    before = [measured(100) | {"gone": {}}, measured(90), measured(110)]
    rows = list(table("base", before, [measured(200), measured(50), measured(220)]))
    assert rows[2:] == ["| E: starts (/s) | 100 | 200 | 2.00 | 0.56 to 2.00 |"]


@pytest.mark.parametrize(
    ("unit", "here", "is_worse"),
    [
        *(("/s", 95, False), ("/s", 92, False), ("/s", 89, True), ("/s", 200, False)),
        *(("ms", 105, False), ("ms", 109, False), ("ms", 112, True), ("ms", 50, False)),
    ],
)
def test_a_comparison_names_what_is_worse_by_more_than_a_tenth(
    unit: str, here: float, is_worse: bool
) -> None:
    def measured(value: float) -> dict[str, dict[str, Any]]:
        return {"k": {"part": "E", "title": "figure", "unit": unit, "value": value}}

    # One outlier decides nothing.
    after = [measured(here), measured(here), measured(1 if unit == "/s" else 900)]
    found = list(worse("base", [measured(100)] * 3, after))
    told = [f"E: figure ({unit}): {here / 100:.2f} of what it was at base"]
    assert found == (told if is_worse else [])


def test_a_comparison_that_finds_something_worse_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def turns(here: float) -> Any:
        rounds = [
            [{"k": {"part": "E", "title": "figure", "unit": "ms", "value": value}}]
            for value in (100, here)
        ]
        return lambda _trees, _turns: rounds

    monkeypatch.setattr(compare, "worktree", lambda base: nullcontext(Path(base)))
    monkeypatch.setattr(compare, "measure_engine_turns", turns(100))
    monkeypatch.setattr(compare, "measure_turns", turns(105))
    assert compare.main("base", 0) == 0
    monkeypatch.setattr(compare, "measure_turns", turns(120))
    assert compare.main("base", 0) == 1
    said = capsys.readouterr()
    assert "| E: figure (ms) | 100 | 120 | 1.20" in said.out
    assert said.err == "E: figure (ms): 1.20 of what it was at base\n"


def test_a_base_on_which_the_whole_benchmark_does_not_run_is_compared_by_turns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = [[{"k": {"part": "E", "title": "figure", "unit": "ms", "value": 100}}]] * 2

    def broken(tree: Path) -> Any:
        assert tree == Path("base")
        raise subprocess.CalledProcessError(1, "run.py")

    monkeypatch.setattr(compare, "worktree", lambda base: nullcontext(Path(base)))
    monkeypatch.setattr(compare, "measure_engine_turns", lambda _trees, _turns: figures)
    monkeypatch.setattr(compare, "measure_turns", lambda _trees, _turns: figures)
    monkeypatch.setattr(compare, "_measure", broken)
    assert compare.main("base", 3) == 0
    said = capsys.readouterr()
    assert "| E: figure (ms) | 100 | 100 | 1.00" in said.out
    assert "does not run on base" in said.err


def test_a_run_below_a_floor_writes_the_page_and_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    floors = tmp_path / "floors.json"
    monkeypatch.setattr(suite, "_FLOORS", floors)
    monkeypatch.setattr(suite, "_PAGE", tmp_path / "reference" / "benchmarks.md")
    monkeypatch.setattr(suite, "measure", lambda _sizes, **_: ([_figure(0.5)], FACTS))
    floors.write_text(json.dumps({"starts": 0.6}))
    assert suite.main([]) == 1
    assert "| starts |" in (tmp_path / "reference" / "benchmarks.md").read_text()
    floors.write_text(json.dumps({"starts": 0.4}))
    assert suite.main([]) == 0


def test_floors_are_committed_for_the_parts_of_the_run() -> None:
    floors = json.loads((Path(suite.__file__).parent / "floors.json").read_text())
    assert {"engine_one", "http_eight", "http_cpu", "round_trips_update"} <= set(floors)
