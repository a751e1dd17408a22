"""The one kind of job: a batch of effect ids of one partition, and nothing else that RQ could run.

A stored job can name functions, callbacks, web hooks, dependents, repeats: RQ imports and runs what
it names. Whoever can write to Redis could so run code here. ``EffectsJob`` reads the batch out of a
stored job and nothing more; what is no batch is foreign: it is left alone, for an hour, and told in
the log. Who carries the effects out is said in the worker's process, before it begins.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from redis import Redis
from redis.exceptions import RedisError, ResponseError
from rq.exceptions import NoSuchJobError
from rq.job import Job

Handler = Callable[[int, Sequence[str]], object]

NAME: Final = f"{__name__}.run"
"""What a job says that it is: compared, never imported."""
KEPT_S: Final = 3600
"""How long a foreign job stays for whoever looks into it."""
_MOST_BYTES: Final = 4_000_000
_MOST_IDS: Final = 10_000
_MOST_TIMEOUT_S: Final = 86_400
_log = logging.getLogger(__name__)
_handlers: list[Handler] = []


def handle_with(handler: Handler) -> None:
    """Let ``handler`` carry out what this process takes from the queue."""
    _handlers[:] = [handler]


class ForeignJob(NoSuchJobError):
    """What is stored under a job's key is no batch of effects. RQ passes over it."""


class EffectsJob(Job):
    """A batch of effects: of what is stored, its ids and its timeout are read."""

    @classmethod
    def fetch(
        cls,
        id: str,
        connection: Redis | None = None,
        serializer: object = None,
    ) -> Job:
        """Read one. ``NoSuchJobError``: there is none, or it is foreign."""
        try:
            return super().fetch(id, connection=connection, serializer=serializer)
        except ForeignJob as foreign:
            _leave(id, str(foreign), connection)
            raise
        except (ValueError, ResponseError) as error:  # a name that is none, a key of another type
            _leave(id, type(error).__name__, None)
            raise ForeignJob(str(error)) from error

    def restore(self, raw_data: Mapping[bytes, bytes]) -> None:
        """Take the batch out of the stored fields, and leave all others out. ``ForeignJob``."""
        batch = _batch_of(raw_data.get(b"data", b""))
        timeout = raw_data.get(b"timeout", b"")
        if not timeout.isdigit() or not 0 < int(timeout[:9]) <= _MOST_TIMEOUT_S:
            raise ForeignJob("its timeout is no number of seconds up to a day")
        self.data = json.dumps([NAME, None, batch, {}]).encode()
        self.timeout = int(timeout)

    def perform(self) -> None:
        """Carry the batch out; no name is resolved. What is not confirmed comes again."""
        (handler,) = _handlers
        partition, ids = _batch_of(self.data)
        handler(partition, ids)


def _batch_of(stored: bytes) -> tuple[int, list[str]]:
    """Read partition and ids, within bounds."""
    try:
        unpacked = zlib.decompressobj()
        text = unpacked.decompress(stored, _MOST_BYTES)
        if unpacked.unconsumed_tail:
            raise ForeignJob("it is too large")
    except zlib.error:
        text = stored[: _MOST_BYTES + 1]
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ForeignJob("it is no JSON") from None
    match data:
        case [str(name), None, [int(partition), list(ids)], dict(named)] if name == NAME:
            if (
                not named
                and not isinstance(partition, bool)
                and partition >= 0
                and len(ids) <= _MOST_IDS
                and all(isinstance(each, str) for each in ids)
            ):
                return partition, ids
    raise ForeignJob("it is no batch of effects")


def _leave(name: str, why: str, connection: Redis | None) -> None:
    """Say that a job is foreign, and let it expire."""
    _log.error(
        "A job in the effects queue is not the engine's and is not run",
        extra={"action": "effects_foreign_job", "job": name[:200], "reason": why},
    )
    if connection is not None:
        try:
            connection.expire(EffectsJob.key_for(name), KEPT_S)
        except RedisError:
            _log.debug("It does not expire", extra={"action": "effects_foreign_job"})
