"""``conductor-py workflow rerun``: run what has ended again from a task on, or tell what would."""

from __future__ import annotations

from collections.abc import Mapping

import click

from conductor_py.cli.connection import client, connected, object_document
from conductor_py.cli.operations import ID
from conductor_py.cli.printing import objects, print_json, say
from conductor_py.cli.selection import on_one
from conductor_py.sdk.client import Client
from conductor_py.sdk.operation_calls import RerunMode

MODES = click.Choice(["TASK_POST", "TASK_ONLY", "TASK_PRE"])
_PREVIEWED = {"runsAgain": "runs again", "kept": "kept", "stale": "stale"}


@click.command()
@ID
@click.option("--from-task", "task", help="Id or reference to begin with; without it all.")
@click.option("--mode", type=MODES, help="Of a DAG: what runs with it; by default all behind it.")
@click.option("--dry-run", is_flag=True, help="Of a DAG: only print what would run again.")
@click.option("--task-input", help="Its input instead: JSON, @FILE, or -.")
@click.option("--input", "given", help="The workflow's input instead: JSON, @FILE, or -.")
@connected
def rerun(
    workflow_id: str,
    task: str | None,
    mode: RerunMode | None,
    task_input: str | None,
    given: str | None,
    *,
    dry_run: bool,
    server: str,
    as_json: bool,
) -> None:
    """Run an ended execution again from one of its tasks on."""
    if dry_run:
        _preview_rerun(server, workflow_id, task, mode, as_json=as_json)
        return

    def act(conductor: Client, workflow_id: str) -> None:
        conductor.rerun_workflow(
            workflow_id,
            **_beginning(conductor, workflow_id, task),
            mode=mode,
            task_input=object_document(task_input) if task_input else None,
            workflow_input=object_document(given) if given else None,
        )

    on_one(server, workflow_id, "running again", act, json=as_json)


def _preview_rerun(
    server: str, workflow_id: str, task: str | None, mode: RerunMode | None, *, as_json: bool
) -> None:
    with client(server) as conductor:
        named = _beginning(conductor, workflow_id, task)
        found = conductor.preview_rerun(workflow_id, **named, mode=mode)
    if as_json:
        print_json(found)
        return
    for member, title in _PREVIEWED.items():
        listed = found.get(member)
        refs = ", ".join(map(str, listed)) if isinstance(listed, list) else ""
        say(f"{title:<11} {refs or '-'}")


def _beginning(conductor: Client, workflow_id: str, named: str | None) -> dict[str, str]:
    """Name the newest task of a reference by its id, a task of the definition that has not run by
    its reference; anything else is an id.
    """
    if not named:
        return {}
    execution = conductor.get_workflow(workflow_id)
    tasks = objects(execution.get("tasks"))
    of_ref = [str(each["taskId"]) for each in tasks if each.get("referenceTaskName") == named]
    if of_ref:
        return {"from_task_id": of_ref[-1]}
    definition = execution.get("workflowDefinition")
    defined = objects(definition.get("tasks")) if isinstance(definition, Mapping) else []
    is_ref = any(each.get("taskReferenceName") == named for each in defined)
    return {"from_ref" if is_ref else "from_task_id": named}


COMMANDS = (rerun,)
