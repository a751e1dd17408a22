"""Connections of HTTP tasks: to addresses that were judged, one for each request.

Nothing is kept open between calls. A kept connection may be closed by the other side just as a
request is written to it, and then nobody knows whether a POST arrived.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from functools import cache

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from conductor_py.systemtasks.addresses import AddressRules


class GuardedConnection(HTTPConnection):
    """A connection that goes only where the rules allow."""

    rules = AddressRules()

    def _new_conn(self) -> socket.socket:
        """Connect to the first address that was judged good and answers."""
        try:
            addresses = self.rules.addresses(self._dns_host, self.port)
        except OSError as error:
            raise NameResolutionError(self.host, self, socket.gaierror(*error.args)) from error
        problem: OSError | None = None
        for address in addresses:
            try:
                made = socket.create_connection((address, self.port), self._connect_s())
            except OSError as error:
                problem = error
                continue
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        if isinstance(problem, TimeoutError):
            raise ConnectTimeoutError(self, "the connection took too long") from problem
        sentence = problem.strerror if problem is not None else None
        raise NewConnectionError(self, sentence or "there is no address") from problem

    def _connect_s(self) -> float | None:
        return self.timeout if isinstance(self.timeout, (int, float)) else None


class GuardedTlsConnection(GuardedConnection, HTTPSConnection):
    """The same over TLS; the certificate is that of the host, whatever its address."""


def connect(
    scheme: str, host: str, port: int | None, *, rules: AddressRules, connect_s: float
) -> HTTPConnection:
    """Make a connection and connect it.

    Raises what urllib3 raises, ssl.SSLError, and ``AddressRefused``.
    """
    made: GuardedConnection
    if scheme == "https":
        made = GuardedTlsConnection(host, port, timeout=connect_s, ssl_context=_tls())
    else:
        made = GuardedConnection(host, port, timeout=connect_s)
    made.rules = rules
    made.connect()
    return made


def abort(wire: socket.socket) -> None:
    """Break a connection off from another thread: whoever reads from it goes on at once."""
    with contextlib.suppress(OSError):
        # Not the method of a TLS socket, which takes its state away below the reader.
        socket.socket.shutdown(wire, socket.SHUT_RDWR)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
