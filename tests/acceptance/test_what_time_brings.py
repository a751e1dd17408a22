"""What nobody asks for at that moment: a schedule fires, a pause holds, a time is over. It reaches
long polls that wait in another part of the server, and the search.
"""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.sdk import Client
from tests.acceptance.deployment import Deployment
from tests.acceptance.stories import ONE_STEP, STEP, finish, found, start, status, take
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_REST: Any = {
    "name": "rest",
    "taskReferenceName": "rest",
    "type": "WAIT",
    "inputParameters": {"duration": "5 seconds"},
}
_RESTED: Any = {**ONE_STEP, "tasks": [_REST, STEP]}


def _await_task(client: Client) -> dict[str, Any]:
    """The next task, by long polls that find nothing until it is there."""
    (task,) = until(lambda: take(client, timeout_ms=5000), what="a task is handed out")
    return task


def test_a_schedule_starts_what_a_long_poll_waits_for_until_it_is_paused(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    client = deployment.server(*shape).client
    client.register_workflow(ONE_STEP)
    schedule: Any = {
        "name": "often",
        "cronExpression": "* * * * * *",
        "zoneId": "UTC",
        "startWorkflowRequest": {"name": "one_step", "version": 1, "input": {"number": 21}},
    }
    client.save_schedule(schedule)

    scheduled = _await_task(client)
    client.pause_schedule("often")
    finish(client, scheduled)

    workflow = scheduled["workflowInstanceId"]
    assert client.get_workflow(workflow)["output"] == {"double": 42}
    until(lambda: workflow in found(client, "COMPLETED"), what="found by search")
    until(lambda: not take(client, timeout_ms=3000), what="nothing comes any more")


def test_a_task_that_time_makes_ready_wakes_a_long_poll_and_a_pause_holds_it(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    client = deployment.server(*shape).client
    held = client.start_workflow(definition=_RESTED, input={"number": 1})
    client.pause_workflow(held)
    free = client.start_workflow(definition=_RESTED, input={"number": 2})

    task = _await_task(client)
    assert task["workflowInstanceId"] == free
    finish(client, task)
    until(lambda: free in found(client, "COMPLETED"), what="found by search")
    assert status(client, held) == "PAUSED"
    assert take(client, timeout_ms=2000) == []

    client.resume_workflow(held)
    finish(client, _await_task(client))
    until(lambda: held in found(client, "COMPLETED"), what="found by search")


def test_a_task_whose_worker_says_nothing_is_handed_out_again_when_its_time_is_over(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    client = deployment.server(*shape).client
    workflow = start(client, 3)
    (lost,) = until(lambda: take(client, timeout_ms=5000, lease_s=1), what="it is handed out")

    again = _await_task(client)

    assert again["taskId"] != lost["taskId"] or again["claimToken"] != lost["claimToken"]
    finish(client, again)
    assert status(client, workflow) == "COMPLETED"
