"""``conductor-py deployment``: the servers with their shards, and the workers that are there."""

from __future__ import annotations

from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected
from conductor_py.cli.names import TASK_TYPE
from conductor_py.cli.printing import moment, objects, print_json, print_table

_SERVER: Final = ("server", "shard", "term", "lastRenewal")
_WORKER: Final = ("worker", "host", "version", "sdk", "task types", "running", "last seen")


@click.group()
def deployment() -> None:
    """Look at what is there just now: servers with their shards, workers."""


@deployment.command()
@connected
def servers(*, server: str, as_json: bool) -> None:
    """List the servers that are there, with their shards and terms."""
    with client(server) as conductor:
        found = conductor.list_servers()
    if as_json:
        print_json(found)
        return
    print_table(_SERVER, [row for each in found for row in _rows_of(dict(each))])


@deployment.command()
@click.argument("task_type", required=False, shell_complete=TASK_TYPE)
@connected
def workers(task_type: str | None, *, server: str, as_json: bool) -> None:
    """List the workers that are there, those that take TASK_TYPE or all."""
    with client(server) as conductor:
        found = conductor.list_workers(task_type)
    if as_json:
        print_json(found)
        return
    print_table(_WORKER, [_worker(dict(each)) for each in found])


def _rows_of(one: dict[str, Any]) -> list[list[object]]:
    shards = objects(one.get("shards")) or [{}]
    renewed = moment(one.get("lastRenewal"))
    return [
        [one.get("server", ""), each.get("shard", ""), each.get("term", ""), renewed]
        for each in shards
    ]


def _worker(one: dict[str, Any]) -> list[object]:
    types = ", ".join(_type(each) for each in objects(one.get("taskTypes")))
    known = one.get("reported")
    load = f"{one.get('running', 0)} of {one.get('capacity', 0)}" if known else ""
    about = [one.get(name) or "" for name in ("workerId", "host", "version", "sdk")]
    return [*about, types, load, moment(one.get("lastSeen"))]


def _type(one: dict[str, Any]) -> str:
    name = str(one.get("taskType", ""))
    return f"{one['domain']}:{name}" if one.get("domain") else name
