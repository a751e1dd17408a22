"""The processes of a deployment as commands; each runs in the foreground until a signal."""

from __future__ import annotations

import gc
import sys
from typing import Any

import click

from conductor_py.cli.settings import configured, read, setting
from conductor_py.config import Settings
from conductor_py.processes.data_directory import keep_private
from conductor_py.processes.heaps import keep_little
from conductor_py.processes.logs import configure_logs

_HOST = setting("--host", "conductor.server.host")
_PORT = setting("--port", "conductor.server.port")
_ALLOW_ANONYMOUS = setting("--allow-anonymous", "conductor.server.allowAnonymous")
_DATA = setting("--data", "conductor.data.directory")

#: What is in cycles is little here, and looked for in all that a large document is made of: after
#: 700 new objects, as usual, reading one takes four times as long.
COLLECTED_AFTER = 10_000


def _begin(given: dict[str, Any]) -> Settings:
    keep_private()
    keep_little()
    gc.set_threshold(COLLECTED_AFTER, *gc.get_threshold()[1:])
    settings = read(given)
    configure_logs(settings.log)
    for key in settings.without_effect:
        click.echo(f"{key} is known and changes nothing here.", err=True)
    for sentence in settings.ignored:
        click.echo(f"{sentence}.", err=True)
    for file in settings.open_files:
        click.echo(f"Every user of this machine can read {file}: chmod o= {file}", err=True)
    return settings


@click.command()
@_HOST
@_PORT
@_ALLOW_ANONYMOUS
@_DATA
@configured
def server(**given: Any) -> int:  # noqa: ANN401 - the options, by name
    """Run API, sweeper, system-task and effects worker, with a Redis of its own or one given."""
    settings = _begin(given)
    from conductor_py.processes.server import run_server

    return run_server(settings, _say)


@click.command()
@_HOST
@_PORT
@_ALLOW_ANONYMOUS
@_DATA
@configured
def api(**given: Any) -> int:  # noqa: ANN401 - the options, by name
    """Run an API node over a Redis of yours."""
    settings = _begin(given)
    from conductor_py.processes.api import run_api

    return run_api(settings, server=given["server_name"])


@click.command()
@_DATA
@configured
def sweeper(**given: Any) -> int:  # noqa: ANN401 - the options, by name
    """Run a sweeper for all API nodes over a Redis of yours."""
    settings = _begin(given)
    from conductor_py.processes.sweeper import run_sweeper

    return run_sweeper(settings, server=given["server_name"])


@click.command("system-worker")
@_DATA
@setting("--namespace", "conductor.app.systemTaskWorkerExecutionNamespace")
@setting("--isolation-groups", "conductor.systemTasks.isolationGroups")
@configured
def system_worker(**given: Any) -> int:  # noqa: ANN401 - the options, by name
    """Run a system-task worker over a Redis of yours: HTTP, KAFKA_PUBLISH."""
    settings = _begin(given)
    from conductor_py.processes.system_worker import run_system_worker

    return run_system_worker(settings, server=given["server_name"])


@click.command()
@_DATA
@configured
def scheduler(**given: Any) -> int:  # noqa: ANN401 - the options, by name
    """Run a scheduler over a Redis of yours: it starts workflows by the clock."""
    settings = _begin(given)
    from conductor_py.processes.scheduler import run_scheduler

    return run_scheduler(settings, server=given["server_name"])


@click.command()
@_DATA
@configured
def effects(**given: Any) -> int:  # noqa: ANN401 - the options, by name
    """Run an effects worker over a Redis of yours."""
    settings = _begin(given)
    from conductor_py.processes.effects import run_effects_worker

    return run_effects_worker(settings)


def _say(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()
