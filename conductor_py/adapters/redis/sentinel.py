"""Redis behind Sentinel: every new connection goes to whichever server is the primary just then.

The sentinels are asked when a connection is made, never on the way of a command. A server that says
that it is no primary is not written to: a sentinel may be behind. What breaks with a primary is
looked for anew; calls that may be repeated, and those that certainly reached nobody, outlast a
failover for a bounded time.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, unquote

from redis.exceptions import RedisError

from conductor_py.adapters.redis.connection import (
    Argument,
    Connection,
    Reply,
    Unreached,
    Wire,
    not_carried_out,
    pack,
    with_tls,
)
from conductor_py.adapters.redis.outages import Outages
from conductor_py.errors import ConfigurationError, StoreUnavailable
from conductor_py.records import dataclass

SCHEMES: Final = ("redis+sentinel", "rediss+sentinel")
_URL: Final = re.compile(
    r"(?P<scheme>rediss?\+sentinel)://(?:(?P<user>[^:@/]*):(?P<password>[^@/]*)@)?"
    r"(?P<hosts>[^/@]+)/(?P<master>[^/?]+)(?:/(?P<database>\d+))?"
    r"(?:\?(?P<query>.*))?"
)
_CA_FILE: Final = "caFile="
_OF_SENTINELS: Final = "sentinelPassword="
_ASK_S: Final = 1.0
_PORT: Final = 26379

Address = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A primary by its name, and the sentinels that know where it is."""

    sentinels: tuple[Address, ...]
    master: str
    user: str = ""
    password: str = ""
    sentinel_password: str = ""
    database: int = 0
    ssl: bool = False
    ca_file: str = ""

    @property
    def url(self) -> str:
        """Write it in one line: ``redis+sentinel://user:password@host:port,host:port/master/0``,
        and behind that ``?caFile=`` and ``&sentinelPassword=``, where there are any.
        """
        scheme = SCHEMES[self.ssl]
        hosts = ",".join(f"{_bracketed(host)}:{port}" for host, port in self.sentinels)
        given = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@"
        known = given if self.user or self.password else ""
        more = ((_CA_FILE, self.ca_file), (_OF_SENTINELS, self.sentinel_password))
        given_too = [f"{name}{quote(value, safe='')}" for name, value in more if value]
        behind = f"?{'&'.join(given_too)}" if given_too else ""
        return f"{scheme}://{known}{hosts}/{quote(self.master, safe='')}/{self.database}{behind}"

    @property
    def plain_url(self) -> str:
        """Write how to speak with the primary, wherever it is."""
        given = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@"
        known = given if self.user or self.password else ""
        return self.url_of(f"{known}primary/{self.database}")

    def url_of(self, where: str) -> str:
        """Write how to speak with a server or a sentinel."""
        return with_tls(where, self.ca_file) if self.ssl else f"redis://{where}"


def watched_of(url: str) -> Watched:
    """Read what ``Watched.url`` writes; ``ConfigurationError``."""
    found = _URL.fullmatch(url)
    ca_file, sentinel_password = "", (found and found["query"]) or ""
    if sentinel_password.startswith(_CA_FILE):
        ca_file, _, sentinel_password = sentinel_password.removeprefix(_CA_FILE).partition("&")
    if found is None or (sentinel_password and not sentinel_password.startswith(_OF_SENTINELS)):
        raise ConfigurationError(
            "a URL for Sentinel is redis+sentinel://[user:password@]host:port,host:port/master[/0]"
        )
    hosts: list[Address] = []
    for part in found["hosts"].split(","):
        host, colon, port = part.rpartition(":")
        hosts.append((host.strip("[]"), int(port)) if colon else (part, _PORT))
    return Watched(
        sentinels=tuple(hosts),
        master=unquote(found["master"]),
        user=unquote(found["user"] or ""),
        password=unquote(found["password"] or ""),
        sentinel_password=unquote(sentinel_password.removeprefix(_OF_SENTINELS)),
        database=int(found["database"] or 0),
        ssl=found["scheme"] == SCHEMES[1],
        ca_file=unquote(ca_file),
    )


