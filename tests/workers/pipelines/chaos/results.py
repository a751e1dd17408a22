"""What the rows of the matrix have shown: kept as each is played, and printed as a table."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.workers.pipelines.chaos.rows import POINTS, Row, Strike

ROOT: Final = Path(__file__).parents[4]
_KEPT: Final = ROOT / "docs/reference/test-results/chaos-spark-rows.jsonl"
PAGE: Final = ROOT / "docs/reference/chaos-spark.md"
#: What a row says something about. Where the worker is struck a keeper stands in for the engine, so
#: such a row outlives changes of it; a matrix of hours is not played in one piece.
OF_ANY: Final = (
    "workers",
    *(
        f"tests/workers/pipelines/{name}.py"
        for name in ("crews", "host", "jobs", "reads", "stores")
    ),
    *(
        f"tests/workers/pipelines/chaos/{name}.py"
        for name in (
            *("attempts_struck", "bounded_scene", "event_scene", "one_to_one", "oracle"),
            *("rows", "server_struck", "setting", "tables"),
        )
    ),
)
OF_ATTEMPTS: Final = (
    "conductor_py/pipelines",
    *(f"conductor_py/wire/pipeline{name}.py" for name in ("s", "_nodes", "_fields")),
    *OF_ANY,
)
_OF_SERVER: Final = ("conductor_py", *OF_ANY)
_COLUMNS: Final = tuple(Strike)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a row ended: what was wrong, and what there was left to read; ``code`` is the state of
    the code under test.
    """

    row: str
    wrong: tuple[str, ...]
    left: str
    seconds: int
    commit: str
    code: str


def commit() -> str:
    """The commit that is there, in short."""
    return _git("rev-parse", "--short", "HEAD")


def codes() -> dict[Strike, str]:
    """Name the state of what rows judge, by their strike; of none but this run when something of it
    is not committed.
    """
    of_attempts, of_server = _code(OF_ATTEMPTS), _code(_OF_SERVER)
    return {strike: of_server if strike is Strike.SERVER else of_attempts for strike in Strike}


def _code(judged: tuple[str, ...]) -> str:
    if _git("status", "--porcelain", "--", *judged):
        return "changed"
    trees = _git("rev-parse", *(f"HEAD:{path}" for path in judged))
    return hashlib.sha256(trees.encode()).hexdigest()[:12]


def keep(result: Result) -> None:
    """Add it to what is known."""
    _KEPT.parent.mkdir(parents=True, exist_ok=True)
    with _KEPT.open("a") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def known(now: Mapping[Strike, str]) -> dict[str, Result]:
    """The last result of each row, of the code that is there."""
    if not _KEPT.exists():
        return {}
    lines = (json.loads(line) for line in _KEPT.read_text().splitlines())
    results = [Result(**{**line, "wrong": tuple(line["wrong"])}) for line in lines]
    return {
        each.row: each
        for each in results
        if each.code == now[Row.parse(each.row).strike] != "changed"
    }


def to_play(
    chosen: Iterable[Row], found: Mapping[str, Result], now: Mapping[Strike, str]
) -> list[Row]:
    """The rows that are not known to be right, in the order that the code's state draws."""
    open_rows = (row for row in chosen if str(row) not in found or found[str(row)].wrong)
    return sorted(
        open_rows, key=lambda row: hashlib.sha256(f"{now[row.strike]} {row}".encode()).digest()
    )


def table(results: Iterable[Result]) -> str:
    """A line for each point of each scene, a column for each strike: how many rows were right."""
    right, played = Counter[tuple[str, str, Strike]](), Counter[tuple[str, str, Strike]]()
    for each in results:
        row = Row.parse(each.row)
        cell = (row.scene, row.point, row.strike)
        played[cell] += 1
        right[cell] += not each.wrong
    lines = ["| scene | point | " + " | ".join(_COLUMNS) + " |", "|---" * (len(_COLUMNS) + 2) + "|"]
    for scene, points in POINTS.items():
        for point in points:
            cells = [(scene, point, strike) for strike in _COLUMNS]
            if any(played[cell] for cell in cells):
                told = (f"{right[c]} of {played[c]}" if played[c] else "" for c in cells)
                lines.append(f"| {scene} | {point} | " + " | ".join(told) + " |")
    return "\n".join(lines)


def write_page(results: Mapping[str, Result]) -> None:
    """Write the page of the whole matrix."""
    everyone = list(results.values())
    bad = [each for each in everyone if each.wrong]
    read = sum("not read again" in each.left for each in everyone)
    commits = sorted({each.commit for each in everyone})
    minutes = sum(each.seconds for each in everyone) // 60
    lines = [
        "# The matrix of `make chaos-spark`",
        "",
        "Written by the program; points, scenes and columns are those of",
        "[the page about it](chaos.md). Each cell says how many of its rows were right: one with",
        "the same number of cores afterwards, one with fewer, one with more; by event time and for",
        "what dies twice one of these in turn.",
        "",
        f"{len(everyone)} rows, **{len(bad)} with mismatches**, in {minutes} minutes.",
        f"Finished on {datetime.now(UTC).date()}; commit {', '.join(commits)}.",
        f"In {read} of them the last attempt was held to what Spark says that it has read.",
        "",
        table(everyone),
        "",
        *(f"- {each.row}: {'; '.join(each.wrong)}" for each in bad),
    ]
    PAGE.write_text("\n".join(lines).rstrip() + "\n")


def _git(*asked: str) -> str:
    ended = subprocess.run(("git", *asked), cwd=ROOT, capture_output=True, text=True, check=True)
    return ended.stdout.strip()
