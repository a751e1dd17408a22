"""Errors as answers: the one table from code to HTTP status, and Conductor's envelope.

A caller's mistake is never a 5xx. What nobody foresaw is logged with its traceback and answered
without details.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import orjson
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from conductor_py.api.answers import json_answer
from conductor_py.errors import (
    ConductorError,
    EpochConflict,
    InvalidInput,
    NotesConflict,
    StoreDamaged,
    StoreUnavailable,
    Violation,
)

STATUS: Mapping[str, int] = MappingProxyType(
    {
        "INTERNAL": 500,
        "INVALID_INPUT": 400,
        "INVALID_DEFINITION": 400,
        "FORBIDDEN": 403,
        "NOT_FOUND": 404,
        "CONFLICT": 409,
        "CLAIM_LOST": 409,
        "EPOCH_CONFLICT": 409,
        "NOTES_CONFLICT": 409,
        "PAYLOAD_TOO_LARGE": 413,
        "UNSUPPORTED_CONTENT": 415,
        "LIMIT_EXCEEDED": 429,
        "OVERLOADED": 503,
        "STORE_UNAVAILABLE": 503,
        "STORE_FULL": 503,
        "STORE_DAMAGED": 500,
        "CONFIGURATION": 500,
        "URL_REFUSED": 403,
        "UNKNOWN_FORMAT": 500,
    }
)
"""The HTTP status of each error code."""

UNANSWERED = "conductor.unanswered"
"""Set in the WSGI environment of a request that the store did not answer."""
_MOST_VIOLATIONS = 200
_VALIDATION_FAILED = "Validation failed, check below errors for detail."
_log = logging.getLogger(__name__)


def install(app: Flask, instance: str) -> None:
    """Make every error of ``app`` an answer in Conductor's envelope; ``instance`` names us."""

    def conductor_error(error: ConductorError) -> Response:
        answer = envelope(error, instance)
        if isinstance(error, StoreUnavailable) and error.unanswered:
            request.environ[UNANSWERED] = True
        if answer.status_code == 500:
            _log.error(
                "request failed",
                exc_info=error,
                extra={"action": "request_failed", "endpoint": _endpoint()},
            )
        return answer

    def http_error(error: HTTPException) -> Response:
        status = error.code or 500
        answer = _answer(status, _sentence(error), instance=instance)
        if allowed := getattr(error, "valid_methods", None):
            answer.headers["Allow"] = ", ".join(sorted(allowed))
        return answer

    def unforeseen(error: Exception) -> Response:
        if _is_of_stored(error):
            damaged = StoreDamaged("What the store holds of this cannot be read.")
            damaged.__cause__ = error
            return conductor_error(damaged)
        _log.error(
            "request failed unexpectedly",
            exc_info=error,
            extra={"action": "request_failed", "endpoint": _endpoint()},
        )
        return _answer(500, "The server failed; its log says why.", instance=instance)

    handlers: tuple[tuple[type[Exception], Callable[[Any], Response]], ...] = (
        (ConductorError, conductor_error),
        (HTTPException, http_error),
        (Exception, unforeseen),
    )
    for kind, handler in handlers:
        app.register_error_handler(kind, handler)


def envelope(error: ConductorError, instance: str, *, status: int | None = None) -> Response:
    """Answer with an error; ``status`` replaces that of the table."""
    status = status or STATUS.get(error.code, 500)
    if isinstance(error, InvalidInput) and error.violations:
        listed = [_violation(found) for found in error.violations[:_MOST_VIOLATIONS]]
        if more := len(error.violations) - len(listed):
            listed.append({"path": "$", "message": f"and {more} more"})
        return _answer(status, _VALIDATION_FAILED, code=error.code, validationErrors=listed)
    found = _found(error)
    answer = _answer(
        status,
        error.message,
        instance=instance,
        retryable=error.retryable,
        code=error.code,
        **found,
    )
    if isinstance(error, StoreUnavailable):
        answer.headers["Retry-After"] = str(error.retry_after_s)
    elif error.retryable:
        answer.headers["Retry-After"] = "1"
    return answer


def _found(error: ConductorError) -> dict[str, int]:
    """What is there instead of what was expected."""
    match error:
        case EpochConflict(epoch=epoch):
            return {"epoch": epoch}
        case NotesConflict(notes=notes):
            return {"notes": notes}
    return {}


def _answer(
    status: int,
    message: str,
    *,
    retryable: bool = False,
    **more: Any,  # noqa: ANN401 - members of the envelope
) -> Response:
    body = {"status": status, "message": message, "retryable": retryable, **more}
    return json_answer(body, status=status)


def _is_of_stored(error: Exception) -> bool:
    """Whether it was raised as something stored was read: what callers send is parsed elsewhere,
    and refused there.
    """
    if isinstance(error, orjson.JSONDecodeError):
        return True
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(
        frame.f_globals.get("__name__", "").startswith("conductor_py.codec.")
        and frame.f_code.co_name.startswith("load_")
        for frame in frames
    )


def _endpoint() -> str:
    # Never the path itself: that of a payload is a signed URL.
    return f"{request.method} {request.url_rule.rule}" if request.url_rule else request.method


def _violation(found: Violation) -> dict[str, str]:
    shown = {"path": found.path, "message": found.message}
    return shown if found.invalid_value is None else shown | {"invalidValue": found.invalid_value}


def _sentence(error: HTTPException) -> str:
    match error.code:
        case 404:
            return f"No static resource {request.path.lstrip('/')}."
        case 405:
            return f"Request method '{request.method}' is not supported"
        case 413:
            return "The body is larger than this server takes; use the external payload storage."
        case _:
            return error.description or error.name
