"""The Scripts port over QuickJS children.

Turns evaluations into requests and answers into results. A script that will not stop is stopped by
the engine's own limit where that works, and by killing its process a moment later where it does
not.

There are three lanes. A program begins in the quick one, where it has a short slice of processor
time. One that does not end within it is run again, from its beginning and with all the time that a
script may have, in the long lane, whose processes run behind all others. What took long or did
damage is known by its text and goes to the long lane at once for a while, and what has failed there
goes to the slow lane, which runs only while nothing else does: nobody feels it, and those that
merely take long do not wait behind it. A program that was not given its time in these two has not
failed; it is refused like one that finds no process, and comes again.

A program whose process somebody else has killed is run once more: it may well be innocent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import orjson

from conductor_py.adapters.quickjs.pool import (
    Child,
    ChildDied,
    ChildKilled,
    ChildPool,
    OutOfTime,
    Starved,
)
from conductor_py.adapters.quickjs.programs import LongPrograms
from conductor_py.codec.execution import dump_json
from conductor_py.errors import LimitExceeded, Overloaded, PayloadTooLarge
from conductor_py.model.json import JsonObject
from conductor_py.ports.scripts import Evaluation, Failure, ScriptResult, Value
from conductor_py.records import dataclass
from conductor_py.wire.outside import OutsideJson

#: Evaluators, and the language that a child knows them by.
_LANGUAGES: Final = {"javascript": "javascript", "graaljs": "javascript", "jq": "jq"}
#: How much later than the engine's own limit the process is killed.
_MARGIN_S: Final = 0.1
#: Processor time that a program has in the quick lane.
_SLICE_MS: Final = 50
#: Wall time for its slice: it has to wait for the processor where others want it.
_SLICE_WALL_MS: Final = 1_000
#: Rest after each millisecond, in the long and in the slow lane: a program has a fifth or a
#: hundredth of a processor at most.
_LONG_REST_S: Final = 0.004
_SLOW_REST_S: Final = 0.099
#: Wall time there, in times of the limit.
_LONG_STRETCH: Final = 16
_SLOW_STRETCH: Final = 256
#: How long an attempt waits for a process of the quick lane.
_ATTEMPT_WAIT_S: Final = 0.25
#: Callers that may wait for those two: they hold threads that others need.
_LONG_CALLERS: Final = 16
_SLOW_CALLERS: Final = 4
#: Printed lines, and characters of one, with those that tell of more.
_MOST_LINES: Final = 51
_LONGEST_LINE: Final = 501
_KILLED: Final = Failure(message="The script took its process down", terminal=True, kind="killed")


@dataclass(frozen=True, slots=True)
class _Request:
    """A program and its input, ready to be sent."""

    language: str
    source: str
    data: bytes
    check: bool


class QuickJsScripts:
    """Evaluates scripts in at most ``workers`` and ``long_workers`` child processes, which start
    when first needed.

    ``time_limit_ms`` (of processor time) and ``memory_bytes`` bound one evaluation,
    ``result_bytes`` its result as JSON text.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        long_workers: int = 1,
        time_limit_ms: int = 4_000,
        memory_bytes: int = 64 << 20,
        result_bytes: int = 16 << 20,
        queue_limit: int = 128,
        queue_wait_ms: int = 10_000,
        outside: OutsideJson | None = None,
    ) -> None:
        """Start nothing; see the class. Results are read by ``outside``."""
        self._outside = outside or OutsideJson()
        self._time_limit_ms = time_limit_ms
        self._memory_bytes = memory_bytes
        self._long_programs = LongPrograms()
        pool = partial(
            ChildPool,
            memory_bytes=memory_bytes,
            result_bytes=result_bytes,
            queue_wait_ms=queue_wait_ms,
        )
        waiting = min(queue_limit, _LONG_CALLERS)
        self._quick = pool(size=workers, queue_limit=queue_limit)
        self._long = pool(size=long_workers, queue_limit=waiting, rest_s=_LONG_REST_S)
        waiting = min(queue_limit, _SLOW_CALLERS)
        self._slow = pool(size=1, queue_limit=waiting, rest_s=_SLOW_REST_S, idle=True)

    def evaluate(self, requests: Sequence[Evaluation]) -> tuple[ScriptResult, ...]:
        return tuple(self._evaluate(request) for request in requests)

    def attempt(self, request: Evaluation) -> ScriptResult | None:
        prepared = _prepared(request)
        if isinstance(prepared, Failure):
            return prepared
        return self._at_once(prepared)

    def is_slow(self, request: Evaluation) -> bool:
        language = _LANGUAGES.get(request.evaluator, "")
        return self._long_programs.has_failed(language, request.expression)

    def check(
        self, expression: str, evaluator: str = "javascript", *, briefly: bool = False
    ) -> str | None:
        language = _LANGUAGES.get(evaluator)
        if language is None:
            return _unknown(evaluator).message
        request = _Request(language, expression, b"{}", check=True)
        result = self._at_once(request) if briefly else self._whole(request)
        if not isinstance(result, Failure) or (briefly and result.kind == "time"):
            return None
        return result.message

    def close(self) -> None:
        for pool in (self._quick, self._long, self._slow):
            pool.close()

    def _evaluate(self, request: Evaluation) -> ScriptResult:
        prepared = _prepared(request)
        return prepared if isinstance(prepared, Failure) else self._whole(prepared)

    def _at_once(self, request: _Request) -> ScriptResult | None:
        try:
            return self._in_quick_lane(request, _ATTEMPT_WAIT_S)
        except LimitExceeded:
            return None

    def _whole(self, request: _Request) -> ScriptResult:
        quick = self._in_quick_lane(request)
        return quick if quick is not None else self._in_long_lane(request)

    def _in_quick_lane(self, request: _Request, wait_s: float | None = None) -> ScriptResult | None:
        """Run a program for its slice; ``None`` when it is not over then, or on probation."""
        if self._long_programs.has(request.language, request.source):
            return None
        slice_ms = min(_SLICE_MS, self._time_limit_ms)
        with self._quick.lend(wait_s) as child:
            try:
                result = self._run(child, request, slice_ms, _SLICE_WALL_MS)
            except Starved:
                result = self._out_of_time()
            except ChildKilled:
                return None
        if isinstance(result, Value) or result.kind == "error":
            self._long_programs.forgive(request.language, request.source)
            return result
        self._long_programs.add(request.language, request.source)
        return None if result.kind == "time" and slice_ms < self._time_limit_ms else result

    def _in_long_lane(self, request: _Request, *, again: bool = False) -> ScriptResult:
        """Run a program with all its time; one that has failed so before, in the slow lane."""
        result: ScriptResult | None = None
        failed = self._long_programs.has_failed(request.language, request.source)
        pool, stretch = (self._slow, _SLOW_STRETCH) if failed else (self._long, _LONG_STRETCH)
        with pool.lend() as child:
            try:
                wall_ms = self._time_limit_ms * stretch
                result = self._run(child, request, self._time_limit_ms, wall_ms)
            except Starved as error:
                raise LimitExceeded("The machine is too busy for this script; try again") from error
            except ChildKilled:
                result = _KILLED if again else None
        if result is None:
            return self._in_long_lane(request, again=True)
        succeeded = isinstance(result, Value) or result.kind == "error"
        if failed != (not succeeded):
            self._long_programs.add(request.language, request.source, failed=not succeeded)
        return result

    def _run(self, child: Child, request: _Request, time_ms: int, wall_ms: int) -> ScriptResult:
        head = {
            "language": request.language,
            "source": request.source,
            "check": request.check,
            "time_ms": time_ms,
            "wall_ms": wall_ms,
        }
        try:
            encoded = orjson.dumps(head)
        except TypeError as error:
            return _error(f"The script's text is not valid Unicode: {error}")
        try:
            answer = child.call(encoded, request.data, wall_ms / 1000 + _MARGIN_S)
        except OutOfTime:
            return self._out_of_time()
        except ChildDied:
            return _KILLED
        return self._read(answer)

    def _read(self, answer: bytes) -> ScriptResult:
        """Read an answer; of lines that no console has made nothing is kept."""
        printed = b""
        if answer[:1] == b"L":
            printed, _, answer = answer[1:].partition(b"\n")
        result = self._result(answer[:1], answer[1:])
        return replace(result, lines=_lines_of(printed)) if printed else result

    def _result(self, letter: bytes, text: bytes) -> ScriptResult:
        if letter == b"V":
            try:
                return Value(value=self._outside.parse(text, "The script's result"))
            except PayloadTooLarge as error:
                return _error(error.message)
            except Overloaded as error:
                raise LimitExceeded(error.message) from error
            except orjson.JSONDecodeError as error:
                return _error(f"The script's result cannot be read as JSON: {error}")
        if letter == b"T":
            return self._out_of_time()
        if letter == b"M":
            limit = f"{self._memory_bytes >> 20} MB"
            message = f"The script used more memory than it may: {limit}"
            return Failure(message=message, terminal=True, kind="memory")
        return _error(text.decode())

    def _out_of_time(self) -> Failure:
        return Failure(
            message=f"The script did not end within {self._time_limit_ms} ms of processor time",
            terminal=False,
            kind="time",
        )


def _prepared(request: Evaluation) -> _Request | Failure:
    language = _LANGUAGES.get(request.evaluator)
    if language is None:
        return _unknown(request.evaluator)
    bindings: JsonObject = {**request.bindings, "$": request.input}
    try:
        data = dump_json(request.input if language == "jq" else bindings)
    except TypeError as error:
        return _error(f"The script's input cannot be written as JSON: {error}")
    return _Request(language, request.expression, data, check=False)


def _lines_of(printed: bytes) -> tuple[str, ...]:
    """Read printed lines: a program may have broken out, and write what it likes."""
    try:
        found = orjson.loads(printed)
    except orjson.JSONDecodeError:
        return ()
    listed = found if isinstance(found, list) else []
    return tuple(each[:_LONGEST_LINE] for each in listed[:_MOST_LINES] if isinstance(each, str))


def _unknown(evaluator: str) -> Failure:
    return _error(f"There is no evaluator {evaluator!r}, only {', '.join(_LANGUAGES)}")


def _error(message: str) -> Failure:
    return Failure(message=message, terminal=True, kind="error")
