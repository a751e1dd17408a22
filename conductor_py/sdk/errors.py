"""What goes wrong between a client or worker and the server, as typed errors.

One table turns an HTTP answer into the package's error tree; the two errors that a worker's
function raises on purpose stand here too. No message carries a signed URL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import orjson

from conductor_py.errors import (
    ClaimLost,
    ConductorError,
    Conflict,
    DefinitionError,
    EpochConflict,
    InvalidInput,
    LimitExceeded,
    NotesConflict,
    NotFound,
    Overloaded,
    PayloadTooLarge,
    ReadOnly,
    StoreFull,
    StoreUnavailable,
    Violation,
)

if TYPE_CHECKING:
    from conductor_py.sdk.transport import Answer

_NO_ROUTE = "No static resource"
_BAD_REQUEST = 400
_NOT_FOUND = 404
_CONFLICT = 409
_TOO_LARGE = 413
_TOO_MANY = 429
_SERVER_ERROR = 500
_AWAY = frozenset({502, 503, 504})


class UnexpectedAnswer(ConductorError):
    """The server gave an answer that this client does not understand."""

    code: ClassVar[str] = "UNEXPECTED_ANSWER"

    def __init__(self, message: str, *, status: int) -> None:
        """Keep the HTTP status beside the sentence."""
        self.status = status
        super().__init__(message)


class AnswerTooLarge(UnexpectedAnswer):
    """An answer, or a payload, is larger than this client takes; the rest of it was not read."""

    code: ClassVar[str] = "ANSWER_TOO_LARGE"


class ServerFailure(UnexpectedAnswer):
    """The server failed at the request (an HTTP status of 500 or more)."""

    code: ClassVar[str] = "SERVER_FAILURE"
    retryable: ClassVar[bool] = True


class NonRetryableError(Exception):
    """Raised by a worker's function: the task fails for good, whatever retries its definition has
    left.
    """


class TaskCancelled(Exception):
    """The task is no longer this worker's: its function should stop, nothing will be reported."""


class StopRequested(Exception):
    """Somebody asked the task to stop where it can go on later: its function should end; the task
    is put off until somebody resumes it. A message becomes the reason that the task shows.
    """


class CancelRequested(Exception):
    """Somebody asked the task to end for good: its function should end; the task fails."""


def error_from(answer: Answer, asked: str, base: str) -> ConductorError:
    """Return the typed error that an answer of status 300 or more means; ``asked`` names the
    request, and ``base`` is the URL that all begin with.
    """
    body = _error_object(answer.body)
    told = body.get("message")
    sentence = told if isinstance(told, str) and told else f"status {answer.status}"
    message = f"{asked}: {sentence}"
    status = answer.status
    if status == _NOT_FOUND and sentence.startswith(_NO_ROUTE) and "api" not in base.split("/"):
        hint = f"{message} The server URL probably lacks /api: use {base}/api"
        return UnexpectedAnswer(hint, status=status)
    if status == _BAD_REQUEST:
        kind = DefinitionError if body.get("code") == DefinitionError.code else InvalidInput
        return kind(message, violations=_violations(body))
    if body.get("code") == ReadOnly.code:
        return ReadOnly(message)
    if status in _AWAY or (status >= _SERVER_ERROR and body.get("retryable") is True):
        kinds = {kind.code: kind for kind in (Overloaded, StoreFull)}
        away = kinds.get(str(body.get("code")), StoreUnavailable)
        return away(message, retry_after_s=_retry_after_s(answer))
    if status == _CONFLICT:
        return _conflict(message, body)
    simple: dict[int, type[ConductorError]] = {
        _NOT_FOUND: NotFound,
        _TOO_LARGE: PayloadTooLarge,
        _TOO_MANY: LimitExceeded,
    }
    if status in simple:
        return simple[status](message)
    if status >= _SERVER_ERROR:
        return ServerFailure(message, status=status)
    return UnexpectedAnswer(message, status=status)


def _conflict(message: str, body: dict[str, object]) -> Conflict:
    match body.get("code"), body.get("epoch"), body.get("notes"):
        case ClaimLost.code, _, _:
            return ClaimLost(message)
        case EpochConflict.code, int(epoch), _:
            return EpochConflict(message, epoch=epoch)
        case NotesConflict.code, _, int(notes):
            return NotesConflict(message, notes=notes)
    return Conflict(message)


def _error_object(body: bytes) -> dict[str, object]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _violations(body: dict[str, object]) -> tuple[Violation, ...]:
    listed = body.get("validationErrors")
    if not isinstance(listed, list):
        return ()
    return tuple(
        Violation(
            path=str(entry.get("path", "$")),
            message=str(entry.get("message", "is not valid")),
            invalid_value=None if (value := entry.get("invalidValue")) is None else str(value),
        )
        for entry in listed
        if isinstance(entry, dict)
    )


def _retry_after_s(answer: Answer) -> int:
    text = answer.headers.get("retry-after", "")
    return int(text) if text.isdecimal() else 1
