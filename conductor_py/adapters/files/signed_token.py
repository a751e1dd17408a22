"""Signed tokens: a permission that whoever holds it cannot widen.

A token is the JSON of a ``Grant`` and its HMAC-SHA256, both in URL-safe base64. Everything that a
permission depends on is inside what is signed; a token of another format version is refused like a
forged one.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

import orjson

from conductor_py.ports.payloads import UrlRefused
from conductor_py.records import dataclass

_FORMAT = 1
_MAX_LENGTH = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One method on one path, until an instant, up to a number of bytes."""

    method: str
    path: str
    expires_ms: int
    max_bytes: int


def sign(grant: Grant, secret: bytes) -> str:
    """Make the token of a grant."""
    claims = orjson.dumps([_FORMAT, grant.method, grant.path, grant.expires_ms, grant.max_bytes])
    return f"{_encode(claims)}.{_encode(_mac(claims, secret))}"


def verify(token: str, secret: bytes, *, method: str, now_ms: int) -> Grant:
    """Read a token that must be genuine, for this method and not expired; else ``UrlRefused``."""
    encoded, _, signature = token.partition(".")
    try:
        if len(token) > _MAX_LENGTH:
            raise UrlRefused
        claims = _decode(encoded)
        if not hmac.compare_digest(_decode(signature), _mac(claims, secret)):
            raise UrlRefused
        # Tokens of releases up to 0.1 name a content type behind the rest.
        version, *fields = orjson.loads(claims)[:5]
    except (ValueError, binascii.Error) as error:
        raise UrlRefused from error
    if version != _FORMAT:
        raise UrlRefused
    names = ("method", "path", "expires_ms", "max_bytes")
    grant = Grant(**dict(zip(names, fields, strict=True)))
    if grant.method != method:
        raise UrlRefused("The URL is for another method.")
    if now_ms >= grant.expires_ms:
        raise UrlRefused("The URL has expired.")
    return grant


def _mac(claims: bytes, secret: bytes) -> bytes:
    return hmac.new(secret, claims, hashlib.sha256).digest()


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    # Only what ``_encode`` writes: base64 has bits to spare in its last letter, and Python skips
    # characters outside the alphabet, so that several texts would stand for one signature.
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _encode(data) != text:
        raise UrlRefused
    return data
