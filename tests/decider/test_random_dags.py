"""Graphs that were drawn, run in an order that was drawn, against a model that knows no order."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from conductor_py.errors import Conflict
from conductor_py.model.requests import ForceRequest, RerunPreview, RerunRequest
from conductor_py.testing import MemoryEngine
from tests.builders import Json, pass_time
from tests.decider.dag_model import Expected, Recovered, definition, drawn, expected

_PIECES = 100


class Run:
    """One execution of a drawn graph, worked off in a drawn order."""

    def __init__(self, engine: MemoryEngine, seed: int, *, strategy: str = "CONTINUE") -> None:
        self.chance = random.Random(seed)
        self.engine = engine
        self.graph = drawn(self.chance)
        self.retries = self.chance.choice((0, 0, 1))
        self.fates = self._fates(0.6)
        self._generation = 0
        self._ready: set[int] = set()
        written = definition(self.graph, self.chance, self.retries, strategy)
        self.id = engine.start(written)

    def _fates(self, share: float) -> dict[str, bool]:
        return {ref: self.chance.random() < share for ref in self.graph.kinds}

    def work(self, *, forced: bool = False) -> None:
        """Work off what can be, one task at a time."""
        while waiting := [each for each in self._tasks() if each["status"] == "SCHEDULED"]:
            if forced and self.chance.random() < 0.5:
                self.force_while_it_runs()
                continue
            task = self.chance.choice(waiting)
            polled = self.engine.poll(task["taskDefName"])
            if not polled:  # a retry that is not due yet
                pass_time(self.engine, seconds=1)
                continue
            open_ = {each["referenceTaskName"] for each in waiting}
            befores = {edge.before for edge in self.graph.into(task["referenceTaskName"])}
            waited = not open_ & befores or task["seq"] in self._ready
            assert waited, "it has not waited"
            done = self.fates[task["referenceTaskName"]] and not self._fails_once(polled[0])
            self.engine.complete(polled[0], status="COMPLETED" if done else "FAILED")
        self.engine.settle()

    def _fails_once(self, task: Json) -> bool:
        """With retries some that succeed do so at the second try only."""
        return task["retryCount"] < self.retries and self.chance.random() < 0.5

    def recover(self, share: float) -> None:
        self._anew(share)
        self.engine.engine.recovery.retry(self.id)
        self.work()

    def rerun(self, share: float) -> tuple[str, str, RerunPreview]:
        """Run a task again that was drawn, with what was drawn; what was foretold of it."""
        ref = self.chance.choice(list(self.graph.kinds))
        mode = self.chance.choice(("TASK_POST", "TASK_ONLY", "TASK_PRE"))
        request = RerunRequest(from_ref=ref, mode=mode)
        foretold = self.engine.engine.recovery.preview_rerun(self.id, request)
        self._anew(share)
        self.engine.engine.recovery.rerun(self.id, request)
        self.work()
        return ref, mode, foretold

    def force(self, share: float) -> str:
        """Let one that failed count as done; which, if one has."""
        failed = [ref for ref, became in self.became().items() if became == "FAILED"]
        if not failed:
            return ""
        ref = self.chance.choice(failed)
        self._anew(share)
        self.fates[ref] = True
        self.engine.engine.recovery.force_success(self.id, ref, ForceRequest())
        self.work()
        return ref

    def force_while_it_runs(self) -> None:
        """Let one that failed count as done, unless something has run because of it."""
        failed = [ref for ref, became in self.became().items() if became == "FAILED"]
        ref = self.chance.choice([*failed, ""])
        if ref and self.status == "RUNNING":
            with suppress(Conflict):
                # These were ready before: what is opened again comes too late for them.
                ready = {each["seq"] for each in self._tasks() if each["status"] == "SCHEDULED"}
                self.engine.engine.recovery.force_success(self.id, ref, ForceRequest())
                self._ready |= ready
                self.fates[ref] = True

    def _anew(self, share: float) -> None:
        self.fates = self._fates(share)
        self._generation = max((each["seq"] for each in self._tasks()), default=0)

    def stale(self) -> set[str]:
        """What is shown as older than something before it."""
        return {each["referenceTaskName"] for each in self._tasks() if each.get("stale")}

    @property
    def status(self) -> str:
        return str(self.engine.workflow(self.id)["status"])

    def ran(self) -> set[str]:
        """What ran in the present generation."""
        return {each["referenceTaskName"] for each in self._tasks() if self._is_new(each)}

    def runs(self) -> list[str]:
        """The first tries of the present generation."""
        first = [each for each in self._tasks() if self._is_new(each)]
        ids = {each["taskId"] for each in first}
        again = [each for each in first if each.get("retriedTaskId") in ids]
        return [each["referenceTaskName"] for each in first if each not in again]

    def became(self) -> dict[str, str]:
        """How each task that ran has ended."""
        present = [each for each in self._tasks() if not each["retried"]]
        return {
            each["referenceTaskName"]: "OK" if each["status"] == "COMPLETED" else "FAILED"
            for each in present
        }

    def _is_new(self, task: Json) -> bool:
        return int(task["seq"]) > self._generation

    def _tasks(self) -> list[Json]:
        return sorted(self.engine.workflow(self.id)["tasks"], key=lambda each: int(each["seq"]))


def _seeds(first: int, fast: int, thorough: int) -> list[object]:
    """Seeds that no other test has: so each draws graphs of its own, 28,000 in all."""
    marks = pytest.mark.thorough(target="histories")
    later = range(first + fast, first + thorough, _PIECES)
    return [
        range(first, first + fast),
        *(pytest.param(range(n, n + _PIECES), marks=marks) for n in later),
    ]


def _later(before: dict[str, str], last: Expected, named: str = "", mode: str = "") -> Recovered:
    return Recovered(before, last.judged, last.against, named, mode or "TASK_POST")


def _ended(run: Run, wanted: Expected) -> None:
    became = {ref: each for ref, each in wanted.became.items() if each in {"OK", "FAILED"}}
    assert run.became() == became
    assert sorted(run.runs()) == sorted(wanted.ran)
    assert run.status == ("FAILED" if wanted.failed else "COMPLETED")


@pytest.mark.parametrize("seeds", _seeds(0, 25, 8_000))
def test_any_graph_ends_as_the_table_says_and_so_does_its_recovery(
    engine: MemoryEngine, seeds: range
) -> None:
    for seed in seeds:
        run = Run(engine, seed)
        run.work()
        wanted = expected(run.graph, run.fates)
        _ended(run, wanted)
        before = run.became()
        for share in (0.7, 1.0):
            if run.status == "COMPLETED":
                break
            run.recover(share)
            wanted = expected(run.graph, run.fates, _later(before, wanted))
            _ended(run, wanted)
            before = run.became()


@pytest.mark.parametrize("seeds", _seeds(10_000, 20, 6_000))
def test_any_part_of_any_graph_runs_again_as_the_table_says(
    engine: MemoryEngine, seeds: range
) -> None:
    for seed in seeds:
        run = Run(engine, seed)
        run.work()
        wanted = expected(run.graph, run.fates)
        last_ran = dict.fromkeys(wanted.ran, 0)
        for number in range(1, 5):
            before = run.became()
            if number % 3 == 0 and run.status == "FAILED":
                run.recover(0.8)
                recovered = _later(before, wanted)
            else:
                ref, mode, foretold = run.rerun(0.8)
                recovered = _later(before, wanted, ref, mode)
                _came_true(run, foretold, before)
            wanted = expected(run.graph, run.fates, recovered)
            _ended(run, wanted)
            last_ran |= dict.fromkeys(run.ran(), number)
            assert run.stale() == _older(run, last_ran), (seed, number)


@pytest.mark.parametrize("seeds", _seeds(20_000, 15, 6_000))
def test_whatever_is_forced_ends_as_if_it_had_succeeded(engine: MemoryEngine, seeds: range) -> None:
    for seed in seeds:
        run = Run(engine, seed)
        run.work(forced=True)
        wanted = expected(run.graph, run.fates)
        _ended(run, wanted)
        for _ in range(4):
            before = run.became()
            if run.status == "COMPLETED" or not (ref := run.force(0.7)):
                break
            wanted = expected(
                run.graph,
                run.fates,
                _later(before, wanted, ref, "FORCED"),
            )
            _ended(run, wanted)
            assert not run.stale()


def _came_true(run: Run, foretold: RerunPreview, before: dict[str, str]) -> None:
    """What was to run and did not had not been reached; the rest is as it was to be."""
    ran, became = run.ran(), run.became()
    assert ran <= set(foretold.runs_again)
    left = {*foretold.kept, *foretold.stale}
    assert {ref: became.get(ref) for ref in left} == {ref: before[ref] for ref in left}
    assert set(became) <= left | ran
    assert run.stale() == set(foretold.stale)


def _older(run: Run, last_ran: dict[str, int]) -> set[str]:
    """What has run before something that leads to it did."""
    present = {ref: last_ran[ref] for ref in run.became()}
    return {
        ref
        for ref, when in present.items()
        if any(present.get(each, when) > when for each in run.graph.before(ref))
    }


@pytest.mark.parametrize("seeds", _seeds(30_000, 15, 8_000))
def test_a_graph_that_ends_on_failure_ends_with_the_first_that_nobody_handles(
    engine: MemoryEngine, seeds: range
) -> None:
    for seed in seeds:
        run = Run(engine, seed, strategy="END")
        run.work()
        wanted = expected(run.graph, run.fates)
        assert run.status == ("FAILED" if wanted.failed else "COMPLETED"), seed
        if not wanted.failed:
            _ended(run, wanted)
            continue
        done = _cut_short(run, wanted)
        run.recover(1.0)
        better = expected(run.graph, run.fates, Recovered(done, wanted.judged))
        if better.failed:
            assert run.status == "FAILED", seed
        else:
            _ended(run, better)


def _cut_short(run: Run, wanted: Expected) -> dict[str, str]:
    """How all have ended that have run: as they would have, up to the first failure that nobody
    handles, of which there is one at most, or CANCELED.
    """
    statuses = run.engine.statuses(run.id)
    canceled = {ref: "CANCELED" for ref, each in statuses.items() if each == "CANCELED"}
    done = {ref: each for ref, each in run.became().items() if ref not in canceled}
    assert done == {ref: wanted.became[ref] for ref in done}
    failed = [ref for ref, each in done.items() if each == "FAILED" and not run.graph.handled(ref)]
    assert len(failed) <= 1, "more than one has ended it"
    assert not {"SCHEDULED", "IN_PROGRESS"} & set(statuses.values())
    return done | canceled
