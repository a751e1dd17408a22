"""Where the CPU of an execution goes: what ``make profile`` prints for the tree at hand.

.venv/bin/python benchmarks/ledger.py [one|alone|chain|fork] [EXECUTIONS] [POLLERS] [BATCH]

A server as it ships is put under load; /proc tells what each thread has used and how often it was
given a CPU, and ``named/sitecustomize.py`` what it is for. ``one`` is executions of one task by
eight clients, whose POLLERS take up to BATCH tasks at a time (20); ``alone`` the same by one
client, one task after the other. A fork has 1,000 branches and a chain ten tasks, polled for one at
a time; eight chains are started a second. What is printed is the cost of one branch or task. For
``one`` a second table says what the API's share is made of (``api_ledger``), and a third which
commands scripts of Redis spend their time in.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT))

from benchmarks.api_ledger import measure_api  # noqa: E402 - found where this file is
from benchmarks.clients import alone, drive  # noqa: E402
from benchmarks.machine import cost_by_thread  # noqa: E402
from benchmarks.server_part import (  # noqa: E402
    Served,
    await_effects,
    chain,
    chain_of_ten,
    fork,
    server,
)

_WIDTH = 1_000
_UNITS = {"one": "execution", "alone": "execution", "chain": "task", "fork": "branch"}
_LEAST_MS = 0.005
_SCRIPTS = ("eval", "evalsha", "fcall")


def main(work: str = "one", executions: int = 0, pollers: int = 4, batch: int = 0) -> int:
    """Measure and print a table: milliseconds of CPU of each part for a unit of work, with so many
    long polls of so many tasks at most (0: as many as the load takes by itself).
    """
    with tempfile.TemporaryDirectory() as folder:
        path = f"{_ROOT / 'benchmarks' / 'named'}:{_ROOT}:{_ROOT / 'workers'}"
        with server(PYTHONPATH=path, NAMES=folder) as at:
            units, spent, turns, commands = _measured(
                at, Path(folder), work, executions, pollers=pollers, batch=batch
            )
    _print(spent, "part", units, work)
    print(f"\nThreads were given a CPU {sum(turns.values()) / units:.1f} times for one", end=" ")
    print(f"{_UNITS[work]}:", ", ".join(_each(turns, units)), end=".\n")
    if work == "one":
        print()
        _print(measure_api(units), "part of the API, without the web server", units, work)
    print()
    scripts = sum(commands.pop(name, 0) for name in _SCRIPTS)
    commands["Lua and the rest of scripts"] = scripts - sum(commands.values())
    took_s = {name: each_us / 1e6 for name, each_us in commands.items()}
    _print(took_s, "time of scripts in Redis", units, work)
    return 0


def _print(spent: Mapping[str, float], head: str, units: int, work: str) -> None:
    whole = sum(spent.values())
    print(f"| {head} | for one {_UNITS[work]} (ms) | share |")
    print("|---|---:|---:|")
    for part, seconds in [("all", whole), *sorted(spent.items(), key=lambda each: -each[1])]:
        if (ms := seconds * 1000 / units) >= _LEAST_MS:
            print(f"| {part} | {ms:.3f} | {seconds / whole:.0%} |")


def _each(turns: Counter[str], units: int) -> Iterator[str]:
    for part, count in turns.most_common(4):
        yield f"{count / units:.1f} {part}"


def _measured(
    at: Served, folder: Path, work: str, executions: int, *, pollers: int, batch: int
) -> tuple[int, Counter[str], Counter[str], Counter[str]]:
    if work == "fork":
        executions = executions or 5
        load, width = fork(at, "fork", _WIDTH), _WIDTH
    elif work == "chain":
        executions = executions or 100
        load = chain_of_ten(at)
        width = load.tasks
    else:
        executions = executions or 2_000
        load, width = chain(at, "one", 1), 1
    load = replace(load, pollers=pollers, batch=batch or load.batch)
    run = alone if work == "alone" else drive
    run(replace(load, executions=max(1, executions // 10)))
    await_effects(at)
    (spent, turns), commands = _spent(at, folder), at.bare.spent_us()
    run(replace(load, executions=executions))
    await_effects(at)
    spent_now, turns_now = _spent(at, folder)
    commands = at.bare.spent_us() - commands
    return executions * width, spent_now - spent, turns_now - turns, commands


def _spent(at: Served, folder: Path) -> tuple[Counter[str], Counter[str]]:
    """CPU in seconds until now, and how often a thread was given one, by part."""
    names: dict[int, str] = {}
    for file in folder.glob("*.json"):
        names |= {int(thread): name for thread, name in json.loads(file.read_text()).items()}
    found: Counter[str] = Counter()
    turns: Counter[str] = Counter()
    for thread, (process, cpu_s, count) in cost_by_thread(at.pid).items():
        part = _part(process, names.get(thread, ""))
        found[part] += cpu_s
        turns[part] += count
    return found, turns


def _part(process: str, thread: str) -> str:
    if not process.startswith("python"):
        return process
    # Threads that Python has not started are the web server's.
    return "http" if not thread or thread.startswith("Dummy-") else thread.rstrip("-0123456789")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2], *map(int, sys.argv[2:5])))
