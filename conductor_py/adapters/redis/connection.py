"""Connections to Redis: the only place that builds them, counts round trips and wraps driver
errors.

A call takes an idle connection, sends one command, reads one reply and puts the connection back:
this is the hot path of the engine, so nothing stands between a script's arguments and the socket.
A call that may be repeated is sent once more on a fresh connection when the first try failed; the
others fail with ``StoreUnavailable``.

Everything goes through ``call``, ``each`` and ``pipeline`` with the key that routes it first among
the keys: ``cluster.py`` picks the node by that key's slot, ``sentinel.py`` the server that is the
primary just now.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Protocol, TypeAlias, cast
from urllib.parse import quote

from redis import connection as drivers
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as WireConnectionError
from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import TimeoutError as WireTimeoutError
from redis.retry import Retry

from conductor_py.adapters.redis.sockets import TimedTcp, TimedUnix
from conductor_py.errors import (
    ConfigurationError,
    StoreDamaged,
    StoreFailure,
    StoreFull,
    StoreUnavailable,
)

Argument: TypeAlias = str | bytes | int
Reply: TypeAlias = Any


class Wire(Protocol):
    """What is used of a driver's connection."""

    @property
    def is_connected(self) -> bool: ...

    def connect(self) -> None: ...

    def send_packed_command(self, command: Sequence[bytes], *, check_health: bool) -> None: ...

    def read_response(self) -> Reply: ...

    def disconnect(self) -> None: ...


_FLOOR: Final = (6, 2)
_MAX_IDLE: Final = 64
_PARSE = cast("Callable[[str], dict[str, Any]]", drivers.parse_url)
_TIMED: Final = {None: TimedTcp, drivers.UnixDomainSocketConnection: TimedUnix}
"""What stands for a class of the driver, None where the URL names none."""
BROKEN: Final = (WireConnectionError, WireTimeoutError, OSError)


class Unreached(WireConnectionError):
    """No server was found to send to: what was to be sent was not carried out."""


def not_carried_out(error: StoreUnavailable) -> bool:
    """Whether the command that failed so has certainly changed nothing, and may be sent again."""
    return isinstance(error.__cause__, (Unreached, ReadOnlyError))


def _packer() -> Callable[[Sequence[Argument]], bytes]:
    """Find the fastest way to make the bytes of a command."""
    try:
        from hiredis import pack_command
    except ImportError:
        return pack_plainly
    fast = cast("Callable[[tuple[Argument, ...]], bytes]", pack_command)
    return lambda arguments: fast(tuple(arguments))


def pack_plainly(arguments: Sequence[Argument]) -> bytes:
    """Make the bytes of one command without a library."""
    parts = [b"*%d" % len(arguments)]
    for argument in arguments:
        if isinstance(argument, int):
            argument = b"%d" % argument  # noqa: PLW2901
        elif isinstance(argument, str):
            argument = argument.encode()  # noqa: PLW2901
        parts += (b"$%d" % len(argument), argument)
    parts.append(b"")
    return b"\r\n".join(parts)


pack = _packer()


