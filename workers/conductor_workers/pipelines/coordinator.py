"""One pipeline of a job: picks rounds, has them run, decides and publishes them.

All that changes a pipeline's state happens in the thread of its coordinator, so nothing here is
locked. A round is the answer to "what next?"; inside it Spark gives tasks to free cores. What a
round made counts once its record is decided; before that it can be thrown away, after that it is
published however often it takes (see ``commit``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from conductor_py.pipelines.accounts import Splits
from conductor_py.pipelines.record import Decided, Note, NoteKind, PipelineState, Record
from conductor_py.pipelines.record_form import note_to_json
from conductor_py.pipelines.suspicion import Verdict as Judged
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.beginning import Beginning, RewindRefused
from conductor_workers.pipelines.commit import Interrupted, Ledger
from conductor_workers.pipelines.connectors import Concluding
from conductor_workers.pipelines.control import Control, Wish
from conductor_workers.pipelines.intake import Intake
from conductor_workers.pipelines.job_group import end_group
from conductor_workers.pipelines.judging import refuse_other_files, refuse_other_than_queries
from conductor_workers.pipelines.pace import Pace
from conductor_workers.pipelines.recovery import collect, recover
from conductor_workers.pipelines.rounds import DEAD_LETTER, Ground, Harvest, Round, run_round
from conductor_workers.pipelines.splits import SplitTable
from conductor_workers.pipelines.stages import StageInputs
from conductor_workers.pipelines.store import Fenced, JobStore
from conductor_workers.pipelines.streams import Streams
from conductor_workers.pipelines.trouble import SessionLost, Trouble, Verdict, session_lost, trouble
from conductor_workers.pipelines.view import View

logger = logging.getLogger(__name__)

_LOOK_AGAIN_S: Final = 0.5


class PipelineFailed(Exception):
    """A pipeline cannot go on."""

    def __init__(self, found: Trouble) -> None:
        """Fail for that reason."""
        super().__init__(found.sentence)
        self.trouble = found


class PipelineCoordinator:
    """See the module. ``run`` once, in a thread of its own."""

    def __init__(
        self,
        ground: Ground,
        store: JobStore,
        control: Control,
        view: View,
        *,
        on_trouble: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Coordinate that pipeline for the store's attempt."""
        self._ground = ground
        self._control = control
        self._view = view
        self._on_trouble = on_trouble
        self._clock = clock
        self._wall_clock = wall_clock
        self._runs_on, self._restored = "", False
        self._ledger = Ledger(ground, store, control)
        self._pace = Pace(ground.job, frozenset(ground.plan.nodes))
        self._record = Record(pipeline=ground.plan.id, plan_hash=ground.plan.plan_hash)

    @property
    def record(self) -> Record:
        """The newest record that is known to be kept."""
        return self._record

    def run(self, begun: Beginning) -> PipelineState:
        """Restore the pipeline and carry it to an end.

        Returns the state it was left in: RUNNING when nobody waits for it any more. Raises
        ``Fenced``, ``SessionLost`` and ``RewindRefused``.
        """
        try:
            return self._ran(begun)
        except Fenced:
            self._view.state = "FENCED"
            self._leave_nothing()
            raise
        except Interrupted:
            self._leave_nothing()
            return PipelineState.RUNNING

    def _ran(self, begun: Beginning) -> PipelineState:
        while True:
            try:
                ended = self._carried(begun)
                if ended is not None:
                    return ended
            except (Fenced, RewindRefused):
                raise
            except Exception as error:
                if session_lost(self._ground.spark, error):
                    raise SessionLost from error
                if self._control.interrupts:
                    return self._heeded()
                if isinstance(error, Interrupted):
                    raise
                found = error.trouble if isinstance(error, PipelineFailed) else trouble(error)
                logger.warning(
                    "A pipeline has failed",
                    extra={"action": "pipeline_failed", "pipeline": self._ground.plan.id},
                    exc_info=error,
                )
                self._view.error = {"code": found.code, "message": found.sentence}
                delay = None if found.verdict is Verdict.FAIL else self._pace.restart()
                if delay is None:
                    return self._ended(PipelineState.FAILED, f"{found.code}: {found.sentence}")
                self._view.state = "BACKOFF"
                self._view.restarts += 1
                self._on_trouble()
                self._control.rest(delay)
            begun = begun.again(self._ledger.kept(), token=self._ground.token)

    def _carried(self, begun: Beginning) -> PipelineState | None:
        """Restore it and carry it to an end; ``None`` when it is to be restored once more."""
        self._view.state = "RECOVERING"
        self._restored = False
        came_back = recover(self._ground, self._ledger, begun)
        self._record = self._view.record = came_back.record
        self._restored = True
        self._attempt = came_back.restored.attempt
        self._began_ms = came_back.restored.began_ms or 0
        if self._record.state is PipelineState.FINISHED:
            self._view.state = "FINISHED"
            self._view.count(came_back.restored.accounts, {})
            return PipelineState.FINISHED
        ground = self._ground
        refuse_other_than_queries(ground)
        intake = Intake(ground, came_back.restored, SplitTable(ground.workplace))
        self._pace.begin(intake.accounts, self._record.sources)
        streams = self._streams = Streams(ground.spark, ground.workplace, self._control)
        try:
            return self._rounds(intake)
        finally:
            intake.close()
            streams.end()

    def _rounds(self, intake: Intake) -> PipelineState | None:
        inputs = StageInputs(self._ground, intake)
        self._set_group("open")
        self._record = inputs.open(self._record)
        while True:
            if self._control.wish >= Wish.STOP:
                return self._heeded()
            if self._control.take_again():
                return None
            self._discover(intake, inputs)
            if intake.finished(inputs.units):
                if self._held_back or inputs.owes(self._record):
                    self._carry_out(intake, inputs, {}, last=True)
                    continue
                if self._record.stage + 1 == len(self._ground.plan.stages):
                    return self._finished()
                self._record = inputs.open(replace(self._record, stage=self._record.stage + 1))
                continue
            now = self._clock()
            budget = self._pace.budget(intake.in_stage(inputs.units), now)
            picked = intake.pick(inputs.units, budget, self._pace.within())
            early = self._pace.early_s(now)
            if picked and not early and self._control.wish is not Wish.PAUSE:
                self._carry_out(intake, inputs, picked)
            else:
                self._view.state = "PAUSED" if self._control.wish is Wish.PAUSE else "WAITING"
                self._control.rest(early or self._pace.rest_s(now))

    def _discover(self, intake: Intake, inputs: StageInputs) -> None:
        due = [name for name in inputs.sources if self._pace.look(name, self._clock())]
        note = intake.discover(
            due, epoch=self._record.epoch + 1, wanted=self._ground.job.env.round.max_splits
        )
        if note is not None:
            self._note(note)
        self._view.count(intake.in_stage(inputs.units), intake.left(inputs.units))

    @property
    def _held_back(self) -> bool:
        """Whether event time may hold back rows, which the end of the sources lets go."""
        states = map(self._record.keyed_state.get, self._ground.plan.event_time)
        return any(state is not None and not state.get("ended") for state in states)

    def _carry_out(
        self, intake: Intake, inputs: StageInputs, picked: Splits, *, last: bool = False
    ) -> None:
        epoch = self._record.epoch + 1
        faults.reach("F1")
        intake.assign(picked)
        # A round that is redone has the time of its first attempt.
        self._began_ms = self._began_ms or int(self._wall_clock() * 1000)
        self._note(replace(self._said(NoteKind.ASSIGN, picked), at_ms=self._began_ms))
        faults.reach("F2")
        self._view.state = "RUNNING"
        group = self._set_group(str(epoch))
        self._view.begin(epoch, sum(map(len, picked.values())), group)
        began = self._clock()
        task = Round(
            number=epoch,
            began_ms=self._began_ms,
            stage=inputs.stage,
            splits=inputs.widened(intake.descriptors(picked)),
            record=self._record,
            schemas=inputs.schemas,
            streams=self._streams,
            last=last,
        )
        refuse_other_files(self._ground, task.splits)
        self._pace.took(task.splits, began)
        try:
            harvest = run_round(self._ground, task)
        except Exception as error:  # noqa: BLE001 - judged right here
            self._give_up(intake, picked, error)
            return
        if self._control.interrupts:
            raise Interrupted("The round was given up.")
        self._view.event_time = self._streams.told()
        intake.finish(picked)
        size = sum(split.bytes for each in task.splits.values() for split in each)
        self._decide(intake, inputs, harvest, picked, size)
        self._pace.succeeded(picked, size=size, seconds=self._clock() - began)
        self._attempt, self._began_ms = 1, 0

    def _decide(
        self, intake: Intake, inputs: StageInputs, harvest: Harvest, picked: Splits, size: int
    ) -> None:
        before, env = self._record, self._ground.job.env
        epoch = before.epoch + 1
        sources = intake.kept(epoch=epoch, inline=env.checkpoint.inline_bytes // 4)
        sources |= {
            name: replace(
                sources[name],
                event_time=self._pace.reached(
                    name, harvest.event_times.get(name), picked, intake.accounts[name]
                ),
            )
            for name in inputs.sources
        }
        intake.adopt(sources)
        proposed = replace(
            before,
            epoch=epoch,
            token=self._ground.token,
            plan_hash=self._ground.plan.plan_hash,
            node_hashes=self._ground.plan.node_hashes,
            sources=sources,
            keyed_state={**before.keyed_state, **harvest.keyed_state},
            exchanges={**before.exchanges, **harvest.exchanges},
            decided=Decided(epoch=epoch, sinks=harvest.sinks),
            published=before.epoch,
            counters=_counted(before.counters, harvest, size),
        )
        self._view.state = "STAGED"
        self._record = self._ledger.decide(proposed)
        self._view.state = "DECIDED"
        rows = sum(harvest.rows_read.values())
        self._view.decided(self._record, rows, size)
        self._ledger.publish(self._record)
        self._record = self._view.record = replace(self._record, published=epoch)
        retain = env.checkpoint.retain
        self._ground.workplace.forget(before=epoch - retain)
        if epoch % retain == 0:
            collect(self._ground, self._ledger, self._record, below=self._ground.token + 1)

    def _give_up(self, intake: Intake, picked: Splits, error: Exception) -> None:
        """Return a round's splits, and go on in smaller rounds if they may be the cause."""
        if session_lost(self._ground.spark, error):
            raise error  # they stay assigned in the log: it may have been one of them
        found = trouble(error)
        if self._control.interrupts or found.verdict is not Verdict.BLAME or not picked:
            intake.give_back(picked)
            self._note(self._said(NoteKind.RETURNED, picked, found.sentence))
            raise error
        logger.warning(
            "A round has failed",
            extra={"action": "round_failed", "pipeline": self._ground.plan.id},
            exc_info=error,
        )
        self._leave_nothing()
        intake.fail(picked)
        self._note(self._said(NoteKind.FAILED, picked, found.sentence))
        self._view.error = {"code": found.code, "message": found.sentence}
        self._view.round = None
        self._attempt += 1
        judged = self._pace.failed(intake.accounts, picked)
        if judged is Judged.FAIL:
            raise PipelineFailed(
                replace(found, verdict=Verdict.FAIL, code="POISON_SPLIT")
            ) from error
        if judged is Judged.QUARANTINE:
            intake.quarantine(picked)

    def _heeded(self) -> PipelineState:
        wish = self._control.wish
        self._end_group()
        if wish is Wish.ABANDON:
            self._leave_nothing()
            return PipelineState.RUNNING
        cancelled = wish is Wish.CANCEL
        return self._ended(PipelineState.CANCELLED if cancelled else PipelineState.STOPPED)

    def _finished(self) -> PipelineState:
        faults.reach("F12")
        written = self._record.counters.get("rows_written", {})
        for name, sink in self._ground.sinks.items():
            if isinstance(sink, Concluding):
                sink.conclude(int(written.get(name, 0)))
        return self._ended(PipelineState.FINISHED)

    def _ended(self, state: PipelineState, reason: str = "") -> PipelineState:
        """Write the end, and take back what this attempt left undecided.

        A record stays as it is when its epoch is not published (its sinks prove it by its hash),
        and when it could not be gone on from (nobody knows what is newest then).
        """
        self._view.state, self._view.round = str(state), None
        if self._restored and self._record.published == self._record.epoch:
            self._record = self._view.record = self._ledger.end(self._record, state, reason)
            self._leave_nothing()
            collect(self._ground, self._ledger, self._record, below=self._ground.token + 1)
        return state

    def _leave_nothing(self) -> None:
        """Take back what this attempt has staged for an epoch that is not decided.

        A worker that was frozen may have staged it after its successor had tidied up.
        """
        self._end_group()
        ground = self._ground
        names = (*ground.sinks, *([DEAD_LETTER] if ground.dead_letter else []))
        for name in names if self._ledger.settled else ():
            self._ledger.withdraw(name, self._record.epoch + 1)

    def _end_group(self) -> None:
        """Have no task of ours run any more: it could write what was deleted already."""
        if self._view.group not in ("", self._runs_on):
            ended = end_group(self._ground.spark.sparkContext, self._view.group)
            self._runs_on = "" if ended else self._view.group

    def _note(self, note: Note) -> None:
        self._ledger.note(note_to_json(note))

    def _said(self, kind: NoteKind, splits: Splits, reason: str = "") -> Note:
        return Note(
            kind=kind,
            epoch=self._record.epoch + 1,
            token=self._ground.token,
            splits=splits,
            attempt=self._attempt,
            reason=reason,
        )

    def _set_group(self, what: str) -> str:
        ground = self._ground
        group = f"{ground.workplace.run}/{ground.plan.id}/{what}/{ground.token}"
        self._view.group = group
        ground.spark.sparkContext.setJobGroup(group, ground.job.name, interruptOnCancel=True)
        return group


def _counted(before: Mapping[str, Any], harvest: Harvest, size: int) -> dict[str, Any]:
    """Add a round's figures to those of all rounds before."""
    read = _added(before.get("rows_read", {}), harvest.rows_read)
    rows = {name: int(staged["rows"]) for name, staged in harvest.sinks.items()}
    size_of = {name: int(staged.get("bytes", 0)) for name, staged in harvest.sinks.items()}
    counted = {
        "rows_read": read,
        "rows_written": _added(before.get("rows_written", {}), rows),
        "bytes_written": _added(before.get("bytes_written", {}), size_of),
        "bytes_read": int(before.get("bytes_read", 0)) + size,
    }
    bad = int(before.get("bad_rows", 0)) + harvest.bad.count
    counted |= {"bad_rows": bad} if bad else {}
    late = _added(before.get("late_rows", {}), harvest.late)
    return counted | ({"late_rows": late} if late else {})


def _added(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {**before, **{name: before.get(name, 0) + each for name, each in more.items()}}
