"""The worker: takes jobs one at a time, in its own process and thread, until SIGTERM or SIGINT.

Effects are our own code, so nothing forks: a batch costs milliseconds. A worker that is killed
leaves its effects in the outbox; a Redis that is away is waited for.

RQ brings the jobs and no more. Its way around a job (callbacks, web hooks, dependents, retries,
registries, results) and its commands over a channel follow what is stored: none of it is used.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from datetime import UTC, datetime
from types import FrameType
from typing import Final

from redis import Redis
from redis.exceptions import RedisError
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.timeouts import JobTimeoutException
from rq.worker import SimpleWorker
from rq.worker.base import WorkerStatus
from rq.worker_registration import clean_worker_registry

from conductor_py.adapters.rq.connection import connect, queue_name
from conductor_py.adapters.rq.job import EffectsJob, Handler, handle_with

_log = logging.getLogger(__name__)

_PAUSE_S: Final = 1.0
_FORGOTTEN_AFTER_S: Final = 120
_MOST_TAKEN: Final = 100
"""Names of jobs that workers took and did not finish: more are forgotten."""
#: Less than a supervisor waits.
_STOP_S: Final = 8.0


class EffectsWorker(SimpleWorker):
    """Runs batches of effects and nothing else. Says whether it ended because it was asked to, and
    ends then, whatever Redis does.
    """

    asked_to_stop = False

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Carry one batch out and forget it, whatever came of it: the outbox knows what is left."""
        limit_s = int(job.timeout or 1)
        self.set_state(WorkerStatus.BUSY)  # a signal to stop waits for its end
        self.heartbeat(limit_s + 60)
        try:
            with self.death_penalty_class(limit_s, JobTimeoutException, job_id=job.id):
                job.perform()
        except Exception:  # noqa: BLE001 - a batch that fails must not stop the next
            _log.exception(
                "A batch of effects failed; they come again",
                extra={"action": "effects_failed", "job": job.id},
            )
        with self.connection.pipeline() as pipeline:
            pipeline.delete(job.key)
            pipeline.lrem(queue.intermediate_queue_key, 1, job.id)
            pipeline.execute()
        self.set_state(WorkerStatus.IDLE)

    def run_maintenance_tasks(self) -> None:
        """Forget workers that are gone, and jobs that such took; no job is loaded for it."""
        for queue in self.queues:
            clean_worker_registry(queue)
            self.connection.ltrim(queue.intermediate_queue_key, -_MOST_TAKEN, -1)
        self.last_cleaned_at = datetime.now(UTC)  # type: ignore[assignment]

    def subscribe(self) -> None:
        """Listen to nobody: a worker is stopped by a signal."""

    def request_stop(self, signum: object, frame: object) -> None:
        """Note it, and stop after the job under way; at once when that takes too long."""
        self.asked_to_stop = True
        # A worker that lost Redis looks for it for ever. It ends as it was asked to, all the same:
        # what it left undone comes again.
        last_resort = threading.Timer(_STOP_S, os._exit, (0,))
        last_resort.daemon = True
        last_resort.start()
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]

    def _set_ip_address(self, *_: object) -> None:
        """Nobody reads it, and of a socket in a folder with a space Redis says what its client
        cannot take apart.
        """
        self.ip_address = "unknown"


def worker_of(name: str, connection: Redis) -> EffectsWorker:
    """Make the worker of a queue; it runs nothing but batches of effects."""
    serializer = JSONSerializer()
    queue = Queue(name, connection=connection, job_class=EffectsJob, serializer=serializer)
    return EffectsWorker(
        [queue],
        connection=connection,
        job_class=EffectsJob,
        serializer="json",
        worker_ttl=_FORGOTTEN_AFTER_S,
        log_job_description=False,
    )


def work(url: str, *, namespace: str, handler: Handler) -> None:
    """Serve the queue of ``namespace`` until a stop signal; only on the main thread."""
    handle_with(handler)
    while not _served(url, queue_name(namespace)):
        # Until the next worker has its handlers.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)
        threading.Event().wait(_PAUSE_S)


def _served(url: str, name: str) -> bool:
    """Serve with a worker of its own: one that lost Redis in mid-job does not go on. Return whether
    it was asked to stop.
    """
    connection = connect(url, timeout_s=None)
    worker = None
    try:
        worker = worker_of(name, connection)
        worker.work(logging_level="WARNING")
    except RedisError as error:
        _log.warning(
            "The effects queue is away and tried again.",
            extra={"action": "effects_queue_away", "error": str(error)},
        )
    finally:
        connection.close()
    return worker is not None and worker.asked_to_stop


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)
