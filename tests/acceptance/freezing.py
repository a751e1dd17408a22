"""Servers that freeze or die in the middle of a decision, held there by a gate before Redis."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any

from redis import Redis

from conductor_py.adapters.redis.scripts import source_of
from conductor_py.sdk import Client, ConductorError
from tests.acceptance.deployment import Api, Process
from tests.acceptance.gate import Gate
from tests.waiting import PATIENCE_S, until

JSON_LOG = ("--set", "conductor.log.format=json")
_COMMIT = sha1(source_of("commit_decision").encode(), usedforsecurity=False).hexdigest()


def simple(name: str) -> dict[str, Any]:
    return {"name": name, "taskReferenceName": name, "type": "SIMPLE", "inputParameters": {}}


THREE_STEPS: Any = {
    "name": "three_steps",
    "tasks": [
        simple("step"),
        {
            "name": "script",
            "taskReferenceName": "script",
            "type": "INLINE",
            "inputParameters": {"evaluatorType": "javascript", "expression": "6 * 7"},
        },
        simple("after"),
        simple("last"),
    ],
    "outputParameters": {"answer": "${script.output.result}"},
}


def fields(redis: Redis, workflow: str) -> dict[bytes, bytes]:
    """Everything that is stored of an execution, byte for byte."""
    (key,) = redis.scan_iter(match=f"*exec:{workflow}", count=10_000)
    stored: Any = redis.hgetall(key)
    return dict(stored)


def holder(stored: dict[bytes, bytes]) -> bytes:
    """Who has the lease to decide; it may be renewed at any time.

    An execution that waits for long scripts is nobody's.
    """
    return stored.get(b"l", b"").partition(b" ")[2].removeprefix(b"scripts")


@contextmanager
def frozen(family: dict[int, str]) -> Iterator[None]:
    """Stop the processes; they go on at the end."""
    for pid in family:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in family:
            # The first that goes on may end another: a script that is late by now.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision on a report, made and not yet written; the answers are there at the end."""

    workflow: str
    family: dict[int, str]
    answers: list[str] = field(default_factory=list)


@contextmanager
def deciding(server: Api, gate: Gate) -> Iterator[Decision]:
    """Report the first of three steps to a server behind the gate, which holds what it decides."""
    workflow = server.client.start_workflow(definition=THREE_STEPS)
    step, decision = (
        poll(server.client, "step"),
        Decision(workflow=workflow, family=server.family()),
    )

    def send() -> None:
        with Client(server.client.server_url, timeout_s=2 * PATIENCE_S) as client:
            try:
                report(client, step)
            except ConductorError as error:
                decision.answers.append(error.code)
            else:
                decision.answers.append("accepted")

    thread = threading.Thread(target=send)
    gate.shut(_COMMIT)
    thread.start()
    try:
        assert gate.held.wait(PATIENCE_S), "no decision is about to be written"
        yield decision
    finally:
        gate.open()
        thread.join(PATIENCE_S)


def refusals(server: Process, workflow: str) -> list[dict[str, Any]]:
    """What the log says of decisions that were not taken."""
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    return [
        line
        for line in lines
        if line.get("action") == "decision_refused" and line["workflow_id"] == workflow
    ]


def poll(client: Client, task_type: str) -> dict[str, Any]:
    (task,) = client.poll_batch(task_type, worker_id="w", timeout_ms=5000)
    return dict(task)


def report(client: Client, task: dict[str, Any]) -> None:
    client.update_task(
        {
            "workflowInstanceId": task["workflowInstanceId"],
            "taskId": task["taskId"],
            "workerId": "w",
            "status": "COMPLETED",
            "outputData": {},
        }
    )


def poll_when_there(client: Client, task_type: str) -> dict[str, Any]:
    """Claim the task once the lease of the frozen one has ended and another one has decided."""

    def look() -> dict[str, Any] | None:
        found = client.poll_batch(task_type, worker_id="w", timeout_ms=1000)
        return dict(found[0]) if found else None

    task = until(look, what=f"a task {task_type}")
    assert task is not None
    return task


def is_offered(client: Client, workflow: str, reference: str) -> bool:
    tasks: Any = client.get_workflow(workflow)["tasks"]
    return any(t["referenceTaskName"] == reference and t["status"] == "SCHEDULED" for t in tasks)
