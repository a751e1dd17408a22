"""Requests as values: what is sent, and how a reader sends it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

_JSON: Final = ("Content-Type", "application/json")
_SHOWN_BODY: Final = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request with whole framing; `kind` and `route` say what it is counted as."""

    kind: str
    method: str
    target: str
    route: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    def bytes(self, host: str) -> bytes:
        """What goes over the wire."""
        own = () if any(name.lower() == "host" for name, _ in self.headers) else (("Host", host),)
        framing = (("Content-Length", str(len(self.body))),) if self.body is not None else ()
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in (*own, *self.headers, *framing)]
        head = "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n"
        return head + (self.body or b"")

    def curl(self, base: str) -> str:
        """The same as a command line; a body that is no text, or long, is shown in part."""
        words = ["curl", "-i", "-X", self.method, f"{base}{self.target}"]
        for name, value in self.headers:
            words += ["-H", f"{name}: {value}"]
        if self.body is not None:
            text = self.body.decode("utf-8", "backslashreplace")
            more = len(text) - _SHOWN_BODY
            shown = text if more <= 0 else f"{text[:_SHOWN_BODY]}... and {more} more"
            words += ["--data-binary", shown]
        return shlex.join(words)


def request(
    kind: str,
    method: str,
    path: str,
    *names: str,
    body: bytes | None = None,
    query: Iterable[tuple[str, object]] = (),
) -> Request:
    """A request of JSON; `{}` in the path are filled with names, escaped."""
    told = "&".join(f"{quote(key)}={escaped(value)}" for key, value in query)
    filled = path.format(*(escaped(name) for name in names))
    return Request(
        kind=kind,
        method=method,
        target=filled + (f"?{told}" if told else ""),
        route=path,
        headers=(_JSON,) if body is not None else (),
        body=body,
    )


def escaped(value: object) -> str:
    """Its text, for a path or a query."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return quote(text.encode("utf-8", "surrogatepass"), safe="")
