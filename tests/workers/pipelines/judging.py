"""The Spark session that judges what other sessions have written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from conductor_workers.session import WorkerSession, default_settings


@contextmanager
def judging_session(place: Path) -> Iterator[SparkSession]:
    """Start a session and stop it at the end."""
    settings = default_settings(master="local[2]", concurrency=2)
    settings["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    session = WorkerSession(work_dir=place / "judge", settings=settings)
    try:
        session.start()
        yield session.spark
    finally:
        session.stop()
