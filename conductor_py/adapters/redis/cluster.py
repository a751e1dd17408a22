"""Redis Cluster: a connection to each primary, chosen by the slot of the key that routes a call.

Where slots are is read from any node that answers, and again when one says that a slot has moved or
does not answer. A redirection is followed for every call, because whoever redirects has done
nothing; what failed otherwise is sent again only if it may be. Calls outlast a failover for a
bounded time.

A slot that is being moved key by key is never followed half way (ASK): a script would find one part
of its partition here and one there. The partition answers again when the move is complete.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from redis.exceptions import (
    AskError,
    ClusterDownError,
    MovedError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from conductor_py.adapters.redis.connection import (
    Argument,
    Connection,
    Reply,
    Unreached,
    Wire,
    not_carried_out,
    refused,
)
from conductor_py.adapters.redis.key_slots import KeySlots
from conductor_py.adapters.redis.outages import Outages
from conductor_py.errors import ConfigurationError, StoreUnavailable

Address = tuple[str, int]

_SLOTS: Final = 16_384
_LOOK_S: Final = 0.1
"""The map of slots is not read more often."""
_ASK_S: Final = 1.0
_REDIRECTIONS: Final = 3
"""Followed at once; nodes that send a call to and fro are given a moment to agree."""
_SKEW_MS: Final = 500
_KEEP_ALIVE: Final = {
    getattr(socket, name): value
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3))
    if hasattr(socket, name)
}


class _Node(Connection):
    """One node. A command that found nobody to go to is known not to have been carried out."""

    def __init__(self, url: str, address: Address, *, socket_timeout_s: float) -> None:
        super().__init__(url, socket_timeout_s=socket_timeout_s)
        self.address = address

    def _build(self, timeout_s: float | None, **where: object) -> Wire:
        host, port = self.address
        wire = super()._build(timeout_s, host=host, port=port, **where)
        try:
            wire.connect()
        except (RedisError, OSError) as error:
            wire.disconnect()
            raise StoreUnavailable(
                f"The Redis node {host}:{port} does not answer: {error}"
            ) from Unreached(str(error))
        return wire


class ClusterConnection(Connection):
    """A client of a cluster; ``url`` says how to speak with its nodes, ``seeds`` where some are.

    What names no key (TIME, INFO) goes where ``home`` is, a key.
    """

    is_spread: ClassVar[bool] = True

    def __init__(
        self,
        url: str,
        seeds: Sequence[Address],
        *,
        home: str,
        socket_timeout_s: float = 5.0,
        patience_s: float = 3.0,
    ) -> None:
        """Connect lazily; calls outlast ``patience_s`` of an outage of a node."""
        super().__init__(url, socket_timeout_s=socket_timeout_s)
        self._url = url
        self._slots = KeySlots(home)
        self._seeds = tuple(seeds)
        self._nodes: dict[Address, _Node] = {}
        self._owners: list[_Node | None] = [None] * _SLOTS
        self._outages = Outages(patience_s)
        self._lock = threading.Lock()
        self._looked_at = float("-inf")
        self._turn = itertools.count()

    # -- calls -------------------------------------------------------------------------------------

    def call(self, *arguments: Argument, again: bool = True) -> Reply:
        """Send one command to the node that has its key."""
        slot = self._slots.of(arguments)
        self.round_trips += 1
        redirected = 0
        while True:
            owner = self._owners[slot]
            if owner is None:
                owner = self._find(slot)
            if self._outages and self._outages.is_left_alone(owner.address, patient=again):
                raise _left_alone(owner)
            try:
                reply = owner.call(*arguments, again=again)
            except MovedError as error:
                redirected += 1
                if self._learn(slot, owner, error) and redirected <= _REDIRECTIONS:
                    continue
                why: Exception = error
            except (AskError, ClusterDownError, TryAgainError) as error:
                why = _not_now(slot, error)
            except StoreUnavailable as error:
                why = self._broken(owner, error, again=again)
            else:
                if self._outages:
                    self._outages.over(owner.address)
                return reply
            self._look()
            self._outages.outlast(owner.address, why)

    def _broken(self, owner: _Node, error: StoreUnavailable, *, again: bool) -> StoreUnavailable:
        """What a node did not answer: raised, unless it may be sent again."""
        self.reconnects += 1
        self._outages.note(owner.address, error)
        if again or not_carried_out(error):
            return error
        self._look()
        raise error

    def each(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        """Send each command to the node that has its key: one round trip a node. Those that a node
        redirects, or that find nobody, are sent once more, as a node's own are.
        """
        replies: list[Reply] = [None] * len(commands)
        wanted: list[int] = list(range(len(commands)))
        for _ in range(2):
            for owner, numbers in self._by_owner(commands, wanted).items():
                found = self._ask(owner, [commands[number] for number in numbers])
                for number, reply in zip(numbers, found, strict=True):
                    replies[number] = reply
            wanted = [number for number in wanted if _is_away(replies[number])]
            if not wanted:
                break
            self._look()
        for number in wanted:
            if not isinstance(replies[number], StoreUnavailable):
                problem = replies[number]
                replies[number] = StoreUnavailable(f"Redis does not answer: {problem}")
                replies[number].__cause__ = problem
        return replies

    def pipeline(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        """Send several commands; those that found nobody are sent again for a bounded time."""
        while True:
            replies = self.each(commands)
            lost = [at for at, reply in enumerate(replies) if isinstance(reply, StoreUnavailable)]
            if not lost:
                break
            owner = self._owners[self._slots.of(commands[lost[0]])]
            self._outages.outlast(owner.address if owner else None, replies[lost[0]])
        for reply in replies:
            if isinstance(reply, ResponseError):
                raise refused(reply) from reply
        return replies

    def listener(self) -> Wire:
        """Make a connection for pub/sub to some node: what is published anywhere is heard there."""
        self._look()
        nodes = tuple(self._nodes.values())
        first = next(self._turn)
        for step in range(len(nodes)):
            node = nodes[(first + step) % len(nodes)]
            if self._outages.is_away(node.address):
                continue
            try:
                # Nobody else would notice that its machine is gone.
                return node._build(  # noqa: SLF001 - a node is a part of this module
                    None, socket_keepalive=True, socket_keepalive_options=_KEEP_ALIVE
                )
            except StoreUnavailable:
                continue
        return super().listener()

    def servers_of(self, keys: Sequence[str], *, fresh: bool = False) -> tuple[str, ...]:
        """Name the node of each key; empty while nobody serves it."""
        slots = [self._slots.of(("GET", key)) for key in keys]
        if fresh or any(self._owners[slot] is None for slot in slots):
            self._look(at_once=fresh)
        owners = [self._owners[slot] for slot in slots]
        return tuple("" if one is None else "{}:{}".format(*one.address) for one in owners)

    def close(self) -> None:
        """Close the idle connections."""
        super().close()
        for node in getattr(self, "_nodes", {}).values():
            node.close()

    # -- what is wrong -----------------------------------------------------------------------------

    def check(self, *, strict: bool = True) -> tuple[str, tuple[str, ...]]:
        """Look at every primary; warns where a primary has no replica, or another time."""
        self._look(at_once=True)
        if not self._nodes:
            self._explain()
        state = self.command("CLUSTER", "INFO").decode()
        primaries = {owner.address: owner for owner in self._owners if owner is not None}
        lonely = self._without_replica()
        versions, warnings, clocks = [], [], []
        for address, node in sorted(primaries.items()):
            where = f"{address[0]}:{address[1]}"
            began = time.monotonic()
            seconds, micros = node.command("TIME")
            clocks.append(int(seconds) * 1000 + int(micros) // 1000 - began * 1000)
            version, found = node.check(strict=strict)
            versions.append(version)
            warnings += [f"{where}: {warning}" for warning in found]
            if address in lonely:
                warnings.append(f"{where} has no replica: its partitions are lost with it")
        if "cluster_state:ok" not in state:
            warnings.append("some slots of the cluster are served by nobody")
        skew = round(max(clocks) - min(clocks)) if clocks else 0
        if skew > _SKEW_MS:
            warnings.append(f"the clocks of the primaries differ by {skew} ms")
        return min(versions, default="0"), tuple(warnings)

    def _explain(self) -> None:
        """Say so when what is named answers and is no cluster."""
        for address in self._seeds:
            try:
                self._node(address).call("CLUSTER", "INFO")
            except ResponseError as error:
                raise ConfigurationError(
                    f"{address[0]}:{address[1]} is no node of a cluster: set conductor.db.type="
                    "redis_standalone, or name the nodes of one in conductor.redis.hosts"
                ) from error
            except StoreUnavailable:
                continue

    def _without_replica(self) -> set[Address]:
        ranges = self.command("CLUSTER", "SLOTS")
        return {(_host(entry[2], ""), int(entry[2][1])) for entry in ranges if len(entry) < 4}

    # -- where things are --------------------------------------------------------------------------

    def _find(self, slot: int) -> _Node:
        """The node of a slot that nobody is known to serve; waits a bounded time for one."""
        while True:
            self._look()
            owner = self._owners[slot]
            if owner is not None:
                self._outages.over(None)
                return owner
            self._outages.outlast(None, Unreached("no node of the cluster answers for this slot"))

    def _by_owner(
        self, commands: Sequence[Sequence[Argument]], numbers: Iterable[int]
    ) -> dict[_Node | None, list[int]]:
        found: dict[_Node | None, list[int]] = {}
        for number in numbers:
            slot = self._slots.of(commands[number])
            if self._owners[slot] is None:
                self._look()
            found.setdefault(self._owners[slot], []).append(number)
        return found

    def _ask(self, owner: _Node | None, commands: list[Sequence[Argument]]) -> list[Reply]:
        problem = StoreUnavailable("No node of the cluster answers for this slot")
        if owner is not None and self._outages.is_left_alone(owner.address, patient=False):
            problem = _left_alone(owner)
        elif owner is not None:
            self.round_trips += 1
            try:
                replies = owner.each(commands)
            except StoreUnavailable as error:
                problem = error
            else:
                lost = next((one for one in replies if isinstance(one, StoreUnavailable)), None)
                if lost is not None:
                    self._outages.note(owner.address, lost)
                elif self._outages:
                    self._outages.over(owner.address)
                return replies
            self._outages.note(owner.address, problem)
        return [problem] * len(commands)

    def _learn(self, slot: int, owner: _Node, moved: MovedError) -> bool:
        """Take the new place of a slot from whoever redirected; false when that is no other."""
        address = (str(moved.host) or owner.address[0], int(moved.port))
        self.reconnects += 1
        if address == owner.address:
            return False
        with self._lock:
            self._owners[slot] = self._node(address)
        self._look()
        return self._owners[slot] is not owner

    def _look(self, *, at_once: bool = False) -> None:
        """Read the map of slots, unless somebody did a moment ago."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked_at < _LOOK_S and not at_once:
                return
            for address in self._to_ask():
                asked = _Node(self._url, address, socket_timeout_s=min(_ASK_S, self._timeout_s))
                try:
                    ranges = asked.command("CLUSTER", "SLOTS")
                except StoreUnavailable:
                    continue
                finally:
                    asked.close()
                if ranges:
                    self._adopt(ranges, address[0])
                    break
            self._looked_at = time.monotonic()

    def _to_ask(self) -> list[Address]:
        """Nodes in turn, those that are away last: one that is cut off may say what is old."""
        known = [address for address in self._nodes if not self._outages.is_away(address)]
        if known:
            turn = next(self._turn) % len(known)
            known = known[turn:] + known[:turn]
        return [*known, *(address for address in self._seeds if address not in known)]

    def _adopt(self, ranges: Sequence[Reply], asked: str) -> None:
        owners: list[_Node | None] = [None] * _SLOTS
        present = set()
        for first, last, primary, *_ in ranges:
            node = self._node((_host(primary, asked), int(primary[1])))
            present.add(node.address)
            owners[first : last + 1] = [node] * (last + 1 - first)
        self._owners = owners
        for address in [address for address in self._nodes if address not in present]:
            self._nodes.pop(address).close()
            self._outages.forget(address)

    def _node(self, address: Address) -> _Node:
        node = self._nodes.get(address)
        if node is None:
            node = self._nodes[address] = _Node(
                self._url, address, socket_timeout_s=self._timeout_s
            )
        return node


def _host(node: Sequence[Reply], asked: str) -> str:
    """Where a node is; one that does not know is where it was asked."""
    return node[0].decode() if node[0] not in {None, b"", b"?"} else asked


def _left_alone(node: _Node) -> StoreUnavailable:
    host, port = node.address
    return StoreUnavailable(f"The Redis node {host}:{port} does not answer just now")


def _is_away(reply: Reply) -> bool:
    """Whether a command has to be sent again, perhaps to another node."""
    return isinstance(reply, (StoreUnavailable, AskError, ClusterDownError, TryAgainError))


def _not_now(slot: int, error: ResponseError) -> ResponseError:
    """An answer that will be another in a moment; one for a slot that is being moved is raised."""
    if isinstance(error, AskError):
        raise StoreUnavailable(
            f"Slot {slot} of the cluster is being moved; its partition answers again afterwards",
            retry_after_s=5,
        ) from error
    return error
