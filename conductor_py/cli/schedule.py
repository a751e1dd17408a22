"""``conductor-py schedule``: workflows started by the clock."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from conductor_py.cli.connection import client, connected, object_document
from conductor_py.cli.names import SCHEDULE
from conductor_py.cli.near import warn, warn_of, warn_of_query
from conductor_py.cli.printing import (
    ZONE,
    chosen,
    clipped,
    moment,
    objects,
    print_json,
    print_table,
    say,
)
from conductor_py.errors import ConductorError, NotFound
from conductor_py.model.business_time import instant_of
from conductor_py.model.schedules import RunState

if TYPE_CHECKING:
    from conductor_py.sdk import Client

_DOCUMENT: Final = ("{", "@", "-")
_RUN: Final = ("scheduledTime", "scheduleName", "state", "workflowId", "reason")


@click.group()
def schedule() -> None:
    """Save, read, pause and run schedules."""


@schedule.command()
@click.argument("document")
@connected
def save(document: str, *, server: str, as_json: bool) -> None:
    """Create or replace the schedule in DOCUMENT: JSON, @FILE, or - for standard input."""
    given = object_document(document)
    from conductor_py.wire.advice import schedule_advice

    warn_of(given.get("name"), schedule_advice(given, int(time.time() * 1000)))
    with client(server) as conductor:
        saved = conductor.save_schedule(given)
        _warn_of_workflow(conductor, given)
    if as_json:
        print_json(saved)
    else:
        next_run = moment(saved.get("nextRunTime")) or "none"
        say(f"saved schedule {saved.get('name')}, next run: {next_run}", err=True)


@schedule.command("list")
@click.option("--workflow", help="Only schedules of this workflow.")
@connected
def list_(*, workflow: str | None, server: str, as_json: bool) -> None:
    """List schedules with their next runs."""
    with client(server) as conductor:
        found = conductor.list_schedules(workflow)
    if as_json:
        print_json(found)
        return
    head = ("name", "cron", "workflow", "nextRunTime", "paused")
    print_table(head, [_row(each) for each in found])


@schedule.command()
@click.argument("name", shell_complete=SCHEDULE)
@connected
def get(
    name: str,
    *,
    server: str,
    as_json: bool,  # noqa: ARG001 - it is JSON in any case
) -> None:
    """Print a schedule as JSON."""
    with client(server) as conductor:
        print_json(conductor.get_schedule(name))


@schedule.command()
@click.argument("name", shell_complete=SCHEDULE)
@click.option("--reason", help="Why; shown with the schedule.")
@connected
def pause(
    name: str,
    *,
    reason: str | None,
    server: str,
    as_json: bool,
) -> None:
    """Let a schedule wait."""
    with client(server) as conductor:
        conductor.pause_schedule(name, reason=reason)
    if not as_json:
        say(f"schedule {name} is paused.", err=True)


@schedule.command()
@click.argument("name", shell_complete=SCHEDULE)
@click.option("--catch-up", is_flag=True, help="Make up for what it missed while it was paused.")
@connected
def resume(
    name: str,
    *,
    catch_up: bool,
    server: str,
    as_json: bool,
) -> None:
    """Let a paused schedule go on."""
    with client(server) as conductor:
        conductor.resume_schedule(name, catch_up=catch_up)
    if not as_json:
        say(f"schedule {name} goes on.", err=True)


@schedule.command()
@click.argument("name", shell_complete=SCHEDULE)
@connected
def delete(
    name: str,
    *,
    server: str,
    as_json: bool,
) -> None:
    """Remove a schedule with its records."""
    with client(server) as conductor:
        conductor.get_schedule(name)  # the server deletes what is not there without a word
        conductor.delete_schedule(name)
    if not as_json:
        say(f"schedule {name} is removed.", err=True)


@schedule.command()
@click.argument("name", shell_complete=SCHEDULE)
@connected
def run(name: str, *, server: str, as_json: bool) -> None:
    """Start what a schedule says now, and print the execution's id."""
    with client(server) as conductor:
        started = conductor.run_schedule(name)
    if as_json:
        print_json({"workflowId": started})
    else:
        say(started)


