"""The one Spark session of a test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from conductor_workers.session import WorkerSession, default_settings


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = default_settings(master="local[2]", concurrency=2)
    settings["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    session = WorkerSession(work_dir=tmp_path_factory.mktemp("spark"), settings=settings)
    try:
        session.start()
        yield session.spark
    finally:
        session.stop()
