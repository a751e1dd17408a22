"""Whether a job of data pipelines may go on from an older record, told to whoever asks for it.

Its worker judges again, by what it finds when it takes the task; here it is one sentence at once.
What cannot be read here (a job behind an external payload, a record of another version) is left to
the worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from conductor_py.codec.execution import load_attempt, load_document
from conductor_py.errors import ConductorError
from conductor_py.model.checkpoints import KeptPlace
from conductor_py.pipelines.cutting import cut
from conductor_py.pipelines.edits import rewind_refusal
from conductor_py.pipelines.record_form import RecordUnreadable, record_from_json
from conductor_py.ports.checkpoints import Request
from conductor_py.wire.pipelines import read_job

_TYPE: Final = "SPARK_PIPELINE"


def rewind_refusals(
    fields: Mapping[str, bytes | None], seq: int, place: KeptPlace, request: Request
) -> tuple[str, ...]:
    """Return what stands against a request to run on from an older record; ``fields`` hold the
    attempt ``seq`` and its input. Nothing for tasks of other types.
    """
    stored = fields.get(f"a:{seq}")
    if stored is None or load_attempt(seq, stored).type != _TYPE:
        return ()
    given = load_document(fields.get(f"i:{seq}"))
    if not isinstance(given, dict):
        return ()
    try:
        job = read_job(given.get("job"))
        wanted = dict(_wanted(place, request))
        return tuple(
            f"{pipeline.id}: {reason}"
            for pipeline in cut(job).pipelines
            if pipeline.id in wanted
            and (record := place.part(pipeline.id).record) is not None
            and (
                reason := rewind_refusal(
                    record_from_json(record),
                    wanted[pipeline.id],
                    job,
                    pipeline,
                    rewind=request.rewind,
                )
            )
        )
    except (ConductorError, RecordUnreadable):
        return ()


def _wanted(place: KeptPlace, request: Request) -> Iterator[tuple[str, int]]:
    if request.epoch is not None:
        part = request.part or (place.parts[0].name if len(place.parts) == 1 else "")
        yield part, request.epoch
        return
    for savepoint in place.savepoints:
        if savepoint.name == request.savepoint:
            yield from savepoint.epochs.items()
