"""All pipelines of one job in one Spark session: begun together, ended one by one.

Each pipeline has a thread, a scheduler pool and a session of its own, so one's failure or slowness
is not another's. The job is finished when all its pipelines are; with some finished it fails, and a
retry of the task skips those.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark import InheritableThread

from conductor_py.pipelines import spec
from conductor_py.pipelines.edits import Permissions
from conductor_py.pipelines.plan import JobPlan, PipelinePlan
from conductor_py.pipelines.record import PipelineState
from conductor_py.records import dataclass, field
from conductor_workers.paths import AllowedPaths
from conductor_workers.pipelines.beginning import Beginning, RewindRefused, beginnings
from conductor_workers.pipelines.control import Control, Wish
from conductor_workers.pipelines.coordinator import PipelineCoordinator
from conductor_workers.pipelines.judging import refuse_other_places
from conductor_workers.pipelines.registry import Place, open_sink, open_source
from conductor_workers.pipelines.rounds import Ground
from conductor_workers.pipelines.secrets import Secrets, WorkerSecrets
from conductor_workers.pipelines.storage import open_storage
from conductor_workers.pipelines.store import Fenced, JobStore
from conductor_workers.pipelines.trouble import SessionLost, session_lost
from conductor_workers.pipelines.view import View
from conductor_workers.pipelines.workplace import Workplace, forget_lines, line_address, run_name
from conductor_workers.statements import own_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

#: What a pipeline's own session must have: CSV is looked at whole, or bad values go unnoticed;
#: rows of several splits meet in as many tasks, where Spark would make one of those that have one.
_SESSION: Final = {
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    "spark.sql.unionOutputPartitioning": "false",
    "spark.sql.session.timeZone": "UTC",
}
_CANCEL_EVERY_S: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the worker offers to jobs. ``work_dir`` is for jobs that name none."""

    spark: SparkSession
    work_dir: str
    modules: tuple[str, ...] = ()
    any_sql: bool = False
    """Whether jobs may run all that Spark's SQL can do."""
    paths: AllowedPaths
    """What files and objects jobs may name."""
    secrets: Secrets = field(default_factory=WorkerSecrets)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """How each pipeline was left, by id. ``fenced``: another attempt holds the task; ``lost``: the
    Spark session has ended, and nothing can be said of what it was doing.
    """

    states: Mapping[str, PipelineState]
    document: Mapping[str, Any]
    fenced: bool = False
    lost: bool = False

    @property
    def finished(self) -> bool:
        """Whether all pipelines are."""
        return all(state is PipelineState.FINISHED for state in self.states.values())

    @property
    def remark(self) -> str:
        """What a job that is finished has left out, as it was told to; empty for nothing."""
        pipelines = self.document["pipelines"]
        aside = sum(each["splits"].get("quarantined", 0) for each in pipelines)
        found = sum(each["splits"].get("discovered", 0) for each in pipelines)
        bad = sum(each["rows"]["bad"] for each in pipelines)
        lacks = [f"{aside} of {found} splits, which were set aside"] if aside else []
        lacks += [f"{bad} bad rows"] if bad else []
        return f"Finished without {', and without '.join(lacks)}." if lacks else ""

    @property
    def failures(self) -> Iterator[tuple[str, str]]:
        """The pipelines that failed, with their reasons."""
        for each in self.document["pipelines"]:
            if self.states.get(each["id"]) is PipelineState.FAILED:
                yield each["id"], (each["lastError"] or {}).get("message", "")


