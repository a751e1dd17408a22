"""Measure peers: what ``make bench-peers`` calls, as ``python -m benchmarks.peers.run``."""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.machine import cost_of, describe, own_version
from benchmarks.others import Others
from benchmarks.peers.dbos import DBOS
from benchmarks.peers.java import ON_REDIS, ON_SQLITE
from benchmarks.peers.ours import OURS, SYNCED
from benchmarks.peers.page import picture, render
from benchmarks.peers.peer import Figures, Outcome, Peer, Ready
from benchmarks.peers.rq import RQ
from benchmarks.peers.temporal import AS_IT_SHIPS, WITH_WAL
from benchmarks.turns import take_turns
from tests.services.cache import Unobtainable

PEERS: Final = (OURS, SYNCED, ON_SQLITE, ON_REDIS, AS_IT_SHIPS, WITH_WAL, DBOS, RQ)
_DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
_TURNS: Final = 4
_IDLE_S: Final = 10
_REASON_SHOWN: Final = 200


def main(arguments: Sequence[str] | None = None, peers: Sequence[Peer] = PEERS) -> int:
    """Measure all, or those that are named beside ours, and write the page and its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=_TURNS, help="how many turns each takes")
    parser.add_argument("--only", default="", help="peers, such as java,rq")
    parser.add_argument("--docs", type=Path, default=_DOCS, help="where page and picture go")
    given = parser.parse_args(arguments)
    named = {peer.name for peer in peers[1:]}
    wanted = {each for each in given.only.split(",") if each} or named
    if unknown := wanted - named:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {sorted(named)}")
    software = f"Python {platform.python_version()}, {own_version()}"
    others = Others()
    outcomes = measure(
        [*peers[:1], *(each for each in peers[1:] if each.name in wanted)], given.turns
    )
    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe(),
        "others": others.told(),
        "software": software,
        "turns": str(given.turns),
        "minutes": f"{others.minutes():.0f}",
    }
    page = render(outcomes, facts)
    print(page)
    (given.docs / "reference" / "benchmarks-peers.md").write_text(page)
    (given.docs / "images" / "benchmarks-peers.svg").write_text(picture(outcomes))
    return 0


def measure(peers: Sequence[Peer], turns: int) -> list[Outcome]:
    """Start all of them, and let those that can be had take turns; the first is ours and must be.

    Raises ``RuntimeError`` when an execution is lost or wrong.
    """
    with ExitStack() as running:
        outcomes: list[Outcome] = []
        started: list[tuple[int, Ready]] = []
        for peer in peers:
            try:
                at = running.enter_context(peer.start())
            except Unobtainable as error:
                if peer is peers[0]:
                    raise
                outcomes.append(Outcome(peer=peer, reason=_sentence(error)))
            else:
                started.append((len(outcomes), at))
                outcomes.append(Outcome(peer=peer, version=at.version))
            _tell(f"{peer.title}: {outcomes[-1].reason or outcomes[-1].version}")
        idle = _idle_percents([at for _, at in started])
        takers = [_told(outcomes[number].peer.title, at) for number, at in started]
        for (number, at), taken, percent in zip(
            started, take_turns(takers, turns), idle, strict=True
        ):
            outcomes[number] = replace(
                outcomes[number],
                turns=taken,
                idle_percent=percent,
                resident_mb=cost_of(*at.pids).resident_mb,
            )
        return outcomes


def _idle_percents(all_ready: Sequence[Ready]) -> list[float]:
    """What each uses of a core while nobody has anything to do."""
    before = [cost_of(*at.pids).cpu_ms for at in all_ready]
    time.sleep(_IDLE_S)
    after = [cost_of(*at.pids).cpu_ms for at in all_ready]
    return [(b - a) / 10 / _IDLE_S for a, b in zip(before, after, strict=True)]


def _told(title: str, at: Ready) -> Callable[[], Figures]:
    def turn() -> Figures:
        began = time.monotonic()
        figures = at.turn()
        values = ", ".join(f"{key} {value:.3g}" for key, value in figures.items())
        _tell(f"{title} in {time.monotonic() - began:.0f} s: {values}")
        return figures

    return turn


def _sentence(error: Exception) -> str:
    """Why it cannot be had, fit for a cell of a table."""
    return " ".join(str(error).split())[:_REASON_SHOWN].replace("|", "/")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
