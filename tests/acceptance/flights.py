"""The tutorial's workflow on processes of its own, and what its result tables hold."""

from pathlib import Path
from typing import Any

from conductor_py.sdk import Client
from conductor_workers.demo.definitions import RESULTS, workflow_definition, workflow_input
from tests.acceptance.programs import Program

_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"


class SparkWorker(Program):
    """A Spark worker; its lease is the shortest there is, so that others need not wait long."""

    def __init__(self, folder: Path, server_url: str) -> None:
        super().__init__(
            folder,
            *("-m", "conductor_workers.launcher", "--server", server_url),
            *("--task-types", "SPARK_SQL", "--concurrency", "3", "--lease", "5", "--grace", "1"),
            *("--allow-path", "/", "--work-dir", str(folder / "work")),
            *("--conf", f"spark.driver.extraJavaOptions={_QUICK_JVM}"),
        )


def start_flights(client: Client, run: Path, data: Path) -> str:
    """Start the workflow; its lake and its results go below `run`."""
    given: Any = {**workflow_input(run), "data": str(data)}
    return client.start_workflow(definition=workflow_definition(), input=given)


def attempts(client: Client, workflow: str, reference: str) -> list[dict[str, Any]]:
    """The tasks of a reference, oldest first."""
    tasks: Any = client.get_workflow(workflow)["tasks"]
    return [task for task in tasks if task["referenceTaskName"] == reference]


def in_progress(client: Client, workflow: str) -> dict[str, dict[str, Any]]:
    """The Spark tasks that a worker holds just now, by reference."""
    tasks: Any = client.get_workflow(workflow)["tasks"]
    return {
        task["referenceTaskName"]: task
        for task in tasks
        if task["taskType"] == "SPARK_SQL" and task["status"] == "IN_PROGRESS"
    }


def tables(run: Path) -> dict[str, bytes]:
    """The result tables, byte for byte."""
    found = {}
    for name in RESULTS:
        (part,) = (run / "results" / name).glob("part-*.csv")
        found[name] = part.read_bytes()
    return found
