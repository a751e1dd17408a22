"""``conductor-py workflow``: start, look at, end and search executions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from conductor_py.cli.connection import (
    chosen,
    client,
    clipped,
    connected,
    json_line,
    moment,
    object_document,
    print_json,
    print_table,
    print_tasks,
)
from conductor_py.cli.operations import COMMANDS

_REASON = "reasonForIncompletion"
_SUMMARY = ("workflowId", "workflowType", "version", "status", "startTime", "endTime", _REASON)


@click.group()
def workflow() -> None:
    """Start, look at, end and search executions."""


@workflow.command()
@click.argument("name", required=False)
@click.option("--version", type=int, help="Version of the definition; without it the latest.")
@click.option("--input", "given", default="{}", help="JSON, @FILE, or - for standard input.")
@click.option("--definition", help="An inline definition: JSON, @FILE, or -.")
@click.option("--correlation-id", help="Your own id for it.")
@click.option("--priority", type=click.IntRange(0, 99), default=0, help="Larger goes first.")
@click.option("--idempotency-key", help="Starts at most one execution of this name.")
@connected
def start(
    name: str | None,
    given: str,
    definition: str | None,
    *,
    server: str,
    as_json: bool,
    **more: Any,  # noqa: ANN401 - handed on by name
) -> None:
    """Start the workflow NAME, or an inline definition, and print its id."""
    if not name and not definition:
        raise click.UsageError("give a NAME or a --definition")
    with client(server) as conductor:
        started = conductor.start_workflow(
            name,
            input=object_document(given),
            definition=object_document(definition) if definition else None,
            **more,
        )
    if as_json:
        print_json({"workflowId": started})
    else:
        click.echo(started)


@workflow.command()
@click.argument("workflow_id")
@click.option("--tasks/--no-tasks", default=True, help="With its tasks, or without.")
@connected
def get(workflow_id: str, *, tasks: bool, server: str, as_json: bool) -> None:
    """Print an execution with its tasks."""
    with client(server) as conductor:
        found = conductor.get_workflow(workflow_id, include_tasks=tasks)
    if as_json:
        print_json(found)
        return
    for label, value in (
        ("workflow", f"{found.get('workflowName')} version {found.get('workflowVersion')}"),
        ("status", found.get("status")),
        ("reason", clipped(found.get(_REASON), 1_000)),
        ("waits", _turn(found)),
        ("started", moment(found.get("startTime"))),
        ("ended", moment(found.get("endTime"))),
        ("input", _payload(found, "input")),
        ("output", _payload(found, "output")),
    ):
        if value:
            click.echo(f"{label:<9} {value}")
    print_tasks(found)


@workflow.command()
@click.argument("workflow_id")
@click.option("--reason", help="Why; kept with the execution.")
@connected
def terminate(workflow_id: str, reason: str | None, *, server: str, as_json: bool) -> None:
    """End an execution as TERMINATED."""
    with client(server) as conductor:
        conductor.terminate_workflow(workflow_id, reason)
    if as_json:
        print_json({"workflowId": workflow_id, "status": "TERMINATED"})
    else:
        click.echo(f"{workflow_id} is terminated.", err=True)


@workflow.command()
@click.argument("query", required=False)
@click.option("--free-text", default="*", help="Words that occur anywhere.")
@click.option("--sort", help="A field and a direction, such as startTime:DESC.")
@click.option("--start", type=click.IntRange(0), default=0, help="Results to leave out.")
@click.option("--size", type=click.IntRange(1), default=100, help="Results to print at most.")
@connected
def search(
    query: str | None,
    *,
    server: str,
    as_json: bool,
    **more: Any,  # noqa: ANN401 - handed on by name
) -> None:
    """Search executions, by QUERY such as "status IN (FAILED) AND workflowType=orders"."""
    with client(server) as conductor:
        found = conductor.search_workflows(query, **more)
    if as_json:
        print_json(found)
        return
    listed = found.get("results")
    rows = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    print_table(_SUMMARY, [chosen(each, _SUMMARY) for each in rows])
    click.echo(f"{len(rows)} of {found.get('totalHits', 0)}", err=True)


def _turn(found: Mapping[str, Any]) -> str:
    """Say that an execution waits for others under its rate limit."""
    if not found.get("rateLimited"):
        return ""
    return f"for its turn among those of the rate limit key {found.get('rateLimitKey')!r}"


def _payload(found: Mapping[str, Any], kind: str) -> str:
    """Write a payload, or where it is; nothing when it is empty."""
    path = found.get(f"external{kind.title()}PayloadStoragePath")
    if path:
        return f"in the payload storage: {path}"
    value = found.get(kind)
    return json_line(value) if value else ""


for _command in COMMANDS:
    workflow.add_command(_command)
