"""A worker of data pipelines as a process, and executions for it."""

import os
from pathlib import Path
from typing import Any, Final

from conductor_py.sdk import Client
from tests.acceptance.programs import Program
from tests.services.cache import cache_dir

QUICK_JVM: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Starts soon: for a life of some seconds."""


class PipelineWorker(Program):
    """A worker of SPARK_PIPELINE; its lease is the shortest there is."""

    def __init__(
        self,
        folder: Path,
        server_url: str,
        *,
        work_dir: Path,
        cores: int = 2,
        environment: dict[str, str] | None = None,
    ) -> None:
        super().__init__(
            folder,
            *("-m", "conductor_workers.launcher", "--server", server_url),
            *("--task-types", "SPARK_PIPELINE", "--lease", "5", "--grace", "1"),
            *("--allow-path", "/", "--work-dir", str(work_dir), "--master", f"local[{cores},4]"),
            *("--class-archive", str(cache_dir() / "classes")),
            *("--conf", f"spark.driver.extraJavaOptions={QUICK_JVM}"),
            environment=os.environ | (environment or {}),
        )


def started(client: Client, job: dict[str, Any]) -> str:
    """Start an execution of one task, `load`, which is never tried again."""
    task = {
        "name": "load",
        "taskReferenceName": "load",
        "type": "SPARK_PIPELINE",
        "inputParameters": {"job": job},
        "taskDefinition": {"name": "load", "retryCount": 0, "retryDelaySeconds": 0},
    }
    definition: Any = {"name": "pipelines", "version": 1, "tasks": [task]}
    return client.start_workflow(definition=definition, input={})
