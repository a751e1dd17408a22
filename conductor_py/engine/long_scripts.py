"""Scripts that take long: evaluated apart, while nobody holds a lease or a request for them.

A decision that asks for one is put off: its execution is let go, with a timer that comes again. A
sweeper evaluates the script meanwhile and then takes the execution up; every other process leaves
it to the sweepers. A crash costs the wait for the timer: a script is a function of its input.

A program that has not failed goes before those that have, and among equals the first that came;
every fourth turn is for the one that has waited longest, so that all of them get their turn.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from conductor_py.decider.need import ScriptWanted, digest
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.scripts import Evaluation, ScriptResult, Scripts, Value

_WAITING: Final = 10_000
_RESULTS: Final = 256
_PROGRAMS: Final = 4_096
_TURN_OF_OLDEST: Final = 4
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
        self._failures: OrderedDict[str, int] = OrderedDict()
        self._numbers = 0
        self._turns = 0

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
            self._changed.notify()

    def tick(self, follow: Callable[[Iterable[ExecutionId]], None], wait_s: float) -> int:
        """Wait for a script, evaluate it, and let its execution be taken up by ``follow``; returns
        how many were evaluated.

        Raises LimitExceeded when there is no process for it; its execution comes again.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._programs, wait_s):
                return 0
            program, waiting = self._next()
        try:
            (result,) = self._scripts.evaluate([waiting.request])
        finally:
            with self._changed:
                self._known.discard((waiting.execution, waiting.key))
        with self._changed:
            self._remember(program, result)
            self._results[waiting.execution, waiting.key] = result
            if len(self._results) > _RESULTS:
                self._results.popitem(last=False)
        follow([waiting.execution])
        return 1

    def _next(self) -> tuple[str, _Waiting]:
        self._turns += 1
        oldest = self._turns % _TURN_OF_OLDEST == 0

        def rank(program: str) -> tuple[int, int]:
            failures = 0 if oldest else self._failures.get(program, 0)
            return failures, self._programs[program][0].number

        program = min(self._programs, key=rank)
        queue = self._programs[program]
        waiting = queue.popleft()
        if not queue:
            del self._programs[program]
        return program, waiting

    def _remember(self, program: str, result: ScriptResult) -> None:
        if isinstance(result, Value) or result.kind == "error":
            self._failures.pop(program, None)
            return
        self._failures[program] = self._failures.pop(program, 0) + 1
        if len(self._failures) > _PROGRAMS:
            self._failures.popitem(last=False)


def evaluation_of(wanted: ScriptWanted) -> Evaluation:
    """What is to be evaluated for a need."""
    return Evaluation(evaluator=wanted.evaluator, expression=wanted.expression, input=wanted.input)
