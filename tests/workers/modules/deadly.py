"""A function for the python transform whose tasks kill themselves."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def while_there(frames: Mapping[str, DataFrame], arguments: Mapping[str, Any]) -> DataFrame:
    """Pass all rows on; while the file ``mark`` is there, the task that meets ``id`` is killed."""
    (frame,) = frames.values()
    wanted, mark = int(arguments["id"]), Path(arguments["mark"])

    def passed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if mark.exists() and wanted in batch.column("id").to_pylist():
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return frame.mapInArrow(passed, frame.schema)
