"""Definitions as the client takes them: a JSON object, or what can write itself as one.

Who builds one in Python has it held to the rules of the server before it is sent: what is wrong is
said in terms of tasks, and as JSON paths beside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeAlias

from conductor_py.errors import DefinitionError, InvalidInput
from conductor_py.model.json import JsonObject
from conductor_py.sdk.document import decode, encode

_SHOWN: Final = 5
_STEP: Final = re.compile(r"\.(\w+)|\['(.*?)'\]|\[(\d+)\]")


class BuiltDefinition(Protocol):
    """A definition written in Python, as ``Workflow`` and ``Dag`` are."""

    @property
    def name(self) -> str:
        """The name of the workflow."""
        ...

    def to_json(self) -> JsonObject:
        """Write the definition; raises ``DefinitionError`` with everything that is wrong."""
        ...


Definition: TypeAlias = JsonObject | BuiltDefinition
"""A workflow definition, written by hand or built."""


def document_of(definition: Definition) -> JsonObject:
    """Return the definition as a JSON object; raises ``DefinitionError``."""
    return definition if isinstance(definition, Mapping) else definition.to_json()


class _RefusedDefinition(DefinitionError):
    """Its message names the tasks: as text it need not list the paths again."""

    def __str__(self) -> str:
        return self.message


def checked(definition: Mapping[str, Any], owner: str) -> JsonObject:
    """Return a definition as an object of its own; raises ``DefinitionError``, ``InvalidInput``.

    Only what the server alone can know is left for it to find.
    """
    plain = decode(encode(definition))
    assert isinstance(plain, dict)
    # They bring what reads requests, which nobody needs who only works.
    from conductor_py.wire.definition_reader import DefinitionReader  # noqa: PLC0415
    from conductor_py.wire.validation import Rules  # noqa: PLC0415

    try:
        DefinitionReader(Rules(unknown_names=True)).workflow(_without_uses(plain))
    except InvalidInput as refused:
        found = [
            f"{_place(plain, each.path)} {each.message}" for each in refused.violations[:_SHOWN]
        ]
        if len(refused.violations) > _SHOWN:
            found.append(f"and {len(refused.violations) - _SHOWN} more")
        message = f"{owner}: {'; '.join(found) or refused.message}"
        raise _RefusedDefinition(message, violations=refused.violations) from refused
    return plain


def _without_uses(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Put a worker's task in the place of each that the catalog has: only it knows what that is."""
    tasks = [
        {"name": task["taskReferenceName"], **task} if "uses" in task else task
        for task in definition["tasks"]
    ]
    return {**definition, "tasks": tasks}


def _place(definition: Mapping[str, Any], path: str) -> str:
    """Name the innermost task, or the relation, that a path leads through, and what is left."""
    at: Any = definition
    named, rest = "", path
    end = 1 if path.startswith("$") else 0
    while step := _STEP.match(path, end):
        end = step.end()
        key = int(step[3]) if step[3] else step[1] or step[2]
        try:
            at = at[key]
        except (KeyError, IndexError, TypeError):
            break
        if isinstance(at, dict) and "taskReferenceName" in at:
            named, rest = f"task {at['taskReferenceName']}", path[step.end() :]
        elif isinstance(at, dict) and "postTask" in at:
            named = f"relation {at.get('preTask', '')} → {at['postTask']}"
            rest = path[step.end() :]
    return f"{named}{rest}"
