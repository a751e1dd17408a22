"""Logs: on standard error, a line or a JSON object each.

A record is a constant sentence with facts beside it (``extra``); both formats show the facts.

Facts hold what strangers wrote: names, correlation ids, messages of errors. What ends a line, moves
a cursor or turns the direction of writing is escaped, so that a record is one line, whoever reads
it. Only a traceback has lines of its own, and each of them is indented.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import orjson

from conductor_py.config.server import Log
from conductor_py.processes.repeated_lines import RepeatedLines, SparingHandler

_KNOWN: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
#: Libraries that tell at INFO what they do all the time.
_QUIET: Final = ("rq", "elastic_transport", "botocore", "urllib3", "werkzeug")


#: Control characters, ends of lines, turns of direction, halves of characters.
_OBEYED: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_INDENT: Final = "    "


def configure_logs(settings: Log) -> None:
    """Log of this process: everything at the configured level or above."""
    handler = SparingHandler(sys.stderr, RepeatedLines(_facts))
    handler.setFormatter(_Json() if settings.format == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def _facts(record: logging.LogRecord) -> Mapping[str, object]:
    return {name: value for name, value in record.__dict__.items() if name not in _KNOWN}


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {name}={_fact(value)}" for name, value in _facts(record).items())
        line = _legible(f"{_moment(record)} {record.levelname:<7} {record.getMessage()}{facts}")
        if record.exc_info:
            trace = self.formatException(record.exc_info).split("\n")
            line = "\n".join((line, *(f"{_INDENT}{_legible(each)}" for each in trace)))
        return line


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        shown: dict[str, object] = {
            "time": _moment(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        return _legible(_dumped(shown))


def _dumped(shown: Mapping[str, object]) -> str:
    try:
        return orjson.dumps(shown, default=str).decode()
    except TypeError:  # a half of a character, a key that is no text, a number of many digits
        return json.dumps(shown, default=str, skipkeys=True)


def _fact(value: object) -> object:
    """A text that could be taken for further facts stands in quotes."""
    mistaken = isinstance(value, str) and "=" in value
    return json.dumps(value, ensure_ascii=False) if mistaken else value


def _legible(text: str) -> str:
    """Write what a reader or a terminal would obey as the escape of JSON and Python."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
