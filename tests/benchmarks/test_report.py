"""The page renders, and a ratio below its floor fails; nothing here measures."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import suite
from benchmarks.compare import table
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
