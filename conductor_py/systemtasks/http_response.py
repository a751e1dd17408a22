"""The answer to an HTTP task's request, as it stands in the output."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson

from conductor_py.model.json import JsonValue
from conductor_py.records import dataclass
from conductor_py.systemtasks.http_request import charset_of
from conductor_py.wire.outside import OutsideJson

_SHOWN: Final = 2_000
_MAX_DEPTH: Final = 100
#: Who has a heavy answer waits for others: asked once more, its peer might do things twice.
_WAIT_S: Final = 60.0
_CONTAINER: Final = re.compile(r"[ \t\r\n]*+[\[{]")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """What came back, its body already read and unpacked."""

    status: int
    reason: str
    headers: Mapping[str, list[str]]
    body: bytes

    @property
    def successful(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status < 300

    @property
    def phrase(self) -> str:
        """What the server called its status, else the usual words."""
        if self.reason:
            return self.reason
        return HTTPStatus(self.status).phrase if self.status in set(HTTPStatus) else ""

    def header(self, name: str) -> str:
        """The first value of a header, empty when it is absent."""
        found = [v for key, values in self.headers.items() if key.lower() == name for v in values]
        return found[0] if found else ""

    def to_json(self, outside: OutsideJson) -> dict[str, JsonValue]:
        """Write it as the output's ``response``, its body read by ``outside``: ``PayloadTooLarge``,
        ``Overloaded``.

        A body that is no text is written in base64, and ``bodyEncoding`` says so.
        """
        text = self._text()
        written: dict[str, Any] = {
            "response": {
                "headers": self.headers,
                "reasonPhrase": self.phrase,
                "body": b64encode(self.body).decode() if text is None else _value(text, outside),
                "statusCode": self.status,
            }
        }
        if text is None:
            written["response"]["bodyEncoding"] = "base64"
        return written

    def to_sentence(self) -> str:
        """Write it as the reason of a failure."""
        text = self._text()
        if text is None:
            shown = f"[{len(self.body)} bytes that are no text]"
        else:
            shown = f'"{text[:_SHOWN]}"' if text else "[no body]"
        return f"{self.status} {self.phrase}".strip() + f": {shown}"

    def _text(self) -> str | None:
        try:
            text = self.body.decode(charset_of(self.header("content-type")) or "utf-8")
            text.encode()
        except UnicodeError:
            return None
        return text


def _value(text: str, outside: OutsideJson) -> JsonValue:
    """Read a body: objects and lists are kept, a number is a decimal one, all else is its text."""
    if not text:
        return None
    try:
        # What begins as neither is one value, or no JSON: a table of many commas stays a text.
        found = (
            outside.parse(text.encode(), "The answer", wait_s=_WAIT_S)
            if _CONTAINER.match(text)
            else orjson.loads(text)
        )
    except orjson.JSONDecodeError:
        return text
    if isinstance(found, (dict, list)):
        return text if _is_deep(found) else found
    if isinstance(found, bool) or found is None:
        return text.strip()
    return float(found) if isinstance(found, (int, float)) else str(found)


def _is_deep(value: object) -> bool:
    """Whether it is nested deeper than an output may be."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > _MAX_DEPTH:
            return True
        below: list[object] = []
        for each in level:
            members = each.values() if isinstance(each, dict) else each
            below += [m for m in members if isinstance(m, (dict, list))]  # type: ignore[attr-defined]
        level = below
    return False
