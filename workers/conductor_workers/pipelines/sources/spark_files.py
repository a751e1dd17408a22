"""What Spark is told of files that it reads by itself, and what is looked up in them before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from conductor_workers.pipelines.connectors import SourceProblem

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

#: What makes Spark take the name of a file for a pattern.
_GLOB: Final = re.compile(r"[\\\[\]{}*?]")


def literally(paths: Sequence[str]) -> list[str]:
    """Return paths as Spark takes them for themselves, and for no patterns."""
    return [_GLOB.sub(r"\\\g<0>", path) for path in paths]


def first_line(spark: SparkSession, path: str, options: Mapping[str, str]) -> Sequence[str | None]:
    """Return the values of the first line of a CSV file as Spark takes them apart."""
    plain = {**options, "header": "false", "inferSchema": "false"}
    return spark.read.options(**plain).csv(literally([path])).first() or ()


def footer(path: str, data_format: str) -> pa.Schema:
    """Return the columns of a Parquet or ORC file. Raises ``SOURCE_CHANGED``."""
    try:
        if data_format == "parquet":
            import pyarrow.parquet as pq

            with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
                return file.schema_arrow
        from pyarrow import orc

        return orc.ORCFile(path).schema
    except (OSError, ValueError) as error:
        raise SourceProblem(
            "SOURCE_CHANGED", f"The file {path} is no readable {data_format} file: {error}"
        ) from error
