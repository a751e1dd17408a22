"""Commands of ``conductor-py workflow`` about long tasks: what they keep, and what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected
from conductor_py.cli.names import EXECUTION
from conductor_py.cli.printing import moment, objects, print_json, print_table, say
from conductor_py.model.json import JsonObject
from conductor_py.sdk.client import Client

_COLUMNS: Final = ("task", "part", "epoch", "time", "bytes", "notes", "kept epochs")
_ID = click.argument("workflow_id", shell_complete=EXECUTION)
_REF = click.argument("ref")


@click.command()
@_ID
@connected
def checkpoints(workflow_id: str, *, server: str, as_json: bool) -> None:
    """Print what the long tasks of an execution keep, and what is asked of them."""
    with client(server) as conductor:
        found = conductor.workflow_checkpoints(workflow_id)
    if as_json:
        print_json(found)
        return
    print_table(_COLUMNS, [row for ref, kept in _tasks(found) for row in _rows(ref, kept)])
    for ref, kept in _tasks(found):
        for savepoint in objects(kept.get("savepoints")):
            held = ", ".join(f"{part} {epoch}" for part, epoch in savepoint["epochs"].items())
            say(f"{ref}: savepoint {savepoint['name']} of {moment(savepoint['time'])}: {held}")
        asked = kept.get("request")
        if isinstance(asked, dict):
            say(f"{ref}: {asked['action']} is asked since {moment(asked['time'])}")


def _tasks(found: JsonObject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for ref, kept in found.items():
        if isinstance(kept, dict):
            yield ref, kept


def _rows(ref: str, kept: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    for name, part in kept["parts"].items():
        history = objects(part.get("history"))
        newest = history[0] if history else {}
        epochs = " ".join(str(past["epoch"]) for past in history)
        moment_ = moment(newest.get("time"))
        row = (part["epoch"], moment_, newest.get("bytes", 0), part["noteCount"], epochs)
        yield (ref, name, *row)


@click.command()
@_ID
@_REF
@click.argument("name")
@connected
def savepoint(workflow_id: str, ref: str, name: str, *, server: str, as_json: bool) -> None:
    """Keep what the long task REF has done so far under NAME."""
    _ask(
        server,
        lambda conductor: conductor.take_savepoint(workflow_id, ref, name),
        f"Savepoint {name} of {ref} is made.",
        json=as_json,
    )


@click.command("delete-savepoint")
@_ID
@_REF
@click.argument("name")
@connected
def delete_savepoint(workflow_id: str, ref: str, name: str, *, server: str, as_json: bool) -> None:
    """Forget the savepoint NAME of the long task REF."""

    def act(conductor: Client) -> JsonObject:
        conductor.delete_savepoint(workflow_id, ref, name)
        return {"deleted": name}

    _ask(server, act, f"Savepoint {name} of {ref} is gone.", json=as_json)


@click.command("stop-task")
@_ID
@_REF
@click.option("--savepoint", "name", help="A name for what it keeps by then.")
@click.option("--now", is_flag=True, help="Without finishing what is under way.")
@connected
def stop_task(
    workflow_id: str, ref: str, name: str | None, *, now: bool, server: str, as_json: bool
) -> None:
    """Ask the long task REF to stop where it can go on later."""
    _ask(
        server,
        lambda conductor: conductor.stop_task(workflow_id, ref, savepoint=name, now=now),
        f"{ref} is to stop.",
        json=as_json,
    )


@click.command("pause-task")
@_ID
@_REF
@connected
def pause_task(workflow_id: str, ref: str, *, server: str, as_json: bool) -> None:
    """Ask the long task REF to wait; its worker keeps it."""
    _ask(
        server,
        lambda conductor: conductor.pause_task(workflow_id, ref),
        f"{ref} is to wait.",
        json=as_json,
    )


@click.command("cancel-task")
@_ID
@_REF
@connected
def cancel_task(workflow_id: str, ref: str, *, server: str, as_json: bool) -> None:
    """Ask the long task REF to end for good; it fails."""
    _ask(
        server,
        lambda conductor: conductor.cancel_task(workflow_id, ref),
        f"{ref} is to end.",
        json=as_json,
    )


@click.command("resume-task")
@_ID
@_REF
@click.option("--savepoint", help="Go on from this savepoint.")
@click.option("--epoch", type=click.IntRange(0), help="Go on from the record of this epoch.")
@click.option("--part", help="Whose epoch it is, when the task has several parts.")
@click.option("--rewind", is_flag=True, help="Take back what came after it, if that can be.")
@connected
def resume_task(
    workflow_id: str,
    ref: str,
    *,
    server: str,
    as_json: bool,
    **start: Any,  # noqa: ANN401 - handed on by name
) -> None:
    """Let the long task REF run on."""
    _ask(
        server,
        lambda conductor: conductor.resume_task(workflow_id, ref, **start),
        f"{ref} is to run on.",
        json=as_json,
    )


def _ask(server: str, act: Callable[[Client], JsonObject], said: str, *, json: bool) -> None:
    with client(server) as conductor:
        answer = act(conductor)
    if json:
        print_json(answer)
    else:
        say(said, err=True)


COMMANDS = (
    checkpoints,
    savepoint,
    delete_savepoint,
    stop_task,
    pause_task,
    cancel_task,
    resume_task,
)
