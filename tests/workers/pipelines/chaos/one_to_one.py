"""The smallest job of kill tests: pieces of CSV files go to files, or to a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pyspark.sql import SparkSession

from conductor_py.pipelines.record_form import record_from_json
from tests.workers.pipelines.chaos.oracle import mismatches
from tests.workers.pipelines.chaos.setting import Left
from tests.workers.pipelines.chaos.tables import numbers_in
from tests.workers.pipelines.jobs import Job, figures, files, job_of
from tests.workers.pipelines.stores import Keeper

_ROWS: Final = 2000
_FILES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OneToOne:
    """See the module. ``wanted`` are the figures of the truth."""

    spark: SparkSession
    inputs: Path
    sink: Literal["files", "table"]
    wanted: tuple[int, int, int]

    @classmethod
    def made(cls, spark: SparkSession, inputs: Path, sink: Literal["files", "table"]) -> OneToOne:
        """Write the inputs and work out the truth."""
        rows = spark.range(_ROWS).selectExpr("id", "id * 7 AS number", "concat('row-', id) AS text")
        rows.repartition(_FILES).write.option("header", True).csv(str(inputs))
        return cls(spark=spark, inputs=inputs, sink=sink, wanted=figures(rows))

    def job(self, place: Path) -> Job:
        """The job that writes below that place."""
        columns = [
            {"name": "id", "type": "bigint"},
            {"name": "number", "type": "bigint"},
            {"name": "text", "type": "string"},
        ]
        source = {
            "id": "csv",
            "kind": "file",
            "output": "rows",
            "paths": [str(self.inputs / "*.csv")],
            "format": "csv",
            "options": {"header": True},
            "split": {"by": "bytes", "size": 5_000},
            "schema": {"columns": columns},
        }
        table = {
            "id": "table",
            "kind": "jdbc",
            "input": "rows",
            "url": f"sqlite:///{place / 'table.db'}",
            "table": "numbers",
            "create": True,
        }
        sink = files("files", "rows", place / "files") if self.sink == "files" else table
        described = job_of([source], [sink])
        described["env"]["round"]["max_splits"] = 3  # three rounds
        return described

    def mismatches(self, place: Path) -> list[str]:
        """Compare what is below that place with the truth."""
        outputs = {"files": (place / "files", "parquet")} if self.sink == "files" else {}
        found = mismatches(self.spark, wanted={"files": self.wanted}, outputs=outputs, place=place)
        if self.sink == "table" and (seen := figures(numbers_in(self.spark, place))) != self.wanted:
            found.append(f"table: {seen}, not {self.wanted}")
        return found

    def left(self, keeper: Keeper) -> Left:
        """Tell what the next attempt has to read, by what the engine keeps now."""
        records = [part["record"] for part in keeper.parts.values() if part["record"] is not None]
        done = sum(len(record_from_json(each).sources["csv"].done) for each in records)
        return Left(done={"csv": done})

    def misread(self, left: Left, result: dict[str, Any]) -> list[str]:
        """Compare what Spark says that was read with what was left to read: a split is one row of
        a ``Range`` there.
        """
        (pipeline,) = result["document"]["pipelines"]
        if pipeline["lastError"]:
            return []  # a round that failed under it is read again by right
        wanted = pipeline["splits"]["discovered"] - left.done["csv"]
        seen = result["read"].get(pipeline["id"], {}).get("Range", 0)
        return [] if seen == wanted else [f"Spark has read {seen} splits, and {wanted} were left"]
