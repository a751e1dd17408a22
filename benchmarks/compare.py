"""Compare this tree with a commit: both measured in turn, in one run, by the same benchmark.

.venv/bin/python benchmarks/compare.py BASE [ROUNDS]

What fits into a short turn, one-task workflows, latencies and forks, is measured on both side by
side, through HTTP (``turns``) and without (``engine_turns``); on a machine that others use, too,
rounds of minutes tell little of it. With 0 rounds nothing else is, nor when the rest of the
benchmark asks for what ``BASE`` does not have yet. The exit code is 1 when a figure
is worse by more than a tenth in the median of its neighbours; standard error names it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT))

from benchmarks.engine_turns import measure_engine_turns  # noqa: E402 - found where this file is
from benchmarks.turns import measure_turns  # noqa: E402

_RUN = _ROOT / "benchmarks" / "run.py"
_ROUNDS = 3
_TURNS = 12
_WORSE = 1.1

Round = Mapping[str, dict[str, Any]]


def main(base: str, rounds: int = _ROUNDS) -> int:
    """Measure and print a table, one row a figure; 1 when one is worse by more than a tenth."""
    with worktree(base) as tree:
        measured: list[tuple[Sequence[Round], Sequence[Round]]] = []
        for measure in (measure_engine_turns, measure_turns):
            before, after = measure((tree, _ROOT), _TURNS)
            measured.append((before, after))
        pairs = _rounds(base, tree, rounds)
    if pairs:
        measured.append(([pair[0] for pair in pairs], [pair[1] for pair in pairs]))
    for line in chain.from_iterable(table(base, *each) for each in measured):
        print(line)
    slower = [line for each in measured for line in worse(base, *each)]
    for line in slower:
        print(line, file=sys.stderr)
    return 1 if slower else 0


def _rounds(base: str, tree: Path, rounds: int) -> list[tuple[Round, Round]]:
    pairs: list[tuple[Round, Round]] = []
    for _ in range(rounds):
        try:
            before = _measure(tree)
        except subprocess.CalledProcessError:
            rest = "compared is what fits into short turns"
            print(f"The whole benchmark does not run on {base}: {rest}", file=sys.stderr)
            break
        pairs.append((before, _measure(_ROOT)))
    return pairs


def table(base: str, before: Sequence[Round], after: Sequence[Round]) -> Iterator[str]:
    """Compare the figures that both have: medians, the median of the ratios of neighbours, and
    where the middle half of these ratios lies; of fewer than four, where all lie.
    """
    yield f"| figure | {base} | here | here / {base} | ratios |"
    yield "|---|---|---|---|---|"
    for title, old, new in _compared(before, after):
        first, second = statistics.median(old), statistics.median(new)
        yield f"| {title} | {first:.4g} | {second:.4g} | {_change(ratios(old, new))} |"


def worse(base: str, before: Sequence[Round], after: Sequence[Round]) -> Iterator[str]:
    """Say which figures are worse by more than a tenth, in the median of the ratios of neighbours:
    rates that are lower, anything else that is higher.
    """
    for title, old, new in _compared(before, after):
        change = statistics.median(ratios(old, new) or [1.0])
        if (1 / change if title.endswith("/s)") and change else change) > _WORSE:
            yield f"{title}: {change:.2f} of what it was at {base}"


def _compared(
    before: Sequence[Round], after: Sequence[Round]
) -> Iterator[tuple[str, list[float], list[float]]]:
    """The figures that both have, with their title."""
    for key, figure in before[0].items():
        if all(key in measured for measured in (*before, *after)):
            old = [measured[key]["value"] for measured in before]
            new = [measured[key]["value"] for measured in after]
            yield f"{figure['part']}: {figure['title']} ({figure['unit']})", old, new


def ratios(old: Sequence[float], new: Sequence[float]) -> list[float]:
    """The new over the old, neighbour by neighbour, the least first."""
    return sorted(second / first for first, second in zip(old, new, strict=True) if first)


def _change(of: Sequence[float]) -> str:
    if not of:
        return " | "
    cut = len(of) // 4
    return f"{statistics.median(of):.2f} | {of[cut]:.2f} to {of[-1 - cut]:.2f}"


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Have the tree of a commit beside this one, for a while."""
    with tempfile.TemporaryDirectory(prefix="bench-base-") as directory:
        tree = Path(directory) / "tree"
        _git("worktree", "add", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> None:
    subprocess.run(
        (shutil.which("git") or "git", "-C", str(_ROOT), *words),
        check=True,
        stdout=subprocess.DEVNULL,
    )


def _measure(tree: Path) -> Round:
    """Run the short form in a process whose engine is that of ``tree``."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        file = Path(directory) / "figures.json"
        # Only the engine is that tree's: the benchmark is ours.
        (Path(directory) / "conductor_py").symlink_to(tree / "conductor_py")
        subprocess.run(
            (sys.executable, str(_RUN), "--quick", "--without-hostile", "--json", str(file)),
            check=True,
            cwd=directory,
            env={**os.environ, "PYTHONPATH": directory},
            stdout=subprocess.DEVNULL,
        )
        figures: list[dict[str, Any]] = json.loads(file.read_text())
    # Growth has the values in its title; the key tells the figures apart.
    return {figure["key"]: figure for figure in figures}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:3])))
