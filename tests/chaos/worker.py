"""An SDK worker of the chaos program, run as a script: URL, folder, name.

It writes down, before the work, each task that it begins, and after the server's answer each report
that was accepted: one line, in one write, so that a kill -9 in between loses no line.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import orjson

from conductor_py.sdk import (
    Client,
    NonRetryableError,
    Task,
    TaskResult,
    Worker,
    WorkerOptions,
    WorkerTask,
    task_context,
)
from tests.chaos.kinds import LIMITED, WORK

LEASE_S = 3
_HANG_S = 120.0
"""Longer than anybody may take to notice a timeout of two seconds."""
_CONCURRENCY = 6


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Diary:
    """Lines that outlive the process."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, **entry: Any) -> None:
        os.write(self._descriptor, orjson.dumps(entry) + b"\n")


class TellingClient(Client):
    """Writes down which reports the server has accepted."""

    diary: Diary

    def update_task(self, result: Any, **options: Any) -> str:
        sent = _now_ms()
        answer = super().update_task(result, **options)
        if isinstance(result, TaskResult):
            self.diary.write(
                event="accepted",
                task=result.task_id,
                claim=result.claim_token,
                status=str(result.status),
                output=dict(result.output),
                sent=sent,
                at=_now_ms(),
            )
        return answer


def main(url: str, folder: Path, name: str) -> None:
    """Work until a signal."""
    diary = Diary(folder / f"{name}.jsonl")
    client = TellingClient(url, timeout_s=5)
    client.diary = diary

    def work(  # noqa: PLR0917 - the members of the input
        task: Task,
        to: int,
        number: int = 0,
        fails: int = 0,
        hangs: bool = False,
        breaks: bool = False,
        takes_ms: int = 0,
    ) -> dict[str, int]:
        diary.write(event="begun", task=task.task_id, claim=task.claim_token, at=_now_ms())
        cancelled = task_context().cancelled
        if breaks and not (folder / "healed" / str(number)).exists():
            raise NonRetryableError("broken until somebody heals it")
        if task.retry_count < fails:
            raise RuntimeError("fails the first times")
        if hangs and task.retry_count == 0:
            cancelled.wait(_HANG_S)
            task_context().raise_if_cancelled()
        elif takes_ms:
            cancelled.wait(takes_ms / 1000)
        return {"value": to + 1}

    tasks = [
        WorkerTask(work, WorkerOptions(name=kind, concurrency=_CONCURRENCY, lease_s=LEASE_S))
        for kind in (WORK, LIMITED)
    ]
    Worker(client, tasks, worker_id=name, grace_s=5).run()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
