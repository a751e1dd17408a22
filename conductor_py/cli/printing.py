"""What commands print: tables, JSON and sentences that no server and no user can turn into commands
to the terminal.

Texts of others (names, reasons, logs) may hold anything. What a terminal would obey, or what would
turn writing around, is shown as its number instead.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, Final
from unicodedata import combining, east_asian_width

import click

from conductor_py.model.zoned_time import zone_of

IN_LINES: Final = "conductor_py.json_in_lines"
"""In the context of a command: JSON is printed in lines."""

ZONE: Final = "CONDUCTOR_CLIENT_ZONE"
"""The variable that names the zone of the times that are printed; UTC without it."""

_SECONDS: Final = "%Y-%m-%d %H:%M:%S"
_OBEYED: Final = (
    "\x00-\x1f\x7f-\x9f"  # control characters
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # ends of lines, and turns of direction
    "\ud800-\udfff"  # halves of characters, which cannot be written
)
_UNSAFE: Final = re.compile(f"[{_OBEYED}]")
_UNSAFE_IN_TEXT: Final = re.compile(f"(?![\t\n])[{_OBEYED}]")
_MOST_OF_A_CELL: Final = 100


def say(text: object = "", *, err: bool = False) -> None:
    """Print a text, made legible; lines and tabs stay."""
    shown = _UNSAFE_IN_TEXT.sub(_numbered, str(text))
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    click.echo(shown.encode(encoding, "backslashreplace").decode(encoding), err=err)


def prints_lines() -> bool:
    """Whether the command was given ``--jsonl``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(IN_LINES))


def print_json(value: object) -> None:
    """Print a JSON document, in the characters that the output has; with ``--jsonl`` the entries of
    a list, or of a page of ``results``, each on a line.
    """
    if not prints_lines():
        _print_json(value, indent=2)
        return
    listed = value.get("results") if isinstance(value, Mapping) else value
    for each in listed if isinstance(listed, list) else [value]:
        _print_json(each, indent=None)


def _print_json(value: object, indent: int | None) -> None:
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("_", "-")
    text = json.dumps(value, indent=indent, ensure_ascii=encoding not in {"utf-8", "utf8"})
    # All of these stand in strings, where JSON may write any character as its number.
    click.echo(re.sub(f"(?!\n)[{_OBEYED}]", _escaped, text))


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print lines for people; nothing but a note on standard error when there are none."""
    shown = [[clipped(cell, _MOST_OF_A_CELL) for cell in row] for row in rows]
    if not shown:
        say("Nothing found.", err=True)
        return
    widths = [max(_width(row[at]) for row in (list(head), *shown)) for at in range(len(head))]
    for row in (head, *shown):
        cells = (
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        )
        say("  ".join(cells).rstrip())


def moment(value: object, zone: str | None = None) -> str:
    """Write an instant (epoch ms, or ISO 8601) for people, in a zone or in that of ``ZONE``, with
    its offset; empty when there is none.
    """
    if isinstance(value, int | float) and value:
        try:
            return _written(datetime.fromtimestamp(value / 1000, UTC), zone)
        except (ValueError, OverflowError, OSError):
            return str(value)  # outside the calendar
    text = str(value or "")
    try:
        return _written(datetime.fromisoformat(text), zone)
    except (ValueError, OverflowError):
        return clipped(text)


def _written(instant: datetime, zone: str | None) -> str:
    found = _zone(zone or os.environ.get(ZONE) or "UTC")
    if found is UTC:
        return f"{instant.astimezone(UTC).strftime(_SECONDS)}Z"
    return instant.astimezone(found).isoformat(" ", "seconds")


def _zone(name: str) -> tzinfo:
    try:
        return zone_of(name)
    except ValueError as error:
        raise click.UsageError(f"{error}; ${ZONE} names the zone of printed times") from error


def duration(seconds: float) -> str:
    """Write how long something took, or will take, for people."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} m" if hours else f"{minutes} m {rest:02} s"


def clipped(value: object, most: int = 100) -> str:
    """Write a value legibly on one line, at most so many characters of it."""
    if isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = "" if value is None else str(value)
    # A text may be very long: no more of it is looked at than could be shown.
    text = " ".join(text[: 20 * most].split())
    shown = text if len(text) <= most else f"{text[: most - 1]}…"
    return _UNSAFE.sub(_numbered, shown)


def json_line(value: object, most: int = 1_000) -> str:
    """Write JSON on one line for people, at most so many characters of it."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > most:
        text = f"{text[:most]}… ({len(text)} characters; --json: all)"
    return _UNSAFE.sub(_numbered, text)


def objects(listed: object) -> list[dict[str, Any]]:
    """Give the objects of a JSON array; none when it is something else."""
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def chosen(found: Mapping[str, Any], names: Sequence[str]) -> list[object]:
    """Pick the fields of one line of a table."""
    return [
        moment(found.get(name)) if name.endswith("Time") else found.get(name, "") for name in names
    ]


# -------------------------------------------------------------------------------- characters


def _numbered(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"


def _width(text: str) -> int:
    """Count the columns that a text takes on a terminal."""
    return sum(
        0 if combining(each) else 2 if east_asian_width(each) in {"W", "F"} else 1 for each in text
    )
