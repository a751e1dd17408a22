"""What every command that talks to a server has: where it is, and how to print what it says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from conductor_py.sdk.client import Client

_MOMENT: Final = "%Y-%m-%d %H:%M:%SZ"

_TASK: Final = (
    "referenceTaskName",
    "taskType",
    "status",
    "retryCount",
    "startTime",
    "endTime",
    "reasonForIncompletion",
)

Command = TypeVar("Command", bound=Callable[..., Any])


def connected(command: Command) -> Command:
    """Add ``--server`` and ``--json``."""
    options = (
        click.option(
            "--server",
            metavar="URL",
            envvar="CONDUCTOR_SERVER_URL",
            show_envvar=True,
            default="http://127.0.0.1:8080/api",
            show_default=True,
            help="The server's API.",
        ),
        click.option(
            "--json",
            "as_json",
            is_flag=True,
            envvar="CONDUCTOR_CLIENT_JSON",
            show_envvar=True,
            help="Print JSON, for programs.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def client(server: str) -> Client:
    """Make a client of a server; ``/api`` at its end may be left out."""
    url = server.rstrip("/")
    return Client(url if url.endswith("/api") else f"{url}/api")


def print_json(value: object) -> None:
    """Print a JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print lines for people; nothing but a note on standard error when there are none."""
    shown = [[str(cell) for cell in row] for row in rows]
    if not shown:
        click.echo("Nothing found.", err=True)
        return
    widths = [max(len(row[at]) for row in (list(head), *shown)) for at in range(len(head))]
    for row in (head, *shown):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def print_tasks(found: Mapping[str, Any]) -> None:
    """Print the tasks of an execution as a table, behind an empty line; nothing without tasks."""
    listed = found.get("tasks")
    if isinstance(listed, list) and listed:
        click.echo()
        print_table(_TASK, [chosen(each, _TASK) for each in listed if isinstance(each, dict)])


def moment(value: object) -> str:
    """Write an instant (epoch ms, or ISO 8601) for people; empty when there is none."""
    if isinstance(value, int) and value:
        return datetime.fromtimestamp(value / 1000, UTC).strftime(_MOMENT)
    text = str(value or "")
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime(_MOMENT)
    except ValueError:
        return text


def clipped(value: object, most: int = 100) -> str:
    """Write a text on one line, at most so many characters of it."""
    text = " ".join(str(value or "").split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def json_line(value: object, most: int = 1_000) -> str:
    """Write JSON on one line for people, at most so many characters of it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters; --json: all)"


def document(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Read JSON from the argument itself, from ``@file``, or from standard input (``-``)."""
    if text == "-":
        return _json(sys.stdin.read(), "standard input")
    if text.startswith("@"):
        return file_document(Path(text[1:]))
    try:
        return _json(text, clipped(text, 40))
    except click.UsageError as error:
        if Path(text).is_file():
            raise click.UsageError(f"{text} is a file: write @{text} for what it holds") from error
        raise


def file_document(file: Path) -> Any:  # noqa: ANN401 - any JSON value
    """Read JSON from a file that the user named."""
    return _json(file_text(file), str(file))


def object_document(text: str) -> dict[str, Any]:
    """Read a JSON object as ``document`` does."""
    value = document(text)
    if not isinstance(value, dict):
        raise click.UsageError("a JSON object is wanted")
    return value


def file_text(file: Path) -> str:
    """Read a file that the user named."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file} cannot be read: {error}") from error


def _json(text: str, source: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{source} is not JSON: {error}") from error


def chosen(found: Mapping[str, Any], names: Sequence[str]) -> list[object]:
    """Pick the fields of one line of a table."""
    return [_cell(name, found.get(name, "")) for name in names]


def _cell(name: str, value: object) -> object:
    if name.endswith("Time"):
        return moment(value)
    return clipped(value) if name == "reasonForIncompletion" else value
