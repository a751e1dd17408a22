"""Logs: on standard error, a line or a JSON object each.

A record is a constant sentence with facts beside it (``extra``); both formats show the facts.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import orjson

from conductor_py.config.server import Log

_KNOWN: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
#: Libraries that tell at INFO what they do all the time.
_QUIET: Final = ("rq", "elastic_transport", "botocore", "urllib3", "werkzeug")


def configure_logs(settings: Log) -> None:
    """Log of this process: everything at the configured level or above."""
    handler = logging.StreamHandler(sys.stderr)
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
        facts = "".join(f" {name}={value}" for name, value in _facts(record).items())
        line = f"{_moment(record)} {record.levelname:<7} {record.getMessage()}{facts}"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
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
        return orjson.dumps(shown, default=str).decode()
