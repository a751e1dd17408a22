"""Servers of several trees side by side, which take turns under the same load.

A machine that changes its pace from minute to minute does so for all of them: what is compared was
measured within seconds. While one is under load the others rest, at a cost that all have alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from benchmarks.clients import Load, alone
from benchmarks.figures import quantile
from benchmarks.machine import memory_by_role
from benchmarks.server_part import (
    Served,
    chain,
    chain_of_ten,
    cpu_of,
    fork,
    handed_on_ms,
    server,
)

_PART: Final = "Servers in turns"
#: Key, title and unit.
_FIGURES: Final = (
    ("turn_one", "one-task workflows, 1 client", "/s"),
    ("turn_one_cpu", "CPU of all processes for one execution, 1 client", "ms"),
    ("turn_eight", "one-task workflows, 8 clients", "/s"),
    ("turn_eight_cpu", "CPU of all processes for one execution, 8 clients", "ms"),
    ("turn_chain_cpu", "CPU of all processes for a task of a chain of ten", "ms"),
    ("turn_handed_p50", "result sent to next task in a worker's hands, p50", "ms"),
    ("turn_handed_p95", "result sent to next task in a worker's hands, p95", "ms"),
    ("turn_fork_10", "CPU of all processes for a branch of 10", "ms"),
    ("turn_fork_100", "CPU of all processes for a branch of 100", "ms"),
    ("turn_fork_1000", "CPU of all processes for a branch of 1,000", "ms"),
    ("turn_memory", "resident memory of all processes after it", "MB"),
)
#: Executions of one turn: by one client, by eight, of chains of ten.
_BY_ONE: Final = 100
_BY_EIGHT: Final = 300
_CHAINS: Final = 24
#: Branches of one turn, for each width.
_BRANCHES: Final = 3_000

T = TypeVar("T")
Turn = dict[str, dict[str, Any]]


def measure_turns(trees: Sequence[Path], turns: int) -> list[list[Turn]]:
    """Return the turns of each tree's server, each turn as figures by key."""
    return measure_servers([{"PYTHONPATH": str(tree)} for tree in trees], turns)


def measure_servers(servers: Sequence[Mapping[str, str]], turns: int) -> list[list[Turn]]:
    """Return the turns of a server for each of these environments, each turn as figures by key."""
    with ExitStack() as running:
        served = [running.enter_context(server(**environment)) for environment in servers]
        loads = [_loads(at) for at in served]
        return take_turns(
            [partial(_turn, *each) for each in zip(served, loads, strict=True)], turns
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loads:
    one: Load
    ten: Load
    forks: tuple[Load, ...]


def _loads(at: Served) -> _Loads:
    forks = (
        replace(fork(at, f"fork_{width}", width), executions=_BRANCHES // width)
        for width in (10, 100, 1000)
    )
    ten = replace(chain_of_ten(at), executions=_CHAINS)
    return _Loads(one=chain(at, "one", 1), ten=ten, forks=tuple(forks))


def take_turns(takers: Sequence[Callable[[], T]], turns: int) -> list[list[T]]:
    """Let each take its turn, so many times after one that warms up; return the turns of each.

    Who begins changes with every turn, so that a drift favours nobody.
    """
    seen: list[list[T]] = [[] for _ in takers]
    for number in range(-1, turns):
        order = range(len(takers)) if number % 2 else reversed(range(len(takers)))
        for which in order:
            turn = takers[which]()
            if number >= 0:
                seen[which].append(turn)
    return seen


def _turn(at: Served, loads: _Loads) -> Turn:
    one_ms, one = cpu_of(at, replace(loads.one, executions=_BY_ONE), alone)
    eight_ms, eight = cpu_of(at, replace(loads.one, executions=_BY_EIGHT))
    ten_ms, ten = cpu_of(at, loads.ten)
    handed_ms = handed_on_ms(ten)
    values = (
        _BY_ONE / one.seconds,
        one_ms / _BY_ONE,
        _BY_EIGHT / eight.seconds,
        eight_ms / _BY_EIGHT,
        ten_ms / (_CHAINS * loads.ten.tasks),
        *(quantile(handed_ms, share) for share in (0.5, 0.95)),
        *(cpu_of(at, each)[0] / _BRANCHES for each in loads.forks),
        sum(each.resident for each in memory_by_role(at.pid).values()),
    )
    return {
        key: {"part": _PART, "title": title, "unit": unit, "value": value}
        for (key, title, unit), value in zip(_FIGURES, values, strict=True)
    }
