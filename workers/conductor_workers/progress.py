"""How far a running attempt is, from Spark's own status tracker, and the way to stop it.

Every Spark job of an attempt runs under a job group named by its task and claim. A monitor looks at
that group at most two seconds apart and leaves the newest picture with the attempt, which sends it
with each extension of the lease. When the attempt is cancelled or its claim is lost, the monitor
cancels the group, again and again until the attempt's code has returned: code that catches the
first cancellation starts no second job.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark import SparkContext

from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass
from conductor_workers.attempt import Attempt

logger = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0
_SEE_CANCELLED_EVERY_S = 0.1
_CANCEL_EVERY_S = 0.5


@dataclass(slots=True)
class _Counts:
    """Stages and tasks of a group, by state."""

    stages: int = 0
    stages_completed: int = 0
    stages_active: int = 0
    tasks: int = 0
    tasks_done: int = 0
    tasks_active: int = 0
    tasks_failed: int = 0


def group_progress(context: SparkContext, group: str, *, elapsed_ms: int) -> JsonObject:
    """Return the progress document of a job group: its jobs, stages and tasks by state."""
    tracker = context.statusTracker()
    jobs = list(tracker.getJobIdsForGroup(group))
    running = 0
    stage_in_running_job: dict[int, bool] = {}
    for job in jobs:
        info = tracker.getJobInfo(job)
        if info is not None:
            runs = info.status == "RUNNING"
            running += runs
            for stage_id in info.stageIds:
                stage_in_running_job[stage_id] = runs or stage_in_running_job.get(stage_id, False)
    counts = _Counts()
    for stage_id, runs in stage_in_running_job.items():
        stage = tracker.getStageInfo(stage_id)
        if stage is None:  # nothing is known of it any more
            continue
        if not runs and not stage.numCompletedTasks:  # skipped: its data was there already
            continue
        counts.stages += 1
        counts.stages_completed += stage.numCompletedTasks == stage.numTasks
        counts.stages_active += stage.numActiveTasks > 0
        counts.tasks += stage.numTasks
        counts.tasks_done += stage.numCompletedTasks
        counts.tasks_active += stage.numActiveTasks
        counts.tasks_failed += stage.numFailedTasks
    return {
        "state": "RUNNING",
        "jobGroup": group,
        "elapsedMs": elapsed_ms,
        "jobs": {"total": len(jobs), "active": running},
        "stages": {
            "total": counts.stages,
            "completed": counts.stages_completed,
            "active": counts.stages_active,
        },
        "tasks": {
            "total": counts.tasks,
            "done": counts.tasks_done,
            "active": counts.tasks_active,
            "failed": counts.tasks_failed,
        },
    }


@contextmanager
def monitored(context: SparkContext, attempt: Attempt) -> Iterator[str]:
    """Run the block's Spark jobs under the attempt's job group, watched; yields the group."""
    group = attempt.claim.name
    context.setJobGroup(group, attempt.claim.owner, interruptOnCancel=True)
    finished = threading.Event()
    monitor = threading.Thread(
        target=_watch,
        args=(context, attempt, group, finished),
        name=f"progress-{group}",
        daemon=True,
    )
    monitor.start()
    try:
        yield group
    finally:
        finished.set()
        monitor.join()


def _watch(context: SparkContext, attempt: Attempt, group: str, finished: threading.Event) -> None:
    started = time.monotonic()
    cancelled = threading.Thread(
        target=_cancel_when_told, args=(context, attempt, group, finished), daemon=True
    )
    cancelled.start()
    while not finished.wait(_LOOK_EVERY_S):
        elapsed_ms = round((time.monotonic() - started) * 1000)
        try:
            attempt.report_progress(group_progress(context, group, elapsed_ms=elapsed_ms))
        except (Py4JError, OSError):  # the JVM is gone; the attempt's own call says so
            logger.warning("No progress to be had", extra={"action": "progress_failed"})
            break
    cancelled.join()


def _cancel_when_told(
    context: SparkContext, attempt: Attempt, group: str, finished: threading.Event
) -> None:
    # Looked for, and not waited for: the end of the attempt must not wait for its cancellation.
    while not finished.wait(_SEE_CANCELLED_EVERY_S):
        if not attempt.cancelled.is_set():
            continue
        try:
            context.cancelJobGroup(group)
        except (Py4JError, OSError):
            return
        logger.info("Cancelled a job group", extra={"action": "group_cancelled", "group": group})
        finished.wait(_CANCEL_EVERY_S)
