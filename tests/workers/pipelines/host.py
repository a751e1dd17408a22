"""A worker's process for one attempt at one job; run as a module with a file that says which.

Exit codes: 0 the job is finished, 3 another attempt holds it, 5 its Spark session has ended, 4
anything else.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

from conductor_py.pipelines.cutting import cut
from conductor_py.wire.pipelines import read_job
from conductor_workers.paths import ANYWHERE
from conductor_workers.pipelines.job import Bench, JobRun
from conductor_workers.session import WorkerSession, default_settings
from tests.acceptance.pipeline_worker import QUICK_JVM
from tests.services.cache import cache_dir
from tests.workers.pipelines.reads import KEPT, reads_of
from tests.workers.pipelines.stores import RemoteJobStore

FINISHED, FENCED, OTHERWISE, LOST = 0, 3, 4, 5


def main() -> int:
    """Run the attempt that the file named first describes."""
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s %(message)s")
    asked: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    place = Path(asked["place"])
    settings = default_settings(master=asked["master"], concurrency=2)
    settings["spark.driver.extraJavaOptions"] = QUICK_JVM
    settings |= KEPT | asked["settings"]
    session = WorkerSession(
        work_dir=place / f"session-{asked['token']}",
        settings=settings,
        archive_dir=cache_dir() / "classes",
    )
    session.start()
    try:
        job = read_job(asked["job"])
        store = RemoteJobStore(tuple(asked["store"]), token=asked["token"])
        bench = Bench(
            paths=ANYWHERE,
            spark=session.spark,
            work_dir=str(place / "work"),
            modules=("tests.workers.pipelines", "shipped"),
        )
        result = JobRun(job, cut(job), store, bench).run()
        if result.finished and session.alive():
            told = {"document": result.document, "read": reads_of(session.spark)}
            Path(asked["result"]).write_text(json.dumps(told))
    finally:
        session.stop()
    if result.finished:
        return FINISHED
    if result.lost:
        return LOST
    return FENCED if result.fenced else OTHERWISE


if __name__ == "__main__":
    sys.exit(main())
