"""Reads definitions out of request bodies: loaded, checked, and remembered by their text.

Clients that start with an inline definition send the same one each time; reading 100 tasks costs
some 7 ms, finding them again the writing of their text. Only good definitions are remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import orjson
from marshmallow import ValidationError

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.definitions import TaskDef, WorkflowDef
from conductor_py.wire.definitions import TASK_DEF, WORKFLOW_DEF
from conductor_py.wire.fields import WireSchema, load
from conductor_py.wire.validation import Rules, check, check_task_def

_REMEMBERED = 128
_LARGEST_REMEMBERED = 256 * 1024
_MAX_LIST = 1_000

D = TypeVar("D")


class DefinitionReader:
    """Loads and checks definitions under the rules of the deployment; safe to share by threads."""

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._read_text)

    def workflow(self, body: object, *, root: str = "$") -> WorkflowDef:
        """Read a workflow definition; ``InvalidInput`` lists all that is wrong, below ``root``."""
        return _below(root, self._workflow, body)

    def workflows(self, body: object) -> tuple[WorkflowDef, ...]:
        """Read a list of definitions, or a single one; what is wrong with one refuses all, and all
        of it is told.
        """
        if isinstance(body, dict):
            return (self.workflow(body),)
        return _each(self._workflow, body)

    def task_def(self, body: object, *, root: str = "$") -> TaskDef:
        """Read a task definition; ``InvalidInput`` as for a workflow definition."""
        return _below(root, self._task_def, body)

    def task_defs(self, body: object) -> tuple[TaskDef, ...]:
        """Read a list of task definitions, or a single one."""
        if isinstance(body, dict):
            return (self.task_def(body),)
        return _each(self._task_def, body)

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
        return _checked(WORKFLOW_DEF, body, _named, self.check)

    def _task_def(self, body: object) -> TaskDef:
        def hold(definition: TaskDef) -> None:
            check_task_def(definition, self._rules)

        return _checked(TASK_DEF, body, _head_named, hold)


def _below(root: str, read: Callable[[object], D], body: object) -> D:
    """Read a definition that stands at ``root``: what is wrong with it is told below that."""
    try:
        return read(body)
    except InvalidInput as error:
        if root == "$" or not error.violations:
            raise
        raise type(error)(violations=moved(error.violations, root)) from error


def _each(read: Callable[[object], D], body: object) -> tuple[D, ...]:
    """Read every definition of a list, and tell what is wrong with all of them at once."""
    good: list[D] = []
    bad: list[InvalidInput] = []
    for index, item in enumerate(_listed(body)):
        try:
            good.append(_below(f"$[{index}]", read, item))
        except InvalidInput as error:
            bad.append(error)
    if bad:
        found = tuple(violation for error in bad for violation in error.violations)
        raise type(bad[0])(bad[0].message, violations=found) from bad[0]
    return tuple(good)


def _checked(
    schema: WireSchema, body: object, named: Callable[[object], object], hold: Callable[[D], None]
) -> D:
    """Load a definition and hold it to the rules. Where only names are missing, the rules say so,
    together with all else; where more is wrong with the form, both are told.
    """
    try:
        definition: D = load(schema, body)
    except InvalidInput as wrong:
        try:
            definition = load(schema, named(body))
        except InvalidInput:
            more = _beside(wrong, body, lambda rest: hold(load(schema, named(rest))))
            raise type(wrong)(wrong.message, violations=wrong.violations + more) from wrong
    hold(definition)
    return definition


def _beside(
    wrong: InvalidInput, body: object, look: Callable[[object], None]
) -> tuple[Violation, ...]:
    """What a look at the rest finds, without the members whose form is wrong."""
    cause, rest = wrong.__cause__, orjson.loads(orjson.dumps(body))
    if not isinstance(cause, ValidationError) or not _without(rest, cause.messages):
        return ()
    try:
        look(rest)
    except InvalidInput as more:
        known = tuple(found.path for found in wrong.violations)
        return tuple(found for found in more.violations if not found.path.startswith(known))
    return ()


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
    body = _head_named(body)
    return {**body, "tasks": _tasks_named(body.get("tasks"))} if isinstance(body, dict) else body


def _head_named(body: object) -> object:
    return {"name": "", **body} if isinstance(body, dict) else body


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
