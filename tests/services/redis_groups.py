"""Redis servers that belong together: a cluster of primaries with replicas, a primary that
sentinels watch. Real servers, each a process that can be killed.
"""

from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from tests.services.ports import free_port
from tests.services.processes import Service, answers
from tests.services.redis_servers import server_command
from tests.waiting import PATIENCE_S, until

_SLOTS = 16_384
_NODE_TIMEOUT_MS = 1_000
_DOWN_AFTER_MS = 2_500
"""After a failover a sentinel takes a second to reach the new primary; with less patience than that
it holds it for dead, too, and moves on to the old one, which may just have come back empty.
"""
_FAILOVER_MS = 3_000
OWN_OPTIONS = ("--bind", "127.0.0.1", "--save", "", "--maxmemory-policy", "noeviction")
"""Of every server here: it keeps what it has in memory alone, and all of it."""


class RedisNode:
    """One server of a group, on a port."""

    def __init__(self, binary: str, *options: str, conf: str = "", name: str = "valkey-newest"):
        command, self._env = server_command(binary)
        self.port = free_port()
        self.bus_port = free_port()
        if "--cluster-enabled" in options:
            options = (*options, "--cluster-port", str(self.bus_port))
        self._service = Service(name)
        configured: tuple[str, ...] = ()
        if conf:
            file = self._service.folder / "conf"
            file.write_text(conf, encoding="utf-8")
            configured = (str(file),)
        self._command = (
            *command,
            *configured,
            *("--port", str(self.port), "--dir", str(self._service.folder)),
            *options,
        )

    def start(self) -> "RedisNode":
        """Start it, or start it again on the same folder."""
        self._service.start(self._command, env=self._env)
        self._service.await_ready(lambda: answers(self.port))
        return self

    @property
    def address(self) -> tuple[str, int]:
        """Where it is."""
        return "127.0.0.1", self.port

    @property
    def url(self) -> str:
        """For a client of this very server."""
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Of the running server."""
        return self._service.pid

    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._service.running()

    def ask(self, *command: Any) -> Any:
        """Send one command to this very server."""
        with Redis(port=self.port, socket_timeout=PATIENCE_S, protocol=2) as client:
            return client.execute_command(*command)

    def kill(self) -> None:
        """Kill -9."""
        self._service.kill()

    def stop(self) -> None:
        """End it and remove its folder."""
        self._service.stop()


class RedisCluster:
    """Primaries with a replica each."""

    def __init__(
        self,
        primaries: int = 3,
        *,
        binary: str = "valkey-newest",
        node_timeout_ms: int = _NODE_TIMEOUT_MS,
    ) -> None:
        """`node_timeout_ms`: who is silent so long is replaced, also if the machine stood still."""
        self.nodes: list[RedisNode] = []
        self._primaries = primaries
        self._node_timeout_ms = node_timeout_ms
        self._binary = binary

    def start(self) -> "RedisCluster":
        """Start all, and wait until every slot is served and every replica is up to date."""
        try:
            for _ in range(2 * self._primaries):
                node = RedisNode(
                    self._binary,
                    *("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"),
                    *("--cluster-node-timeout", str(self._node_timeout_ms), "--appendonly", "no"),
                    *OWN_OPTIONS,
                    *("--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0"),
                )
                self.nodes.append(node.start())
            self._join()
        except BaseException:
            self.stop()
            raise
        return self

    def _join(self) -> None:
        primaries, replicas = self.nodes[: self._primaries], self.nodes[self._primaries :]
        share = -(-_SLOTS // self._primaries)
        for number, node in enumerate(primaries):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            last = min((number + 1) * share, _SLOTS) - 1
            node.ask("CLUSTER", "ADDSLOTS", *range(number * share, last + 1))
        for node in self.nodes[1:]:
            node.ask("CLUSTER", "MEET", *self.nodes[0].address, self.nodes[0].bus_port)
        everybody = len(self.nodes)
        until(
            lambda: all(_known(node) == everybody for node in self.nodes),
            what="all nodes know each other",
        )
        for primary, replica in zip(primaries, replicas, strict=True):
            until(lambda p=primary, r=replica: _replicates(r, p), what="a replica")  # type: ignore[misc]
        until(self.is_whole, what="the cluster is whole")

    def is_whole(self) -> bool:
        """Whether all slots are served and each running replica follows its primary."""
        running = [node for node in self.nodes if node.is_running()]
        return all(_is_well(node) for node in running)

    def is_replicated(self) -> bool:
        """Whether every replica has all that its primary has written."""
        return all(_is_copied(node) for node in self.primaries())

    def primaries(self) -> list[RedisNode]:
        """Who serves slots just now."""
        running = [node for node in self.nodes if node.is_running()]
        return [node for node in running if node.ask("ROLE")[0] == b"master"]

    def owner(self, slot: int) -> RedisNode:
        """The primary of a slot."""
        (asked, *_) = [node for node in self.nodes if node.is_running()]
        for first, last, primary, *_ in asked.ask("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                (found,) = [node for node in self.nodes if node.port == primary[1]]
                return found
        raise AssertionError(slot)

    def hosts(self) -> str:
        """What `conductor.redis.hosts` wants."""
        return ";".join(f"127.0.0.1:{node.port}:r" for node in self.nodes)

    def heal(self) -> None:
        """Start again who was killed, and wait until everybody follows."""
        for node in self.nodes:
            if not node.is_running():
                node.start()
        until(
            lambda: self.is_whole() and len(self.primaries()) == self._primaries,
            what="the cluster is whole again",
        )

    def flush(self) -> list[RedisNode]:
        """Forget everything; returns the primaries."""
        primaries = self.primaries()
        for node in primaries:
            node.ask("FLUSHALL")
            node.ask("SCRIPT", "FLUSH")
        return primaries

    def stop(self) -> None:
        """End all."""
        for node in self.nodes:
            node.stop()


class WatchedRedis:
    """A primary with a replica, and three sentinels that watch it."""

    master = "orders"

    def __init__(self, *, binary: str = "valkey-newest") -> None:
        self._binary = binary
        self.servers: list[RedisNode] = []
        self.sentinels: list[RedisNode] = []

    def start(self) -> "WatchedRedis":
        """Start all, and wait until the sentinels know of each other and of the replica."""
        try:
            options = (*OWN_OPTIONS, "--appendonly", "no", "--repl-diskless-sync-delay", "0")
            primary = RedisNode(self._binary, *options).start()
            self.servers.append(primary)
            replica = RedisNode(self._binary, *options, "--replicaof", f"127.0.0.1 {primary.port}")
            self.servers.append(replica.start())
            until(lambda: _is_well(replica), what="the replica follows")
            for _ in range(3):
                self.sentinels.append(self._sentinel(primary.port))
            until(self._is_watched, what="the sentinels know each other")
        except BaseException:
            self.stop()
            raise
        return self

    def _sentinel(self, port: int) -> RedisNode:
        conf = "\n".join(
            (
                f"sentinel monitor {self.master} 127.0.0.1 {port} 2",
                f"sentinel down-after-milliseconds {self.master} {_DOWN_AFTER_MS}",
                # An election that nobody wins is repeated after twice this time.
                f"sentinel failover-timeout {self.master} {_FAILOVER_MS}",
                "bind 127.0.0.1",
                "",
            )
        )
        return RedisNode(self._binary, "--sentinel", conf=conf).start()

    def _is_watched(self) -> bool:
        """Whether every sentinel could move to the replica now: one that does not know of it yet,
        or believes that it is down still, gives a failover up and tries again much later.
        """
        return all(self._is_ready(sentinel) for sentinel in self.sentinels)

    def _is_ready(self, sentinel: RedisNode) -> bool:
        primary = _named(sentinel.ask("SENTINEL", "MASTER", self.master))
        others = [_named(flat) for flat in sentinel.ask("SENTINEL", "SENTINELS", self.master)]
        replicas = [_named(flat) for flat in sentinel.ask("SENTINEL", "REPLICAS", self.master)]
        return (
            primary["port"] == str(self.primary().port)
            and (len(others), len(replicas)) == (len(self.sentinels) - 1, len(self.servers) - 1)
            and all(_in_reach(instance) for instance in (primary, *others, *replicas))
        )

    def heal(self) -> None:
        """Start again who was killed, have it follow the primary, and wait until all know it."""
        for server in self.servers:
            if server.is_running():
                continue
            server.start()
            primary = self.primary()
            if primary is not server:
                # The sentinels would say so as well, after ten seconds of looking on.
                server.ask("REPLICAOF", *primary.address)
        until(self._is_well, what="one follows the other, and all sentinels know it")

    def _is_well(self) -> bool:
        primary = self.primary()
        if primary.ask("ROLE")[0] != b"master" or not self._is_watched():
            return False
        others = [server for server in self.servers if server is not primary]
        return all(
            _info(server, "replication").get("master_port") == str(primary.port)
            and _is_well(server)
            for server in others
        )

    def is_replicated(self) -> bool:
        """Whether the replica has all that the primary has written."""
        return _is_copied(self.primary())

    def primary(self) -> RedisNode:
        """The server that the sentinels say is the primary: one of them may be behind, so the
        word of the latest failover counts.
        """
        said: list[tuple[int, int]] = []
        for sentinel in self.sentinels:
            epoch = _named(sentinel.ask("SENTINEL", "MASTER", self.master))["config-epoch"]
            _, port = sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.master)
            said.append((int(epoch), int(port)))
        (found,) = [server for server in self.servers if server.port == max(said)[1]]
        return found

    def hosts(self) -> str:
        """What `conductor.redis.hosts` wants."""
        return ";".join(f"127.0.0.1:{node.port}:r" for node in self.sentinels)

    def stop(self) -> None:
        """End all."""
        for node in (*self.sentinels, *self.servers):
            node.stop()


def _named(flat: Any) -> dict[str, str]:
    """What a sentinel says of one instance."""
    pairs = flat.items() if isinstance(flat, dict) else zip(flat[::2], flat[1::2], strict=True)
    return {_text(name): _text(value) for name, value in pairs}


def _in_reach(instance: dict[str, str]) -> bool:
    """Whether a sentinel sees an instance up, and does nothing about it."""
    busy = {"s_down", "o_down", "disconnected", "failover_in_progress"}
    return busy.isdisjoint(instance["flags"].split(","))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _info(node: RedisNode, section: str) -> dict[str, str]:
    found = node.ask("INFO", section)
    if isinstance(found, dict):
        return {_text(name): _text(value) for name, value in found.items()}
    lines = (line.partition(":") for line in _text(found).splitlines())
    return {name: value for name, _, value in lines}


def _is_copied(primary: RedisNode) -> bool:
    _, offset, replicas = primary.ask("ROLE")
    return bool(replicas) and all(int(replica[2]) >= offset for replica in replicas)


def _known(node: RedisNode) -> int:
    return len(_text(node.ask("CLUSTER", "NODES")).strip().splitlines())


def _replicates(replica: RedisNode, primary: RedisNode) -> bool:
    name = _text(primary.ask("CLUSTER", "MYID"))
    try:
        replica.ask("CLUSTER", "REPLICATE", name)
    except RedisError:
        return False
    return True


def _is_well(node: RedisNode) -> bool:
    """Whether a node of a cluster sees it whole, and a replica has all that its primary has."""
    facts = _info(node, "replication")
    if facts["role"] != "master" and facts.get("master_link_status") != "up":
        return False
    if _info(node, "cluster").get("cluster_enabled") != "1":
        return True
    return "cluster_state:ok" in _text(node.ask("CLUSTER", "INFO"))
