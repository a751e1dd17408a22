"""Workflows that a definition, or an event handler, starts by a name that is not registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from conductor_py.errors import Violation
from conductor_py.model.definitions import WorkflowDef, WorkflowTask, inline_definitions, tasks_of
from conductor_py.model.event_handlers import ActionType, EventHandler
from conductor_py.model.json import JsonValue

IsRegistered = Callable[[str, int | None], bool]
"""Whether there is a workflow of that name and version; without a version of that name."""
_MOST_ASKED: Final = 1_000
_Start = tuple[str, JsonValue, JsonValue]
"""Path, name and version as they are written."""


def unregistered(definition: WorkflowDef, is_registered: IsRegistered) -> Iterator[Violation]:
    """List the places of a definition that name such a workflow, other than itself."""

    def is_known(name: str, version: int | None) -> bool:
        is_own = name == definition.name and version in {None, definition.version}
        return is_own or is_registered(name, version)

    yield from _missing(_starts(definition), is_known)


def unregistered_of_handler(
    handler: EventHandler, is_registered: IsRegistered
) -> Iterator[Violation]:
    """List the actions of a handler that name such a workflow."""
    kind = ActionType.START_WORKFLOW
    starts = (
        (
            f"$.actions[{index}].{kind.value}.name",
            each.details.get("name"),
            each.details.get("version"),
        )
        for index, each in enumerate(handler.actions)
        if each.action is kind
    )
    yield from _missing(starts, is_registered)


def _missing(starts: Iterator[_Start], is_known: IsRegistered) -> Iterator[Violation]:
    asked = lru_cache(_MOST_ASKED)(is_known)
    for path, name, given in starts:
        # What an expression makes of a name is not known here.
        if not isinstance(name, str) or not name or "$" in name:
            continue
        is_whole = isinstance(given, int) and not isinstance(given, bool) and given > 0
        version = given if is_whole else None
        if asked.cache_info().misses >= _MOST_ASKED:
            return
        if not asked(name, version):
            which = name if version is None else f"{name} version {version}"
            message = f"names {which!r}, which is not registered: register it before it is to start"
            yield Violation(path=path, message=message, invalid_value=which)


def _starts(definition: WorkflowDef) -> Iterator[_Start]:
    for root, each in inline_definitions(definition):
        yield f"{root}.failureWorkflow", each.failure_workflow, each.failure_workflow_version
        for path, task in tasks_of(each, root):
            for where, name, version in _of_task(task):
                yield path + where, name, version


def _of_task(task: WorkflowTask) -> Iterator[_Start]:
    params, given = task.sub_workflow_param, task.input_parameters
    if task.type == "SUB_WORKFLOW" and params and params.workflow_definition is None:
        yield ".subWorkflowParam.name", params.name, params.version
    started = given.get("startWorkflow")
    if task.type == "START_WORKFLOW" and isinstance(started, Mapping):
        name = None if started.get("workflowDef") else started.get("name")
        yield ".inputParameters.startWorkflow.name", name, started.get("version")
    if task.type == "FORK_JOIN_DYNAMIC" and "forkTaskInputs" in given:
        version = given.get("forkTaskWorkflowVersion")
        yield ".inputParameters.forkTaskWorkflow", given.get("forkTaskWorkflow"), version
