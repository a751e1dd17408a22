"""The server that is fuzzed: a real one, with all its processes, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson
from redis import Redis

from conductor_py.processes.embedded_redis import EmbeddedRedis
from conductor_py.sdk import Client
from tests.chaos.crew import Api, given
from tests.chaos.evidence import passing_keys
from tests.chaos.memory import sample
from tests.fuzz.requests import request
from tests.fuzz.sending import Line
from tests.waiting import until

_SETTINGS: Final = {
    "conductor.log.level": "WARNING",
    "conductor.file-storage.enabled": "true",
    "conductor.server.waitLimit": "10s",
    "conductor.embedded.redis.maxMemory": "512MB",
    "conductor.workflow-status-listener.archival.delaySeconds": "10",
}
_READY_S: Final = 120.0
_QUIET_S: Final = 240.0
_AUDIT_S: Final = 300.0
_BULK: Final = 100
_ROLES: Final = {
    True: {"server", "redis", "api", "sweeper", "system-worker", "effects"},
    False: {"server", "redis"},
}
"""Who runs, by whether each part is a process."""


class Target:
    """One server; `end` leaves nothing of it."""

    def __init__(self, folder: Path, *, apart: bool = False) -> None:
        self._roles = _ROLES[apart]
        settings = _SETTINGS | {"conductor.server.oneProcess": str(not apart).lower()}
        options = ("--data", str(folder / "data"), *given(settings))
        self.api = Api("server", options, folder, role="server")
        self.log = folder / "server" / "err"
        self.api.start()
        until(self._is_whole, _READY_S, what="all processes of the server run")
        self._line = Line(self.api.port)
        self.store: Any = Redis(unix_socket_path=str(EmbeddedRedis(folder / "data/redis").socket))

    @property
    def client(self) -> Client:
        """One with patience."""
        return self.api.patient

    def _is_whole(self) -> bool:
        roles = set(sample(self.api.pid, 0).mb)
        return not self.api.has_ended() and roles >= self._roles and self.api.is_healthy()

    def end(self) -> int:
        """SIGTERM, and its exit code."""
        self._line.close()
        code = self.api.end()
        self.api.client.close()
        self.api.patient.close()
        self.store.close()
        return code

    def audit(self) -> str:
        """What `conductor-py audit` finds; nothing when no invariant is broken. Of each execution
        that breaks one, what is stored is kept in the folder.
        """
        command = (sys.executable, "-m", "conductor_py.cli", "audit", "--no-remarks", "--json")
        done = subprocess.run(
            (*command, "--server", self.api.url),
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            timeout=_AUDIT_S,
            check=False,
        )
        if done.returncode == 0:
            return ""
        with suppress(ValueError, KeyError):
            for finding in orjson.loads(done.stdout)["findings"]:
                self._keep(finding["subject"])
        return f"{done.returncode}: {done.stdout}{done.stderr}"

    def _keep(self, execution: str) -> None:
        """Write the fields of an execution into the folder of the server's log."""
        for key in self.store.scan_iter(match=f"{{*}}:exec:{execution}", count=1_000):
            fields = self.store.hgetall(key).items()
            kept = {name.decode(): value.decode(errors="replace") for name, value in fields}
            (self.log.parent / f"{execution}.json").write_bytes(orjson.dumps(kept))

    def clear(self) -> dict[str, int]:
        """Terminate and remove all that can be; what is left of keys that should pass."""
        for schedule in self.client.list_schedules():
            self.client.delete_schedule(str(schedule["name"]))
        for handler in self.client.list_event_handlers():
            self.client.delete_event_handler(str(handler["name"]))

        def is_clear() -> bool:
            present = self._present()
            for at in range(0, len(present), _BULK):
                self._remove(present[at : at + _BULK])
            return not self._left()

        with suppress(AssertionError):
            until(is_clear, _QUIET_S, what="nothing is left")
        return self._left()

    def _present(self) -> list[str]:
        return sorted(
            key.decode().partition("}:exec:")[2]
            for key in self.store.scan_iter(match="{*}:exec:*", count=1_000)
        )

    def _remove(self, ids: list[str]) -> None:
        path, body = "/api/workflow/bulk/remove", orjson.dumps(ids)
        query = [("archiveWorkflow", False)]
        self._line.send(request("tidying", "DELETE", path, body=body, query=query))

    def _left(self) -> dict[str, int]:
        """Keys that should pass. An execution that was taken from the archive for an operation
        leaves the store again ten minutes later: the order for that outlives its removal.
        """
        left = passing_keys(self.store)
        orders = [
            member
            for name in self.store.scan_iter(match="{*}:outbox", count=1_000)
            for member in self.store.zrange(name, 0, -1)
        ]
        if all(member.endswith(b":remove") for member in orders):
            left.pop("outbox", 0)
            left.pop("effects", 0)
        return left

    def keys(self) -> int:
        """How many keys there are."""
        return int(self.store.dbsize())

    def redis_mb(self) -> float:
        """What Redis says that it uses."""
        return float(self.store.info("memory")["used_memory"]) / 2**20

    def leftovers(self) -> dict[str, int]:
        """All keys, counted by kind."""
        found: dict[str, int] = {}
        for key in self.store.scan_iter(count=1_000):
            kind = key.decode(errors="replace").partition("}:")[2].partition(":")[0] or "other"
            found[kind] = found.get(kind, 0) + 1
        return found
