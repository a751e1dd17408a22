"""SPARK_PIPELINE: a job of data pipelines, checkpointed in the engine.

    {"job": {"version": 1, "name": "orders", "sources": [...], "sinks": [...]},
     "acceptPlanChange": false, "dropState": [], "abandon": []}

The task's progress is that of its pipelines. What an operator asks (stop, pause, cancel) is heeded
between rounds; a stopped task goes back to the engine and is resumed from there. A retry of a task
of which some pipelines have finished runs the others.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from conductor_py.model.json import JsonObject
from conductor_py.pipelines.cutting import cut
from conductor_py.pipelines.edits import Permissions
from conductor_py.pipelines.record import PipelineState
from conductor_py.sdk import CancelRequested, StopRequested, TaskRequest
from conductor_py.wire.pipelines import read_job
from conductor_workers.attempt import Attempt, AttemptEnded
from conductor_workers.pipelines.beginning import RewindRefused
from conductor_workers.pipelines.control import Wish
from conductor_workers.pipelines.job import Bench, JobResult, JobRun
from conductor_workers.pipelines.store import JobStore
from conductor_workers.tasks.document import Document, invalid
from conductor_workers.tasks.outcome import Outcome, PartlyDone, Status

logger = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 0.5
_REPORT_EVERY_LOOKS: Final = 3

Asked = Callable[[], TaskRequest | None]
"""What an operator wants of the task now."""


def run_pipelines(bench: Bench, attempt: Attempt, store: JobStore, asked: Asked) -> Outcome:
    """Run the attempt's job and return how the task ends: complete, with what was left out told.

    Raises:
        InvalidInput: the input is malformed; the path says where.
        PartlyDone: a pipeline has failed.
        StopRequested, CancelRequested: an operator asked for it, and it is done; or what one asked
            cannot be, and the message says why.
        AttemptEnded: the claim was lost.
    """
    document = Document(attempt.input)
    given = document.get("job")
    if given is None:
        raise invalid(document.at("job"), "is required.")
    permissions = Permissions(
        plan_change=document.get("acceptPlanChange") is True,
        drop_state=frozenset(document.texts("dropState")),
        abandon=frozenset(document.texts("abandon")),
    )
    document.done()
    job = read_job(given)
    run = JobRun(job, cut(job), store, bench, permissions=permissions)
    try:
        with _attended(run, attempt, asked):
            result = run.run()
    except RewindRefused as refused:
        # Not a failure of the task: whoever asked may ask for something else.
        attempt.log(refused.message)
        raise StopRequested(refused.message) from refused
    if not result.fenced and not attempt.cancelled.is_set():
        attempt.report_progress(result.document)  # a stopped task has no output
    return Outcome(status=Status.COMPLETED, output=_output(result, attempt), reason=result.remark)


@contextmanager
def _attended(run: JobRun, attempt: Attempt, asked: Asked) -> Iterator[None]:
    """Report progress and pass on wishes while the block runs."""
    ended = threading.Event()

    def attend() -> None:
        looks = 0
        while not ended.wait(_LOOK_EVERY_S):
            wish = Wish.CANCEL if attempt.cancelled.is_set() else _wished(asked())
            run.want(wish)
            looks += 1
            if looks % _REPORT_EVERY_LOOKS == 0 and not attempt.cancelled.is_set():
                attempt.report_progress(run.progress())

    thread = threading.Thread(target=attend, name="pipeline-attendant", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _wished(request: TaskRequest | None) -> Wish:
    if request is None:
        return Wish.GO_ON
    if request.action == "STOP":
        return Wish.STOP_NOW if request.now else Wish.STOP
    return {"PAUSE": Wish.PAUSE, "CANCEL": Wish.CANCEL}.get(request.action, Wish.GO_ON)


def _output(result: JobResult, attempt: Attempt) -> JsonObject:
    if result.fenced:
        raise AttemptEnded("Another attempt holds the task.")
    if result.lost:
        # Nothing is reported: the lease ends, and another attempt goes on that uses up no retry.
        attempt.cancelled.set()
        raise AttemptEnded("The Spark session has ended.")
    states = set(result.states.values())
    if PipelineState.FAILED in states:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in result.failures)
        raise PartlyDone(reasons, result.document)
    if PipelineState.CANCELLED in states:
        if attempt.cancelled.is_set():
            raise AttemptEnded("The attempt was cancelled.")
        raise CancelRequested
    if PipelineState.STOPPED in states:
        raise StopRequested
    if not result.finished:
        raise AttemptEnded("The attempt ended before its pipelines did.")
    return result.document
