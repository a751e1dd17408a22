"""Measure Spark workers: what ``make bench-spark`` calls."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from benchmarks import (
    spark_coordinator,
    spark_kills,
    spark_paths,
    spark_rounds,
    spark_starts,
)
from benchmarks.machine import describe, own_version
from benchmarks.spark_data import default_folder
from benchmarks.spark_page import kept, page, with_results
from benchmarks.spark_place import Ground, Result, ground

_REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
_PAGE = _REFERENCE / "benchmarks-spark.md"
_FIGURES = _REFERENCE / "benchmarks-spark.json"
_REMARKS = Path(__file__).with_name("spark_remarks.json")

TARGETS: dict[str, Callable[[Ground], Iterator[Result]]] = {
    "T1": spark_rounds.t1,
    "T2": spark_rounds.t2,
    "T3": spark_rounds.t3,
    "T4": spark_rounds.t4,
    "T5": spark_starts.t5,
    "T6": spark_kills.t6_t7,
    "T8": spark_paths.t8,
    "T9": spark_paths.t9,
    "T10": spark_starts.t10,
    "T11": spark_paths.t11,
    "T12": spark_coordinator.t12,
}
_TOGETHER = {"T7": "T6"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen targets, tell each figure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="targets, such as T1,T5")
    parser.add_argument("--pairs", type=int, default=3, help="how often each way is measured")
    parser.add_argument("--data", type=Path, default=default_folder(), help="where data is kept")
    parser.add_argument("--reference", type=Path, default=_REFERENCE, help="where the page goes")
    given = parser.parse_args(arguments)
    names = [each for each in given.only.split(",") if each] or list(TARGETS)
    chosen = list(dict.fromkeys(_TOGETHER.get(name, name) for name in names))
    if unknown := [name for name in chosen if name not in TARGETS]:
        parser.error(f"no such target: {', '.join(unknown)}")
    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe(),
        "software": f"Python {platform.python_version()}, {own_version()}, "
        f"PySpark {version('pyspark')}, {given.pairs} pairs",
    }
    figures = given.reference / _FIGURES.name
    failed: list[str] = []
    told: Counter[str] = Counter()
    with ground(given.data / f"scratch-{os.getpid()}", given.data, pairs=given.pairs) as at:
        for name in chosen:
            try:
                results = list(TARGETS[name](at))
            except (RuntimeError, OSError, LookupError, ValueError) as error:
                print(f"red: {name} could not be measured: {error!r}")
                failed.append(name)
                continue
            for each in results:
                verdict = "" if each.wanted is None else "met" if each.is_met else "missed"
                told[verdict] += 1
                print(f"{each.target} {each.title}: {each.value:.3g} {each.unit} {verdict}")
                print(f"   wanted at most {each.wanted}; {each.note}", flush=True)
            measured = with_results(kept(figures), results, facts)
            figures.write_text(json.dumps(measured, indent=1) + "\n")
            (given.reference / _PAGE.name).write_text(page(measured, _remarks()))
    print(f"{told['met']} targets met, {told['missed']} missed, {len(failed)} not measured")
    return 1 if failed else 0


def _remarks() -> dict[str, str]:
    found: dict[str, str] = json.loads(_REMARKS.read_text()) if _REMARKS.exists() else {}
    return found


if __name__ == "__main__":
    sys.exit(main())
