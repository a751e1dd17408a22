"""The worker: takes jobs one at a time, in its own process and thread, until SIGTERM or SIGINT.

Effects are our own code, so nothing forks: a batch costs milliseconds. A worker that is killed
leaves its effects in the outbox; a Redis that is away is waited for.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any, Final

from redis.exceptions import RedisError
from rq import Queue
from rq.serializers import JSONSerializer
from rq.worker import SimpleWorker

from conductor_py.adapters.rq.connection import connect, queue_name
from conductor_py.adapters.rq.job import Handler, handle_with

_log = logging.getLogger(__name__)

_PAUSE_S: Final = 1.0
_FORGOTTEN_AFTER_S: Final = 120
#: Less than a supervisor waits.
_STOP_S: Final = 8.0


class _EffectsWorker(SimpleWorker):
    """Says whether it ended because it was asked to, and ends then, whatever Redis does."""

    asked_to_stop = False

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

    def stop_listening(self) -> None:
        """End the thread that listens for commands: it would look for Redis for ever, beside that
        of the next worker.
        """
        thread: Any = self.pubsub_thread
        if thread is not None:
            thread.stop()


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
        worker = _EffectsWorker(
            [Queue(name, connection=connection, serializer=JSONSerializer())],
            connection=connection,
            serializer="json",
            worker_ttl=_FORGOTTEN_AFTER_S,
            log_job_description=False,
        )
        worker.work(logging_level="WARNING")
    except RedisError as error:
        _log.warning(
            "The effects queue is away and tried again.",
            extra={"action": "effects_queue_away", "error": str(error)},
        )
    finally:
        if worker is not None:
            worker.stop_listening()
        connection.close()
    return worker is not None and worker.asked_to_stop


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)
