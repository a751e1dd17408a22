"""``conductor-py audit``: violations of the invariants on a live store, for people and scripts."""

from __future__ import annotations

from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected
from conductor_py.cli.printing import objects, print_json, print_table, say
from conductor_py.errors import ConductorError

FOUND: Final = 1
NOT_LOOKED: Final = 2
_COLUMNS: Final = ("invariant", "code", "subject", "detail")


@click.command()
@click.option("--execution", help="Audit this execution only.")
@click.option(
    "--size", type=click.IntRange(1, 2000), default=200, show_default=True, help="Keys a request."
)
@click.option("--remarks/--no-remarks", default=True, help="Print what breaks no invariant, too.")
@connected
def audit(execution: str | None, size: int, *, remarks: bool, server: str, as_json: bool) -> int:
    """Audit every execution and queue of the store while it runs.

    Exit code 0: no invariant is broken; 1: some are, and their ids are printed; 2: it could not
    look.
    """
    try:
        found = _looked(server, execution, size)
    except ConductorError as away:
        say(f"Error: {away.message}", err=True)
        return NOT_LOOKED
    if not remarks:
        found["findings"] = [one for one in found["findings"] if one.get("invariant")]
    if as_json:
        print_json(found)
    else:
        _print(found)
    return FOUND if found["violations"] else 0


def _looked(server: str, execution: str | None, size: int) -> dict[str, Any]:
    total: dict[str, Any] = {"executions": 0, "keys": 0, "violations": 0, "findings": []}
    with client(server) as conductor:
        if execution is not None:
            page = conductor.audit_workflow(execution)
            return {name: page[name] for name in total}
        cursor = ""
        while True:
            page = conductor.audit_page(cursor, size=size)
            for name in ("executions", "keys", "violations"):
                total[name] += page[name]
            total["findings"].extend(objects(page["findings"]))
            cursor = str(page["cursor"])
            if not cursor:
                return total


def _print(found: dict[str, Any]) -> None:
    rows = [
        (one.get("invariant") or "-", one["code"], _place(one), one["detail"])
        for one in found["findings"]
    ]
    if rows:
        print_table(_COLUMNS, rows)
    violations = found["violations"]
    said = f"{violations} violation{'s' * (violations != 1)}" if violations else "No violation"
    say(f"{said}: {found['executions']} executions, {found['keys']} keys looked at.", err=True)


def _place(one: dict[str, Any]) -> str:
    """Of which execution or key; of which task or field of it, unless that names it already."""
    subject, task = str(one["subject"]), str(one.get("task") or "")
    return task if task.startswith(subject) else f"{subject} {task}".rstrip()
