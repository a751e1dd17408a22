"""The page of the Spark benchmarks says what is met; no time is asserted."""

from __future__ import annotations

from pathlib import Path

from benchmarks.spark_page import kept, page, with_results
from benchmarks.spark_place import Pairs, Result, Spent

_FACTS = {"date": "2026-11-22", "machine": "a machine", "software": "PySpark"}


def _result(value: float, target: str = "T3", **more: str) -> Result:
    return Result(target=target, title="a round", value=value, unit="s", wanted=0.4, **more)


def test_the_page_says_what_is_met_what_is_missed_and_why() -> None:
    met, missed = _result(0.3), _result(0.5, note="0.4, 0.6")
    told = page(with_results({}, [met, missed], _FACTS), {"T3": "Loading takes long."})
    assert "| a round | 0.3 s | at most 0.4 | met |" in told
    assert "| a round | 0.5 s | at most 0.4 | missed |" in told
    assert "- a round: 0.4, 0.6" in told
    assert "Loading takes long." in told
    assert "a machine" in told


def test_a_target_that_is_measured_again_replaces_what_was_known_of_it(tmp_path: Path) -> None:
    before = with_results(kept(tmp_path / "none"), [_result(1), _result(9, "T12")], _FACTS)
    after = with_results(before, [_result(2), _result(3), _result(4, "T2")], _FACTS)
    assert list(after) == ["T2", "T3", "T12"]
    assert [figure["value"] for figure in after["T3"]["figures"]] == [2, 3]
    assert after["T12"] == before["T12"]


def test_a_ratio_is_the_median_of_the_pairs() -> None:
    def spent(*seconds: float) -> list[Spent]:
        return [Spent(wall_s=each, cpu_s=2 * each) for each in seconds]

    pairs = Pairs(ways={"plain": spent(1, 2, 4), "rounds": spent(2, 3, 4)})
    assert pairs.ratio("rounds", "plain") == 1.5
    assert pairs.ratio("rounds", "plain", cpu=True) == 1.5
    assert pairs.wall_s("plain") == 2
