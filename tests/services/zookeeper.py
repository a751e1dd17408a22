"""A real ZooKeeper of one node, out of the jars of PySpark or its Maven artefact."""

import importlib.util
from functools import partial
from pathlib import Path

from tests.services.cache import Unobtainable, fetched
from tests.services.ports import free_port
from tests.services.processes import Service
from tests.services.search_servers import copy_jars, java_program

_ZOOKEEPER = "3.9.4"
_HEAP = "-Xmx128m"
_TICK_MS = 500
#: The shortest session that the server grants.
SHORTEST_SESSION_MS = 2 * _TICK_MS
#: Its longest: longer than a machine may stand still.
LONGEST_SESSION_MS = 300_000


class ZooKeeper:
    """A running server; `hosts` is for clients."""

    def __init__(self, service: Service, command: list[str], hosts: str) -> None:
        self.hosts = hosts
        self._service = service
        self._command = command

    def start(self) -> None:
        """Start, or start again after `kill`, on the same folder and port."""
        self._service.start(self._command)
        self._service.await_ready(self._serves)

    def kill(self) -> None:
        """Kill -9."""
        self._service.kill()

    def stop(self) -> None:
        """End the server and remove its folder."""
        self._service.stop()

    def _serves(self) -> bool:
        """Whether it takes a session: it answers `ruok` before it does."""
        from kazoo.client import KazooClient
        from kazoo.handlers.threading import KazooTimeoutError

        client = KazooClient(hosts=self.hosts, timeout=10)
        try:
            client.start(timeout=10)
        except KazooTimeoutError:
            return False
        finally:
            client.stop()
            client.close()
        return True


def start_zookeeper() -> ZooKeeper:
    """Start a server; Unobtainable when it cannot be had. The caller stops it."""
    program, jars = java_program(), _jars()
    if importlib.util.find_spec("kazoo") is None:
        raise Unobtainable("kazoo is not installed, so nobody can ask ZooKeeper")
    port = free_port()
    service = Service("zookeeper")
    settings = service.folder / "zoo.cfg"
    settings.write_text(
        f"tickTime={_TICK_MS}\n"
        f"maxSessionTimeout={LONGEST_SESSION_MS}\n"
        f"dataDir={service.folder / 'data'}\n"
        f"clientPort={port}\n"
        "clientPortAddress=127.0.0.1\n"
        "maxClientCnxns=0\n"
        "admin.enableServer=false\n"
    )
    server = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    command = [program, _HEAP, "-cp", f"{jars}/*", server, str(settings)]
    zookeeper = ZooKeeper(service, command, f"127.0.0.1:{port}")
    zookeeper.start()
    return zookeeper


def _jars() -> Path:
    """PySpark brings a ZooKeeper; without it Maven does."""
    spec = importlib.util.find_spec("pyspark")
    if spec is not None and spec.origin is not None:
        jars = Path(spec.origin).parent / "jars"
        if any(jars.glob("zookeeper-[0-9]*.jar")):
            return jars
    artefact = ("org.apache.zookeeper", "zookeeper", _ZOOKEEPER)
    place = fetched(f"zookeeper-{_ZOOKEEPER}", partial(copy_jars, artefacts=(artefact,)))
    return place / "lib"
