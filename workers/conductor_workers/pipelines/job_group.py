"""The Spark jobs of a group, and whether any task of theirs still runs.

A job that was cancelled, or that has failed, is over for Spark at once; its last tasks are not, and
may still write. What they write to is deleted only when they have ended.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark import SparkContext, StatusTracker

logger = logging.getLogger(__name__)

WITHIN_S: Final = 30.0
"""How long the end of a group is waited for."""
_LOOK_EVERY_S: Final = 0.1
_RUNNING: Final = "RUNNING"


def end_group(
    context: SparkContext,
    group: str,
    *,
    within_s: float = WITHIN_S,
    clock: Callable[[], float] = time.monotonic,
    rest: Callable[[float], None] = time.sleep,
) -> bool:
    """Cancel what still runs of a group and wait for its last task; say whether it has ended.

    A JVM that is gone has ended it. After ``within_s`` seconds it is not waited for any more.
    """
    until = clock() + within_s
    try:
        while _runs(context.statusTracker(), group):
            if clock() >= until:
                logger.warning(
                    "Tasks of Spark run on although they were cancelled",
                    extra={"action": "tasks_run_on", "group": group},
                )
                return False
            context.cancelJobGroup(group)
            rest(_LOOK_EVERY_S)
    except (Py4JError, OSError):
        return True
    return True


def _runs(tracker: StatusTracker, group: str) -> bool:
    return any(_signs(tracker, group))


def _signs(tracker: StatusTracker, group: str) -> Iterator[bool]:
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        if info is None:  # nothing is known of it any more
            continue
        yield info.status == _RUNNING
        for number in info.stageIds:
            stage = tracker.getStageInfo(number)
            yield stage is not None and stage.numActiveTasks > 0
