"""Many seeds on all processors, and what came of them.

    python -m conductor_py.testing.simulation --seeds 200 --from 0 --fail-fast

Exit code 0: everything held. 1: a seed failed; its trace is printed, made small. A seed that
failed does the same again anywhere: ``--seeds 1 --from SEED --trace``.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import platform
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from conductor_py.records import dataclass, field
from conductor_py.testing.simulation.drawing import draw_day, draw_scenario
from conductor_py.testing.simulation.findings import Violation
from conductor_py.testing.simulation.runs import Run
from conductor_py.testing.simulation.scenario import Action, Scenario
from conductor_py.testing.simulation.shrink import shrink
from conductor_py.testing.simulation.world import World

_CHUNK: Final = 20
_SHRUNK: Final = 2
_TOLD: Final = 20
"""How often a run tells what it has found so far."""
_LAST_LINES: Final = 60
_GARBAGE: Final = 50_000
"""Objects that are made before their generation is collected."""


@dataclass(slots=True)
class Summary:
    """What came of many runs."""

    seeds: int = 0
    virtual_ms: int = 0
    steps: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    weathers: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Summary) -> None:
        """Add what came of others."""
        self.seeds += other.seeds
        self.virtual_ms += other.virtual_ms
        self.steps += other.steps
        self.counts += other.counts
        self.faults += other.faults
        self.weathers += other.weathers
        self.failures += other.failures

    def rows(self) -> Iterator[tuple[str, str]]:
        """Write it as rows of a table."""
        yield "seeds", f"{self.seeds:,}"
        yield "failures", f"{len(self.failures):,}"
        yield "virtual time", f"{self.virtual_ms / 3_600_000:,.1f} h"
        yield "steps of the scheduler", f"{self.steps:,}"
        yield "calls of the store", f"{self.counts['calls']:,}"
        yield "executions started", f"{self.counts['start OK']:,}"
        yield "decisions committed", f"{self.counts['commit OK']:,}"
        for name in sorted(self.counts):
            verb, _, outcome = name.partition(" ")
            if verb in {"commit", "start", "report", "extension"} and outcome and outcome != "OK":
                yield f"refused: {verb}, {outcome}", f"{self.counts[name]:,}"
        yield "processes that died", f"{self.counts['crashes']:,}"
        yield "calls while the store was away", f"{self.counts['store away']:,}"
        for kind, count in sorted(self.faults.items()):
            yield f"fault: {kind}", f"{count:,}"


def simulate(scenario: Scenario, *, keeps_words: bool = False) -> Run:
    """Run one scenario; a faithful one is held to what comes out of it without faults."""
    run = World(scenario, keeps_words=keeps_words).run()
    if scenario.faithful and scenario.faults and not run.violations:
        plain = World(replace(scenario, faults=(), actions=_starts(scenario)[:1])).run()
        if plain.violations:
            # Then there is nothing to compare with: what fails is the run without any fault.
            return plain
        run.violations.extend(differences(plain.outcomes, run.outcomes))
    return run


def _starts(scenario: Scenario) -> tuple[Action, ...]:
    return tuple(action for action in scenario.actions if action.verb == "start")


def differences(
    plain: Mapping[str, Mapping[str, Any]], disturbed: Mapping[str, Mapping[str, Any]]
) -> Iterator[Violation]:
    """Say where executions came out otherwise than the same without faults."""
    wanted = {_path(plain, document): _outcome(document) for document in plain.values()}
    for name, document in disturbed.items():
        path = _path(disturbed, document)
        found, expected = _outcome(document), wanted.get(path)
        if found == expected or path is None:
            continue
        expected = expected or {}
        parts = sorted(set(found.items()) ^ set(expected.items()))
        yield Violation("outcome", f"{name} came out otherwise than without faults: {parts[:4]}")


def _path(documents: Mapping[str, Mapping[str, Any]], document: Mapping[str, Any]) -> str | None:
    """Name an execution by the tasks above it, from its root; ``None`` when these are not known:
    what is above it went with a lost tail, or its task with an iteration that is not kept.
    """
    by_id = {one["workflowId"]: one for one in documents.values()}
    parent = document.get("parentWorkflowId", "")
    if not parent:
        return ""
    above = by_id.get(parent)
    if above is None:
        return None
    path = _path(documents, above)
    if path is None:
        return None
    task = next(
        (
            task["referenceTaskName"]
            for task in above["tasks"]
            if task.get("subWorkflowId") == document["workflowId"]
        ),
        None,
    )
    return None if task is None else f"{path}/{task}"


def _outcome(document: Mapping[str, Any]) -> dict[str, str]:
    """What came out: the last attempt of each task, and the status."""
    last = {
        task["referenceTaskName"]: f"{task['status']} {task.get('outputData', {}).get('value')}"
        for task in sorted(document["tasks"], key=lambda task: int(task["taskId"][37:]))
    }
    return {**last, "": str(document["status"])}


def simulate_seeds(first: int, count: int, *, fail_fast: bool = False) -> Summary:
    """Run seeds one after the other."""
    found = Summary()
    for seed in range(first, first + count):
        scenario = draw_scenario(seed)
        run = simulate(scenario)
        found.seeds += 1
        found.virtual_ms += run.virtual_ms
        found.steps += run.steps
        found.counts += run.counts
        found.faults += Counter({kind.value: count for kind, count in run.faults.items()})
        found.weathers[scenario.weather] += 1
        if run.violations:
            first_one = run.violations[0]
            found.failures.append((seed, first_one.invariant, first_one.sentence))
            if fail_fast:
                break
    return found


def simulate_many(
    first: int,
    count: int,
    *,
    jobs: int,
    fail_fast: bool = False,
    tell: Callable[[Summary], None] | None = None,
) -> Summary:
    """Run seeds on several processors; ``tell`` is given what is found so far, now and then."""
    began, found = time.monotonic(), Summary()
    if jobs <= 1 or count <= _CHUNK:
        found = simulate_seeds(first, count, fail_fast=fail_fast)
        found.seconds = time.monotonic() - began
        return found
    told = 0
    for _ in _in_parallel(first, count, jobs, found, fail_fast=fail_fast):
        found.failures.sort()
        found.seconds = time.monotonic() - began
        if tell is not None and found.seeds * _TOLD // count > told:
            told = found.seeds * _TOLD // count
            tell(found)
    return found


def _in_parallel(
    first: int, count: int, jobs: int, found: Summary, *, fail_fast: bool
) -> Iterator[None]:
    """Add to what is found; yields whenever something was added."""
    context = multiprocessing.get_context("spawn")
    chunks = iter(range(first, first + count, _CHUNK))
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare) as pool:

        def submit() -> set[Future[Summary]]:
            start = next(chunks, None)
            if start is None:
                return set()
            size = min(_CHUNK, first + count - start)
            return {pool.submit(simulate_seeds, start, size, fail_fast=fail_fast)}

        pending: set[Future[Summary]] = set()
        for _ in range(jobs * 2):
            pending |= submit()
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                found.add(future.result())
                if not (fail_fast and found.failures):
                    pending |= submit()
            yield


def _prepare() -> None:
    """Collect seldom what lives no longer than a scenario, and end with the parent: a run that is
    killed leaves nobody behind who goes on with its seeds.
    """
    gc.set_threshold(_GARBAGE, 20, 50)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait_for_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_end, name="parent-watch", daemon=True).start()


def made_small(seed: int, *, runs: int = 400) -> tuple[Scenario, Run]:
    """Shrink what a seed does, and run it again with words."""
    whole = draw_scenario(seed)
    invariant = simulate(whole).violations[0].invariant

    def fails(scenario: Scenario) -> bool:
        violations = simulate(scenario).violations
        return bool(violations) and violations[0].invariant == invariant

    small = shrink(whole, fails, runs=runs)
    return small, simulate(small, keeps_words=True)


def explain(scenario: Scenario, run: Run) -> Iterator[str]:
    """Say what failed, what is left of the scenario, and what happened."""
    violation = run.violations[0] if run.violations else None
    yield f"seed {run.seed}"
    if violation is not None:
        yield f"violated: {violation.invariant}: {violation.sentence}"
    yield f"deployment: {scenario.deployment}"
    for definition in scenario.definitions:
        yield f"definition: {definition}"
    for action in scenario.actions:
        yield f"action: {action}"
    for fault in scenario.faults:
        yield f"fault: {fault.words()}"
    if len(run.journal.entries) > _LAST_LINES * 4:
        yield f"... the last {_LAST_LINES * 4} of {len(run.journal.entries)} lines:"
    yield from map(str, run.journal.entries[-_LAST_LINES * 4 :])


def report_of(found: Summary, *, command: str, commit: str) -> str:
    """Write a report as a page."""
    lines = [
        "# Simulation report",
        "",
        f"- command: `{command}`",
        f"- commit: `{commit}`",
        f"- machine: {_machine()}",
        f"- duration: {found.seconds:,.0f} s",
        "",
        "| | |",
        "|---|---:|",
        *(f"| {name} | {value} |" for name, value in found.rows()),
        "",
    ]
    if found.failures:
        lines += ["## Failures", ""]
        lines += [f"- seed {seed}: {invariant}: {said}" for seed, invariant, said in found.failures]
        lines.append("")
    return "\n".join(lines)


def _machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--fail-fast", action="store_true", help="end with the first failure")
    parser.add_argument("--no-shrink", action="store_true", help="do not make failures small")
    parser.add_argument("--trace", action="store_true", help="print what one seed does, in words")
    parser.add_argument("--hours", type=int, help="one long run of so many hours, by virtual time")
    parser.add_argument("--report", type=Path, help="write a page with the figures")
    parser.add_argument("--commit", default="unknown", help="the commit that the report names")
    given = parser.parse_args(arguments)
    if given.hours:
        return _long_run(given.first, given.hours)
    if given.trace:
        return _trace(given.first)

    def report(found: Summary) -> None:
        """A run of hours that is stopped has said what it had found by then."""
        if given.report is not None:
            command = f"make simulate SEEDS={given.seeds}"
            command += f" FROM={given.first}" if given.first else ""
            page = report_of(found, command=command, commit=given.commit)
            given.report.write_text(page, encoding="utf-8")

    def tell(found: Summary) -> None:
        rate = found.seeds / found.seconds
        sys.stderr.write(
            f"{found.seeds:,} of {given.seeds:,} seeds, {len(found.failures)} failures, "
            f"{rate:.0f} seeds/s\n"
        )
        sys.stderr.flush()
        report(found)

    found = simulate_many(
        given.first, given.seeds, jobs=given.jobs, fail_fast=given.fail_fast, tell=tell
    )
    report(found)
    for name, value in found.rows():
        _say(f"{name:<40} {value:>16}")
    for seed, invariant, sentence in found.failures[:20]:
        _say(f"FAILED seed {seed}: {invariant}: {sentence}")
    if not given.no_shrink:
        for seed, _, _ in found.failures[:_SHRUNK]:
            _say("\n".join(explain(*made_small(seed))))
    _say(f"{found.seeds:,} seeds, {len(found.failures)} failures, {found.seconds:,.0f} s")
    return 1 if found.failures else 0


def _long_run(seed: int, hours: int) -> int:
    """Run hours of a steady load, and say how large the store was."""
    began = time.monotonic()
    run = simulate(draw_day(seed, hours=hours))
    for number, sizes in enumerate(run.sizes, 1):
        _say(f"hour {number:>3}: " + ", ".join(f"{what} {size}" for what, size in sizes.items()))
    _say(f"{run.counts['start OK']:,} executions, {run.faults.total():,} faults,")
    _say(f"{run.virtual_ms / 3_600_000:.1f} h of virtual time in {time.monotonic() - began:.0f} s")
    for violation in run.violations[:1]:
        _say(f"FAILED seed {seed}: {violation.invariant}: {violation.sentence}")
    return 1 if run.violations else 0


def _trace(seed: int) -> int:
    scenario = draw_scenario(seed)
    run = simulate(scenario, keeps_words=True)
    _say("\n".join(explain(scenario, run)))
    return 1 if run.violations else 0


__all__ = ["Summary", "explain", "made_small", "main", "simulate", "simulate_many"]
