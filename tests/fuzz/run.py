"""One run: hostile requests for so long, then quiet, then some damaged bytes as well."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.fuzz.actor import Actor
from tests.fuzz.damage import Damager
from tests.fuzz.findings import LEAST_ACCEPTED, Findings
from tests.fuzz.sending import Line
from tests.fuzz.target import Target
from tests.fuzz.values import go_deep
from tests.fuzz.watching import Watch

_ACTORS: Final = 6
_DAMAGED_SHARE: Final = 0.1
_SAY_EVERY_S: Final = 30.0
_MOST_REFUSED: Final = 0.2
MOST_GROWTH_MB: Final = 150
"""From the middle third of a long run to its last, of all processes: none but chance."""
_LONG_MINUTES: Final = 10
SETTLED_REDIS_MB: Final = 64
_LOOK_S: Final = 0.5
_SHOWN: Final = 300
_LATEST_STEP_S: Final = 120.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked for; `first` is the step that each actor begins with, and `apart` is whether
    each part of the server is a process.
    """

    minutes: float
    seed: int
    first: int = 0
    damage: bool = True
    actor: int | None = None
    keep: bool = False
    apart: bool = False


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    plan: Plan
    findings: Findings = field(default_factory=Findings)
    steps: int = 0
    highest_mb: float = 0.0
    first_mb: float = 0.0
    settled_mb: float = 0.0
    growth_mb: float = 0.0
    settled_redis_mb: float = 0.0
    settled_keys: int = 0
    leftovers: dict[str, int] = field(default_factory=dict)
    damages: dict[str, int] = field(default_factory=dict)


class _Crowd:
    """Actors at work until a time."""

    def __init__(self, plan: Plan, port: int, findings: Findings) -> None:
        numbers = range(_ACTORS) if plan.actor is None else [plan.actor]
        self._actors = [Actor(number, plan.seed, Line(port), findings) for number in numbers]
        self._findings = findings
        self._said = 0
        self._next = {actor.number: plan.first for actor in self._actors}

    @property
    def steps(self) -> int:
        return sum(self._next.values())

    def work(self, seconds: float, say: Say) -> None:
        """Have all of them take steps."""
        end = time.monotonic() + seconds
        threads = [
            threading.Thread(target=self._go_on, args=(actor, end), daemon=True)
            for actor in self._actors
        ]
        for each in threads:
            each.start()
        said = time.monotonic()
        while running := [each for each in threads if each.is_alive()]:
            running[0].join(_LOOK_S)
            if time.monotonic() > said + _SAY_EVERY_S:
                said = time.monotonic()
                wrong = self._findings.wrong
                say(f"{self.steps:,} steps, {len(wrong)} things wrong")
                for sentence in wrong[self._said :]:
                    say(f"    {sentence[:_SHOWN]}")
                self._said = len(wrong)
            if time.monotonic() > end + _LATEST_STEP_S:
                self._findings.report("stuck", "a step does not end")
                return

    def _go_on(self, actor: Actor, end: float) -> None:
        while time.monotonic() < end:
            try:
                actor.take(self._next[actor.number])
            except Exception as error:  # noqa: BLE001 - a defect of this program is no success
                where = f"actor {actor.number}, step {actor.step}"
                told = f"this program failed, {where}: {error!r}\n{traceback.format_exc()}"
                self._findings.report("program", told)
            self._next[actor.number] += 1

    def close(self) -> None:
        for actor in self._actors:
            actor.close()


def run(plan: Plan, say: Say) -> Outcome:
    """Do it all, in a folder that is removed unless something is wrong."""
    go_deep()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    outcome = Outcome(plan=plan)
    target = None
    try:
        target = Target(folder, apart=plan.apart)
        _attack(target, outcome, say)
        with suppress(ProcessLookupError):
            if code := target.end():
                outcome.findings.report("exit", f"the server ended with {code}")
            target = None
        return outcome
    finally:
        if target is not None:
            target.end()
        if outcome.findings.wrong or plan.keep:
            say(f"the server's log is {folder / 'server' / 'err'}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _attack(target: Target, outcome: Outcome, say: Say) -> None:
    plan, findings = outcome.plan, outcome.findings
    watch = Watch(target.api.pid, target.api.port, target.log, findings)
    crowd = _Crowd(plan, target.api.port, findings)
    damaged_s = plan.minutes * 60 * _DAMAGED_SHARE * plan.damage
    watch.begin()
    try:
        crowd.work(plan.minutes * 60 - damaged_s, say)
        outcome.growth_mb = watch.growth_mb()
        if plan.minutes >= _LONG_MINUTES and outcome.growth_mb > MOST_GROWTH_MB:
            findings.report("growth", f"memory has grown by {outcome.growth_mb:.0f} MB")
        _settle(target, outcome, watch, say)
        if damaged_s:
            findings.damaged = True
            damager = Damager(target.store, plan.seed, findings.planted)
            damager.begin()
            crowd.work(damaged_s, say)
            outcome.damages = dict(damager.end())
    finally:
        watch.end()
        crowd.close()
        outcome.steps, outcome.highest_mb = crowd.steps, watch.highest_mb
    if findings.refused_share > _MOST_REFUSED:
        findings.report("refused", f"{findings.refused_share:.0%} of all was answered 503")
    least, kind = findings.least_accepted()
    if least < LEAST_ACCEPTED:
        findings.report("barren", f"only {least:.1%} of the requests of kind {kind} were accepted")


def _settle(target: Target, outcome: Outcome, watch: Watch, say: Say) -> None:
    """Audit what is there, remove it, audit again; nothing may be left."""
    findings = outcome.findings
    if told := target.audit():
        findings.report("audit", f"audit with everything there: {told}")
    say("the store was audited; everything is removed now")
    with watch.canaries_paused():
        if left := target.clear():
            findings.report("left", f"left when everything was removed: {left}")
        outcome.leftovers = target.leftovers()
        outcome.settled_keys = sum(outcome.leftovers.values())
        outcome.settled_redis_mb = target.redis_mb()
        if outcome.settled_redis_mb > SETTLED_REDIS_MB:
            findings.report("redis", f"Redis keeps {outcome.settled_redis_mb:.0f} MB")
        watch.look()
        outcome.first_mb, outcome.settled_mb = watch.first_mb, watch.last_mb
    if told := target.audit():
        findings.report("audit after", f"audit with nothing there: {told}")
    say(f"{outcome.settled_keys} keys and {outcome.settled_mb:.0f} MB are left")
