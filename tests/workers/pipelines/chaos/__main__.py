"""Every fault point of data pipelines, with every strike, and other cores afterwards.

    python -m tests.workers.pipelines.chaos [--only F8,F9] [--scene bounded] [--strike jvm]
        [--go-on] [--minutes 60]

The rows are those of ``rows``; a row is right when the outputs equal the truth (``oracle``), and
when the last attempt has read what was not done and nothing else, by Spark's own figures
(``reads``). ``--go-on`` plays the rows that were not right yet, for the code that is there.
``--minutes`` begins no row after so many: each state of the code has an order of its own, so that
what is left out differs. When all are known, the page of the matrix is written.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from math import inf
from pathlib import Path

from pyspark.sql import SparkSession

from conductor_workers.testing.session import spark_session
from tests.acceptance.deployment import deployed
from tests.workers.pipelines.chaos import attempts_struck, results
from tests.workers.pipelines.chaos.attempts_struck import Verdict
from tests.workers.pipelines.chaos.bounded_scene import BoundedScene
from tests.workers.pipelines.chaos.event_scene import EventScene
from tests.workers.pipelines.chaos.one_to_one import OneToOne
from tests.workers.pipelines.chaos.results import Result
from tests.workers.pipelines.chaos.rows import POINTS, Row, Strike, rows
from tests.workers.pipelines.chaos.server_struck import Room
from tests.workers.pipelines.chaos.setting import Setting

Play = Callable[[Row, Path], Verdict]


def settings(spark: SparkSession, inputs: Path) -> Callable[[str], Setting]:
    """Return what makes a scene by its name, once."""
    made: dict[str, Callable[[Path], Setting]] = {
        "one-file": lambda place: OneToOne.made(spark, place, "files"),
        "one-table": lambda place: OneToOne.made(spark, place, "table"),
        "bounded": lambda place: BoundedScene.made(spark, place),
        "event-time": lambda _: EventScene.made(spark),
    }
    return cache(lambda name: made[name](inputs / name))


@contextmanager
def playing(spark: SparkSession, place: Path) -> Iterator[Play]:
    """Yield what plays a row in a folder of its own."""
    scene = settings(spark, place / "inputs")
    with deployed(place / "deployment") as deployment:
        room = Room(deployment)

        def played(row: Row, folder: Path) -> Verdict:
            struck = room.played if row.strike is Strike.SERVER else attempts_struck.played
            return struck(scene(row.scene), folder, row)

        yield played


def _judged(play: Play, row: Row, place: Path, commit: str, code: str) -> Result:
    began = time.monotonic()
    place.mkdir()
    try:
        verdict = play(row, place)
    except AssertionError as error:
        verdict = Verdict(wrong=[str(error)])
    shutil.rmtree(place, ignore_errors=True)
    return Result(
        row=str(row),
        wrong=tuple(verdict.wrong),
        left="" if verdict.left is None else str(verdict.left),
        seconds=round(time.monotonic() - began),
        commit=commit,
        code=code,
    )


def main() -> int:
    """Play the matrix and print it; 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="points, separated by commas")
    parser.add_argument("--scene", choices=tuple(POINTS), help="one of the scenes")
    parser.add_argument("--strike", choices=tuple(Strike), help="one of the strikes")
    parser.add_argument("--go-on", action="store_true", help="leave out what was right before")
    parser.add_argument("--minutes", type=float, default=inf, help="begin no row after so many")
    asked = parser.parse_args()
    ends = time.monotonic() + 60 * asked.minutes
    only = tuple(filter(None, asked.only.split(",")))
    whole = list(rows())
    chosen = [
        row
        for row in whole
        if (not only or row.point in only)
        and asked.scene in (None, row.scene)
        and asked.strike in (None, row.strike)
    ]
    commit, codes = results.commit(), results.codes()
    found = results.known(codes) if asked.go_on else {}
    place = Path(tempfile.mkdtemp(prefix="chaos-spark-"))
    with spark_session(place / "judge") as spark, playing(spark, place) as play:
        for number, row in enumerate(results.to_play(chosen, found, codes)):
            if time.monotonic() >= ends:
                break
            result = found[str(row)] = _judged(
                play, row, place / f"row-{number}", commit, codes[row.strike]
            )
            results.keep(result)
            told = "WRONG" if result.wrong else f"right; {result.left}".removesuffix("; ")
            sys.stdout.write(f"{row!s:<36} {result.seconds:5} s  {told}\n")
            for sentence in result.wrong:
                sys.stdout.write(f"red: {row}: {sentence}\n")
            sys.stdout.flush()
    shutil.rmtree(place, ignore_errors=True)
    everyone = {str(row): found[str(row)] for row in chosen if str(row) in found}
    bad = sum(bool(each.wrong) for each in everyone.values())
    sys.stdout.write(f"{results.table(everyone.values())}\n")
    if len(everyone) == len(whole):
        results.write_page(everyone)
    sys.stdout.write(f"{len(everyone)} of {len(chosen)} rows, {bad} with mismatches\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
