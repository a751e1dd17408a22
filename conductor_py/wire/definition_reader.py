"""Reads definitions out of request bodies: loaded, checked, and remembered by their text.

Clients that start with an inline definition send the same one each time; reading 100 tasks costs
some 7 ms, finding them again the writing of their text. Only good definitions are remembered.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import orjson
from marshmallow import ValidationError

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.definitions import TaskDef, WorkflowDef
from conductor_py.wire.definitions import TASK_DEF, WORKFLOW_DEF
from conductor_py.wire.fields import load
from conductor_py.wire.validation import Rules, check, check_task_def

_REMEMBERED = 128
_LARGEST_REMEMBERED = 256 * 1024
_MAX_LIST = 1_000


class DefinitionReader:
    """Loads and checks definitions under the rules of the deployment; safe to share by threads."""

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._read_text)

    def workflow(self, body: object, *, root: str = "$") -> WorkflowDef:
        """Read a workflow definition; ``InvalidInput`` lists all that is wrong, below ``root``."""
        try:
            return self._workflow(body)
        except InvalidInput as error:
            if root == "$" or not error.violations:
                raise
            raise type(error)(violations=moved(error.violations, root)) from error

    def workflows(self, body: object) -> tuple[WorkflowDef, ...]:
        """Read a list of definitions; one that is wrong refuses all."""
        return tuple(
            self.workflow(item, root=f"$[{index}]") for index, item in enumerate(_listed(body))
        )

    def task_def(self, body: object, *, root: str = "$") -> TaskDef:
        """Read a task definition."""
        try:
            definition: TaskDef = load(TASK_DEF, body)
            check_task_def(definition, self._rules)
        except InvalidInput as error:
            raise type(error)(error.message, violations=moved(error.violations, root)) from error
        return definition

    def task_defs(self, body: object) -> tuple[TaskDef, ...]:
        """Read a list of task definitions, or a single one."""
        if isinstance(body, dict):
            return (self.task_def(body),)
        return tuple(
            self.task_def(item, root=f"$[{index}]") for index, item in enumerate(_listed(body))
        )

    def check(self, definition: WorkflowDef) -> None:
        """Hold a definition that was read elsewhere to the rules (``DefinitionError``)."""
        check(definition, self._rules)

    def _workflow(self, body: object) -> WorkflowDef:
        text = orjson.dumps(body)
        if len(text) <= _LARGEST_REMEMBERED:
            return self._remembered(text)
        return self._read(body)

    def _read_text(self, text: bytes) -> WorkflowDef:
        return self._read(orjson.loads(text))

    def _read(self, body: object) -> WorkflowDef:
        try:
            definition: WorkflowDef = load(WORKFLOW_DEF, body)
        except InvalidInput as wrong:
            # Where only names are missing, the rules say so, together with all else.
            try:
                definition = load(WORKFLOW_DEF, _named(body))
            except InvalidInput:
                raise InvalidInput(violations=self._with_rules(wrong, body)) from None
        check(definition, self._rules)
        return definition

    def _with_rules(self, wrong: InvalidInput, body: object) -> tuple[Violation, ...]:
        """What is wrong with the form of a definition, and with what it says beside that."""
        cause, rest = wrong.__cause__, orjson.loads(orjson.dumps(body))
        if not isinstance(cause, ValidationError) or not _without(rest, cause.messages):
            return wrong.violations
        try:
            check(load(WORKFLOW_DEF, _named(rest)), self._rules)
        except InvalidInput as more:
            known = tuple(found.path for found in wrong.violations)
            others = (found for found in more.violations if not found.path.startswith(known))
            return (*wrong.violations, *others)
        return wrong.violations


def moved(violations: tuple[Violation, ...], root: str) -> tuple[Violation, ...]:
    """Give paths that start at ``$`` another root."""
    return tuple(replace(found, path=root + found.path[1:]) for found in violations)


def _without(value: object, messages: object) -> bool:
    """Take out the members that have messages; false where what is wrong is no member."""
    if not isinstance(value, dict | list) or not isinstance(messages, dict):
        return False
    for key, inner in messages.items():
        if isinstance(inner, dict):
            present = key in value if isinstance(value, dict) else isinstance(key, int)
            if not present or not _without(value[key], inner):
                return False
        elif isinstance(value, dict) and key != "_schema":
            value.pop(key, None)
        else:
            return False
    return True


def _named(body: object) -> object:
    """Give empty names to a definition, and to its tasks, where they have none."""
    if not isinstance(body, dict):
        return body
    return {"name": "", **body, "tasks": _tasks_named(body.get("tasks"))}


def _tasks_named(tasks: object) -> object:
    if not isinstance(tasks, list):
        return tasks
    unnamed = {"name": "", "taskReferenceName": ""}
    return [unnamed | task if isinstance(task, dict) else task for task in tasks]


def _listed(body: object) -> list[Any]:
    if not isinstance(body, list) or not body:
        message = "must be a list of at least one definition"
        raise InvalidInput(violations=(Violation(path="$", message=message),))
    if len(body) > _MAX_LIST:
        message = f"must not hold more than {_MAX_LIST} definitions"
        raise InvalidInput(violations=(Violation(path="$", message=message),))
    return body
