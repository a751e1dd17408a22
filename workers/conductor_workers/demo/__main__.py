"""``python -m conductor_workers.demo``: the tutorial in one command.

Starts a server and a Spark worker, runs the workflow over HTTP, shows it while it runs, prints the
result tables and where they lie. Everything that was started is stopped at the end, however it
comes; with KEEP=1 the server and the worker stay until the terminal's interrupt.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live

from conductor_py.errors import ConductorError, ConfigurationError
from conductor_py.model.json import JsonObject
from conductor_py.sdk import Client
from conductor_workers.demo.data import export_tables
from conductor_workers.demo.definitions import RESULTS, workflow_definition, workflow_input
from conductor_workers.demo.processes import (
    Child,
    await_server,
    free_port,
    start_server,
    start_worker,
)
from conductor_workers.demo.view import progress_table, result_table, task_line, tasks_of

_TERMINAL = frozenset({"COMPLETED", "FAILED", "TERMINATED", "TIMED_OUT"})
_RUN_WITHIN_S = 300
_LOOK_EVERY_S = 0.4


@click.command(context_settings={"show_default": True})
@click.option("--port", envvar="PORT", type=int, default=None, help="Port of the server.")
@click.option(
    "--directory",
    envvar="RUN_DIR",
    default=Path(".run/flights"),
    type=click.Path(file_okay=False, path_type=Path),
    help="Where data, results and logs go.",
)
@click.option("--keep", envvar="KEEP", is_flag=True, help="Leave the server up at the end.")
@click.option("--spoil", envvar="SPOIL", is_flag=True, help="Break the data, to see it refused.")
def main(*, port: int | None, directory: Path, keep: bool, spoil: bool) -> None:
    """Run the tutorial's workflow on real processes and print what it found."""
    console = Console()
    # Asked to end, it ends what it started: the exit runs the clean-up.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        finished = _run(console, directory.resolve(), port or free_port(), keep=keep, spoil=spoil)
    except (ConductorError, OSError) as error:
        console.print(f"[red]{_in_words(error)}[/red]", highlight=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0 if finished else 1)


def _in_words(error: ConductorError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'The tutorial'}: {error.strerror}"
    return str(error)


def _run(console: Console, run_dir: Path, port: int, *, keep: bool, spoil: bool) -> bool:
    began = time.monotonic()
    run_dir.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(run_dir / "server", ignore_errors=True)
    base = f"http://127.0.0.1:{port}"
    with ExitStack() as cleanup:
        server = start_server(run_dir, port)
        cleanup.callback(server.stop)
        worker = start_worker(run_dir, f"{base}/api")
        cleanup.callback(worker.stop)
        for name, path in (("UI", "/"), ("API", "/api"), ("API docs", "/swagger-ui/index.html")):
            console.print(f"{name:<9} {base}{path}", highlight=False, soft_wrap=True)
        export_tables(run_dir / "data", spoil=spoil)
        client = cleanup.enter_context(Client(f"{base}/api"))
        await_server(client, server)
        console.print(f"The server is up after {time.monotonic() - began:.1f} s.", highlight=False)
        workflow_id = client.start_workflow(
            definition=workflow_definition(), input=workflow_input(run_dir)
        )
        console.print(f"Workflow {workflow_id}", highlight=False)
        # Who keeps the server may kill the worker and start another: the workflow goes on.
        needed = (server,) if keep else (server, worker)
        workflow = _follow(console, client, workflow_id, needed)
        completed = workflow.get("status") == "COMPLETED"
        if completed:
            _show_results(console, run_dir / "results")
        else:
            console.print(f"[red]{workflow.get('reasonForIncompletion')}[/red]", highlight=False)
        console.print(f"{time.monotonic() - began:.1f} s in all.", highlight=False)
        if keep:
            _stay(console, base, workflow_id, server)
    return completed


def _follow(
    console: Console, client: Client, workflow_id: str, children: tuple[Child, ...]
) -> JsonObject:
    """Show the execution until it ends: a live table, or a line per change without a terminal."""
    deadline = time.monotonic() + _RUN_WITHIN_S
    seen: dict[str, str] = {}
    with ExitStack() as shown:
        live = shown.enter_context(Live(console=console)) if console.is_terminal else None
        while True:
            workflow = client.get_workflow(workflow_id)
            if live is not None:
                live.update(progress_table(workflow))
            else:
                _print_changes(console, workflow, seen)
            if workflow.get("status") in _TERMINAL:
                break
            for child in children:
                child.check()
            if time.monotonic() > deadline:
                raise ConfigurationError(f"The workflow did not end in {_RUN_WITHIN_S} s.")
            time.sleep(_LOOK_EVERY_S)
    if live is None:
        console.print(progress_table(workflow))
    return workflow


def _print_changes(console: Console, workflow: JsonObject, seen: dict[str, str]) -> None:
    for task in tasks_of(workflow):
        task_id = str(task.get("taskId"))
        reference, status, seconds, details = task_line(task)
        if seen.get(task_id) != status:
            seen[task_id] = status
            console.print(f"  {reference:<16} {status:<12} {seconds:>5} {details}", highlight=False)


def _show_results(console: Console, results: Path) -> None:
    """Copy each table's one data file to a name that stays, and print it."""
    for name in RESULTS:
        [part] = (results / name).glob("part-*.csv")
        file = results / f"{name}.csv"
        shutil.copyfile(part, file)
        console.print(result_table(name.replace("_", " "), file))
    console.print(f"Tables: {results}/*.csv", highlight=False, soft_wrap=True)


def _stay(console: Console, base: str, workflow_id: str, server: Child) -> None:
    console.print(f"Still up: {base}/  (workflow {workflow_id}). Ctrl-C ends it.", highlight=False)
    while True:
        server.check()
        time.sleep(1)


if __name__ == "__main__":
    main()