@schedule.command()
@click.argument("what", shell_complete=SCHEDULE)
@click.option("--from", "first", help="First business time: 2026-03-01, 2026-03-01T02:00 or ms.")
@click.option("--to", "last", help="Last one; a date is meant whole. Without it: now.")
@click.option("--lanes", type=click.IntRange(1, 100), help="How many runs side by side.")
@click.option("--newest-first", is_flag=True, help="Begin with the last one.")
@click.option(
    "--on-failure",
    type=click.Choice(["STOP_LANE", "CONTINUE", "STOP_ALL"]),
    help="What follows when a run fails; without it its lane stops.",
)
@click.option("--priority", help="0 to 99, or HIGHEST to LOWEST.")
@click.option("--dry-run", is_flag=True, help="Only print what would be run.")
@connected
def backfill(
    what: str,
    *,
    dry_run: bool,
    server: str,
    as_json: bool,
    **given: Any,  # noqa: ANN401 - handed on by name
) -> None:
    """Run a workflow for business times that have passed: for those of schedule WHAT, or of a
    backfill as JSON, @FILE or - for standard input. Prints the id of the execution that does it.
    """
    document = dict(object_document(what)) if what[:1] in _DOCUMENT else {"scheduleName": what}
    names = {
        "first": "from",
        "last": "to",
        "newest_first": "newestFirst",
        "on_failure": "onFailure",
    }
    document |= {names.get(name, name): value for name, value in given.items() if value}
    with client(server) as conductor:
        found = conductor.backfill(document, dry_run=dry_run)
    if as_json:
        print_json(found)
    elif dry_run:
        print_table(("lane", "business time"), _lanes(found.get("lanes")))
    else:
        say(f"{found.get('count')} runs are to come.", err=True)
        say(found.get("workflowId"))


@schedule.command("next")
@click.argument("cron_expression")
@click.option("--zone", help="Time zone, such as Europe/Berlin; without it the server's.")
@click.option(
    "--from",
    "start",
    help="From when on, without it from now: epoch ms, or 2027-03-28, 2027-03-28T01:30 or "
    "2027-03-28T00:30Z. Without an offset it is a time of --zone, or of the zone that times are "
    "printed in.",
)
@connected
def next_(
    cron_expression: str, *, zone: str | None, start: str | None, server: str, as_json: bool
) -> None:
    """Print the next instants of CRON_EXPRESSION, for example '0 30 2 * * MON-FRI'."""
    start_ms = None if start is None else _instant(start, zone or os.environ.get(ZONE, ""))
    with client(server) as conductor:
        found = conductor.next_schedule_times(cron_expression, zone_id=zone, start_ms=start_ms)
    if as_json:
        print_json(found)
    else:
        for instant in found:
            say(moment(instant, zone))


@schedule.command()
@click.argument("query", default="")
@click.option("--size", type=click.IntRange(1, 5_000), default=20, show_default=True)
@connected
def runs(query: str, *, size: int, server: str, as_json: bool) -> None:
    """Search what schedules started, newest first; QUERY is, for example,
    'scheduleName IN (nightly) AND state IN (FAILED)'.
    """
    warn_of_query(query, "state", RunState)
    with client(server) as conductor:
        found = conductor.search_schedule_runs(query, size=size)
    if as_json:
        print_json(found)
        return
    print_table(_RUN, [chosen(each, _RUN) for each in objects(found.get("results"))])


def _instant(given: str, zone: str) -> int:
    try:
        return instant_of(given, zone)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--from") from error


def _warn_of_workflow(conductor: Client, schedule: Mapping[str, Any]) -> None:
    """Tell when what a schedule starts is not registered: it may be before the first instant. It is
    saved by now, whatever the server says to this.
    """
    request = schedule.get("startWorkflowRequest")
    if not isinstance(request, dict) or request.get("workflowDef"):
        return
    name, version = request.get("name"), request.get("version")
    try:
        conductor.get_workflow_definition(str(name), version=version)
    except NotFound:
        lack = _lack(conductor, str(name), version)
        message = f"{lack}: no instant of this schedule can start it until it is"
        warn(schedule.get("name"), [{"path": f"workflow {name}", "message": message}])
    except ConductorError:
        return


def _lack(conductor: Client, name: str, version: object) -> str:
    """Say what keeps a workflow that is not found from being started."""
    with suppress(ConductorError):
        if version is not None and conductor.get_workflow_definition(name):
            return f"is registered, but not with version {version}"
    with suppress(ConductorError):
        if conductor.list_heads("workflows", name=name):
            return "is saved in the catalog, but not published"
    return "is not registered"


def _lanes(lanes: object) -> list[list[object]]:
    listed: list[Any] = lanes if isinstance(lanes, list) else []
    return [[number, moment(at)] for number, lane in enumerate(listed, 1) for at in lane]


def _row(found: Mapping[str, Any]) -> list[object]:
    listed: list[Mapping[str, Any]] = [*objects(found.get("cronSchedules"))] or [found]
    crons = "; ".join(f"{each.get('cronExpression')} {each.get('zoneId')}" for each in listed)
    request = found.get("startWorkflowRequest")
    workflow = request.get("name", "") if isinstance(request, dict) else ""
    paused = (found.get("pausedReason") or "yes") if found.get("paused") else "no"
    return [found.get("name"), crons, workflow, moment(found.get("nextRunTime")), clipped(paused)]
