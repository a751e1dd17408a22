"""Scripts that take long: evaluated apart, while nobody holds a lease or a request for them.

A decision that asks for one is put off: its execution is let go, with a timer that comes again. A
sweeper evaluates the script meanwhile and then takes the execution up; every other process leaves
it to the sweepers. A crash costs the wait for the timer: a script is a function of its input.

Programs that have failed are slow (see ``Scripts.is_slow``) and have a turn of their own; among
equals the first that came goes first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from conductor_py.decider.need import ScriptWanted, digest
from conductor_py.decider.workspace import Limits
from conductor_py.model.event import Continue, Event
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.scripts import Evaluation, ScriptResult, Scripts
from conductor_py.records import dataclass

_WAITING: Final = 10_000
_RESULTS: Final = 256
_MAX_TURNS: Final = 16
#: When an execution whose script waits here is looked at again, should this process be gone.
AGAIN_MS: Final = 10_000


class PutOff(Exception):
    """All that a decision still needs are scripts that take long."""

    def __init__(self, wanted: Mapping[str, ScriptWanted]) -> None:
        """Carry the scripts, by the key of their answer."""
        super().__init__()
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class _Waiting:
    number: int
    execution: ExecutionId
    key: str
    request: Evaluation


class LongScripts:
    """What waits to be evaluated in this process, and results that were not fetched yet.

    At most 10,000 wait; one that comes then is not taken, and comes again with its timer. Safe for
    threads.
    """

    def __init__(self, scripts: Scripts) -> None:
        """Nothing waits."""
        self._scripts = scripts
        self._changed = threading.Condition()
        self._programs: OrderedDict[str, deque[_Waiting]] = OrderedDict()
        self._known: set[tuple[ExecutionId, str]] = set()
        self._results: OrderedDict[tuple[ExecutionId, str], ScriptResult] = OrderedDict()
        self._numbers = 0

    def result(self, execution: ExecutionId, key: str) -> ScriptResult | None:
        """Fetch a result, once."""
        if not self._results:
            return None
        with self._changed:
            return self._results.pop((execution, key), None)

    def add(self, execution: ExecutionId, wanted: Mapping[str, ScriptWanted]) -> None:
        """Let the scripts of an execution wait for their turn."""
        with self._changed:
            for key, script in wanted.items():
                if (execution, key) in self._known or len(self._known) >= _WAITING:
                    continue
                self._known.add((execution, key))
                self._numbers += 1
                waiting = _Waiting(self._numbers, execution, key, evaluation_of(script))
                program = digest([script.evaluator, script.expression])
                self._programs.setdefault(program, deque()).append(waiting)
            self._changed.notify_all()

    def tick(
        self,
        follow: Callable[[Iterable[ExecutionId]], object],
        wait_s: float,
        *,
        slow: bool | None = None,
    ) -> int:
        """Wait for a script, evaluate it, and let its execution be taken up by ``follow``; returns
        how many were evaluated.

        ``slow``: only programs that are, or only others; ``None``: any, the others first.

        Raises LimitExceeded when there is no process for it; its execution comes again.
        """
        with self._changed:
            waiting = self._changed.wait_for(lambda: self._next(slow=slow), wait_s)
            if waiting is None:
                return 0
        try:
            (result,) = self._scripts.evaluate([waiting.request])
        finally:
            with self._changed:
                self._known.discard((waiting.execution, waiting.key))
        with self._changed:
            self._results[waiting.execution, waiting.key] = result
            if len(self._results) > _RESULTS:
                self._results.popitem(last=False)
        follow([waiting.execution])
        return 1

    def _next(self, *, slow: bool | None) -> _Waiting | None:
        """Take whose turn it is."""
        found: tuple[bool, int, str] | None = None
        for program, queue in self._programs.items():
            is_slow = self._scripts.is_slow(queue[0].request)
            if slow in (None, is_slow):
                rank = (is_slow, queue[0].number, program)
                found = rank if found is None else min(found, rank)
        if found is None:
            return None
        queue = self._programs[found[2]]
        waiting = queue.popleft()
        if not queue:
            del self._programs[found[2]]
        return waiting


def without_long_scripts(
    limits: Limits, events: tuple[Event, ...], rounds: int, turns: int
) -> tuple[Limits, tuple[Event, ...]] | None:
    """What to decide without the steps whose scripts take long; ``None`` when nothing is left.

    Events become continuations; of several continuations another one goes first, up to a number of
    ``turns``.
    """
    if rounds >= limits.rounds:
        return None
    if rounds or not all(isinstance(event, Continue) for event in events):
        return replace(limits, rounds=rounds), events
    if turns >= min(len(events) - 1, _MAX_TURNS):
        return None
    return limits, (*events[1:], events[0])


def evaluation_of(wanted: ScriptWanted) -> Evaluation:
    """What is to be evaluated for a need."""
    return Evaluation(evaluator=wanted.evaluator, expression=wanted.expression, input=wanted.input)
