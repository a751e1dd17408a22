"""How long the names may be that callers invent: they stand in keys, in every list and in logs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.requests import PollRequest, StartRequest

LONGEST: Final = 1_000
"""Characters of a name, a correlation id, an idempotency key, and the like."""

LONGEST_LINE: Final = 32_768
"""Characters of a log line; the rest is left out."""

_MOST_DOMAINS: Final = 1_000


def refuse_long_start(request: StartRequest) -> None:
    """Raise ``InvalidInput`` for a start whose names are too long, or name too many domains."""
    _refuse(
        (
            ("name", request.name),
            ("correlationId", request.correlation_id),
            ("idempotencyKey", request.idempotency_key),
            ("createdBy", request.created_by),
            ("externalInputPayloadStoragePath", request.external_input),
            *(("taskToDomain", text) for pair in request.task_to_domain.items() for text in pair),
        )
    )
    if len(request.task_to_domain) > _MOST_DOMAINS:
        message = f"must not name more than {_MOST_DOMAINS:,} task types"
        raise InvalidInput(violations=(Violation(path="$.taskToDomain", message=message),))


def refuse_long_poll(request: PollRequest) -> None:
    """Raise ``InvalidInput`` for a poll whose names are too long."""
    _refuse(
        (
            ("taskType", request.task_type),
            ("domain", request.domain),
            ("workerid", request.worker),
        )
    )


def shortened_line(line: str) -> str:
    """Return a log line as it is kept."""
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]}… ({len(line) - LONGEST_LINE:,} more characters)"


def too_long(text: str) -> str | None:
    """Say that a name is too long; None when it is not."""
    return _sentence(text) if len(text) > LONGEST else None


def _sentence(text: str) -> str:
    return f"must not be longer than {LONGEST:,} characters, it has {len(text):,}"


def _refuse(texts: Iterable[tuple[str, str | None]]) -> None:
    found = [(name, text) for name, text in texts if text and len(text) > LONGEST]
    if found:
        violations = (Violation(path=f"$.{name}", message=_sentence(text)) for name, text in found)
        raise InvalidInput(violations=tuple(violations))
