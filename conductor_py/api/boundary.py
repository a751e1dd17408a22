"""The browser's boundary: which requests may reach a route at all.

A browser sends what a page of anybody tells it to, from inside the network that it is in. So three
things are looked at before any route, whatever the method is. ``Host`` must name this server: a
name that an attacker's name server points here (DNS rebinding) does not. ``Origin``,
``Sec-Fetch-Site`` and, where a browser sends neither, ``Referer`` must not say that another site's
page asks. A body must be JSON. What fails is answered 403 or 415, and nothing of it has happened.

Clients that are no browsers send none of these headers, and go on as they always did. No answer
has its type guessed (``nosniff``), and none allows other origins to read it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import orjson

from conductor_py.api.bodies import has_body
from conductor_py.api.errors import STATUS
from conductor_py.errors import ConductorError, Forbidden, UnsupportedContent

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_LOOPBACK: Final = ("localhost", "*.localhost")
_EVERYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104 - what it means, not a use
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{0,5})?")
_LABEL: Final = 63
"""The most characters between two dots of a name."""
_READS: Final = ("GET", "HEAD", "OPTIONS")
_OWN_SITE: Final = ("same-origin", "none")
_BROWSER: Final = "Mozilla/"
_API: Final = "/api"
_UPLOADS: Final = ("/api/payloads/", "/api/files/content/")
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
#: What has effects although it is a GET, as Conductor has it.
_ACTING: Final = re.compile(
    r"/api/tasks/poll/|/api/workflow/execute/|/api/scheduler/(admin|schedules/[^/]+)/(pause|resume|requeue)"
)
_NOSNIFF: Final = ("X-Content-Type-Options", "nosniff")
_REASONS: Final = {403: "403 FORBIDDEN", 415: "415 UNSUPPORTED MEDIA TYPE"}


class Boundary:
    """What this server is called, and who may ask it from a browser."""

    def __init__(
        self, *, bound: str = "127.0.0.1", hosts: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> None:
        """``bound`` is the address that is listened on, ``hosts`` further names (``*.lan`` those
        below one), ``origins`` those of pages of others that may ask.
        """
        given = [name.lower().rstrip(".") for name in (*_LOOPBACK, bound, *hosts)]
        self._names = frozenset(name for name in given if not name.startswith("*."))
        self._below = tuple(name[1:] for name in given if name.startswith("*."))
        # Where other machines ask, they may use a name of their own network's; it has no dots, and
        # no name server of an attacker's answers for it.
        self._takes_short_names = not _is_loopback(bound)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def check(self, environ: WSGIEnvironment) -> None:
        """Let a request pass, or raise ``Forbidden`` or ``UnsupportedContent``."""
        host = environ.get("HTTP_HOST", "").lower()
        if host and not self._is_ours(host):
            raise Forbidden(
                "The request's Host is no name of this server; "
                "conductor.server.allowedHosts takes further ones."
            )
        origin = environ.get("HTTP_ORIGIN")
        site = environ.get("HTTP_SEC_FETCH_SITE")
        is_browser = origin is not None or site is not None or _names_itself(environ)
        if is_browser and not self._is_own_page(environ, host, origin, site):
            raise Forbidden(
                "A page of another site asked for this; "
                "conductor.server.allowedOrigins takes origins that may."
            )
        if has_body(environ) and not environ["PATH_INFO"].startswith(_UPLOADS):
            _check_type(environ.get("CONTENT_TYPE", ""), is_browser=is_browser)

    def _is_ours(self, host: str) -> bool:
        matched = _AUTHORITY.fullmatch(host)
        if matched is None:
            return False
        name = matched[1].removesuffix(".")
        if not all(0 < len(label) <= _LABEL for label in name.split(".")):
            return False
        if name in self._names or name.endswith(self._below):
            return True
        if self._takes_short_names and "." not in name and not name.startswith("["):
            return True
        # Nobody has to be asked what an address means, so it cannot be made to mean another one.
        return _is_address(name.strip("[]"))

    def _is_own_page(
        self, environ: WSGIEnvironment, host: str, origin: str | None, site: str | None
    ) -> bool:
        if origin is not None:
            return self._is_trusted(origin, host)
        if site is not None:
            return site in _OWN_SITE or _is_link(environ)
        # Over HTTP to another machine a browser says no more than where the page was, if that.
        referer = environ.get("HTTP_REFERER")
        if referer is not None:
            return self._is_trusted(_origin_of(referer), host) or _is_page(environ)
        is_read = environ["REQUEST_METHOD"] in _READS
        return is_read and _ACTING.match(environ["PATH_INFO"]) is None

    def _is_trusted(self, origin: str, host: str) -> bool:
        origin = origin.lower()
        if origin in self._origins:
            return True
        scheme, separator, authority = origin.partition("://")
        if not separator or not host:
            return False
        # A proxy may have taken TLS off: the scheme says nothing, the port of each may be implied.
        port = {"http": ":80", "https": ":443"}.get(scheme, "")
        return host in {authority, f"{authority}{port}"} or authority == f"{host}{port}"


def bounded(application: WSGIApplication, boundary: Boundary, *, instance: str) -> WSGIApplication:
    """Wrap an application; what does not pass is answered here."""

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # The router passes over further slashes: whoever judges a path must see what it will see.
        environ["PATH_INFO"] = f"/{environ['PATH_INFO'].lstrip('/')}"
        try:
            boundary.check(environ)
        except ConductorError as error:
            return _refused(error, instance, start_response, read=not has_body(environ))

        def begin(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[..., Any]:  # noqa: ANN401 - as WSGI has it
            return start_response(status, [*headers, _NOSNIFF], *error)

        return application(environ, begin)

    return served


def _refused(
    error: ConductorError, instance: str, start_response: StartResponse, *, read: bool
) -> Iterable[bytes]:
    status = STATUS[error.code]
    told = {"status": status, "message": error.message, "retryable": False}
    body = orjson.dumps(told | {"instance": instance, "code": error.code})
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        _NOSNIFF,
    ]
    if not read:
        headers.append(("Connection", "close"))
    start_response(_REASONS[status], headers)
    return [body]


def _check_type(given: str, *, is_browser: bool) -> None:
    kind = given.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return
    # Text and no type at all are what old clients send; a page of another site may send them, too.
    if is_browser or kind in _FORMS:
        raise UnsupportedContent


def _names_itself(environ: WSGIEnvironment) -> bool:
    """Whether a browser says so: a page cannot make it leave these out. Some command lines call
    themselves Mozilla, but have no language.
    """
    agent = environ.get("HTTP_USER_AGENT", "")
    return agent.startswith(_BROWSER) and "HTTP_ACCEPT_LANGUAGE" in environ


def _is_link(environ: WSGIEnvironment) -> bool:
    """Whether somebody followed a link of another site to a page of ours, which only shows."""
    return environ.get("HTTP_SEC_FETCH_MODE") == "navigate" and _is_page(environ)


def _is_page(environ: WSGIEnvironment) -> bool:
    return environ["REQUEST_METHOD"] in _READS and not environ["PATH_INFO"].startswith(_API)


def _origin_of(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "null"
    return f"{parts.scheme}://{parts.netloc}"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(bound: str) -> bool:
    if bound in _EVERYWHERE:
        return False
    try:
        return ipaddress.ip_address(bound).is_loopback
    except ValueError:
        return bound == "localhost"
