"""Connections of the driver on which the kernel keeps the time.

A socket with a timeout is one that Python polls before each send and each read: two more calls of
the system a command, and two more times that the interpreter's lock is given up and waited for.
Here the socket blocks, and a wait that took too long ends in ``BlockingIOError``.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

from redis.connection import Connection, UnixDomainSocketConnection

if TYPE_CHECKING:
    _Driver = Connection
else:
    _Driver = object


class _Timed(_Driver):
    """What is the same for both kinds."""

    def _connect(self) -> socket.socket:
        made: socket.socket = super()._connect()  # type: ignore[no-untyped-call]
        if self.socket_timeout:
            _keep_time(made, self.socket_timeout)
        return made


class TimedTcp(_Timed, Connection):
    """Over TCP, without TLS: that reads and writes by turns, and needs its own waits."""


class TimedUnix(_Timed, UnixDomainSocketConnection):
    """Over a socket in the file system."""


def _keep_time(made: socket.socket, seconds: float) -> None:
    whole, micro = divmod(max(1, round(seconds * 1_000_000)), 1_000_000)  # 0 would be for ever
    made.settimeout(None)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        made.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", whole, micro))
