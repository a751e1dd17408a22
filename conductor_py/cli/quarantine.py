"""``conductor-py quarantine``: executions that cannot be decided, and what cannot be read."""

from __future__ import annotations

from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected
from conductor_py.cli.printing import moment, objects, print_json, print_table, say
from conductor_py.model.json import JsonObject
from conductor_py.sdk.client import Client

_COLUMNS: Final = ("workflowId", "failing since", "tries", "next try", "reason")
_DAMAGED: Final = ("damaged entry", "since", "tries", "next try", "reason")


@click.group()
def quarantine() -> None:
    """List what cannot be decided, and try it again."""


@quarantine.command("list")
@click.option("--start", type=click.IntRange(0), default=0, help="Executions to leave out.")
@click.option("--size", type=click.IntRange(1), default=100, help="Executions to print at most.")
@connected
def list_(start: int, size: int, *, server: str, as_json: bool) -> None:
    """List the executions in quarantine, and what cannot be read, longest failing first."""
    with client(server) as conductor:
        found = conductor.list_quarantine(start=start, size=size)
    if as_json:
        print_json(found)
        return
    rows = [_row("workflowId", one) for one in objects(found.get("results"))]
    print_table(_COLUMNS, rows)
    say(f"{len(rows)} of {found.get('totalHits', 0)}", err=True)
    damaged = [_row("entry", one) for one in objects(found.get("damaged"))]
    if damaged:
        print_table(_DAMAGED, damaged)


def _row(name: str, one: JsonObject) -> tuple[str, ...]:
    return (
        str(one.get(name)),
        moment(one.get("since")),
        str(one.get("tries")),
        moment(one.get("retryAt")),
        str(one.get("reason")),
    )


@quarantine.command()
@click.argument("workflow_id", required=False)
@click.option("--all", "every", is_flag=True, help="All that are in quarantine now.")
@connected
def retry(workflow_id: str | None, *, every: bool, server: str, as_json: bool) -> int:
    """Try WORKFLOW_ID again, or --all. Exit code 1 when one still cannot be decided.

    A damaged entry is named as `list` names it; whether it can be read now is seen there.
    """
    if (workflow_id is None) == (not every):
        raise click.UsageError("give a WORKFLOW_ID or --all")
    with client(server) as conductor:
        if workflow_id and " " in workflow_id:
            conductor.retry_damaged(workflow_id)
            say(f"{workflow_id} is looked at again.", err=True)
            return 0
        found = conductor.retry_quarantined(workflow_id) if workflow_id else _all(conductor)
    failed = int(not found["decided"]) if workflow_id else found["failed"]
    if as_json:
        print_json(found)
    elif workflow_id:
        said = "is decided and out of quarantine" if not failed else "still cannot be decided"
        say(f"{workflow_id} {said}.", err=True)
    else:
        say(f"{found['decided']} are out of quarantine, {failed} are not.", err=True)
    return 1 if failed else 0


def _all(conductor: Client) -> JsonObject:
    """Try all again, some after the other, and sum it up."""
    decided, failed, cursor = 0, 0, ""
    while True:
        found: dict[str, Any] = dict(conductor.retry_quarantined(cursor=cursor))
        decided, failed = decided + found["decided"], failed + found["failed"]
        cursor = str(found.get("cursor", ""))  # servers of earlier versions try all at once
        if not cursor:
            return {"decided": decided, "failed": failed}
        say(
            f"{decided} are out of quarantine, {failed} are not, {found['left']} are to be tried.",
            err=True,
        )


@quarantine.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@connected
def drop(name: str, *, yes: bool, server: str, as_json: bool) -> None:
    """Give NAME up: terminate an execution, or delete a damaged entry for ever."""
    if not yes:
        click.confirm(f"Give {name} up?", abort=True, err=True)
    with client(server) as conductor:
        found = conductor.drop_quarantined(name)
    if as_json:
        print_json(found)
    else:
        say(f"{name} is dropped.", err=True)
