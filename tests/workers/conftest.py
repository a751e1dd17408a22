"""The one Spark session of a test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from conductor_workers.session import WorkerSession, default_settings
from tests.services.cache import cache_dir


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = default_settings(master="local[2]", concurrency=2)
    settings["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings["spark.python.authenticate.socketTimeout"] = "120s"
    session = WorkerSession(
        work_dir=tmp_path_factory.mktemp("spark"),
        settings=settings,
        archive_dir=cache_dir() / "classes",
    )
    try:
        session.start()
        yield session.spark
    finally:
        session.stop()
