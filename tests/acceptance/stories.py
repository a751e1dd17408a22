"""What a user does with a server, in a few lines: a workflow of one task, from start to search."""

from typing import Any, cast

from conductor_py.sdk import Client
from tests.waiting import PATIENCE_S, until

STEP: Any = {
    "name": "step",
    "taskReferenceName": "step",
    "inputParameters": {"number": "${workflow.input.number}"},
    "taskDefinition": {"name": "step", "retryCount": 3, "retryDelaySeconds": 0},
}
ONE_STEP: Any = {
    "name": "one_step",
    "version": 1,
    "tasks": [STEP],
    "outputParameters": {"double": "${step.output.double}"},
}


def start(client: Client, number: int) -> str:
    return client.start_workflow(definition=ONE_STEP, input={"number": number})


def run_script(client: Client) -> None:
    """Run a workflow that is one script."""
    script: Any = {"evaluatorType": "javascript", "expression": "6 * 7"}
    task: Any = {"name": "i", "taskReferenceName": "i", "type": "INLINE", "inputParameters": script}
    workflow = client.start_workflow(definition={"name": "script", "tasks": [task]})
    until(lambda: status(client, workflow) == "COMPLETED", what="the script has run")


def take(client: Client, count: int = 1, **options: Any) -> list[dict[str, Any]]:
    """Claim tasks, waiting for the first."""
    return [dict(task) for task in client.poll_batch("step", worker_id="w", count=count, **options)]


def take_all(client: Client, count: int) -> list[dict[str, Any]]:
    """Claim so many tasks, in as many polls as that takes."""
    taken: list[dict[str, Any]] = []

    def some() -> bool:
        if len(taken) < count:
            taken.extend(take(client, count - len(taken), timeout_ms=1000))
        return len(taken) == count

    until(some, what=f"{count} tasks")
    return taken


def finish(client: Client, task: dict[str, Any]) -> None:
    """Do the task's work and report it."""
    client.update_task(
        {
            "workflowInstanceId": task["workflowInstanceId"],
            "taskId": task["taskId"],
            "workerId": "w",
            "status": "COMPLETED",
            "outputData": {"double": 2 * task["inputData"]["number"]},
        }
    )


def work_off(client: Client, wanted: int, timeout_s: float = PATIENCE_S) -> None:
    """Take and finish tasks until `wanted` of them are done."""
    done: set[str] = set()

    def some() -> bool:
        for task in take(client, count=20, timeout_ms=1000):
            finish(client, task)
            done.add(task["workflowInstanceId"])
        return len(done) >= wanted

    until(some, timeout_s, what=f"{wanted} tasks done")


def status(client: Client, workflow: str) -> str:
    return str(client.workflow_status(workflow)["status"])


def found(client: Client, state: str) -> set[str]:
    """The executions that a search finds in that state."""
    query = f"workflowType=one_step AND status={state}"
    page = cast("Any", client.search_workflows(query, size=1000))
    return {str(each["workflowId"]) for each in page["results"]}
