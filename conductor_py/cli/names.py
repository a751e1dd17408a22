"""Names that the shell completes: asked of the server that the command line or the environment
names, with little patience. Whoever presses a key does not wait for one that is away.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final

import click

from conductor_py.cli.connection import DEFAULT_SERVER, api_url
from conductor_py.cli.printing import objects
from conductor_py.errors import ConductorError
from conductor_py.model.json import JsonObject
from conductor_py.sdk.backoff import Backoff
from conductor_py.sdk.client import Client

_PATIENCE_S: Final = 1.0
_MOST: Final = 200
_RECENT: Final = 50
_HEADS: Final = 1_000
Names = Callable[[click.Context, click.Parameter, str], list[str]]


def _names(ask: Callable[[Client], Iterable[object]]) -> Names:
    """Make what completes a parameter by the names that the server has."""

    def complete(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
        server = context.params.get("server") or os.environ.get("CONDUCTOR_SERVER_URL")
        url = api_url(str(server or DEFAULT_SERVER))
        try:
            with Client(url, timeout_s=_PATIENCE_S, backoff=Backoff(tries=1)) as conductor:
                found = sorted({str(name) for name in ask(conductor)})
        except ConductorError:
            return []
        return [name for name in found if name.startswith(begun)][:_MOST]

    return complete


def _of(member: str, call: Callable[[Client], Iterable[object]]) -> Names:
    def listed(conductor: Client) -> list[object]:
        return [each[member] for each in call(conductor) if isinstance(each, dict)]

    return _names(listed)


def _executions(conductor: Client) -> list[object]:
    page = conductor.search_workflows(size=_RECENT, sort="startTime:DESC")
    return [each["workflowId"] for each in objects(page.get("results"))]


def _versioned(conductor: Client) -> list[JsonObject]:
    return conductor.list_heads("workflows", size=_HEADS)


def _shared_tasks(conductor: Client) -> list[JsonObject]:
    return conductor.list_heads("tasks", size=_HEADS, shared=True)


WORKFLOW: Final = _of("name", Client.list_workflow_definitions)
"""Names of registered workflows."""
TASK_TYPE: Final = _names(Client.all_queue_sizes)
"""Task types that have a queue."""
SCHEDULE: Final = _of("name", Client.list_schedules)
"""Names of schedules."""
EVENT_HANDLER: Final = _of("name", Client.list_event_handlers)
"""Names of event handlers."""
VERSIONED_WORKFLOW: Final = _of("name", _versioned)
"""Names of workflows in the catalog."""
SHARED_TASK: Final = _of("code", _shared_tasks)
"""Codes of the tasks in the catalog that stand by themselves."""
EXECUTION: Final = _names(_executions)
"""Ids of the executions that began last."""


def versioned(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete names of workflows in the catalog, or behind ``--task`` codes of tasks."""
    names = SHARED_TASK if context.params.get("is_task") else VERSIONED_WORKFLOW
    return names(context, parameter, begun)
