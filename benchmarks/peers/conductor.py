"""The turn of a server that has Conductor's interface: ours, and the Java one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Final

from benchmarks.clients import DATA, Http, Load, Lost, Seen, alone, drive
from benchmarks.figures import quantile
from benchmarks.peers.peer import LOST, REFUSED, Figures
from benchmarks.server_part import (
    Reached,
    await_effects,
    chain,
    chain_of_ten,
    cpu_of,
    fork,
    handed_on_ms,
)

#: Executions of one turn: by one client, by eight, of chains of ten; and of forks, by width.
_BY_ONE: Final = 200
_BY_EIGHT: Final = 600
_CHAINS: Final = 24
_FORKS: Final = {100: 5, 1000: 1}
_END_S: Final = 120.0
_LOOK_S: Final = 0.1
#: What a server refuses is asked again; the page counts it.
_REPEATS: Final = 100
#: How often a turn is begun again in which a peer lost an execution; the page counts it.
_ANEW: Final = 5


def turn_of(
    at: Reached, *, warm: int, forks: bool = True, loses: bool = False
) -> Callable[[], Figures]:
    """Register what is run, run ``warm`` executions that do not count, and return its turn.

    Of a server that ``loses`` an execution now and then, the turn is begun anew.
    """
    one = replace(chain(at, "one", 1), repeats=_REPEATS)
    with suppress(Lost) if loses else nullcontext():
        _warm(at, replace(one, executions=warm))
    if not forks:
        return lambda: _one_task(at, one)
    ten = replace(chain_of_ten(at), executions=_CHAINS, repeats=_REPEATS)
    wide = [
        replace(fork(at, f"fork_{width}", width), executions=count, repeats=_REPEATS)
        for width, count in _FORKS.items()
    ]
    # A JVM compiles what it runs: chains and forks have paths of their own.
    _warm(at, replace(ten, executions=warm // 20, starts_per_s=0, batch=20))
    _warm(at, replace(wide[0], executions=warm // 400))

    def turn() -> Figures:
        return _together([_one_task(at, one), _chains(at, ten), *_forks(at, wide)])

    return begun_anew(turn) if loses else turn


def begun_anew(turn: Callable[[], Figures]) -> Callable[[], Figures]:
    """Begin a turn anew in which the server lost an execution, and count them."""

    def taken() -> Figures:
        for lost in range(_ANEW):
            try:
                return {**turn(), LOST: lost}
            except Lost as error:
                print(error, file=sys.stderr, flush=True)
        return {**turn(), LOST: _ANEW}

    return taken


def _warm(at: Reached, load: Load) -> None:
    seen = drive(load)
    await_effects(at)
    _await_ends(at, seen)


def _together(parts: Sequence[Figures]) -> Figures:
    return {
        **{key: value for part in parts for key, value in part.items()},
        REFUSED: sum(part[REFUSED] for part in parts),
    }


def _one_task(at: Reached, load: Load) -> Figures:
    one_ms, one = cpu_of(at, replace(load, executions=_BY_ONE), alone)
    eight_ms, eight = cpu_of(at, replace(load, executions=_BY_EIGHT))
    for seen in (one, eight):
        _await_ends(at, seen)
    return {
        "one_rate": _BY_ONE / one.seconds,
        "one_cpu": one_ms / _BY_ONE,
        "eight_rate": _BY_EIGHT / eight.seconds,
        "eight_cpu": eight_ms / _BY_EIGHT,
        REFUSED: one.refused + eight.refused,
    }


def _chains(at: Reached, load: Load) -> Figures:
    cpu_ms, seen = cpu_of(at, load)
    _await_ends(at, seen)
    handed_ms = handed_on_ms(seen)
    return {
        "chain_cpu": cpu_ms / (load.executions * load.tasks),
        "handed_p50": quantile(handed_ms, 0.5),
        "handed_p95": quantile(handed_ms, 0.95),
        REFUSED: seen.refused,
    }


def _forks(at: Reached, loads: Sequence[Load]) -> Iterator[Figures]:
    def run(load: Load) -> Seen:
        seen = drive(load)
        # Few, and what it costs to join them counts, whenever that is done.
        _await_ends(at, seen)
        return seen

    for load in loads:
        cpu_ms, seen = cpu_of(at, load, run)
        yield {
            f"fork_{load.tasks}": cpu_ms / (load.executions * load.tasks),
            REFUSED: seen.refused,
        }


def _await_ends(at: Reached, seen: Seen) -> None:
    """Every execution must complete, and with what the workers said."""
    with Http(at.port) as http:
        until = time.monotonic() + _END_S
        for execution in seen.executions:
            while True:
                document = http.json("GET", f"/workflow/{execution}?includeTasks=false")
                if document["status"] != "RUNNING" or time.monotonic() > until:
                    break
                time.sleep(_LOOK_S)
            if document["status"] != "COMPLETED" or document["output"] != {"done": DATA}:
                output = str(document["output"])[:99]
                kind = Lost if document["status"] == "RUNNING" else RuntimeError
                raise kind(f"execution {execution} is {document['status']} with {output}")
