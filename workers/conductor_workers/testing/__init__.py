"""What the authors of connectors test theirs with: the promises of a source and of a sink, as
pytest classes, and a small Spark session.
"""

import pytest

pytest.register_assert_rewrite(f"{__name__}.sources", f"{__name__}.sinks")

from conductor_workers.testing.session import spark_session  # noqa: E402 - asserts first
from conductor_workers.testing.sinks import SinkContract, SinkTarget  # noqa: E402
from conductor_workers.testing.sources import SourceContract, SourceSample  # noqa: E402

__all__ = ["SinkContract", "SinkTarget", "SourceContract", "SourceSample", "spark_session"]
