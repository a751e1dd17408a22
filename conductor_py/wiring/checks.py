"""Looks at what the engine stands on, for a check-up: each changes nothing."""

from __future__ import annotations

from dataclasses import replace

from conductor_py.config import Settings
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.payloads import PayloadKind
from conductor_py.records import dataclass
from conductor_py.wiring.installation import data_directory
from conductor_py.wiring.payloads import payloads_of
from conductor_py.wiring.redis import connect, described
from conductor_py.wiring.search import search_of

_DOCUMENT = b'{"checkup": true}'
_NOBODY = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisFacts:
    """What a Redis is, what is not as it should be, and its clock (epoch ms)."""

    version: str
    warnings: tuple[str, ...]
    now_ms: float


def describe_redis(settings: Settings) -> RedisFacts:
    """Ask Redis (``ConfigurationError``, ``StoreUnavailable``)."""
    connection = connect(settings)
    try:
        version, warnings = described(connection)
        seconds, micros = connection.command("TIME")
        now_ms = int(seconds) * 1000 + int(micros) / 1000
        return RedisFacts(version=version, warnings=warnings, now_ms=now_ms)
    finally:
        connection.close()


def check_search(settings: Settings) -> None:
    """Read from the index (``StoreUnavailable``); a file or indices that are not there yet are not
    made.
    """
    file = data_directory(settings) / "search.sqlite3"
    if settings.index.type != "sqlite" or file.exists():
        untouched = replace(settings, index=replace(settings.index, manage=False))
        search_of(untouched).archived(_NOBODY)


def check_payloads(settings: Settings) -> None:
    """Store a document, read and delete it (``StoreUnavailable``)."""
    payloads = payloads_of(settings)
    path = payloads.put(PayloadKind.TASK_OUTPUT, _DOCUMENT)
    try:
        if payloads.get(path) != _DOCUMENT:
            raise StoreUnavailable(
                "The payload storage gives back something else than it was given"
            )
    finally:
        payloads.delete(path)
