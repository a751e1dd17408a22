"""Whether a Spark driver can still be asked for anything.

A driver is lost when its JVM is gone, and when its context was stopped: a cluster that takes an
application away does that, and leaves the JVM running. What a lost driver answers, or fails to,
says nothing about the work that it was given.
"""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark import SparkContext


def has_ended(context: SparkContext) -> bool:
    """Ask the driver; no answer is an end."""
    try:
        # Nothing public asks this and raises nothing.
        return bool(context._jsc.sc().isStopped())  # noqa: SLF001
    except (Py4JError, OSError, AttributeError):  # PySpark forgets the context that was stopped
        return True
