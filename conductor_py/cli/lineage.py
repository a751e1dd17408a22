"""``conductor-py dag lineage``: what surrounds a workflow, edge by edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected
from conductor_py.cli.names import VERSIONED_WORKFLOW
from conductor_py.cli.printing import objects, print_json, print_table, say
from conductor_py.cli.versioned import code_of, found_head

_HEAD: Final = ("from", "does", "to", "in versions", "named versions")


@click.command()
@click.argument("name", shell_complete=VERSIONED_WORKFLOW)
@click.option("--depth", type=click.IntRange(1, 20), default=1, show_default=True)
@connected
def lineage(name: str, *, depth: int, server: str, as_json: bool) -> None:
    """List what starts NAME (or its code), what it starts, and which tasks it shares."""
    with client(server) as conductor:
        found = conductor.get_lineage(code_of(found_head(conductor, name)), depth=depth)
    if as_json:
        print_json(found)
        return
    print_table(_HEAD, [_row(each) for each in objects(found.get("edges"))])
    if found.get("truncated"):
        say("There is more than the server tells of at once.", err=True)


def _row(edge: Mapping[str, Any]) -> list[object]:
    said = [word for word in ("edited", "published") if edge.get(word)]
    versions = " ".join(filter(None, (_numbers(edge.get("versions")), ", ".join(said))))
    return [
        edge.get("from"),
        edge.get("type"),
        edge.get("to"),
        versions,
        _numbers(edge.get("toVersions")),
    ]


def _numbers(found: object) -> str:
    return ", ".join(str(each) for each in found) if isinstance(found, list) else ""
