"""What every command that talks to a server has: where it is, and documents from the user."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from conductor_py.cli.printing import IN_LINES, clipped
from conductor_py.sdk.client import Client
from conductor_py.sdk.finite import stranger

DEFAULT_SERVER = "http://127.0.0.1:8080/api"

Command = TypeVar("Command", bound=Callable[..., Any])


def connected(command: Command) -> Command:
    """Add ``--server``, ``--json`` and ``--jsonl``, which is ``--json`` in lines."""
    options = (
        click.option(
            "--server",
            metavar="URL",
            envvar="CONDUCTOR_SERVER_URL",
            show_envvar=True,
            default=DEFAULT_SERVER,
            show_default=True,
            help="The server's API.",
        ),
        click.option(
            "--json",
            "as_json",
            is_flag=True,
            envvar="CONDUCTOR_CLIENT_JSON",
            show_envvar=True,
            callback=_is_json,
            help="Print JSON, for programs.",
        ),
        click.option(
            "--jsonl",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_in_lines,
            help="Print JSON, each entry of a list on a line of its own.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _in_lines(context: click.Context, _: click.Parameter, given: bool) -> None:  # noqa: FBT001
    context.meta[IN_LINES] = given


def _is_json(context: click.Context, _: click.Parameter, given: bool) -> bool:  # noqa: FBT001
    return given or bool(context.meta.get(IN_LINES))


def client(server: str) -> Client:
    """Make a client of a server; ``/api`` at its end may be left out."""
    return Client(api_url(server))


def api_url(server: str) -> str:
    """Write where the API of a server is."""
    url = server.rstrip("/")
    return url if url.endswith("/api") else f"{url}/api"


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
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} cannot be read: it is not UTF-8 ({error})") from error
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise click.UsageError(f"{file} cannot be read: {said}") from error


def _json(text: str, source: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        found = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{source} is not JSON: {error}") from error
    # Python reads NaN and Infinity, and makes Infinity of 1e999.
    if (at := stranger(found)) is not None:
        raise click.UsageError(f"{source} is not JSON: {at}, which JSON has not")
    return found
