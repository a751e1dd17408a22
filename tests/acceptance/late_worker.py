"""A worker for the tests of frozen holders, run as a script: URL, mode, signal file.

`careless` claims one task with a lease of two seconds, waits for the file and reports whatever the
clock says; `careful` is the SDK's own worker; `patient` is one whose function, an ordinary one and
an async one, stops as soon as its task is lost; it tells when, and how long the machine stalled at
most. They tell on standard output what they do.
"""

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any

from conductor_py.sdk import (
    Client,
    ConductorError,
    TaskCancelled,
    Worker,
    WorkerOptions,
    WorkerTask,
    task_context,
)
from tests.acceptance.deployment import Stalls

_LEASE_S = 2
_NEVER = threading.Event()


def _say(*words: object) -> None:
    sys.stdout.write(f"{' '.join(map(str, words))}\n")
    sys.stdout.flush()


def _await(file: Path) -> None:
    while not file.exists():
        _NEVER.wait(0.01)


def _careless(client: Client, file: Path) -> None:
    task: dict[str, Any] = {}
    while not task:
        found = client.poll_batch("step", worker_id="late", timeout_ms=1000, lease_s=_LEASE_S)
        task = dict(found[0]) if found else {}
    _say("claimed", task["taskId"])
    _await(file)
    late = {
        "workflowInstanceId": task["workflowInstanceId"],
        "taskId": task["taskId"],
        "workerId": "late",
        "status": "COMPLETED",
        "outputData": {"double": -1},
        "claimToken": task["claimToken"],
    }
    for name, call in (
        ("extend", lambda: client.extend_task(task["taskId"], task["claimToken"], _LEASE_S)),
        ("report", lambda: client.update_task(late)),
    ):
        try:
            call()
        except ConductorError as error:
            _say(name, error.code)
        else:
            _say(name, "accepted")


def _careful(client: Client, file: Path) -> None:
    def step() -> dict[str, int]:
        _say("claimed")
        _await(file)
        _say("returned")
        return {"double": -1}

    options = WorkerOptions(name="step", lease_s=_LEASE_S)
    Worker(client, [WorkerTask(step, options)]).run()


def _patient(client: Client, _file: Path) -> None:
    def step() -> dict[str, int]:
        _say("claimed")
        try:
            task_context().sleep(60)
        except TaskCancelled:
            _say("stopped", time.time(), stalls.longest_s)
            raise
        return {"double": -1}

    async def soft_step() -> dict[str, int]:
        _say("soft claimed")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            _say("soft stopped", time.time(), stalls.longest_s)
            raise
        return {"double": -1}

    tasks: list[WorkerTask[..., object]] = [
        WorkerTask(step, WorkerOptions(name="step", lease_s=_LEASE_S)),
        WorkerTask(soft_step, WorkerOptions(name="soft_step", lease_s=_LEASE_S)),
    ]
    with Stalls() as stalls:
        Worker(client, tasks).run()


_MODES = {"careless": _careless, "careful": _careful, "patient": _patient}

if __name__ == "__main__":
    with Client(sys.argv[1]) as server:
        _MODES[sys.argv[2]](server, Path(sys.argv[3]))
