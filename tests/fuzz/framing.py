"""What is no request at all: broken framing, half heads and bodies, floods, pipelines; as bytes."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.fuzz.values import Chance

_POST: Final = (
    b"POST /api/workflow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
)
_GET: Final = b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_METHODS: Final = (b"TRACE", b"CONNECT", b"PROPFIND", b"get", b"G E T", b"X" * 3_000, b"\x00", b"")
_VERSIONS: Final = (b"HTTP/1.0", b"HTTP/0.9", b"HTTP/9.9", b"HTTP/2.0", b"http/1.1", b"")
_TARGETS: Final = (
    b"*",
    b"",
    b"health",
    b"//evil/health",
    b"http://evil.example/health",
    b"/" + b"a" * 100_000,
    b"/%",
    b"/%ff%00",
    b"/..;/health",
    b"/health\x00",
    b"/\xff\xfe",
    b"/api/workflow/search?query=%" + b"%" * 500,
)
_ODD_HEADERS: Final = (
    b"X: " + b"y" * 200_000,
    b"\r\n".join(b"X%d: y" % each for each in range(1_500)),
    b"NoColon",
    b": empty",
    b"X:\x00",
    b"X: a\r\n folded",
    b"Host: a\r\nHost: b",
    b"Transfer-Encoding : chunked",
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x",
    b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk",
    b"Connection: close, keep-alive, \xff",
    b"Content-Length: 5\r\nTransfer-Encoding: chunked",
)
_LENGTHS: Final = (
    b"Content-Length: -1",
    b"Content-Length: 99999999999999999999999",
    b"Content-Length: 0x10",
    b"Content-Length: 1\r\nContent-Length: 2",
    b"Content-Length: 4, 4",
    b"Content-Length: 10\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: chunked, gzip",
    b"Transfer-Encoding: \x0bchunked",
)
_CHUNKS: Final = (
    b"ZZ\r\n{}\r\n0\r\n\r\n",
    b"FFFFFFFFFFFFFFFFF\r\n{}",
    b"-2\r\n{}\r\n0\r\n\r\n",
    b"2;" + b"x" * 100_000 + b"\r\n{}\r\n0\r\n\r\n",
    b"2\r\n{}XX0\r\n\r\n",
    b"2\n{}\n0\n\n",
    b"1\r\n{\r\n" * 2_000,
    b"2\r\n{}\r\n0\r\nX: y\r\n\r\n",
    b"0\r\n\r\n",
)
_HELLO: Final = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 60
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """Bytes for a connection of their own; `held` ones stay open, half sent."""

    name: str
    sent: bytes
    held: bool = False


def drawn(chance: Chance) -> Raw:
    """Any of them."""
    draw: Callable[[Chance], Raw] = chance.one(
        (_method, _version, _target, _header, _length, _chunk, _half, _pipeline, _other, _bomb)
    )
    return draw(chance)


def _method(chance: Chance) -> Raw:
    method = chance.one(_METHODS)
    return Raw(name="odd method", sent=method + b" /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


def _version(chance: Chance) -> Raw:
    version = chance.one(_VERSIONS)
    return Raw(name="odd version", sent=b"GET /health " + version + b"\r\nHost: 127.0.0.1\r\n\r\n")


def _target(chance: Chance) -> Raw:
    target = chance.one(_TARGETS)
    sent = b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    return Raw(name="odd target", sent=sent)


def _header(chance: Chance) -> Raw:
    return Raw(name="odd header", sent=_GET + chance.one(_ODD_HEADERS) + b"\r\n\r\n")


def _length(chance: Chance) -> Raw:
    return Raw(name="odd length", sent=_POST + chance.one(_LENGTHS) + b"\r\n\r\n{}")


def _chunk(chance: Chance) -> Raw:
    sent = _POST + b"Transfer-Encoding: chunked\r\n\r\n" + chance.one(_CHUNKS)
    return Raw(name="odd chunks", sent=sent)


def _half(chance: Chance) -> Raw:
    whole = _POST + b'Content-Length: 40\r\n\r\n{"name": "nobody", "input": {}}        '
    cut = chance.random.randrange(1, len(whole) - 1)
    return Raw(name="half a request", sent=whole[:cut], held=chance.often(0.3))


def _pipeline(chance: Chance) -> Raw:
    asked = (_GET + b"\r\n", b"GET /nobody HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    sent = b"".join(chance.one(asked) for _ in range(chance.random.randrange(2, 60)))
    return Raw(name="pipeline", sent=sent)


def _other(chance: Chance) -> Raw:
    noise = chance.random.randbytes(chance.random.randrange(1, 400))
    sent = chance.one((_HELLO, _PREFACE, noise, b"\r\n" * 5_000, b"\x00" * 1_000))
    return Raw(name="another protocol", sent=sent)


def _bomb(chance: Chance) -> Raw:
    packed = gzip.compress(b'{"name":"' + b"x" * 5_000_000 + b'"}', mtime=0)
    encoding = chance.one((b"gzip", b"deflate", b"br", b"x"))
    sent = _POST + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n" % (encoding, len(packed))
    return Raw(name="packed body", sent=sent + packed)
