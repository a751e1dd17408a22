"""The inputs, the job and the truth that kill tests share.

One pipeline reads CSV files, Parquet files and a generator (in Python, so that tasks run code of
ours), puts them together and writes two sinks; another one drops duplicates, which keeps state.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.record_form import record_from_json
from tests.workers.pipelines.chaos.oracle import mismatches
from tests.workers.pipelines.chaos.setting import Left
from tests.workers.pipelines.chaos.tables import numbers_in
from tests.workers.pipelines.jobs import Job, figures, files, generated, job_of
from tests.workers.pipelines.stores import Keeper

_ROWS = 4000
_FILES = 3
_QUERY = "SELECT id, number, concat(text, '!') AS text FROM i WHERE number % 10 < 8"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedScene:
    """See the module. ``wanted`` are the figures of the truth by sink."""

    spark: SparkSession
    inputs: Path
    wanted: dict[str, tuple[int, int, int]]

    @classmethod
    def made(cls, spark: SparkSession, inputs: Path) -> BoundedScene:
        """Write the inputs and work out the truth."""
        rows = _numbers(spark, 0, _ROWS)
        rows.repartition(2).write.option("header", True).csv(str(inputs / "csv"))
        more = _numbers(spark, _ROWS, 2 * _ROWS)
        more.repartition(_FILES).write.parquet(str(inputs / "parquet"))
        everything = _numbers(spark, 0, 2 * _ROWS).unionByName(_numbers(spark, 0, _ROWS))
        everything.createOrReplaceTempView("i")
        truth = figures(spark.sql(_QUERY))
        keys = spark.range(_ROWS).selectExpr("id % 700 AS key").distinct()
        return cls(
            spark=spark,
            inputs=inputs,
            wanted={"files": truth, "listed": truth, "table": truth, "keys": figures(keys)},
        )

    def job(self, place: Path, *, splits: int = 6) -> Job:
        """The job that writes below that place, rounds of so many splits."""
        columns = [
            {"name": "id", "type": "bigint", "nullable": False},
            {"name": "number", "type": "bigint"},
            {"name": "text", "type": "string"},
        ]
        described = job_of(
            [
                {
                    "id": "csv",
                    "kind": "file",
                    "output": "csv_rows",
                    "paths": [str(self.inputs / "csv" / "*.csv")],
                    "format": "csv",
                    "options": {"header": True},
                    "split": {"by": "bytes", "size": 20_000},
                    "schema": {"columns": columns},
                },
                {
                    "id": "parquet",
                    "kind": "file",
                    "output": "parquet_rows",
                    "paths": [str(self.inputs / "parquet" / "*.parquet")],
                    "format": "parquet",
                },
                generated("made", _ROWS, in_python=True),
                generated("doubles", _ROWS, split=300, in_python=True),
            ],
            [
                files("files", "chosen", place / "files"),
                files("listed", "chosen", place / "listed", "json", visibility="manifest"),
                {
                    "id": "table",
                    "kind": "jdbc",
                    "input": "chosen",
                    "url": f"sqlite:///{place / 'table.db'}",
                    "table": "numbers",
                    "create": True,
                },
                files("keys", "keys", place / "keys"),
            ],
            [
                _map("plain", "made_rows", {"id": "id", "number": "number", "text": "text"}),
                {
                    "id": "all",
                    "kind": "union",
                    "inputs": {"a": "csv_rows", "b": "parquet_rows", "c": "plain_out"},
                    "output": "all_rows",
                },
                {
                    "id": "choice",
                    "kind": "sql",
                    "inputs": {"i": "all_rows"},
                    "output": "chosen",
                    "query": _QUERY,
                },
                _map("keyed", "doubles_rows", {"key": "id % 700"}),
                {
                    "id": "once",
                    "kind": "dedup",
                    "inputs": {"i": "keyed_out"},
                    "output": "keys",
                    "keys": ["key"],
                },
            ],
        )
        described["env"]["round"]["max_splits"] = splits
        described["env"]["buckets"] = 8
        return described

    def mismatches(self, place: Path) -> list[str]:
        """Compare what is below that place with the truth."""
        seen = figures(numbers_in(self.spark, place))
        table = (
            [] if seen == self.wanted["table"] else [f"table: {seen}, not {self.wanted['table']}"]
        )
        return table + mismatches(
            self.spark,
            wanted=self.wanted,
            outputs={
                "files": (place / "files", "parquet"),
                "listed": (place / "listed", "json"),
                "keys": (place / "keys", "parquet"),
            },
            place=place,
        )

    def left(self, keeper: Keeper) -> Left:
        """Tell what the next attempt has to read, by what the engine keeps now."""
        done: dict[str, Intervals] = {}
        for part in keeper.parts.values():
            if part["record"] is not None:
                sources = record_from_json(part["record"]).sources
                done |= {name: state.done for name, state in sources.items()}
        return Left(
            rows=sum(
                pq.read_metadata(file).num_rows
                for number, file in enumerate(sorted(self._files()))  # as the source finds them
                if number not in done.get("parquet", ())
            ),
            done={name: len(done.get(name, ())) for name in ("csv", "parquet", "made", "doubles")},
        )

    def misread(self, left: Left, result: dict[str, Any]) -> list[str]:
        """Compare what Spark says that was read with what was left to read."""
        found = []
        for pipeline in result["document"]["pipelines"]:
            if not pipeline["sinks"].keys() & {"keys", "files"}:
                continue
            if pipeline["lastError"]:
                continue  # a round that failed under it is read again by right
            sources = ("doubles",) if "keys" in pipeline["sinks"] else ("csv", "made")
            splits = pipeline["splits"]["discovered"] - sum(left.done[name] for name in sources)
            wanted = {"Range": splits}
            if "csv" in sources:
                wanted = {"Range": splits - len(self._files()), "Scan parquet": left.rows}
            read = result["read"].get(pipeline["id"], {})
            seen = {name: read.get(name, 0) for name in wanted}
            if seen != wanted:
                found.append(f"{sources}: Spark has read {seen}, and {wanted} was left")
        return found

    def _files(self) -> list[Path]:
        return list((self.inputs / "parquet").glob("*.parquet"))


def _map(name: str, given: str, select: dict[str, str]) -> Job:
    return {
        "id": name,
        "kind": "map",
        "inputs": {"i": given},
        "output": f"{name}_out",
        "select": select,
    }


def _numbers(spark: SparkSession, low: int, high: int) -> DataFrame:
    """The rows of a generator with seed 0."""
    modulus = 1 << 31
    return spark.range(low, high).selectExpr(
        "id",
        f"((id % {modulus}L) * 1103515245L) % {modulus}L AS number",
        "concat('row-', id) AS text",
    )
