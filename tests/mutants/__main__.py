"""Plants bugs, one at a time, and tells what catches each: what ``make mutants`` runs.

First everything that is to notice bugs must be green without any. Fails when a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from tests.mutants.catalogue import ALL, PARTS
from tests.mutants.detector import Kind, Verdict, run_tests
from tests.mutants.mutant import Mutant
from tests.mutants.report import Outcome, render
from tests.mutants.simulation import SEEDS, simulate
from tests.mutants.tree import ROOT, Copy

_PAGE: Final = ROOT / "docs/reference/mutants.md"
_BASELINE_S: Final = 1200
_T = TypeVar("_T")


class Copies:
    """A few copies of the tree, each worked in by one at a time."""

    def __init__(self, folders: Iterable[Path]) -> None:
        """Make a copy in each folder."""
        self._free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for folder in folders:
            folder.mkdir()
            self._free.put(Copy(folder))

    @contextmanager
    def one(self) -> Iterator[Copy]:
        """Work in one."""
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)


def main(arguments: Sequence[str]) -> int:
    """Run; 0 when all is caught, 1 when something survives, 2 when the tree itself is not green."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("ids", nargs="*", help="the mutants; all, and the page, without")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="worlds simulated; 0: none")
    unchecked = "do not look first whether all is green without any; writes no page"
    parser.add_argument("--unchecked", action="store_true", help=unchecked)
    asked = parser.parse_args(arguments)
    known = {mutant.id: mutant for mutant in ALL}
    unknown = [name for name in asked.ids if name not in known]
    if unknown:
        parser.error(f"no such mutant: {', '.join(unknown)}")
    chosen = [known[name] for name in asked.ids] or list(ALL)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        copies = Copies(Path(folder, str(number)) for number in range(asked.jobs))
        with ThreadPoolExecutor(asked.jobs) as pool:

            def on_all(call: Callable[..., _T], items: Iterable[object]) -> list[_T]:
                return list(pool.map(lambda item: call(copies, asked.seeds, item), items))

            shares = [] if asked.unchecked else _shares(chosen, asked.jobs)
            sick = [found for found in on_all(_healthy, shares) if found]
            for sentence in sick:
                _say(sentence)
            if sick:
                return 2
            outcomes = on_all(_planted, chosen)
    minutes = (time.monotonic() - began) / 60
    survivors = [outcome for outcome in outcomes if not outcome.caught]
    for outcome in survivors:
        _say(f"red: {outcome.mutant.id}: {outcome.mutant.bug}")
    if not (asked.ids or asked.unchecked):
        _write(outcomes, jobs=asked.jobs, seeds=asked.seeds, minutes=minutes)
    _say(f"{len(outcomes)} planted, {len(survivors)} survive, {minutes:.1f} min")
    return 1 if survivors else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# -- without any bug -------------------------------------------------------------------------------


def _shares(chosen: Sequence[Mutant], jobs: int) -> list[tuple[str, ...]]:
    """All that is to notice something, cut into runs: what has the same ``-k`` goes together. An
    empty share is the simulation.
    """
    wanted = dict.fromkeys(selection for mutant in chosen for selection in mutant.caught_by)
    groups: dict[str, list[str]] = {}
    for selection in wanted:
        path, _, rest = selection.partition(" ")
        groups.setdefault(rest, []).append(path)
    shares: list[tuple[str, ...]] = []
    for rest, paths in groups.items():
        for number in range(jobs):
            share = paths[number::jobs]
            if share:
                shares.append((*share, rest) if rest else tuple(share))
    return [*shares, ()]


def _healthy(copies: Copies, seeds: int, share: tuple[str, ...]) -> str:
    """A sentence when this share is not green; else empty."""
    if not (share or seeds):
        return ""
    with copies.one() as copy:
        found = run_tests(copy, share, limit_s=_BASELINE_S) if share else simulate(copy, seeds)
    if found.kind is Kind.GREEN:
        return ""
    what = " ".join(share) or "the simulation"
    return f"not green without any mutant: {what}: {found.kind.value} {found.test} {found.error}"


# -- with one --------------------------------------------------------------------------------------


def _planted(copies: Copies, seeds: int, mutant: Mutant) -> Outcome:
    with copies.one() as copy, copy.planted(mutant):
        outcome = _outcome(copy, seeds, mutant)
    mark = "caught  " if outcome.caught else "SURVIVES"
    alone = f"  alone: {outcome.alone.kind.value}" if outcome.alone else ""
    verdict = outcome.verdict
    _say(f"{mark}  {mutant.id:36} {outcome.seconds:6.1f} s  {verdict.test}{alone}")
    for each in (*outcome.worthless, verdict):
        if each.kind in {Kind.BROKEN, Kind.HUNG, Kind.ABSENT}:
            _say(f"          {each.kind.value}: {each.test} {each.error}")
    return outcome


def _outcome(copy: Copy, seeds: int, mutant: Mutant) -> Outcome:
    alone = simulate(copy, seeds) if seeds and mutant.simulated else None
    worthless: list[Verdict] = []
    for selection in mutant.caught_by:
        verdict = run_tests(copy, [selection])
        if verdict.kind is Kind.CAUGHT:
            break
        worthless.append(verdict)
    else:
        verdict = worthless.pop()
    return Outcome(mutant=mutant, verdict=verdict, worthless=tuple(worthless), alone=alone)


# -- the page --------------------------------------------------------------------------------------


def _write(outcomes: Sequence[Outcome], *, jobs: int, seeds: int, minutes: float) -> None:
    found = {outcome.mutant.id: outcome for outcome in outcomes}
    parts = {part: [found[mutant.id] for mutant in planted] for part, planted in PARTS.items()}
    facts = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": _commit(),
        "jobs": str(jobs),
        "seeds": str(seeds),
    }
    _PAGE.write_text(render(parts, facts, minutes=minutes), encoding="utf-8")
    _say(f"written: {_PAGE.relative_to(ROOT)}")


def _commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(
            ("git", *words), cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = git("status", "--porcelain", "--", "conductor_py", "tests")
    return f"`{git('rev-parse', '--short', 'HEAD')}`" + (" with changes" if changed else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
