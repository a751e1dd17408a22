"""``conductor-py task``: tasks, their logs, queues, and the workers that poll them."""

from __future__ import annotations

import click

from conductor_py.cli.connection import client, connected, object_document
from conductor_py.cli.names import EXECUTION, TASK_TYPE
from conductor_py.cli.printing import chosen, moment, print_json, print_table, say

_STATUSES = click.Choice(["COMPLETED", "FAILED", "FAILED_WITH_TERMINAL_ERROR"])
_POLLER = ("queueName", "domain", "workerId", "lastPollTime")


@click.group()
def task() -> None:
    """Report on tasks; look at their logs and queues, and at who polls them."""


@task.command()
@click.argument("workflow_id", shell_complete=EXECUTION)
@click.argument("ref")
@click.argument("status", type=_STATUSES, default="COMPLETED")
@click.option("--output", default="{}", help="Its output: JSON, @FILE, or -.")
@connected
def report(
    workflow_id: str, ref: str, status: str, output: str, *, server: str, as_json: bool
) -> None:
    """End the open task REF of an execution, such as a HUMAN task.

    It ends as COMPLETED unless STATUS says otherwise.
    """
    with client(server) as conductor:
        found = conductor.update_task_by_ref(workflow_id, ref, status, object_document(output))
    if found is None:
        raise click.ClickException(f"{workflow_id} has no open task {ref}")
    if as_json:
        print_json({"taskId": found})
    else:
        say(f"{ref} is {status} ({found}).", err=True)


@task.command()
@click.argument("task_id")
@connected
def logs(task_id: str, *, server: str, as_json: bool) -> None:
    """Print what the worker of a task logged, oldest first."""
    with client(server) as conductor:
        found = conductor.task_logs(task_id)
        if not found:
            conductor.get_task(task_id)  # the server says the same of a task that is not there
    if as_json:
        print_json(found)
        return
    if not found:
        say(f"{task_id} has logged nothing.", err=True)
    for each in found:
        say(f"{moment(each.get('createdTime'))}  {each.get('log')}")


@task.command()
@click.argument("task_id", required=False)
@click.option(
    "--type", "task_type", shell_complete=TASK_TYPE, help="All tasks of this type, instead of one."
)
@connected
def requeue(task_id: str | None, task_type: str | None, *, server: str, as_json: bool) -> None:
    """Take TASK_ID from a worker that is dead, and offer it to others.

    No retry is used. What the worker still reports on the task is refused.
    """
    if (task_id is None) == (task_type is None):
        raise click.UsageError("Name a task, or a type of tasks with --type")
    with client(server) as conductor:
        if task_id is not None:
            conductor.requeue_task(task_id)
        count = 1 if task_type is None else conductor.requeue_tasks(task_type)
    if as_json:
        print_json({"queued": count})
    elif task_type is None:
        say(f"{task_id} is in its queue again.", err=True)
    else:
        say(f"{count} tasks of type {task_type} are in their queue.", err=True)


@task.command("poll-data")
@click.argument("task_type", required=False, shell_complete=TASK_TYPE)
@connected
def poll_data(task_type: str | None, *, server: str, as_json: bool) -> None:
    """Print who polled last, for TASK_TYPE or for all."""
    with client(server) as conductor:
        found = conductor.poll_data(task_type)
    if as_json:
        print_json(found)
    else:
        print_table(_POLLER, [chosen(each, _POLLER) for each in found])


@task.command()
@click.argument("task_types", nargs=-1, shell_complete=TASK_TYPE)
@connected
def queues(task_types: tuple[str, ...], *, server: str, as_json: bool) -> None:
    """Print how many tasks wait, by queue: of TASK_TYPES, or of all when none is named."""
    with client(server) as conductor:
        sizes = conductor.queue_sizes(task_types) if task_types else conductor.all_queue_sizes()
    if as_json:
        print_json(sizes)
    else:
        print_table(("queue", "waiting"), sorted(sizes.items()))
