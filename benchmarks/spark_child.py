"""A worker's process of the Spark benchmarks: starts a session, says so, and runs a job if given.

    python -m benchmarks.spark_child '{"place": "/…", "archive": "/…", "store": ["127.0.0.1", 1]}'

Each line that it prints is JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import cost_of
from conductor_py.pipelines.cutting import cut
from conductor_py.wire.pipelines import read_job
from conductor_workers.paths import ANYWHERE
from conductor_workers.pipelines.job import Bench, JobRun
from conductor_workers.session import WorkerSession, default_settings
from tests.workers.pipelines.stores import Keeper, MemoryJobStore, RemoteJobStore


def main() -> int:
    """Do what the argument asks for."""
    asked: dict[str, Any] = json.loads(sys.argv[1])
    place = Path(asked["place"])
    settings = default_settings(master=f"local[{os.cpu_count() or 1}]", concurrency=2)
    settings |= asked.get("settings", {})
    archive = asked.get("archive")
    session = WorkerSession(
        work_dir=place / "session",
        settings=settings,
        archive_dir=None if archive is None else Path(archive),
    )
    session.start()
    try:
        _tell(ready=True, resident_mb=cost_of(os.getpid()).resident_mb)
        for given in asked.get("jobs", ()):
            job = read_job(given)
            store = _store(asked)
            bench = Bench(paths=ANYWHERE, spark=session.spark, work_dir=str(place / "work"))
            result = JobRun(job, cut(job), store, bench).run()
            _tell(finished=result.finished, resident_mb=cost_of(os.getpid()).resident_mb)
    finally:
        session.stop()
    return 0


def _store(asked: dict[str, Any]) -> MemoryJobStore:
    """Return the store of that address, or one of its own for each job."""
    token = asked.get("token", 1)
    if "store" in asked:
        return RemoteJobStore(tuple(asked["store"]), token=token)
    return MemoryJobStore(Keeper(), token=token)


def _tell(**said: object) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    sys.exit(main())
