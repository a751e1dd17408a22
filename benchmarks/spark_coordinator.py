"""T12: what a million splits cost the coordinator, and how long the restore of their record takes.

Spark's part of a round is left out: everything else of it (picking, notes, record, copy, decision)
is what a pipeline really does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from benchmarks.spark_place import Ground, Job, Result, TimedStore
from conductor_workers.pipelines import coordinator
from conductor_workers.pipelines.rounds import Harvest, Round
from conductor_workers.pipelines.store import Fenced

SPLITS = 1_000_000
_SPLITS_A_ROUND = 2_000
_DONE_OF_ALL = 0.9
_ROUND_S = 20


def t12(at: Ground, splits: int = SPLITS) -> Iterator[Result]:
    """Rounds that compute nothing, over that many splits, and another worker that goes on."""
    store = TimedStore()
    given = _job(at, splits)
    with _nothing_computed(until=int(splits * _DONE_OF_ALL)) as reached:
        cpu, wall = time.process_time(), time.perf_counter()
        at.prepared(given, store).run()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    done = len(reached)
    with _nothing_computed(until=0) as reached:
        began = time.perf_counter()
        store.token = 2
        at.prepared(given, store).run()
        restored = reached[0] - began
    (part,) = store._keeper.parts.values()  # noqa: SLF001 - what the engine would keep
    yield Result(
        target="T12",
        title=f"CPU of the coordinator in rounds of {_ROUND_S} s, {splits:,} splits",
        value=100 * cpu / (done * _ROUND_S),
        unit="%",
        wanted=2,
        note=f"{done:,} rounds took {wall:.1f} s and {cpu:.1f} s of CPU",
    )
    yield Result(
        target="T12",
        title="restore of that record, nine tenths done, until the first round",
        value=restored,
        unit="s",
        wanted=10,
        note=f"the record has {len(str(part['record'])):,} bytes",
    )


@contextmanager
def _nothing_computed(until: int) -> Iterator[list[float]]:
    """Have rounds end at once; when so many splits were given, the worker loses its task."""
    reached: list[float] = []
    given = 0

    def run_round(_ground: object, task: Round) -> Harvest:
        nonlocal given
        reached.append(time.perf_counter())
        given += sum(map(len, task.splits.values()))
        if given >= until:
            raise Fenced
        return Harvest()

    with patch.object(coordinator, "run_round", run_round):
        yield reached


def _job(at: Ground, splits: int) -> Job:
    source = {"id": "many", "kind": "generator", "rows": splits, "output": "rows"}
    source["split"] = {"by": "range", "rows": 1}
    sink = {"id": "out", "kind": "file", "input": "rows", "format": "parquet"}
    env = {"round": {"max_splits": _SPLITS_A_ROUND}}
    sinks = [sink | {"path": str(at.scratch / "out")}]
    return {"version": 1, "name": "many", "sources": [source], "sinks": sinks, "env": env}
