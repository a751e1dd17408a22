"""Connections of the driver on which the kernel keeps the time.

A socket with a timeout is one that Python polls before each send and each read: two more calls of
the system a command, and two more times that the interpreter's lock is given up and waited for.
Here the socket blocks, and the kernel ends a wait that takes too long. It bounds each part of a
write by itself: what needs several parts is timed by Python, as a whole.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from redis.connection import Connection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as WireConnectionError
from redis.exceptions import TimeoutError as WireTimeoutError

if TYPE_CHECKING:
    _Driver = Connection
else:
    _Driver = object

_AT_ONCE: Final = 64 * 1024
"""Bytes of a command that the kernel takes in one part, or a few."""


class _Timed(_Driver):
    """What is the same for both kinds."""

    _by_kernel = False

    def _connect(self) -> socket.socket:
        made: socket.socket = super()._connect()  # type: ignore[no-untyped-call]
        if seconds := self.socket_timeout:
            self._by_kernel = _keep_time(made, float(seconds))
        return made

    def send_packed_command(self, command: Sequence[bytes], check_health: bool = True) -> None:  # noqa: FBT001, FBT002 - as the driver has it
        if not self.is_connected:  # not below: what refuses a connection is no late answer
            self.connect_check_health(check_health=False)
        is_long = self._by_kernel and sum(map(len, command)) > _AT_ONCE
        if is_long:
            self._time(self.socket_timeout)
        try:
            super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]
        except WireConnectionError as error:
            if _is_late(error):
                raise WireTimeoutError("Timeout writing to socket") from error
            raise
        finally:
            if is_long:
                self._time(None)

    def read_response(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as the driver has it
        try:
            return super().read_response(*given, **named)
        except WireConnectionError as error:
            if _is_late(error):
                raise WireTimeoutError("Timeout reading from socket") from error
            raise

    def _time(self, seconds: float | None) -> None:
        made: Any = self._sock  # none after an error
        if made is not None:
            made.settimeout(seconds)


class TimedTcp(_Timed, Connection):
    """Over TCP, without TLS: that reads and writes by turns, and needs its own waits."""


class TimedUnix(_Timed, UnixDomainSocketConnection):
    """Over a socket in the file system."""


def _keep_time(made: socket.socket, seconds: float) -> bool:
    """Have the kernel keep the time; whether it does: not every one takes it in this form."""
    whole, micro = divmod(max(1, round(seconds * 1_000_000)), 1_000_000)  # 0 would be for ever
    try:
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            made.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", whole, micro))
    except OSError:
        return False
    made.settimeout(None)
    return True


def _is_late(error: WireConnectionError) -> bool:
    """Whether the kernel has ended a wait, which the driver takes for a broken socket."""
    return isinstance(error.__context__, BlockingIOError)
