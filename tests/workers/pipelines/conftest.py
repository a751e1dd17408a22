"""The session that the tests of pipelines share."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.workers.pipelines.jobs import Trial


@pytest.fixture
def trial(spark: SparkSession, tmp_path: Path) -> Trial:
    return Trial(spark=spark, place=tmp_path)
