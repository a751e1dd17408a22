"""T6 and T7: what the kill of a worker costs, and a run with several kills in all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.spark_data import made
from benchmarks.spark_place import Ground, Result
from benchmarks.spark_rounds import MIDDLE_MB, both, job, plain, sink
from benchmarks.spark_starts import Child
from tests.workers.pipelines.stores import StoreServer

_KILLS = 2
_LOOK_EVERY_S = 0.02
_ROUND_S = 5
_WITHIN_S = 120
_BEYOND_START_S = 2.0


def t6_t7(at: Ground) -> Iterator[Result]:
    """Kill the worker in its third round, twice; each successor starts at once (no lease)."""
    data = made(at.spark, at.data, MIDDLE_MB)
    ways = (("csv", data.csv), ("parquet", data.parquet))
    at.spent(lambda: plain(at, *ways))
    before = at.spent(lambda: plain(at, *ways)).wall_s
    place = at.scratch.with_name("killed")
    given = job(both(data), [sink("out", place)], {"round": {"target_s": _ROUND_S}})
    starts, restores = [], []
    with StoreServer() as server:
        began = time.perf_counter()
        killed_at: float | None = None
        for token in range(1, _KILLS + 2):
            child = Child(place=str(place), store=server.address, token=token, jobs=[given])
            starts.append(child.ready_s())
            if token == 1:  # everybody's first start is not the kills' fault
                began = time.perf_counter()
            _until_assigned(server, token, rounds=1)
            if killed_at is not None:
                restores.append(time.perf_counter() - killed_at)
            if token > _KILLS:
                break
            _until_assigned(server, token, rounds=3)
            child.process.kill()
            child.process.wait()
            killed_at = time.perf_counter()
        if not child.says()["finished"]:
            raise RuntimeError("the last worker did not finish")
        total = time.perf_counter() - began
        child.end()
    cold = statistics.median(starts)
    beyond = statistics.median(restores) - cold
    yield Result(
        target="T6",
        title="from a kill to the successor's first round, beyond lease and cold start",
        value=beyond,
        unit="s",
        wanted=_BEYOND_START_S,
        note=f"starts {_listed(starts)} s, from kill to first round {_listed(restores)} s",
    )
    after = at.spent(lambda: plain(at, *ways)).wall_s
    alone = (before + after) / 2
    wanted = 1.05 * alone + _KILLS * (cold + _BEYOND_START_S + _ROUND_S)
    yield Result(
        target="T7",
        title=f"0.58 GB with {_KILLS} kills, in rounds of {_ROUND_S} s",
        value=total,
        unit="s",
        wanted=wanted,
        note=f"one plain job: {before:.1f}, {after:.1f} s",
    )


def _until_assigned(server: StoreServer, token: int, *, rounds: int) -> None:
    """Wait until that worker has taken so many rounds."""
    seen: set[int] = set()
    began = time.perf_counter()
    while len(seen) < rounds:
        for part in list(server.keeper.parts.values()):
            seen |= {epoch for epoch in _assigned(part, token) if epoch}
        time.sleep(_LOOK_EVERY_S)
        if time.perf_counter() - began > _WITHIN_S:
            raise RuntimeError("the worker takes no rounds")


def _assigned(part: Mapping[str, Any], token: int) -> Iterator[int]:
    for note in list(part["notes"]):
        if str(note.get("kind")).lower() == "assign" and note.get("token") == token:
            yield int(note["epoch"])


def _listed(values: list[float]) -> str:
    return ", ".join(f"{each:.1f}" for each in values)
