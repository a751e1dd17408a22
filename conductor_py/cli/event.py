"""``conductor-py event``: event handlers, and what they did."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import click

from conductor_py.cli.connection import client, connected, object_document
from conductor_py.cli.names import EVENT_HANDLER
from conductor_py.cli.near import said_in_all, warn
from conductor_py.cli.printing import chosen, json_line, print_json, print_table, say
from conductor_py.errors import ConductorError
from conductor_py.model.json import JsonObject
from conductor_py.sdk.client import Client

_HANDLER: Final = ("name", "event", "active", "condition")
_EXECUTION: Final = ("name", "event", "status", "action", "messageId")


@click.group()
def event() -> None:
    """Register, list and remove event handlers; see what they did."""


@event.command()
@click.argument("document")
@click.option("--overwrite", is_flag=True, help="Replace a handler that exists.")
@connected
def register(document: str, *, overwrite: bool, server: str, as_json: bool) -> None:
    """Register the event handler in DOCUMENT: JSON, @FILE, or - for standard input."""
    handler = object_document(document)
    with client(server) as conductor:
        _warn(conductor, handler)
        conductor.register_event_handler(handler, overwrite=overwrite)
    if as_json:
        print_json(handler)
    else:
        say(f"registered event handler {handler.get('name')}", err=True)
    if not handler.get("active"):
        say('It is not active: it does nothing until it has "active": true.', err=True)


def _warn(conductor: Client, handler: JsonObject) -> None:
    """Tell what a handler is taken with although it is hardly meant."""
    from conductor_py.wire.advice import handler_advice

    told: list[JsonObject] = []
    with suppress(ConductorError):  # an older server cannot tell; a wrong handler is refused
        told = conductor.validate_event_handler(handler)
    warn(handler.get("name"), said_in_all(told, handler_advice(handler)))


@event.command("list")
@click.option("--event", "name", help="Only handlers of this event.")
@connected
def list_(*, name: str | None, server: str, as_json: bool) -> None:
    """List event handlers."""
    with client(server) as conductor:
        found = conductor.list_event_handlers(name)
    if as_json:
        print_json(found)
    else:
        print_table(_HANDLER, [chosen(each, _HANDLER) for each in found])


@event.command()
@click.argument("name", shell_complete=EVENT_HANDLER)
@connected
def delete(name: str, *, server: str, as_json: bool) -> None:
    """Remove the event handler NAME."""
    with client(server) as conductor:
        conductor.delete_event_handler(name)
    if not as_json:
        say(f"event handler {name} is removed.", err=True)


@event.command()
@click.option("--event", "of_event", help="Only of this event.")
@click.option("--handler", help="Only of this handler.")
@click.option("--size", type=click.IntRange(1, 1000), default=20, show_default=True)
@connected
def executions(
    *, of_event: str | None, handler: str | None, size: int, server: str, as_json: bool
) -> None:
    """List what event handlers did last, newest first."""
    with client(server) as conductor:
        found = conductor.list_event_executions(event=of_event, name=handler, size=size)
    if as_json:
        print_json(found)
        return
    rows = [[*chosen(each, _EXECUTION), json_line(each.get("output"), 60)] for each in found]
    print_table((*_EXECUTION, "output"), rows)