class SentinelConnection(Connection):
    """A client of the primary that sentinels name."""

    def __init__(
        self, watched: Watched, *, socket_timeout_s: float = 5.0, patience_s: float = 3.0
    ) -> None:
        """Connect lazily; calls outlast ``patience_s`` of an outage."""
        super().__init__(watched.plain_url, socket_timeout_s=socket_timeout_s)
        self._watched = watched
        self._outages = Outages(patience_s)
        known = (
            f":{quote(watched.sentinel_password, safe='')}@" if watched.sentinel_password else ""
        )
        self._sentinels = [
            Connection(
                watched.url_of(f"{known}{_bracketed(host)}:{port}"),
                socket_timeout_s=min(_ASK_S, socket_timeout_s),
            )
            for host, port in watched.sentinels
        ]
        self._lock = threading.Lock()

    def call(self, *arguments: Argument, again: bool = True) -> Reply:
        """Send one command to the primary, whichever that is."""
        while True:
            try:
                reply = super().call(*arguments, again=again)
            except StoreUnavailable as error:
                if not (again or not_carried_out(error)):
                    raise
                why = error
            else:
                if self._outages:
                    self._outages.over(self._watched.master)
                return reply
            self._outages.outlast(self._watched.master, why)

    def each(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        """Send several commands in one round trip."""
        while True:
            try:
                replies = super().each(commands)
            except StoreUnavailable as error:
                replies = [error] * len(commands)
            lost = [reply for reply in replies if isinstance(reply, StoreUnavailable)]
            if not lost:
                if self._outages:
                    self._outages.over(self._watched.master)
                return replies
            try:
                self._outages.outlast(self._watched.master, lost[0])
            except StoreUnavailable:
                return replies

    def check(self, *, strict: bool = True) -> tuple[str, tuple[str, ...]]:
        """Look at the primary; warns when it has no replica, or one sentinel alone watches it."""
        version, warnings = super().check(strict=strict)
        more = []
        if "connected_slaves:0" in self.command("INFO", "replication").decode():
            more.append("the primary has no replica: what it holds is lost with it")
        if len(self._watched.sentinels) < 2:
            more.append("one sentinel is named: name all of them in conductor.redis.hosts")
        return version, (*warnings, *more)

    def primary(self) -> Address:
        """Ask the sentinels where the primary is; ``StoreUnavailable`` when none of them knows."""
        problem: Exception = Unreached("no sentinel was asked")
        for sentinel in tuple(self._sentinels):
            try:
                found = sentinel.command(
                    "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._watched.master
                )
            except StoreUnavailable as error:
                problem = error
                continue
            if found:
                with self._lock:  # who answers is asked first from now on
                    self._sentinels.remove(sentinel)
                    self._sentinels.insert(0, sentinel)
                return found[0].decode(), int(found[1])
            problem = Unreached(f"the sentinels know no {self._watched.master}")
        raise StoreUnavailable(
            f"No sentinel says where {self._watched.master} is: {problem}", unanswered=True
        ) from Unreached(str(problem))

    def close(self) -> None:
        """Close the idle connections."""
        super().close()
        for sentinel in getattr(self, "_sentinels", ()):
            sentinel.close()

    def _build(self, timeout_s: float | None, **where: object) -> Wire:
        host, port = self.primary()
        wire = super()._build(timeout_s, host=host, port=port)
        try:
            wire.connect()
            wire.send_packed_command((pack(("ROLE",)),), check_health=False)
            role = wire.read_response()[0]
        except (RedisError, OSError) as error:
            wire.disconnect()
            raise StoreUnavailable(
                f"The primary {self._watched.master} at {host}:{port} does not answer: {error}",
                unanswered=True,
            ) from Unreached(str(error))
        if role != b"master":
            wire.disconnect()
            raise StoreUnavailable(
                f"{host}:{port} is no primary of {self._watched.master} any more"
            ) from Unreached("a failover is under way")
        return wire


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
