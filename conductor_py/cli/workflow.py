"""``conductor-py workflow``: start, look at, end and search executions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from conductor_py.cli import long_tasks, reruns
from conductor_py.cli.connection import client, connected, object_document
from conductor_py.cli.execution_view import is_open, print_execution, print_facts
from conductor_py.cli.execution_watch import exit_code, watch
from conductor_py.cli.names import EXECUTION, WORKFLOW
from conductor_py.cli.near import warn_of_query
from conductor_py.cli.operations import COMMANDS, warn_of_inline
from conductor_py.cli.printing import chosen, clipped, objects, print_json, print_table, say
from conductor_py.cli.reruns import MODES
from conductor_py.cli.selection import OPEN, Selection, on_selected, selected
from conductor_py.cli.why import why
from conductor_py.model.priorities import MOST_URGENT, NAMES
from conductor_py.sdk.client import Client

_DIGITS = 20
_REASON = "reasonForIncompletion"
_SUMMARY = ("workflowId", "workflowType", "version", "status", "startTime", "endTime", _REASON)


def _priority(
    context: click.Context, option: click.Parameter, given: str | None
) -> int | str | None:
    name = (given or "").upper()
    if given is None or name in NAMES:
        return name or None
    if (
        given.isascii()
        and given.isdecimal()
        and len(given) <= _DIGITS
        and int(given) <= MOST_URGENT
    ):
        return int(given)
    raise click.BadParameter(
        f"{clipped(given, 40)!r} is neither a number from 0 to {MOST_URGENT} nor one of"
        f" {', '.join(NAMES)}",
        context,
        option,
    )


def _domains(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str] | None:
    pairs = [pair.partition("=") for pair in given]
    for task, _, domain in pairs:
        if not (task.strip() and domain.strip()):
            raise click.BadParameter("give TASK=DOMAIN", context, option)
    return {task.strip(): domain.strip() for task, _, domain in pairs} or None


@click.group()
def workflow() -> None:
    """Start, look at, end and search executions."""


@workflow.command()
@click.argument("name", required=False, shell_complete=WORKFLOW)
@click.option("--version", type=int, help="Version of the definition; without it the latest.")
@click.option("--input", "given", default="{}", help="JSON, @FILE, or - for standard input.")
@click.option("--definition", help="An inline definition: JSON, @FILE, or -.")
@click.option("--correlation-id", help="Your own id for it.")
@click.option(
    "--priority", callback=_priority, help="0 to 99, larger goes first; or HIGHEST to LOWEST."
)
@click.option("--idempotency-key", help="Starts at most one execution of this name.")
@click.option("--start-node", "start_nodes", multiple=True, help="Of a DAG: only this task.")
@click.option("--depend-mode", type=MODES, help="What runs with it; by default all behind it.")
@click.option("--business-time", help="The instant that it is about: 2026-11-24, or with a time.")
@click.option("--zone", help="The zone of the business time, such as Europe/Berlin.")
@click.option(
    "--domain",
    "task_to_domain",
    multiple=True,
    metavar="TASK=DOMAIN",
    callback=_domains,
    help="Only workers of this domain take this task; * for all.",
)
@click.option("--watch", "watched", is_flag=True, help="Show its tasks until it ends.")
@connected
def start(
    name: str | None,
    given: str,
    definition: str | None,
    *,
    watched: bool,
    server: str,
    as_json: bool,
    **more: Any,  # noqa: ANN401 - handed on by name
) -> int:
    """Start the workflow NAME, or an inline definition, and print its id.

    With --watch the exit code is 1 unless it completes. What becomes of it is told on standard
    error, and --json prints the execution when it has ended; --jsonl prints a line for each task
    that ends, and the execution last.
    """
    if not name and not definition:
        raise click.UsageError("give a NAME or a --definition")
    with client(server) as conductor:
        inline = object_document(definition) if definition else None
        started = conductor.start_workflow(
            name, input=object_document(given), definition=inline, **more
        )
        if inline is not None:
            warn_of_inline(conductor, inline)
        if not watched or not as_json:
            _print_started(started, as_json=as_json)
        return _print_ended(watch(conductor, started), as_json=as_json) if watched else 0


@workflow.command()
@click.argument("workflow_id", shell_complete=EXECUTION)
@click.option("--tasks/--no-tasks", default=True, help="With its tasks, or without.")
@click.option("--watch", "watched", is_flag=True, help="Show its tasks until it ends.")
@connected
def get(workflow_id: str, *, tasks: bool, watched: bool, server: str, as_json: bool) -> int:
    """Print an execution with its tasks.

    With --watch the exit code is 1 unless it completes. What becomes of it is told on standard
    error, and --json prints the execution when it has ended; --jsonl prints a line for each task
    that ends, and the execution last.
    """
    with client(server) as conductor:
        if watched:
            return _print_ended(watch(conductor, workflow_id), as_json=as_json)
        found = conductor.get_workflow(workflow_id, include_tasks=tasks)
    if as_json:
        print_json(found)
    else:
        print_execution(found)
        if is_open(found):
            say(f"What it waits for: conductor-py workflow why {workflow_id}", err=True)
    return 0


@workflow.command()
@selected
@click.option("--reason", help="Why; kept with the execution.")
@connected
def terminate(*, choice: Selection, reason: str | None, server: str, as_json: bool) -> int:
    """End executions as TERMINATED."""

    def act(conductor: Client, workflow_id: str) -> None:
        conductor.terminate_workflow(workflow_id, reason)

    return on_selected(server, choice, "terminated", act, json=as_json, on=OPEN)


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
    warn_of_query(query or "")
    with client(server) as conductor:
        found = conductor.search_workflows(query, **more)
    if as_json:
        print_json(found)
        return
    rows = objects(found.get("results"))
    print_table(_SUMMARY, [chosen(each, _SUMMARY) for each in rows])
    say(f"{len(rows)} of {found.get('totalHits', 0)}", err=True)


def _print_started(started: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"workflowId": started})
    else:
        say(started)


def _print_ended(found: Mapping[str, Any], *, as_json: bool) -> int:
    """Print what became of an execution whose tasks were shown; the exit code."""
    if as_json:
        print_json(found)
    else:
        print_facts(found)
    return exit_code(found.get("status"))


for _command in (*COMMANDS, *reruns.COMMANDS, *long_tasks.COMMANDS, why):
    workflow.add_command(_command)