class Connection:
    """A client of one server. Thread-safe; connections are made as threads need them.

    ``url`` is ``unix:///path``, ``redis://[user:password@]host:port[/db]`` or ``with_tls``.
    ``round_trips`` counts requests, ``reconnects`` grows whenever a connection broke: what was
    cached from the store is then doubtful.
    """

    is_spread: ClassVar[bool] = False
    """Whether partitions may be on several servers."""

    def __init__(self, url: str, *, socket_timeout_s: float = 5.0) -> None:
        """Connect lazily; nothing is sent before the first call."""
        options = dict(_PARSE(url))
        named = options.pop("connection_class", None)
        self._class = cast("Callable[..., Wire]", _TIMED.get(named, named))
        self._options = options
        self._timeout_s = socket_timeout_s
        self._idle: deque[Wire] = deque()
        self._owner = os.getpid()
        self.round_trips = 0
        self.reconnects = 0

    def call(self, *arguments: Argument, again: bool = True) -> Reply:
        """Send one command and read its reply; with ``again`` it may be sent a second time."""
        packed = pack(arguments)
        wire = self._take()
        self.round_trips += 1
        try:
            wire.send_packed_command((packed,), check_health=False)
            reply = wire.read_response()
        except BROKEN as error:
            self._break(wire)
            if again:
                return self.call(*arguments, again=False)
            raise no_answer(error) from error
        except ResponseError as error:
            if _is_read_only(error):  # this server was demoted: look for the new primary
                self._break(wire)
                away = _of_a_replica(error)
                raise away from away.__cause__
            self._put(wire)
            raise
        except RedisError as error:
            self._break(wire)
            raise StoreUnavailable(f"Redis answered something else: {error}") from error
        except BaseException:
            wire.disconnect()
            raise
        self._put(wire)
        return reply

    def run(
        self, sha: str, source: str, key: str, arguments: Sequence[Argument], *, again: bool = True
    ) -> Reply:
        """Run a script by its hash; a server that does not know it (any more) is sent the source,
        and knows it from then on.
        """
        try:
            return self.call("EVALSHA", sha, 1, key, *arguments, again=again)
        except NoScriptError:
            pass
        except ResponseError as error:
            raise refused(error) from error
        try:
            return self.call("EVAL", source, 1, key, *arguments, again=again)
        except ResponseError as error:
            raise refused(error) from error

    def command(self, *arguments: Argument) -> Reply:
        """Send one plain command that may be repeated."""
        try:
            return self.call(*arguments)
        except ResponseError as error:
            raise refused(error) from error

    def pipeline(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        """Send several commands in one round trip; they are not one transaction, and may be
        repeated.
        """
        replies = self.each(commands)
        for reply in replies:
            if isinstance(reply, StoreUnavailable):
                raise reply
            if isinstance(reply, ResponseError):
                raise refused(reply) from reply
        return replies

    def each(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        """Send several commands that may be repeated in one round trip. Those that nobody answered,
        or a replica, are sent once more on a fresh connection. One that failed has its error in
        place of its reply (``ResponseError``, ``StoreUnavailable``); the others are not concerned.
        """
        replies = self._exchange(commands)
        lost = [at for at, reply in enumerate(replies) if isinstance(reply, StoreUnavailable)]
        if lost:
            try:
                again = self._exchange([commands[at] for at in lost])
            except StoreUnavailable as away:  # nobody is found to send to
                again = [away] * len(lost)
            for at, reply in zip(lost, again, strict=True):
                replies[at] = reply
        return replies

    def _exchange(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        """Send several commands, once."""
        wire = self._take()
        self.round_trips += 1
        replies: list[Reply] = []
        try:
            wire.send_packed_command(tuple(map(pack, commands)), check_health=False)
            for _ in commands:
                replies.append(_reply_or_error(wire))  # noqa: PERF401 - what came before a break counts
        except (RedisError, OSError) as error:
            self._break(wire)
            away = no_answer(error)
            away.__cause__ = error
            return replies + [away] * (len(commands) - len(replies))
        except BaseException:
            wire.disconnect()
            raise
        if any(isinstance(reply, StoreUnavailable) for reply in replies):
            self._break(wire)
        else:
            self._put(wire)
        return replies

    def servers_of(self, keys: Sequence[str], *, fresh: bool = False) -> tuple[str, ...]:
        """Name the server of each key, as far as is known; with ``fresh`` it is looked up."""
        return ("",) * len(keys)

    def listener(self) -> Wire:
        """Make a connection of its own for pub/sub; the caller closes it."""
        return self._build(None)

    def check(self, *, strict: bool = True) -> tuple[str, tuple[str, ...]]:
        """Read the server's version and what is wrong with its settings; too old a server is
        refused.

        With ``strict`` an eviction policy that forgets data is refused as well, else it is one of
        the warnings.
        """
        info = self.command("INFO").decode()
        version = re.search(r"^redis_version:(\S+)", info, re.MULTILINE)
        number = version.group(1) if version else "0"
        if tuple(int(part) for part in number.split(".")[:2]) < _FLOOR:
            raise ConfigurationError(f"Redis {number} is too old; 6.2 or newer is needed")
        warnings = []
        policy = re.search(r"^maxmemory_policy:(\S+)", info, re.MULTILINE)
        if policy and policy.group(1) != "noeviction":
            if strict:
                raise ConfigurationError(
                    f"maxmemory-policy is {policy.group(1)}; only noeviction forgets nothing"
                )
            warnings.append(f"maxmemory-policy is {policy.group(1)}")
        if re.search(r"^maxmemory:0\b", info, re.MULTILINE):
            warnings.append("maxmemory is not set: it takes memory as long as there is some")
        if "aof_enabled:1" not in info:
            warnings.append("the append-only file is off")
        return number, tuple(warnings)

    def close(self) -> None:
        """Close the idle connections."""
        while True:
            try:
                wire = self._idle.pop()
            except IndexError:  # by another thread that breaks at the same time, or there is none
                return
            wire.disconnect()

    def _take(self) -> Wire:
        if self._owner != os.getpid():  # a forked child must not speak on its parent's sockets
            self._owner = os.getpid()
            self._idle = deque()
        try:
            return self._idle.pop()
        except IndexError:
            return self._build(self._timeout_s)

    def _put(self, wire: Wire) -> None:
        if len(self._idle) < _MAX_IDLE:
            self._idle.append(wire)
        else:
            wire.disconnect()

    def _break(self, wire: Wire) -> None:
        """Drop every idle connection with this one: most likely they are as dead."""
        self.reconnects += 1
        wire.disconnect()
        self.close()

    def _build(self, timeout_s: float | None, **where: object) -> Wire:
        """Make a connection; ``where`` replaces what the URL says."""
        return self._class(
            **{**self._options, **where},
            socket_timeout=timeout_s,
            socket_connect_timeout=self._timeout_s,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )


def with_tls(where: str, ca_file: str) -> str:
    """Write the URL of a server that speaks TLS; its certificate may be signed by one that stands
    in that file, if any.
    """
    return f"rediss://{where}" + (f"?ssl_ca_certs={quote(ca_file, safe='')}" if ca_file else "")


def no_answer(error: Exception) -> StoreUnavailable:
    """Say that a command was sent, or could not be, and nothing came back."""
    return StoreUnavailable(f"Redis does not answer: {error}", unanswered=True)


_FULL: Final = "when used memory > 'maxmemory'"
_CANNOT_WRITE: Final = "MISCONF"
_DAMAGED: Final = ("WRONGTYPE", "user_script:", "not an integer", "not a valid float")
"""What a server says of its memory, and of state that has not the form that it must have."""


def is_of_memory(error: Exception) -> bool:
    """Whether a server refused a command because it holds ``maxmemory``."""
    return _FULL in str(error)


def refused(error: Exception) -> StoreFailure:
    """Say that the server, a primary, would not carry a command out: it cannot just now, it or its
    disk is full, or what it holds cannot be read.
    """
    said = str(error)
    if is_of_memory(error):
        return StoreFull("Redis holds maxmemory and takes nothing new until something has ended.")
    if _CANNOT_WRITE in said:
        return StoreUnavailable(
            "Redis cannot write its files, most likely because its disk is full. It takes nothing"
            f" new until it can; what it holds is not damaged ({said})."
        )
    if any(mark in said for mark in _DAMAGED):
        return StoreDamaged(f"Redis refused: {said}")
    return StoreUnavailable(f"Redis refused: {said}")


def _is_read_only(error: Exception) -> bool:
    # Redis 6.2 wraps what a command inside a script was told.
    return isinstance(error, ReadOnlyError) or "-READONLY " in str(error)


def _of_a_replica(error: Exception) -> StoreUnavailable:
    """Say that a server was demoted, and has carried nothing out."""
    away = StoreUnavailable("Redis is read-only here: it is a replica")
    away.__cause__ = ReadOnlyError(str(error))
    return away


def _reply_or_error(wire: Wire) -> Reply:
    try:
        return wire.read_response()
    except ResponseError as error:
        return _of_a_replica(error) if _is_read_only(error) else error
