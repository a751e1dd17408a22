"""The request of an HTTP task, read from its input."""

from __future__ import annotations

import codecs
import re
from base64 import b64encode
from collections.abc import Mapping
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import Final
from urllib.parse import unquote, urlencode

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from conductor_py.codec.execution import dump_json
from conductor_py.model.http_methods import METHODS
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass

_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: What says where a request ends is for the connection to write.
_OF_THE_WIRE: Final = frozenset({"connection", "content-length", "transfer-encoding"})
_CHARSET: Final = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.IGNORECASE)
#: Those of the world. Python has some of its own besides: what punycode takes for a text of 20,000
#: letters is a minute of processor time. It also keeps each name that it was ever asked for.
_CHARSETS: Final = frozenset(
    {
        *aliases.values(),
        *("cp1006", "cp720", "cp737", "cp856", "cp874", "cp875", "koi8_t", "koi8_u", "utf_8_sig"),
        *("mac_arabic", "mac_croatian", "mac_farsi", "mac_romanian"),
    }
)


class UnusableRequest(Exception):
    """The input is not a request; the message says what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request as it goes out. Times are in seconds."""

    method: str
    url: Url
    headers: Mapping[str, str]
    body: bytes | None
    connect_s: float
    read_s: float

    @property
    def where(self) -> str:
        """Host and port, for people; the rest of a URL may hold secrets."""
        return f"{self.url.host}:{self.url.port}" if self.url.port else str(self.url.host)


def read_request(given: JsonObject, *, connect_ms: int, read_ms: int) -> HttpRequest:
    """Read ``http_request``, or the input itself where that is absent.

    The times hold where the input says none. Raises ``UnusableRequest``.
    """
    wanted = given.get("http_request", given)
    if not isinstance(wanted, Mapping):
        raise UnusableRequest("http_request must be an object")
    uri, method = wanted.get("uri"), wanted.get("method")
    if not isinstance(uri, str) or not uri.strip():
        raise UnusableRequest("The input 'uri' is missing: it must be a URL")
    if not isinstance(method, str) or method.upper() not in METHODS:
        raise UnusableRequest(f"The input 'method' must be one of {', '.join(sorted(METHODS))}")
    url = read_url(uri.strip())
    headers = _headers(wanted, url)
    return HttpRequest(
        method=method.upper(),
        url=url,
        headers=headers,
        body=_body(wanted.get("body"), headers),
        connect_s=_milliseconds(wanted, "connectionTimeOut", connect_ms) / 1000,
        read_s=_milliseconds(wanted, "readTimeOut", read_ms) / 1000,
    )


def read_url(text: str) -> Url:
    """Read an absolute http or https URL; what must not stand in one is escaped."""
    try:
        url = parse_url(text)
    except LocationParseError:
        raise UnusableRequest("The input 'uri' is not a URL") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise UnusableRequest("The input 'uri' must begin with http:// or https:// and a host")
    return url


def charset_of(content_type: str) -> str | None:
    """The character set that a content type names and this machine knows."""
    found = _CHARSET.search(content_type)
    written = normalize_encoding(found.group(1).lower()) if found else ""
    if aliases.get(written, written) not in _CHARSETS:
        return None
    try:
        name = codecs.lookup(written).name
        # What Python knows under such a name may be no character set at all: zlib, say.
        "a".encode(name).decode(name)
    except (LookupError, ValueError):
        return None
    return name


def _headers(wanted: JsonObject, url: Url) -> dict[str, str]:
    given = wanted.get("headers")
    if given is not None and not isinstance(given, Mapping):
        raise UnusableRequest("The input 'headers' must be an object")
    headers = {
        "Accept": _line("accept", _texts(wanted.get("accept") or _JSON)),
        "Content-Type": _line("contentType", _texts(wanted.get("contentType") or _JSON)),
    }
    if url.auth:
        credentials = unquote(url.auth).encode()
        headers["Authorization"] = f"Basic {b64encode(credentials).decode()}"
    written = {name.lower(): name for name in headers}
    for name, value in (given or {}).items():
        if not _TOKEN.fullmatch(name):
            raise UnusableRequest("A name in 'headers' is not the name of a header")
        if value is not None and name.lower() not in _OF_THE_WIRE:
            headers.pop(written.get(name.lower(), ""), None)
            headers[name] = _line(f"headers.{name}", _texts(value))
            written[name.lower()] = name
    return headers


def _texts(value: JsonValue) -> str:
    """Write a value as one header line; a list as its items."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return ", ".join(_texts(each) for each in value)
    return dump_json(value).decode()


def _line(name: str, text: str) -> str:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        raise UnusableRequest(f"The input '{name}' has characters no header can have") from None
    if any(ord(character) < 32 and character != "\t" for character in text):
        raise UnusableRequest(f"The input '{name}' must be one line")
    return text.strip()


def _body(body: JsonValue, headers: Mapping[str, str]) -> bytes | None:
    if body is None:
        return None
    written = next((v for name, v in headers.items() if name.lower() == "content-type"), _JSON)
    media = written.partition(";")[0].strip().lower()
    if isinstance(body, str):
        return body.encode(charset_of(written) or "utf-8", "replace")
    if media == _FORM and isinstance(body, Mapping):
        return urlencode({k: _form(v) for k, v in body.items() if v is not None}, True).encode()
    return dump_json(body)


def _form(value: JsonValue) -> str | list[str]:
    if isinstance(value, (list, tuple)):
        return [_texts(each) for each in value]
    return _texts(value)


def _milliseconds(wanted: JsonObject, name: str, default: int) -> float:
    """A time of the input; none and 0 stand for the default."""
    value = wanted.get(name)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = -1
    if value is None or value == 0:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e10:
        raise UnusableRequest(f"The input '{name}' must be a number of milliseconds")
    return value
