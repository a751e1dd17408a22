"""The job and the truth of kill tests by event time: sources that are never said to be bounded.

Three pipelines, each with a streaming query that keeps state between rounds: windows, which go to
files and to a table; keys that come once, under a manifest; and partners of two streams, the rows
without one among them. Duplicates and partners lie on both sides of the bounds of rounds.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from conductor_py.pipelines.record_form import record_from_json
from tests.workers.pipelines.chaos.oracle import mismatches
from tests.workers.pipelines.chaos.setting import Left
from tests.workers.pipelines.jobs import Job, figures, files, generated, job_of
from tests.workers.pipelines.stores import Keeper

_ROWS: Final = 720
_FEWER: Final = 540
_SPLIT: Final = 60
_APART: Final = 5
_AT: Final = "timestamp_seconds(1577836800 + id)"
_SOURCES: Final = {"sums": ("a",), "once": ("b",), "pairs": ("c", "d")}
"""By sink, which tells the pipelines apart."""
_HOLDING: Final = {"sums": "minutes", "pairs": "partners"}
"""Transforms that let rows go at the end, when each input is fed one row more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventScene:
    """See the module. ``wanted`` are the figures of the truth by sink."""

    spark: SparkSession
    wanted: dict[str, tuple[int, int, int]]

    @classmethod
    def made(cls, spark: SparkSession) -> EventScene:
        """Work out the truth: what one plain query says, rows that lie on the same second."""
        spark.range(_ROWS).selectExpr("id", f"{_AT} AS at").createOrReplaceTempView("seconds")
        sums = spark.sql(
            "SELECT id % 3 AS g, window.start AS window_start, window.end AS window_end,"
            " count(*) AS n, sum(id) AS x FROM seconds GROUP BY window(at, '60 seconds'), id % 3"
        )
        once = spark.sql("SELECT DISTINCT (id + 1) div 2 AS k FROM seconds")
        pairs = spark.sql(
            "SELECT l.id, l.at, r.later, r.m FROM seconds l LEFT JOIN"
            f" (SELECT id + {_APART} AS id, at AS later, id * 7 AS m FROM seconds"
            f" WHERE id < {_FEWER}) r ON l.id = r.id"
        )
        truth = {"sums": sums, "once": once, "pairs": pairs}
        return cls(spark=spark, wanted={name: figures(frame) for name, frame in truth.items()})

    def job(self, place: Path) -> Job:
        """The job that writes below that place."""
        table = {
            "id": "table",
            "kind": "jdbc",
            "input": "minutes_out",
            "url": f"sqlite:///{place / 'table.db'}",
            "table": "sums",
            "create": True,
        }
        described = job_of(
            [
                generated(name, _FEWER if name == "d" else _ROWS, split=_SPLIT)
                for names in _SOURCES.values()
                for name in names
            ],
            [
                files("sums", "minutes_out", place / "sums"),
                table,
                files("once", "keys_out", place / "once", "json", visibility="manifest"),
                files("pairs", "partners_out", place / "pairs"),
            ],
            [
                _node("map", "am", "a_rows", select={"id": "id", "at": "at", "g": "id % 3"}),
                _node(
                    "aggregate",
                    "minutes",
                    "am_out",
                    group_by=["g"],
                    measures={"n": "count(*)", "x": "sum(id)"},
                    time="at",
                    window_s=60,
                ),
                _node("map", "bm", "b_rows", select={"k": "(id + 1) div 2", "at": "at"}),
                _node("dedup", "keyed", "bm_out", keys=["k"], time="at", within_s=10),
                _node("map", "keys", "keyed_out", select={"k": "k"}),
                _node("map", "left", "c_rows", select={"id": "id", "at": "at"}),
                _node(
                    "map",
                    "right",
                    "d_rows",
                    select={"id": f"id + {_APART}", "later": "at", "m": "id * 7"},
                ),
                _node(
                    "join",
                    "partners",
                    {"left": "left_out", "right": "right_out"},
                    on=[["id", "id"]],
                    how="left",
                    left_time="at",
                    right_time="later",
                    within_s=_APART,
                    lateness_s=30,
                ),
            ],
            mode="unbounded",
        )
        described["env"]["round"] = {"min_s": 0.01, "min_bytes": 1 << 20, "max_splits": 4}
        return described

    def mismatches(self, place: Path) -> list[str]:
        """Compare what is below that place with the truth."""
        seen = figures(self._table(place))
        table = [] if seen == self.wanted["sums"] else [f"table: {seen}, not {self.wanted['sums']}"]
        outputs = {"sums": "parquet", "once": "json", "pairs": "parquet"}
        return table + mismatches(
            self.spark,
            wanted=self.wanted,
            outputs={name: (place / name, kind) for name, kind in outputs.items()},
            place=place,
        )

    def left(self, keeper: Keeper) -> Left:
        """Tell what the next attempt has to read, by what the engine keeps now."""
        done = {name: 0 for names in _SOURCES.values() for name in names}
        ended = set()
        for part in keeper.parts.values():
            if part["record"] is None:
                continue
            record = record_from_json(part["record"])
            done |= {name: len(state.done) for name, state in record.sources.items()}
            ended |= {name for name, state in record.keyed_state.items() if state.get("ended")}
        return Left(done=done, ended=frozenset(ended))

    def misread(self, left: Left, result: dict[str, Any]) -> list[str]:
        """Compare what Spark says that was read with what was left to read."""
        found = []
        for pipeline in result["document"]["pipelines"]:
            if pipeline["lastError"]:
                continue  # a round that failed under it is read again by right
            (sink,) = pipeline["sinks"].keys() & _SOURCES.keys()
            sources = _SOURCES[sink]
            undone = pipeline["splits"]["discovered"] - sum(left.done[name] for name in sources)
            ends = 0 if _HOLDING.get(sink, sink) in left.ended | {"once"} else len(sources)
            wanted = undone * _SPLIT + ends
            seen = result["read"].get(pipeline["id"], {}).get("Range", 0)
            if seen != wanted:
                found.append(f"{sources}: Spark has read {seen} rows, and {wanted} were left")
        return found

    def _table(self, place: Path) -> DataFrame:
        """The table of windows, with the instants that SQLite keeps as text."""
        columns = "g, window_start, window_end, n, x"
        with closing(sqlite3.connect(place / "table.db")) as connection:
            rows = connection.execute(f"SELECT {columns} FROM sums").fetchall()
        kept = "g bigint, window_start string, window_end string, n bigint, x bigint"
        times = {name: f"CAST({name} AS timestamp)" for name in ("window_start", "window_end")}
        return self.spark.createDataFrame(rows, kept).selectExpr(
            *(f"{times.get(name, name)} AS {name}" for name in columns.split(", "))
        )


def _node(kind: str, name: str, given: dict[str, str] | str, **more: Any) -> Job:
    inputs = {"i": given} if isinstance(given, str) else given
    return {"id": name, "kind": kind, "inputs": inputs, "output": f"{name}_out", **more}