class JobRun:
    """One attempt at a job."""

    def __init__(
        self,
        job: spec.Job,
        plan: JobPlan,
        store: JobStore,
        bench: Bench,
        *,
        permissions: Permissions | None = None,
    ) -> None:
        """Prepare to run it for the store's attempt."""
        self._job = job
        self._plan = plan
        self._store = store
        self._bench = bench
        self._permissions = permissions or Permissions()
        self._controls = {each.id: Control() for each in plan.pipelines}
        self._views: dict[str, View] = {}
        self._states: dict[str, PipelineState] = {}
        self._fenced = threading.Event()
        self._lost = threading.Event()
        self._ended = threading.Event()
        self._refused: list[RewindRefused] = []
        context = bench.spark.sparkContext
        self._parallelism = job.env.parallelism or context.defaultParallelism

    def run(self) -> JobResult:
        """Carry the job to an end; returns how it was left.

        Raises ``PathRefused`` when it names files that the worker was not given, ``JobChanged``
        when what is kept was made by a job that this one may not follow, and ``RewindRefused`` when
        a pipeline may not go back to where somebody wants it.
        """
        refuse_other_places(self._job, self._bench.paths)
        kept = self._store.acquire()
        begun = beginnings(kept, self._job, self._plan, self._permissions, self._workplace)
        if not any(each.record for each in kept.values()):
            self._forget_former_lines()
        threads = [self._thread(each, begun[each.id]) for each in self._plan.pipelines]
        canceller = threading.Thread(target=self._cancel_jobs, name="pipeline-cancel", daemon=True)
        canceller.start()
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            self._ended.set()
            canceller.join()
        if self._refused and not self._fenced.is_set() and not self._lost.is_set():
            raise self._refused[0]
        return JobResult(
            states=dict(self._states),
            document=self.progress(),
            fenced=self._fenced.is_set(),
            lost=self._lost.is_set(),
        )

    def want(self, wish: Wish) -> None:
        """Ask all pipelines for something."""
        for control in self._controls.values():
            control.want(wish)

    def progress(self) -> dict[str, Any]:
        """Return how far all are, as JSON."""
        states = {view.state for view in self._views.values()}
        alone = states.pop() if len(states) == 1 else None
        return {
            "state": alone or "RUNNING",
            "token": self._store.token,
            "pipelines": [self._view(each).document() for each in self._plan.pipelines],
        }

    def _forget_former_lines(self) -> None:
        """Delete what a restarted task had in the work directory; it is of no use to anybody."""
        try:
            run = open_storage(self._address.rpartition("/")[0])
            forget_lines(run, before=self._store.owner.line)
        except OSError as error:
            logger.warning(
                "What a former line kept could not be deleted",
                extra={"action": "former_line_kept", "error": str(error)},
            )

    def _view(self, plan: PipelinePlan) -> View:
        known = self._views.get(plan.id)
        if known is not None:
            return known
        made = View(
            pipeline=plan.id,
            parallelism=self._parallelism,
            guarantees={name: str(each) for name, each in plan.guarantees.items()},
            unbounded=self._job.mode == "unbounded",
        )
        # Another thread may ask for it at the same time; both get the one that is there first.
        return self._views.setdefault(plan.id, made)

    def _thread(self, plan: PipelinePlan, begun: Beginning) -> InheritableThread:
        self._view(plan)
        thread = InheritableThread(target=self._coordinate, args=(plan, begun))
        thread.daemon = True
        thread.name = f"pipeline-{plan.id}"
        return thread

    def _coordinate(self, plan: PipelinePlan, begun: Beginning) -> None:
        state = PipelineState.FAILED
        ground: Ground | None = None
        try:
            ground = self._ground(plan)
            coordinator = PipelineCoordinator(
                ground,
                self._store,
                self._controls[plan.id],
                self._view(plan),
                on_trouble=lambda: self._told_of_trouble(plan.id),
            )
            state = coordinator.run(begun)
        except Fenced:
            state = PipelineState.RUNNING
            self._fenced.set()
            self.want(Wish.CANCEL)
        except RewindRefused as refused:
            # The others are stopped as they are: whoever asked meant them all.
            state = PipelineState.STOPPED
            self._refused.append(refused)
            self.want(Wish.STOP)
        except Exception as error:  # noqa: BLE001 - judged right here
            if isinstance(error, SessionLost) or session_lost(self._bench.spark, error):
                state = PipelineState.RUNNING
                self._lost.set()
                self.want(Wish.ABANDON)
            else:
                self._broken(plan, error)
        finally:
            self._states[plan.id] = state
            if ground is not None:
                _close(ground)
        if state is PipelineState.FAILED and self._job.env.fail_fast:
            self.want(Wish.ABANDON)

    def _broken(self, plan: PipelinePlan, error: Exception) -> None:
        logger.error(
            "A pipeline could not run",
            extra={"action": "pipeline_broken", "pipeline": plan.id},
            exc_info=error,
        )
        view = self._view(plan)
        view.state, view.error = "FAILED", {"code": "INTERNAL", "message": str(error)}

    def _told_of_trouble(self, pipeline: str) -> None:
        if self._job.env.failover == "all":
            for other, control in self._controls.items():
                if other != pipeline:
                    control.begin_again()

    def _ground(self, plan: PipelinePlan) -> Ground:
        job, bench, owner = self._job, self._bench, self._store.owner
        session = own_session(bench.spark, any_sql=bench.any_sql)
        for key, value in {**job.env.spark, **_SESSION}.items():
            session.conf.set(key, value)
        session.sparkContext.setLocalProperty("spark.scheduler.pool", plan.id)
        place = Place(
            owner=owner,
            pipeline=plan.id,
            work_dir=self._address,
            unbounded=job.mode == "unbounded",
            secrets=bench.secrets,
        )
        nodes = frozenset(plan.nodes)
        return Ground(
            job=job,
            plan=plan,
            owner=owner,
            token=self._store.token,
            spark=session,
            workplace=self._workplace(plan),
            sources={n.id: open_source(n, place) for n in job.sources if n.id in nodes},
            sinks={n.id: open_sink(n, place) for n in job.sinks if n.id in nodes},
            dead_letter=None if job.dead_letter is None else open_sink(job.dead_letter, place),
            parallelism=self._parallelism,
            modules=bench.modules,
            any_sql=bench.any_sql,
            paths=bench.paths,
        )

    @property
    def _address(self) -> str:
        return line_address(self._job.env.work_dir or self._bench.work_dir, self._store.owner)

    def _workplace(self, plan: PipelinePlan) -> Workplace:
        return Workplace(
            storage=open_storage(self._address),
            run=run_name(self._store.owner),
            address=self._address,
            pipeline=plan.id,
            token=self._store.token,
        )

    def _cancel_jobs(self) -> None:
        """Cancel the jobs of pipelines that give their round up, as often as they begin one."""
        context = self._bench.spark.sparkContext
        while not self._ended.wait(_CANCEL_EVERY_S):
            for pipeline, control in self._controls.items():
                group = self._views[pipeline].group
                if control.interrupts and group and pipeline not in self._states:
                    with suppress(Py4JError, OSError):
                        context.cancelJobGroup(group)


def _close(ground: Ground) -> None:
    sinks = [*ground.sinks.values(), *([ground.dead_letter] if ground.dead_letter else [])]
    closers: list[Callable[[], None]] = [sink.close for sink in sinks]
    for close in closers:
        try:
            close()
        except Exception:
            logger.exception("A sink did not close", extra={"action": "sink_not_closed"})
