"""What a driver JVM remembers of work that is over, bounded: a worker runs for months.

Spark is made for an application that ends. For its web page it keeps a thousand jobs, stages and
queries with their plans, page or no page; and it begins a thread for every query until there are a
thousand, each of which holds on to the session of the task that was its first. Under many small
tasks that is a gigabyte.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

#: What is told of a running task is read from these: a job and a stage of it must still be known.
_JOBS = 200
_STAGES = 200
_TASKS_OF_A_STAGE = 500
_QUERIES = 20
_DEAD_EXECUTORS = 10
#: A thread waits for the end of its query, and a query may wait for one inside it: not too few.
_THREADS = 64

BOUNDS: Final = MappingProxyType(
    {
        "spark.ui.retainedJobs": str(_JOBS),
        "spark.ui.retainedStages": str(_STAGES),
        "spark.ui.retainedTasks": str(_TASKS_OF_A_STAGE),
        "spark.ui.retainedDeadExecutors": str(_DEAD_EXECUTORS),
        "spark.ui.dagGraph.retainedRootRDDs": "1",
        "spark.sql.ui.retainedExecutions": str(_QUERIES),
        "spark.sql.broadcastExchange.maxThreadThreshold": str(_THREADS),
        "spark.sql.resultQueryStage.maxThreadThreshold": str(_THREADS),
        "spark.sql.shuffleExchange.maxThreadThreshold": str(_THREADS),
    }
)
"""Settings of a session; a user's own ones win."""
