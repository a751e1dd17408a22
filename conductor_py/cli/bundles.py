"""``conductor-py dag export`` and ``import``: workflows from one catalog into another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected, document, file_document
from conductor_py.cli.names import VERSIONED_WORKFLOW
from conductor_py.cli.printing import objects, print_json, print_table, say

_HEAD: Final = ("what", "name", "does", "code", "versions", "why")


@click.command()
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=VERSIONED_WORKFLOW
)
@click.option("--callees", is_flag=True, help="With the workflows that they start.")
@click.option(
    "--versions",
    type=click.Choice(["edited", "all"]),
    default="edited",
    show_default=True,
    help="The one that is edited and the published one, or every one.",
)
@connected
def export(
    names: tuple[str, ...],
    *,
    callees: bool,
    versions: str,
    server: str,
    as_json: bool,  # noqa: ARG001 - it is JSON in any case
) -> None:
    """Print the workflows NAME... with the shared tasks that they use, for dag import."""
    with client(server) as conductor:
        print_json(
            conductor.export_workflows(names, callees=callees, every_version=versions == "all")
        )


@click.command("import")
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False, path_type=Path))
@click.option(
    "--on-existing",
    type=click.Choice(["FAIL", "SKIP", "NEW_VERSION"]),
    default="FAIL",
    show_default=True,
    help="What becomes of a name that is there with other content.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@connected
def import_(file: Path, *, on_existing: str, dry_run: bool, server: str, as_json: bool) -> None:
    """Save what dag export printed into FILE, all of it or nothing; publish it then."""
    found = document("-") if str(file) == "-" else file_document(file)
    if not isinstance(found, dict):
        raise click.UsageError(f"{file} holds no export: an object with a format")
    with client(server) as conductor:
        report = conductor.import_workflows(found, on_existing=on_existing, dry_run=dry_run)
    if as_json:
        print_json(report)
        return
    print_table(_HEAD, _rows(report))
    if report.get("refused"):
        say("It would be refused, and nothing be imported.", err=True)
    elif dry_run:
        say("Nothing was changed.", err=True)


def _rows(report: Mapping[str, Any]) -> Iterator[list[object]]:
    for noun in ("tasks", "workflows"):
        for each in objects(report.get(noun)):
            versions = ", ".join(
                f"{moved.get('from')} -> {moved.get('to')}"
                for moved in objects(each.get("versions"))
            )
            yield [
                noun.removesuffix("s"),
                each.get("name"),
                each.get("action"),
                each.get("code", "new"),
                versions,
                each.get("message", ""),
            ]
