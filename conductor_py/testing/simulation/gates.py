"""What stands between a process and the store: every call takes time, others run meanwhile, and
what is to go wrong goes wrong here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from conductor_py.adapters.memory.wakeups import MemoryWakeups
from conductor_py.engine.machine import Machine
from conductor_py.engine.port_set import Ports
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.events import Undelivered, Webhook
from conductor_py.testing.simulation.loop import SECOND

if TYPE_CHECKING:
    from conductor_py.testing.simulation.process import Server

_IN_PROCESS: Final = frozenset({"scripts", "secrets", "environment", "files"})
"""Ports that are no calls of a store."""


class Gate:
    """One port of one process."""

    def __init__(self, process: Server, port: str, adapter: object) -> None:
        """Let every call of ``adapter`` pass through ``process``."""
        self._process = process
        self._port = port
        self._adapter = adapter

    def __getattr__(self, name: str) -> Any:
        target = getattr(self._adapter, name)
        if not callable(target):
            return target
        call = f"{self._port}.{name}"
        process = self._process

        def passed(*given: Any, **named: Any) -> Any:
            return process.cross(call, target, given, named)

        self.__dict__[name] = passed
        return passed


class GatedSink:
    """A provider of events, reached through the gate."""

    def __init__(self, process: Server, name: str, publish: Callable[[Any], None]) -> None:
        """Publish by ``publish``."""
        self._process = process
        self._name = name
        self._publish = publish

    def publish(self, messages: Any) -> None:
        """Send messages."""
        self._process.cross(f"sink.{self._name}", self._publish, (messages,), {})


class Listener:
    """Whoever is told of executions: it remembers what it was told, of whom."""

    def __init__(self) -> None:
        """Have been told nothing."""
        self.told: dict[str, list[str]] = {}

    def post(self, url: str, body: bytes, identity: str) -> None:
        """Take a notice."""
        notice = orjson.loads(body)
        self.told.setdefault(notice["workflowId"], []).append(str(notice["status"]))


class GatedWebhook:
    """The listener of a process, who is not always there."""

    def __init__(self, process: Server, listener: Webhook) -> None:
        """Post to ``listener``."""
        self._process = process
        self._listener = listener

    def post(self, url: str, body: bytes, identity: str) -> None:
        """Post a notice, over the network."""
        given = (url, body, identity)
        try:
            self._process.cross("webhook.post", self._listener.post, given, {})
        except StoreUnavailable as away:
            raise Undelivered(away.message) from away


class SimulatedWakeups(MemoryWakeups):
    """``Wakeups`` of one process, which hears nothing while it is deaf."""

    def __init__(self, process: Server) -> None:
        """Listen to the space."""
        super().__init__(process.world.space)
        self._process = process

    def wait(self, topic: str, timeout_s: float, seen: int) -> int:
        if self.ticket(topic) <= seen:
            self._process.listen((topic,), timeout_s)
        return self.ticket(topic)

    def wait_turn(self, topic: str, timeout_s: float, seen: int) -> bool:
        return self.wait(topic, timeout_s, seen) > seen

    def ticket(self, topic: str) -> int:
        return super().ticket(topic) - self._process.missed[topic]

    def wait_any(self, seen: Mapping[str, int], timeout_s: float) -> None:
        if all(self.ticket(topic) <= at for topic, at in seen.items()):
            self._process.listen(tuple(seen), timeout_s)


class SimulatedMachine(Machine):
    """A machine in virtual time, whose chance is the seed's."""

    def __init__(self, process: Server) -> None:
        """Be the machine of a process."""
        self._process = process
        self._world = process.world
        self._chance = process.chance

    def monotonic(self) -> float:
        """Read virtual time, in seconds."""
        return self._world.loop.now / SECOND

    def pause(self, seconds: float) -> None:
        """Let virtual time pass."""
        self._process.pause(int(seconds * SECOND))

    def token(self, size: int) -> str:
        """Draw from the seed."""
        return self._chance.randbytes(size).hex()


def gated(process: Server, ports: Ports) -> Ports:
    """Put a gate before every port that is a call."""
    changes: dict[str, Any] = {}
    for field in fields(ports):
        adapter = getattr(ports, field.name)
        if field.name == "wakeups":
            changes[field.name] = SimulatedWakeups(process)
        elif field.name == "sinks":
            changes[field.name] = {
                name: GatedSink(process, name, sink.publish) for name, sink in adapter.items()
            }
        elif field.name == "webhook" and adapter is not None:
            changes[field.name] = GatedWebhook(process, adapter)
        elif field.name not in _IN_PROCESS and adapter is not None:
            changes[field.name] = Gate(process, field.name, adapter)
    return replace(ports, **changes)


__all__ = ["Listener", "SimulatedMachine", "gated"]
