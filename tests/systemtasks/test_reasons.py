"""What an execution says of an HTTP task that fails: through the engine, against a web server."""

import pytest

from conductor_py.engine.system_worker.lanes import Served
from conductor_py.engine.system_worker.worker import SystemWorkerOptions
from conductor_py.systemtasks.http import HttpTask
from conductor_py.testing import memory_engine
from tests.builders import status_of, tasks_of, typed, workflow
from tests.systemtasks.conftest import LOOPBACK, WebServer
from tests.waiting import until


@pytest.mark.parametrize(
    ("retries", "said"), [(0, "HTTP"), (1, "HTTP, 2nd try"), (2, "HTTP, 3rd try")]
)
def test_failure_of_a_request_names_the_task_its_type_and_its_try(
    web: WebServer, retries: int, said: str
) -> None:
    engine = memory_engine()
    given = {"uri": web.answer("/a", "closed", status=503), "method": "GET"}
    policy = {"name": "fetch_it", "retryCount": retries, "retryDelaySeconds": 0}
    task = typed("HTTP", "fetch", inputParameters=given, taskDefinition=policy)
    started = engine.start(workflow("w", task))
    options = SystemWorkerOptions(worker="host-1", served=Served(slots=4))
    worker = engine.engine.system_workers.worker((HttpTask(LOOPBACK),), options)
    for tried in range(1, retries + 2):
        until(worker.look, what=f"try {tried} is offered")
    until(lambda: status_of(engine, started) == "FAILED")
    tries = tasks_of(engine, started, "fetch")
    assert [each["retryCount"] for each in tries] == list(range(retries + 1))
    found = engine.workflow(started)
    why = tries[-1]["reasonForIncompletion"]
    assert "503" in why
    assert found["reasonForIncompletion"] == f"Task fetch ({said}) failed: {why}"
    assert found["failedTaskId"] == tries[-1]["taskId"]
