"""Polled tasks as the attempts of Spark tasks, and the Spark task types as worker tasks.

The SDK's keeper extends the lease in its own rhythm; this adds an extension with each new picture
of the progress, and one right before data is published. Whichever is refused first cancels the
attempt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from threading import Event, current_thread

from conductor_py.errors import Conflict, NotFound
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass
from conductor_py.sdk import (
    Client,
    ConductorError,
    ResultStatus,
    TaskContext,
    TaskRequest,
    TaskResult,
    WorkerOptions,
    WorkerTask,
    task_context,
)
from conductor_workers.attempt import Attempt, Claim, claim_of
from conductor_workers.paths import NOWHERE, AllowedPaths
from conductor_workers.pipelines.engine_store import EngineStore
from conductor_workers.pipelines.job import Bench
from conductor_workers.progress import monitored
from conductor_workers.session import WorkerSession
from conductor_workers.tasks.outcome import Outcome, Status, settle
from conductor_workers.tasks.pipeline import run_pipelines
from conductor_workers.tasks.python import run_python
from conductor_workers.tasks.sql import run_sql

logger = logging.getLogger(__name__)

TASK_TYPES = ("SPARK_SQL", "SPARK_PYTHON", "SPARK_PIPELINE")
_EXTEND_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkWorkerOptions:
    """How the Spark task types are polled and run; ``lease_s`` is in seconds."""

    task_types: tuple[str, ...] = TASK_TYPES
    concurrency: int = 1
    domain: str | None = None
    lease_s: int = 30
    allowed_modules: tuple[str, ...] = ()
    paths: AllowedPaths = NOWHERE
    """What files and objects tasks may name."""
    any_sql: bool = False
    """Whether tasks may run all that Spark's SQL can do, and not only queries of their inputs."""
    pipelines_dir: str = ""
    """Where pipelines keep their large parts when a job names no ``work_dir``."""


class PolledAttempt:
    """The attempt behind one polled task; see ``Attempt`` for what it offers."""

    def __init__(
        self, client: Client, context: TaskContext, given: JsonObject, *, lease_s: int
    ) -> None:
        """Run for the context's task, with that input."""
        self._client = client
        self._context = context
        self._given = given
        self._lease_s = lease_s
        self._claim = claim_of(context.task.json)

    @property
    def claim(self) -> Claim:
        return self._claim

    @property
    def input(self) -> JsonObject:
        return self._given

    @property
    def cancelled(self) -> Event:
        return self._context.cancelled

    def report_progress(self, progress: JsonObject) -> None:
        self._context.progress(progress)
        self._extend()

    def confirm(self) -> bool:
        if self.cancelled.is_set():
            return False
        # No answer is no confirmation: the data stays unpublished and the attempt fails.
        return self._extend() and not self.cancelled.is_set()

    def log(self, sentence: str) -> None:
        self._context.log(sentence)

    def _extend(self) -> bool:
        """Extend the lease; True when the engine confirmed it, or knows no claims at all."""
        task = self._context.task
        if task.claim_token is None:
            return True
        try:
            answer = self._client.extend_task(
                task.task_id,
                task.claim_token,
                self._lease_s,
                self._context.newest_progress(),
                resend=False,
                timeout_s=_EXTEND_WITHIN_S,
            )
        except (Conflict, NotFound):
            self._context.cancel()
            return False
        except ConductorError as error:
            logger.warning(
                "The lease was not extended",
                extra={"action": "lease_not_extended", "error": error.message},
            )
            return False
        self._context.asked(TaskRequest.from_json(answer.get("request")))
        return True


def spark_worker_tasks(
    client: Client, session: WorkerSession, options: SparkWorkerOptions
) -> list[WorkerTask[..., object]]:
    """Return the worker tasks of the chosen task types, run in that session."""
    paths = options.paths
    runs: Mapping[str, Callable[[Attempt], JsonObject]] = {
        "SPARK_SQL": lambda attempt: run_sql(
            session.spark, attempt, paths=paths, any_sql=options.any_sql
        ),
        "SPARK_PYTHON": lambda attempt: run_python(
            session.spark, attempt, options.allowed_modules, paths=paths
        ),
    }
    functions = {name: _function(client, session, options, run) for name, run in runs.items()}
    functions["SPARK_PIPELINE"] = _pipelines(client, session, options)
    return [
        WorkerTask(
            functions[task_type],
            WorkerOptions(
                name=task_type,
                domain=options.domain,
                concurrency=options.concurrency,
                lease_s=options.lease_s,
            ),
        )
        for task_type in options.task_types
    ]


def _function(
    client: Client,
    session: WorkerSession,
    options: SparkWorkerOptions,
    run: Callable[[Attempt], JsonObject],
) -> Callable[..., object]:
    def carry_out(**given: object) -> TaskResult:
        attempt = PolledAttempt(
            client,
            task_context(),
            given,  # type: ignore[arg-type]  # it was decoded from JSON
            lease_s=options.lease_s,
        )

        def watched() -> JsonObject:
            context = session.spark.sparkContext
            # One scheduler pool a worker thread: a bounded number, and a fair share to each.
            context.setLocalProperty("spark.scheduler.pool", current_thread().name)
            with monitored(context, attempt):
                return run(attempt)

        return _result(session, attempt, settle(attempt, watched))

    return carry_out


def _pipelines(
    client: Client, session: WorkerSession, options: SparkWorkerOptions
) -> Callable[..., object]:
    """Return the function of SPARK_PIPELINE: its pipelines have job groups and pools of their own,
    and tell their progress themselves.
    """

    def carry_out(**given: object) -> TaskResult:
        context = task_context()
        attempt = PolledAttempt(
            client,
            context,
            given,  # type: ignore[arg-type]  # it was decoded from JSON
            lease_s=options.lease_s,
        )
        bench = Bench(
            spark=session.spark,
            work_dir=options.pipelines_dir,
            modules=options.allowed_modules,
            paths=options.paths,
            any_sql=options.any_sql,
        )
        store = EngineStore(client, context)
        outcome = settle(
            attempt, lambda: run_pipelines(bench, attempt, store, lambda: context.request)
        )
        return _result(session, attempt, outcome)

    return carry_out


def _result(session: WorkerSession, attempt: Attempt, outcome: Outcome | None) -> TaskResult:
    """Return what is reported. What failed because the session has ended is not the task's fault:
    its lease ends, and another worker gets it without a retry being used up.
    """
    if outcome is None or (outcome.status is not Status.COMPLETED and not session.alive()):
        attempt.cancelled.set()
        return TaskResult.failed("The attempt has ended.")
    return TaskResult(
        status=ResultStatus(outcome.status.value),
        output=outcome.output,
        reason=outcome.reason or None,
    )
