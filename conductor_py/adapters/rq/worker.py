"""The worker: takes jobs one at a time, in its own process and thread, until SIGTERM or SIGINT.

Effects are our own code, so nothing forks: a batch costs milliseconds. A worker that is killed
leaves its effects in the outbox; a Redis that is away is waited for.
"""

from __future__ import annotations

import logging
import signal
import threading
from typing import Final

from redis.exceptions import RedisError
from rq import Queue
from rq.serializers import JSONSerializer
from rq.worker import SimpleWorker

from conductor_py.adapters.rq.connection import connect, queue_name
from conductor_py.adapters.rq.job import Handler, handle_with

_log = logging.getLogger(__name__)

_PAUSE_S: Final = 1.0
_FORGOTTEN_AFTER_S: Final = 120


class _EffectsWorker(SimpleWorker):
    """Says whether it ended because it was asked to."""

    asked_to_stop = False

    def request_stop(self, signum: object, frame: object) -> None:
        """Note it, and stop after the job under way."""
        self.asked_to_stop = True
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]


def work(url: str, *, namespace: str, handler: Handler) -> None:
    """Serve the queue of ``namespace`` until a stop signal; only on the main thread."""
    handle_with(handler)
    while True:
        # Anew each time: a worker that lost Redis in mid-job does not go on.
        connection = connect(url, timeout_s=None)
        queue = Queue(queue_name(namespace), connection=connection, serializer=JSONSerializer())
        try:
            worker = _EffectsWorker(
                [queue],
                connection=connection,
                serializer="json",
                worker_ttl=_FORGOTTEN_AFTER_S,
                log_job_description=False,
            )
            worker.work(logging_level="WARNING")
            if worker.asked_to_stop:
                return
        except RedisError as error:
            _log.warning(
                "The effects queue is away and tried again.",
                extra={"action": "effects_queue_away", "error": str(error)},
            )
        finally:
            connection.close()
            # Until the next worker has its handlers, a signal is the end.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        threading.Event().wait(_PAUSE_S)
