"""The Scripts port over QuickJS children.

Turns evaluations into requests and answers into results. A script that will not stop is stopped by
the engine's own limit where that works, and by killing its process a moment later where it does
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from conductor_py.adapters.quickjs.pool import Child, ChildDied, ChildPool, OutOfTime
from conductor_py.model.json import JsonObject
from conductor_py.ports.scripts import Evaluation, Failure, ScriptResult, Value

#: Evaluators, and the language that a child knows them by.
_LANGUAGES: Final = {"javascript": "javascript", "graaljs": "javascript", "jq": "jq"}
#: How much later than the engine's own limit the process is killed.
_MARGIN_S: Final = 0.1
_KILLED: Final = Failure(message="The script took its process down", terminal=True, kind="killed")


class QuickJsScripts:
    """Evaluates scripts in at most ``workers`` child processes, which start when first needed.

    ``time_limit_ms`` and ``memory_bytes`` bound one evaluation, ``result_bytes`` its result as JSON
    text.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        time_limit_ms: int = 4_000,
        memory_bytes: int = 64 << 20,
        result_bytes: int = 16 << 20,
        queue_limit: int = 128,
        queue_wait_ms: int = 10_000,
    ) -> None:
        """Start nothing; see the class."""
        self._time_limit_ms = time_limit_ms
        self._pool = ChildPool(
            size=workers,
            memory_bytes=memory_bytes,
            result_bytes=result_bytes,
            queue_limit=queue_limit,
            queue_wait_ms=queue_wait_ms,
        )

    def evaluate(self, requests: Sequence[Evaluation]) -> tuple[ScriptResult, ...]:
        return tuple(self._evaluate(request) for request in requests)

    def check(self, expression: str, evaluator: str = "javascript") -> str | None:
        result = self._request(evaluator, expression, b"{}", check=True)
        return result.message if isinstance(result, Failure) else None

    def close(self) -> None:
        self._pool.close()

    def _evaluate(self, request: Evaluation) -> ScriptResult:
        bindings: JsonObject = {**request.bindings, "$": request.input}
        try:
            data = orjson.dumps(request.input if request.evaluator == "jq" else bindings)
        except TypeError as error:
            return _error(f"The script's input cannot be written as JSON: {error}")
        return self._request(request.evaluator, request.expression, data, check=False)

    def _request(
        self, evaluator: str, expression: str, data: bytes, *, check: bool
    ) -> ScriptResult:
        language = _LANGUAGES.get(evaluator)
        if language is None:
            return _error(f"There is no evaluator {evaluator!r}, only {', '.join(_LANGUAGES)}")
        request = {
            "language": language,
            "source": expression,
            "check": check,
            "time_ms": self._time_limit_ms,
        }
        try:
            head = orjson.dumps(request)
        except TypeError as error:
            return _error(f"The script's text is not valid Unicode: {error}")
        with self._pool.lend() as child:
            return self._call(child, head, data)

    def _call(self, child: Child, head: bytes, data: bytes) -> ScriptResult:
        try:
            answer = child.call(head, data, self._time_limit_ms / 1000 + _MARGIN_S)
        except OutOfTime:
            return self._out_of_time()
        except ChildDied:
            return _KILLED
        if answer[:1] == b"M":
            child.kill()  # its address space may be in pieces
        return self._result(answer[:1], answer[1:])

    def _result(self, letter: bytes, text: bytes) -> ScriptResult:
        if letter == b"V":
            try:
                return Value(value=orjson.loads(text))
            except orjson.JSONDecodeError as error:
                return _error(f"The script's result cannot be read as JSON: {error}")
        if letter == b"T":
            return self._out_of_time()
        if letter == b"M":
            return Failure(
                message="The script used more memory than it may", terminal=True, kind="memory"
            )
        return _error(text.decode())

    def _out_of_time(self) -> Failure:
        return Failure(
            message=f"The script did not end within {self._time_limit_ms} ms",
            terminal=False,
            kind="time",
        )


def _error(message: str) -> Failure:
    return Failure(message=message, terminal=True, kind="error")
