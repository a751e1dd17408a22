"""Whether the programs of a definition parse, asked when it is registered or started inline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from conductor_py.decider.operators.lambda_script import program_of
from conductor_py.errors import LimitExceeded, Violation
from conductor_py.model.definitions import (
    WorkflowDef,
    WorkflowTask,
    inline_definitions,
    tasks_of,
)
from conductor_py.model.json import JsonValue
from conductor_py.ports.scripts import Scripts

_REMEMBERED = 1_000
_JAVASCRIPT: Final = frozenset({"javascript", "graaljs"})
_MOST_PROGRAMS: Final = 1_000
_MOST_S: Final = 2.0
"""What is spent on the programs of one definition; those behind are not looked at."""
_Program = tuple[str, str, str]
"""Path below the task, evaluator, text."""


class ScriptCheck:
    """Asks the sandbox, once a program."""

    def __init__(self, scripts: Scripts, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Parse in ``scripts``."""
        self._scripts = scripts
        self._monotonic = monotonic
        self._asked = lru_cache(_REMEMBERED)(scripts.check)

    def __call__(self, program: str) -> str | None:
        """Say why a JavaScript program does not parse. ``None`` when it does, or when the sandbox
        is too busy to tell: then its task fails with the same words.
        """
        try:
            return self._asked(program)
        except LimitExceeded:
            return None

    def unreadable(self, definition: WorkflowDef) -> Iterator[Violation]:
        """List the programs that are taken although they do not parse, as far as that can be told
        in two seconds: their tasks fail.
        """
        until = self._monotonic() + _MOST_S
        known: dict[tuple[str, str], str | None] = {}
        for root, each in inline_definitions(definition):
            for path, task in tasks_of(each, root):
                for where, evaluator, text in _programs(task):
                    asked = (evaluator, text)
                    if asked not in known:
                        if len(known) >= _MOST_PROGRAMS or self._monotonic() > until:
                            return
                        known[asked] = self._scripts.check(text, evaluator, briefly=True)
                    wrong = known[asked]
                    if wrong is not None:
                        why = wrong.partition("\n")[0]  # jq shows the place in lines of its own
                        message = f"does not parse, so the task fails: {why}"
                        yield Violation(path=path + where, message=message)


def _programs(task: WorkflowTask) -> Iterator[_Program]:
    """The programs of a task that no expression changes, and that are not refused."""
    given = task.input_parameters
    match task.type:
        case "INLINE":
            evaluator = given.get("evaluatorType") or "javascript"
            if isinstance(evaluator, str) and evaluator in _JAVASCRIPT:
                yield from _program("expression", "javascript", given.get("expression"))
        case "LAMBDA":
            own = "scriptExpression" in given
            body = given["scriptExpression"] if own else task.script_expression
            for _, evaluator, text in _program("", "javascript", body):
                where = ".inputParameters.scriptExpression" if own else ".scriptExpression"
                yield where, evaluator, program_of(text)
        case "JSON_JQ_TRANSFORM":
            yield from _program("queryExpression", "jq", given.get("queryExpression"))
        case "DO_WHILE":
            for _, evaluator, text in _program("", "javascript", task.loop_condition):
                yield ".loopCondition", evaluator, text


def _program(name: str, evaluator: str, text: JsonValue) -> Iterator[_Program]:
    if isinstance(text, str) and text.strip() and "${" not in text:
        yield f".inputParameters.{name}", evaluator, text
