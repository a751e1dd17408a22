"""The records of a job in the engine, over its HTTP interface.

What is not answered is sent again a few times, which changes nothing more; then it is
``Unanswered``. A refused token, and a task that is not there any more, are ``Fenced``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from conductor_py.errors import ClaimLost, ConductorError, NotFound
from conductor_py.errors import EpochConflict as OtherEpoch
from conductor_py.sdk import Checkpoint, Client, TaskContext
from conductor_workers.attempt import claim_of
from conductor_workers.pipelines.connectors import Owner
from conductor_workers.pipelines.store import EpochConflict, Fenced, Kept, Resume, Unanswered

#: As many notes as the engine takes at once.
_NOTES: Final = 100
#: As many records as the engine keeps of a pipeline at most.
_RECORDS: Final = 100


class EngineStore:
    """``JobStore`` for the attempt that a worker's context is about; each pipeline is one
    thread's.
    """

    def __init__(self, client: Client, context: TaskContext) -> None:
        """Work under the context's claim."""
        self._client = client
        self._task_id = context.task.task_id
        self._checkpoints = context.checkpoints
        self._claim = claim_of(context.task.json)

    @property
    def owner(self) -> Owner:
        return Owner(task=self._claim.owner, line=self._checkpoints.line)

    @property
    def token(self) -> int:
        return self._checkpoints.token

    def acquire(self) -> Mapping[str, Kept]:
        with _answers():
            return {name: _kept(part) for name, part in self._checkpoints.acquire().items()}

    def append(self, pipeline: str, notes: Sequence[Mapping[str, Any]]) -> None:
        with _answers():
            for first in range(0, len(notes), _NOTES):
                self._checkpoints.append(pipeline, notes[first : first + _NOTES])

    def put(
        self,
        pipeline: str,
        record: Mapping[str, Any],
        *,
        expected: int,
        epoch: int,
        retain: int,
    ) -> None:
        with _answers():
            # Once: a refusal must not be that of a request which was carried out before.
            self._checkpoints.put(
                pipeline,
                record,
                expected=expected,
                epoch=epoch,
                retain=min(retain, _RECORDS),
                resend=False,
            )

    def get(self, pipeline: str) -> Kept:
        with _answers():
            return _kept(self._checkpoints.get(pipeline))

    def pinned(self, pipeline: str) -> tuple[Mapping[str, Any], ...]:
        with _answers():
            points = self._client.get_checkpoints(self._task_id).get("savepoints")
            held = [
                point["name"]
                for point in cast("list[dict[str, Any]]", points or [])
                if pipeline in point["epochs"]
            ]
            found = [self._held(pipeline, name) for name in held]
        return tuple(record for record in found if isinstance(record, dict))

    def _held(self, pipeline: str, savepoint: str) -> object:
        try:
            point = self._client.get_checkpoint(self._task_id, pipeline, savepoint=savepoint)
        except NotFound:  # dropped a moment ago
            return None
        return point.get("record")


@contextmanager
def _answers() -> Iterator[None]:
    """Say what a coordinator is to make of an error."""
    try:
        yield
    except OtherEpoch as error:
        raise EpochConflict(error.epoch) from error
    except (ClaimLost, NotFound) as error:
        raise Fenced(error.message) from error
    except ConductorError as error:
        if error.retryable:
            raise Unanswered(error.message) from error
        raise


def _kept(part: Checkpoint) -> Kept:
    point = part.resume_from
    resume = None
    if point is not None:
        resume = Resume(
            record=point.record,
            epoch=point.epoch,
            savepoint=point.savepoint,
            rewind=point.rewind,
        )
    return Kept(epoch=part.epoch, record=part.record, notes=part.notes, resume=resume)
