"""``conductor-py task``: queues, and the workers that poll them."""

from __future__ import annotations

import click

from conductor_py.cli.connection import chosen, client, connected, print_json, print_table

_POLLER = ("queueName", "domain", "workerId", "lastPollTime")


@click.group()
def task() -> None:
    """Look at task queues and their workers."""


@task.command("poll-data")
@click.argument("task_type", required=False)
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
@click.argument("task_types", nargs=-1)
@connected
def queues(task_types: tuple[str, ...], *, server: str, as_json: bool) -> None:
    """Print how many tasks wait, by queue; TASK_TYPES chooses, none means all."""
    with client(server) as conductor:
        sizes = conductor.queue_sizes(task_types) if task_types else conductor.all_queue_sizes()
    if as_json:
        print_json(sizes)
    else:
        print_table(("queue", "waiting"), sorted(sizes.items()))
