"""Errors as answers: the one table from code to HTTP status, and Conductor's envelope.

A caller's mistake is never a 5xx, but for what Conductor answers with 501. What nobody foresaw is
logged with its traceback and answered without details.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import orjson
from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException

from conductor_py.api.answers import Answer, json_answer, response_of
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
        "READ_ONLY": 501,
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


class Errors:
    """Makes answers of errors; ``instance`` names this server in them."""

    def __init__(self, instance: str) -> None:
        """Answer for this server."""
        self._instance = instance

    def answer(self, error: Exception, asked: str) -> Answer:
        """Answer with an error, one that nobody foresaw included. What is this server's fault is
        logged; ``asked`` says there what was asked for, never the path itself: that of a payload is
        a signed URL.
        """
        foreseen = foreseen_of(error)
        if foreseen is None:
            return self._unforeseen(error, asked)
        error = foreseen
        answer = envelope(error, self._instance)
        if answer.status == 500:
            facts = {"action": "request_failed", "endpoint": asked}
            _log.error("request failed", exc_info=error, extra=facts)
        return answer

    def of_http(self, error: HTTPException) -> Answer:
        """Answer with an error of the framework: no such route, method, ..."""
        status = error.code or 500
        answer = _answer(status, _sentence(error), instance=self._instance)
        if allowed := getattr(error, "valid_methods", None):
            answer.headers["Allow"] = ", ".join(sorted(allowed))
        return answer

    def _unforeseen(self, error: Exception, asked: str) -> Answer:
        facts = {"action": "request_failed", "endpoint": asked}
        _log.error("request failed unexpectedly", exc_info=error, extra=facts)
        return _answer(500, "The server failed; its log says why.", instance=self._instance)


def foreseen_of(error: Exception) -> ConductorError | None:
    """Tell an error as callers are told it; ``None`` for one that nobody foresaw."""
    if isinstance(error, ConductorError):
        return error
    if not _is_of_stored(error):
        return None
    damaged = StoreDamaged("What the store holds of this cannot be read.")
    damaged.__cause__ = error
    return damaged


def is_unanswered(error: Exception) -> bool:
    """Whether the store that everything needs was asked, and nothing came back."""
    return isinstance(error, StoreUnavailable) and error.unanswered


def install(app: Flask, errors: Errors) -> None:
    """Make every error of ``app`` an answer in Conductor's envelope."""

    def failed(error: Exception) -> Response:
        if is_unanswered(error):
            request.environ[UNANSWERED] = True
        asked = f"{request.method} {request.url_rule.rule}" if request.url_rule else request.method
        return response_of(errors.answer(error, asked))

    app.register_error_handler(HTTPException, lambda error: response_of(errors.of_http(error)))
    app.register_error_handler(Exception, failed)


def envelope(error: ConductorError, instance: str, *, status: int | None = None) -> Answer:
    """Answer with an error; ``status`` replaces that of the table."""
    status = status or STATUS.get(error.code, 500)
    if isinstance(error, InvalidInput) and error.violations:
        listed = [shown_violation(found) for found in error.violations[:_MOST_VIOLATIONS]]
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
) -> Answer:
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


def shown_violation(found: Violation) -> dict[str, str]:
    """Write a finding as JSON: ``path``, ``message``, and ``invalidValue`` where it has one."""
    shown = {"path": found.path, "message": found.message}
    return shown if found.invalid_value is None else shown | {"invalidValue": found.invalid_value}


def _is_off(path: str) -> bool:
    """Whether a path would lead to files of executions, if there were any here."""
    of_files = path == "/api/files" or path.startswith("/api/files/")
    return of_files and "files" not in current_app.blueprints


def _sentence(error: HTTPException) -> str:
    match error.code:
        case 404 if _is_off(request.path):
            return (
                "Files of executions are switched off on this server;"
                " conductor.file-storage.enabled=true switches them on."
            )
        case 404:
            return f"No static resource {request.path.lstrip('/')}."
        case 405:
            return f"Request method '{request.method}' is not supported"
        case 413:
            return "The body is larger than this server takes; use the external payload storage."
        case _:
            return error.description or error.name
