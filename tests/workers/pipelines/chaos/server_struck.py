"""Plays rows whose engine is killed: a real server on its files, real workers and leases.

With the same cores the worker lives on, and speaks to the server that was started again. With other
cores it is killed together with the server, and another worker takes the task over.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from conductor_py.errors import ConductorError
from tests.acceptance.deployment import Api, Deployment
from tests.acceptance.programs import Program
from tests.services.cache import cache_dir
from tests.waiting import until
from tests.workers.pipelines.chaos.attempts_struck import Verdict
from tests.workers.pipelines.chaos.rows import Row
from tests.workers.pipelines.chaos.setting import Setting
from tests.workers.pipelines.crews import QUICK_JVM, signalled

_WITHIN_S: Final = 300.0


class _Worker(Program):
    """A worker of SPARK_PIPELINE; its lease is the shortest there is."""

    def __init__(self, folder: Path, url: str, *, cores: int, fault: str = "") -> None:
        self.mark = folder / "mark"
        super().__init__(
            folder,
            *("-m", "conductor_workers.launcher", "--server", url),
            *("--task-types", "SPARK_PIPELINE", "--lease", "5", "--grace", "1"),
            *("--work-dir", str(folder / "session"), "--master", f"local[{cores},4]"),
            *("--class-archive", str(cache_dir() / "classes")),
            *("--conf", f"spark.driver.extraJavaOptions={QUICK_JVM}"),
            environment=os.environ
            | {"CONDUCTOR_PY_FAULT": fault, "CONDUCTOR_PY_FAULT_MARK": str(self.mark)},
        )

    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def release(self) -> None:
        """Let what is held go on."""
        self.mark.with_suffix(".released").touch()


@dataclass(slots=True)
class Room:
    """Where these rows are played: one server for all of them, which outlives its kills."""

    deployment: Deployment
    api: Api | None = field(default=None)

    def played(self, scene: Setting, place: Path, row: Row) -> Verdict:
        """Play a row and judge what is there afterwards."""
        if self.api is None:
            self.api = self.deployment.server()
        api, workers = self.api, []

        def worker(name: str, cores: int, fault: str = "") -> _Worker:
            url = f"http://127.0.0.1:{api.port}/api"
            started = _Worker(place / name, url, cores=cores, fault=fault)
            workers.append(started)
            started.start()
            return started

        try:
            first = worker("first", row.before, row.fault)
            workflow = _started(api, scene.job(place), place)
            until(lambda: first.mark.exists() or first.has_ended(), _WITHIN_S, what="the fault")
            if first.has_ended():
                return Verdict(wrong=[f"the fault was not met: {first.log[-4000:]}"])
            signalled(api.family(), signal.SIGKILL)
            api.wait()
            if row.after == row.before:
                first.release()  # while the engine is away
                api.start()
            else:
                end(first)
                api.start()
                worker("second", row.after)
            until(lambda: _status(api, workflow) != "RUNNING", _WITHIN_S, what="the end")
            wrong = _unfinished(api, workflow)
            return Verdict(wrong=wrong or scene.mismatches(place))
        finally:
            for each in workers:
                end(each)


def end(worker: Program) -> None:
    """Kill a worker with all that belongs to it."""
    alone = Deployment(worker.folder)
    alone.processes.append(worker)
    alone.end()


def _started(api: Api, job: dict[str, Any], place: Path) -> str:
    job["env"]["work_dir"] = str(place / "work")
    task = {
        "name": "load",
        "taskReferenceName": "load",
        "type": "SPARK_PIPELINE",
        "inputParameters": {"job": job},
        "taskDefinition": {"name": "load", "retryCount": 0, "retryDelaySeconds": 0},
    }
    definition: Any = {"name": "chaos", "version": 1, "tasks": [task]}
    return api.client.start_workflow(definition=definition, input={})


def _status(api: Api, workflow: str) -> str:
    try:
        return str(api.client.get_workflow(workflow)["status"])
    except ConductorError as error:
        if error.retryable:
            return "RUNNING"
        raise


def _unfinished(api: Api, workflow: str) -> list[str]:
    """Say what the execution lacks of being done, and which splits nobody has done."""
    found: Any = api.client.get_workflow(workflow)
    if found["status"] != "COMPLETED":
        return [f"the execution has ended {found['status']}: {found.get('reasonForIncompletion')}"]
    pipelines = found["tasks"][-1]["outputData"]["pipelines"]
    splits = {each["id"]: each["splits"] for each in pipelines}
    return [
        f"{name}: of {of['discovered']} splits {of['done']} are done"
        for name, of in splits.items()
        if of["done"] != of["discovered"]
    ]
