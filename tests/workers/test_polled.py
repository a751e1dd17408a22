"""What a worker reports of tasks whose Spark session ends under them: nothing."""

from __future__ import annotations

from typing import Any, cast

import pytest
from py4j.protocol import Py4JNetworkError

from conductor_py.sdk import Client, TaskContext
from conductor_workers.polled import TASK_TYPES, SparkWorkerOptions, spark_worker_tasks
from conductor_workers.session import WorkerSession
from tests.sdk.clock import FakeClock
from tests.sdk.tasks import task


class _Gone:
    """A session whose JVM was killed."""

    def alive(self) -> bool:
        return False

    @property
    def spark(self) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        raise Py4JNetworkError(f"nobody answers: {name}")


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_a_task_whose_session_has_ended_is_not_reported(task_type: str) -> None:
    session = cast("WorkerSession", _Gone())
    with Client("http://127.0.0.1:9/api") as client:
        context = TaskContext(task(), FakeClock(), client)
        options = SparkWorkerOptions(task_types=(task_type,))
        (worker_task,) = spark_worker_tasks(client, session, options)
        assert worker_task.run(context, {}) is None
    assert context.cancelled.is_set()
