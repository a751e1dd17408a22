"""A worker for the tests of long tasks, run as a script: URL, name, folder, milliseconds a step.

Its task adds up the numbers 1 to ``upto``, a step a number, and writes each into a file of its own
before the record that holds the sum. It tells on standard output what it does.
"""

import sys
from pathlib import Path

from conductor_py.sdk import (
    Checkpoint,
    ClaimLost,
    Client,
    Worker,
    WorkerOptions,
    WorkerTask,
    task_context,
)

_LEASE_S = 6


def _say(*words: object) -> None:
    sys.stdout.write(f"{' '.join(map(str, words))}\n")
    sys.stdout.flush()


def _add(name: str, folder: Path, step_s: float, upto: int) -> dict[str, int]:
    context = task_context()
    try:
        kept = context.checkpoints.acquire().get("sum", Checkpoint())
        at, total = 0, 0
        point = kept.resume_from.record if kept.resume_from else kept.record
        if point is not None:
            at, total = int(str(point["at"])), int(str(point["total"]))
        epoch = kept.epoch
        _say("begins", at)
        while at < upto:
            context.heed_requests()
            at, total = at + 1, total + at + 1
            context.sleep(step_s)
            (folder / f"{at}-{context.checkpoints.token}").touch()
            context.checkpoints.append("sum", [{"by": name, "at": at}])
            context.checkpoints.put(
                "sum", {"at": at, "total": total}, expected=epoch, epoch=epoch + 1
            )
            epoch += 1
    except ClaimLost:
        _say("claim lost")
        raise
    return {"total": total, "epoch": epoch}


def main() -> None:
    """Work until told to stop."""
    url, name, folder, step_ms = sys.argv[1:]

    def add(upto: int) -> dict[str, int]:
        return _add(name, Path(folder), int(step_ms) / 1000, upto)

    options = WorkerOptions(name="add", lease_s=_LEASE_S, poll_timeout_ms=200)
    with Client(url, timeout_s=5) as client:
        Worker(client, [WorkerTask(add, options)], worker_id=name).run()


main()
