"""Refusals that the gate in front of the application says itself, before anything is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import orjson

from conductor_py.api.errors import STATUS
from conductor_py.errors import ConductorError

if TYPE_CHECKING:
    from wsgiref.types import StartResponse


class Refusal(NamedTuple):
    """An answer that is the same each time."""

    status: str
    body: bytes
    is_retryable: bool


def refusal_of(error: ConductorError, instance: str) -> Refusal:
    """Make the answer to an error; what may be tried again is a 503, anything else a 400."""
    status = STATUS[error.code]
    told = {"status": status, "message": error.message, "retryable": error.retryable}
    body = orjson.dumps(told | {"instance": instance, "code": error.code})
    line = "503 SERVICE UNAVAILABLE" if error.retryable else f"{status} BAD REQUEST"
    return Refusal(line, body, error.retryable)


def said(refusal: Refusal, start_response: StartResponse, *, read: bool) -> Iterable[bytes]:
    """Answer with it; a connection whose body was not read (``read``) ends."""
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(refusal.body)))]
    if refusal.is_retryable:
        headers.append(("Retry-After", "1"))
    if not read:
        headers.append(("Connection", "close"))
    start_response(refusal.status, headers)
    return [refusal.body]
