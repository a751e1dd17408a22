"""A Spark session for tests: two cores, loopback only, nothing on the screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from conductor_workers.session import WorkerSession, default_settings


@contextmanager
def spark_session(work_dir: Path, *, cores: int = 2) -> Iterator[SparkSession]:
    """Run a session for a while; wrap it in a fixture ``spark`` with the scope ``session``."""
    settings = default_settings(master=f"local[{cores}]", concurrency=2)
    settings["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    session = WorkerSession(work_dir=work_dir, settings=settings)
    try:
        session.start()
        yield session.spark
    finally:
        session.stop()
