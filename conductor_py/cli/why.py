"""``conductor-py workflow why``: why an execution is not moving, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected
from conductor_py.cli.names import EXECUTION
from conductor_py.cli.printing import json_line, moment, objects, print_json, print_table, say

_COLUMNS: Final = ("cause", "task", "since", "until", "sentence")


@click.command()
@click.argument("workflow_id", shell_complete=EXECUTION)
@connected
def why(workflow_id: str, *, server: str, as_json: bool) -> None:
    """Say why an execution is not moving, and what to do about it."""
    with client(server) as conductor:
        found = conductor.explain_workflow(workflow_id)
    if as_json:
        print_json(found)
        return
    cause = found["cause"]
    assert isinstance(cause, Mapping)
    for below in _ids(found.get("path")):
        say(f"through sub-workflow {below}")
    say(f"{cause['code']}: {cause['sentence']}")
    for name in ("since", "until"):
        if cause.get(name):
            say(f"  {name} {moment(cause[name])}")
    if cause.get("evidence"):
        say(f"  evidence {json_line(cause['evidence'], 400)}")
    say(f"  what to do: {cause['advice']}")
    others = objects(found.get("causes"))
    if len(others) > 1:
        say("")
        print_table(_COLUMNS, [_row(one) for one in others])


def _ids(path: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    return [str(one) for one in path] if isinstance(path, list) else []


def _row(cause: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(cause["code"]),
        str(cause.get("referenceTaskName") or ""),
        moment(cause.get("since")),
        moment(cause.get("until")),
        str(cause["sentence"]),
    )
