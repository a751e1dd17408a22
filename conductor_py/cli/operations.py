"""Commands of ``conductor-py workflow`` that act on executions, one a verb; some take many ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import click

from conductor_py.cli.connection import client, connected, object_document
from conductor_py.cli.execution_view import print_tasks
from conductor_py.cli.execution_watch import exit_code
from conductor_py.cli.names import EXECUTION, WORKFLOW
from conductor_py.cli.near import warn
from conductor_py.cli.printing import objects, print_json, say
from conductor_py.cli.selection import ENDED, OPEN, Selection, on_one, on_selected, selected
from conductor_py.errors import ConductorError
from conductor_py.model.json import JsonObject
from conductor_py.sdk.client import Client
from conductor_py.sdk.operation_calls import ReturnStrategy

_STRATEGIES = click.Choice(
    ["TARGET_WORKFLOW", "BLOCKING_WORKFLOW", "BLOCKING_TASK", "BLOCKING_TASK_INPUT"]
)
_STATUSES = click.Choice(["COMPLETED", "FAILED", "FAILED_WITH_TERMINAL_ERROR"])
_IN_THE_ARCHIVE = (
    "in the archive only, where searches and reads still look; --no-archive removes from there, too"
)
ID = click.argument("workflow_id", shell_complete=EXECUTION)


@click.command()
@selected
@connected
def pause(*, choice: Selection, server: str, as_json: bool) -> int:
    """Hold executions: results are taken, nothing new opens."""
    return on_selected(server, choice, "paused", Client.pause_workflow, json=as_json, on=OPEN)


@click.command()
@selected
@connected
def resume(*, choice: Selection, server: str, as_json: bool) -> int:
    """Let paused executions go on."""
    on = frozenset({"PAUSED"})
    return on_selected(server, choice, "resumed", Client.resume_workflow, json=as_json, on=on)


@click.command()
@selected
@click.option("--subworkflows", is_flag=True, help="Retry inside failed sub-workflows.")
@connected
def retry(*, choice: Selection, subworkflows: bool, server: str, as_json: bool) -> int:
    """Try what failed in ended executions again."""

    def act(conductor: Client, workflow_id: str) -> None:
        conductor.retry_workflow(workflow_id, resume_subworkflows=subworkflows)

    return on_selected(server, choice, "retried", act, json=as_json, on=ENDED - {"COMPLETED"})


@click.command()
@selected
@click.option("--latest", is_flag=True, help="With the latest definition instead of its own.")
@connected
def restart(*, choice: Selection, latest: bool, server: str, as_json: bool) -> int:
    """Run ended executions again from their beginning."""

    def act(conductor: Client, workflow_id: str) -> None:
        conductor.restart_workflow(workflow_id, latest_definitions=latest)

    return on_selected(server, choice, "restarted", act, json=as_json, on=ENDED)


@click.command()
@ID
@click.argument("ref")
@click.option("--output", help="What later tasks read of it: JSON, @FILE, or -.")
@connected
def skip(workflow_id: str, ref: str, output: str | None, *, server: str, as_json: bool) -> None:
    """Pass by the task REF, which is not scheduled yet."""

    def act(conductor: Client, workflow_id: str) -> None:
        conductor.skip_task(workflow_id, ref, output=object_document(output) if output else None)

    on_one(server, workflow_id, f"going to skip {ref}", act, json=as_json)


@click.command("force-success")
@ID
@click.argument("ref")
@click.option("--output", help="What it is said to have given instead: JSON, @FILE, or -.")
@click.option("--by", help="Who says so; kept with the task.")
@click.option("--reason", help="Why; kept with the task.")
@connected
def force_success(
    workflow_id: str,
    ref: str,
    output: str | None,
    *,
    server: str,
    as_json: bool,
    **said: Any,  # noqa: ANN401 - handed on by name
) -> None:
    """Count the failed task REF of a DAG as done, and go on behind it."""

    def act(conductor: Client, workflow_id: str) -> None:
        given = object_document(output) if output else None
        conductor.force_success(workflow_id, ref, output=given, **said)

    on_one(server, workflow_id, f"going on behind {ref}", act, json=as_json)


@click.command()
@ID
@click.argument("ref")
@click.option("--task-input", help="The task's input: JSON, @FILE, or -.")
@connected
def jump(workflow_id: str, ref: str, task_input: str | None, *, server: str, as_json: bool) -> None:
    """Go on at the later task REF of a running execution."""

    def act(conductor: Client, workflow_id: str) -> None:
        given = object_document(task_input) if task_input else None
        conductor.jump_to_task(workflow_id, ref, task_input=given)

    on_one(server, workflow_id, f"at {ref}", act, json=as_json)


@click.command()
@ID
@click.argument("version", type=int)
@click.option("--task-output", help="Output of new tasks before what is done: JSON, @FILE, or -.")
@click.option("--dry-run", is_flag=True, help="Only print what does not map; exit code 1 then.")
@connected
def upgrade(
    workflow_id: str,
    version: int,
    task_output: str | None,
    *,
    dry_run: bool,
    server: str,
    as_json: bool,
) -> None:
    """Let a running execution go on under VERSION of its definition."""
    if dry_run:
        _check_upgrade(server, workflow_id, version, as_json=as_json)
        return

    def act(conductor: Client, workflow_id: str) -> None:
        given = object_document(task_output) if task_output else None
        conductor.upgrade_workflow(workflow_id, version, task_output=given)

    on_one(server, workflow_id, f"upgraded to version {version}", act, json=as_json)


def _check_upgrade(server: str, workflow_id: str, version: int, *, as_json: bool) -> None:
    with client(server) as conductor:
        found = conductor.check_upgrade(workflow_id, version)
    findings = found.get("validationErrors")
    if as_json:
        print_json(found)
    elif not findings:
        say(f"{workflow_id} can go on under version {version}.", err=True)
    for each in findings if isinstance(findings, list) and not as_json else ():
        if isinstance(each, dict):
            say(f"{each.get('path')}: {each.get('message')}")
    if findings:
        raise SystemExit(1)


@click.command()
@selected
@click.option(
    "--archive/--no-archive",
    default=True,
    help="Leave them in the archive, where they are found still, or remove them there, too.",
)
@connected
def remove(*, choice: Selection, archive: bool, server: str, as_json: bool) -> int:
    """Take executions that have ended out of the store.

    They stay in the archive, where searches and reads find them; nothing is done to one that is
    there only. With --no-archive nothing stays of them, and one that has not ended is terminated.
    """
    said = _IN_THE_ARCHIVE if archive else "removed, and not in the archive any more"

    def act(conductor: Client, workflow_id: str) -> None:
        conductor.remove_workflow(workflow_id, archive=archive)

    on = ENDED if archive else ENDED | OPEN
    return on_selected(server, choice, said, act, json=as_json, on=on)


@click.command()
@ID
@click.argument("given", metavar="VARIABLES")
@connected
def variables(workflow_id: str, given: str, *, server: str, as_json: bool) -> None:
    """Set VARIABLES (JSON, @FILE, or -) of a running execution, and print all of them."""
    with client(server) as conductor:
        found = conductor.update_variables(workflow_id, object_document(given))
    print_json(found if as_json else found.get("variables", {}))


@click.command()
@ID
@click.argument("message", default="{}")
@connected
def message(workflow_id: str, message: str, *, server: str, as_json: bool) -> None:
    """Put MESSAGE (JSON, @FILE, or -) into the queue of a running execution; prints its id."""
    with client(server) as conductor:
        sent = conductor.send_message(workflow_id, object_document(message))
    if as_json:
        print_json({"messageId": sent})
    else:
        say(sent)


@click.command()
@ID
@click.option("--output", default="{}", help="Output of the task it waits at: JSON, @FILE, or -.")
@click.option("--status", type=_STATUSES, default="COMPLETED", help="How that task ends.")
@click.option("--return", "strategy", type=_STRATEGIES, default="TARGET_WORKFLOW")
@connected
def signal(
    workflow_id: str,
    output: str,
    status: str,
    strategy: ReturnStrategy,
    *,
    server: str,
    as_json: bool,
) -> int:
    """Complete the WAIT an execution stands at, and print where it stands next.

    The exit code is 1 if it has failed by then.
    """
    with client(server) as conductor:
        answer = conductor.signal(
            workflow_id, object_document(output), status=status, return_strategy=strategy
        )
    return _print_standing(answer, as_json=as_json)


@click.command()
@click.argument("name", shell_complete=WORKFLOW)
@click.option("--version", type=int, default=0, help="Version of the definition; 0: the latest.")
@click.option("--input", "given", default="{}", help="JSON, @FILE, or - for standard input.")
@click.option("--wait", "wait_s", type=click.IntRange(1), default=10, help="Seconds to wait.")
@click.option("--until", multiple=True, metavar="REF", help="Wait for the end of this task.")
@click.option("--return", "return_strategy", type=_STRATEGIES, default="TARGET_WORKFLOW")
@connected
def execute(name: str, given: str, *, server: str, as_json: bool, **more: Any) -> int:  # noqa: ANN401
    """Start the workflow NAME, wait until it ends or blocks, and print how it stands.

    The exit code is 1 if it has failed by then.
    """
    wait_until = more.pop("until")
    with client(server) as conductor:
        answer = conductor.execute_workflow(
            name, input=object_document(given), wait_until=wait_until, **more
        )
    return _print_standing(answer, as_json=as_json)


@click.command()
@click.argument("name", required=False, shell_complete=WORKFLOW)
@click.option("--version", type=int, help="Version of the definition; without it the latest.")
@click.option("--input", "given", default="{}", help="JSON, @FILE, or - for standard input.")
@click.option("--definition", help="An inline definition: JSON, @FILE, or -.")
@click.option("--mocks", default="{}", help="Results by task reference: JSON, @FILE, or -.")
@connected
def test(
    name: str | None,
    version: int | None,
    given: str,
    definition: str | None,
    mocks: str,
    *,
    server: str,
    as_json: bool,
) -> int:
    """Run the workflow NAME with mocked results; nothing is kept of it.

    The exit code is 1 if it fails.
    """
    if not name and not definition:
        raise click.UsageError("give a NAME or a --definition")
    results = object_document(mocks)
    inline = object_document(definition) if definition else None
    with client(server) as conductor:
        found = conductor.test_workflow(
            name,
            version=version,
            input=object_document(given),
            definition=inline,
            mocks=results,
        )
        if inline is not None:
            warn_of_inline(conductor, inline)
    code = _print_standing(found, as_json=as_json)
    if not as_json:
        print_tasks(found)
    for ref in _unreached(found, results):
        say(f"No task {ref} was reached: its mocks were not used.", err=True)
    return code


def warn_of_inline(conductor: Client, definition: JsonObject) -> None:
    """Tell what is hardly meant in a definition that was sent along with its execution; a server
    that cannot tell does not.
    """
    with suppress(ConductorError):
        warn(definition.get("name"), conductor.validate_workflow(definition))


def _unreached(found: Mapping[str, Any], refs: Iterable[str]) -> list[str]:
    """Pick the references that no task of the execution has, in whatever iteration."""
    reached = {str(each.get("referenceTaskName")) for each in objects(found.get("tasks"))}
    reached |= {ref.partition("__")[0] for ref in reached}
    return [ref for ref in refs if ref not in reached]


def _print_standing(found: Mapping[str, Any], *, as_json: bool) -> int:
    """Print how an execution stands; the exit code."""
    code = exit_code(found.get("targetWorkflowStatus") or found.get("status"))
    if as_json:
        print_json(found)
        return code
    shown = ("targetWorkflowId", "workflowId", "status", "referenceTaskName")
    lines = {name: found[name] for name in shown if found.get(name)}
    if found.get("targetWorkflowStatus"):
        lines["status"] = found["targetWorkflowStatus"]
    for name, value in lines.items():
        say(f"{name:<18} {value}")
    print_json(found.get("output", {}))
    if found.get("signalTimeout"):
        say("The time to wait is over; it goes on.", err=True)
    return code


COMMANDS = (
    pause,
    resume,
    retry,
    restart,
    skip,
    force_success,
    jump,
    upgrade,
    signal,
    message,
    variables,
    execute,
    test,
    remove,
)
