"""Connections to addresses that were judged, one for each request.

Nothing is kept open between calls. A kept connection may be closed by the other side just as a
request is written to it, and then nobody knows whether a POST arrived.
"""

from __future__ import annotations

import socket
import ssl
from functools import cache
from ipaddress import ip_address
from typing import Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util import Url

from conductor_py.outbound.addresses import AddressRules
from conductor_py.outbound.deadline import Deadline
from conductor_py.outbound.lookup import LOOKUPS, LookupLate

_MOST_ADDRESSES: Final = 16


class GuardedConnection(HTTPConnection):
    """A connection that goes only where the rules allow, and ends with the deadline."""

    rules: AddressRules
    deadline: Deadline
    connect_s: float

    def _new_conn(self) -> socket.socket:
        """Connect to the first address that was judged good and answers."""
        problem: OSError | None = None
        for address in self._addresses()[:_MOST_ADDRESSES]:
            patience_s = self.deadline.within(self.connect_s)
            try:
                made = socket.create_connection((address, self.port), patience_s)
            except OSError as error:
                problem = error
                continue
            self.deadline.hold(made)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        self.deadline.check()
        if isinstance(problem, TimeoutError):
            raise ConnectTimeoutError(self, "the connection took too long") from problem
        sentence = problem.strerror if problem is not None else None
        raise NewConnectionError(self, sentence or "there is no address") from problem

    def _addresses(self) -> tuple[str, ...]:
        host, port = self._dns_host, self.port
        patience_s = self.deadline.within(self.connect_s)
        try:
            if _is_address(host):
                return self.rules.addresses(host, port)
            return LOOKUPS.within(lambda: self.rules.addresses(host, port), patience_s)
        except LookupLate:
            self.deadline.check()
            raise
        except OSError as error:
            raise NameResolutionError(self.host, self, socket.gaierror(*error.args)) from error


class GuardedTlsConnection(GuardedConnection, HTTPSConnection):
    """The same over TLS; the certificate is that of the host, whatever its address."""


def connect(
    url: Url, *, rules: AddressRules, deadline: Deadline, connect_s: float
) -> HTTPConnection:
    """Connect to the host of an http or https URL; the port is that of the scheme without one.

    Raises what urllib3 raises, ssl.SSLError, ``AddressRefused``, ``LookupLate`` and ``Late``.
    """
    host = (url.host or "").strip("[]")
    patience_s = deadline.within(connect_s)
    made: GuardedConnection
    if url.scheme == "https":
        made = GuardedTlsConnection(host, url.port, timeout=patience_s, ssl_context=_tls())
    else:
        made = GuardedConnection(host, url.port, timeout=patience_s)
    made.rules, made.deadline, made.connect_s = rules, deadline, connect_s
    try:
        made.connect()
    except BaseException:
        made.close()
        raise
    return made


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
