"""Plays rows whose engine is killed: a real server on its files, real workers and leases.

With the same cores the worker lives on, and speaks to the server that was started again. With other
cores it is killed together with the server, and another worker takes the task over.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from conductor_py.errors import ConductorError
from tests.acceptance.deployment import Api, Deployment
from tests.acceptance.pipeline_worker import PipelineWorker, started
from tests.acceptance.programs import Program
from tests.waiting import until
from tests.workers.pipelines.chaos.attempts_struck import Verdict
from tests.workers.pipelines.chaos.rows import Row
from tests.workers.pipelines.chaos.setting import Setting
from tests.workers.pipelines.crews import signalled

_WITHIN_S: Final = 300.0


class _Worker(PipelineWorker):
    """One that is held at its fault."""

    def __init__(self, folder: Path, url: str, *, cores: int, fault: str = "") -> None:
        self.mark = folder / "mark"
        armed = {"CONDUCTOR_PY_FAULT": fault, "CONDUCTOR_PY_FAULT_MARK": str(self.mark)}
        super().__init__(folder, url, work_dir=folder / "session", cores=cores, environment=armed)

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
            begun = _Worker(place / name, url, cores=cores, fault=fault)
            workers.append(begun)
            begun.start()
            return begun

        try:
            first = worker("first", row.before, row.fault)
            job = scene.job(place)
            job["env"]["work_dir"] = str(place / "work")
            workflow = started(api.client, job)
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
