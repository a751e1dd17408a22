"""What the engine keeps for a job: in memory, and the same for other processes over a socket.

The keeper lives in the test's process, so a worker that is killed or frozen in the middle of a call
takes nothing with it.
"""

from __future__ import annotations

import json
import socket
import socketserver
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from conductor_workers.pipelines.connectors import Owner
from conductor_workers.pipelines.store import EpochConflict, Fenced, Kept, Resume


@dataclass(slots=True)
class Keeper:
    """Keeps the records of one task for all its attempts of one line. Each has a task of its own:
    what databases and topics know of it outlives a test.
    """

    task: str = field(default_factory=lambda: f"execution-{uuid.uuid4().hex[:12]}/load")
    token: int = 0
    line: int = 1
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[tuple[str, int, int, str]] = field(default_factory=list)
    """Pipeline, epoch, token and state of all that was put."""
    savepoints: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """Records by savepoint and pipeline."""
    retain: int = 0
    """How many records the last one that put wants to be kept."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, verb: str, token: int, *given: Any) -> Any:
        """Carry out a verb for the holder of a token. Raises as ``JobStore``."""
        with self.lock:
            if token < self.token:
                raise Fenced
            return getattr(self, f"_{verb}")(token, *given)

    def lose_last(self) -> None:
        """Lose what was put last: an engine that crashed before its log was on the disk."""
        with self.lock:
            pipeline = self.history.pop()[0]
            self.parts[pipeline] = self.parts[pipeline]["before"]

    def restart(self) -> None:
        """Begin another line, which finds nothing."""
        with self.lock:
            self.line += 1
            self.parts.clear()

    def take_savepoint(self, name: str) -> None:
        """Keep the newest records under a name."""
        with self.lock:
            self.savepoints[name] = {
                pipeline: part["record"] for pipeline, part in self.parts.items()
            }

    def go_on_from(self, name: str, *, rewind: bool = False) -> None:
        """Have the next attempt go on from a savepoint."""
        with self.lock:
            for pipeline, record in self.savepoints[name].items():
                self.parts[pipeline]["resume"] = {
                    "record": record,
                    "savepoint": name,
                    "rewind": rewind,
                }

    def _acquire(self, token: int) -> dict[str, Any]:
        self.token = token
        return dict(self.parts)

    def _append(self, token: int, pipeline: str, notes: list[Any]) -> None:
        del token
        self._part(pipeline)["notes"].extend(notes)

    def _put(
        self, token: int, pipeline: str, record: dict[str, Any], expected: int, epoch: int
    ) -> None:
        part = self._part(pipeline)
        if part["epoch"] == epoch and part["record"] == record:
            return
        if part["epoch"] != expected:
            raise EpochConflict(part["epoch"])
        assert epoch in (expected, expected + 1)
        self.parts[pipeline] = {"epoch": epoch, "record": record, "notes": [], "before": part}
        part.pop("before", None)
        self.history.append((pipeline, epoch, token, record["state"]))

    def _pinned(self, token: int, pipeline: str) -> list[dict[str, Any]]:
        del token
        return [point[pipeline] for point in self.savepoints.values() if pipeline in point]

    def _get(self, token: int, pipeline: str) -> dict[str, Any]:
        del token
        return self._part(pipeline)

    def _part(self, pipeline: str) -> dict[str, Any]:
        return self.parts.setdefault(pipeline, {"epoch": 0, "record": None, "notes": []})


class MemoryJobStore:
    """A ``JobStore`` of the same process."""

    def __init__(self, keeper: Keeper, *, token: int) -> None:
        """Hold the task with that token."""
        self._keeper = keeper
        self.token = token
        self.owner = Owner(task=keeper.task, line=keeper.line)

    def acquire(self) -> Mapping[str, Kept]:
        """See ``JobStore``."""
        return {name: _kept(part) for name, part in self._ask("acquire").items()}

    def append(self, pipeline: str, notes: Sequence[Mapping[str, Any]]) -> None:
        """See ``JobStore``."""
        self._ask("append", pipeline, [dict(note) for note in notes])

    def put(
        self,
        pipeline: str,
        record: Mapping[str, Any],
        *,
        expected: int,
        epoch: int,
        retain: int,
    ) -> None:
        """See ``JobStore``."""
        self._keeper.retain = retain
        self._ask("put", pipeline, json.loads(json.dumps(record)), expected, epoch)

    def pinned(self, pipeline: str) -> tuple[Mapping[str, Any], ...]:
        """See ``JobStore``."""
        return tuple(self._ask("pinned", pipeline))

    def get(self, pipeline: str) -> Kept:
        """See ``JobStore``."""
        return _kept(self._ask("get", pipeline))

    def _ask(self, verb: str, *given: Any) -> Any:
        return self._keeper.call(verb, self.token, *given)


class RemoteJobStore(MemoryJobStore):
    """A ``JobStore`` over a socket: a connection each call, a line of JSON each way."""

    def __init__(self, address: tuple[str, int], *, token: int) -> None:
        """Hold the task with that token, at the server of that address."""
        super().__init__(Keeper(task=_task_at(address)), token=token)
        self._address = address

    def _ask(self, verb: str, *given: Any) -> Any:
        with (
            socket.create_connection(self._address) as connection,
            connection.makefile("rw") as file,
        ):
            file.write(json.dumps([verb, self.token, *given]) + "\n")
            file.flush()
            answer = json.loads(file.readline())
        if "fenced" in answer:
            raise Fenced
        if "conflict" in answer:
            raise EpochConflict(answer["conflict"])
        return answer["found"]


class StoreServer:
    """Serves a keeper to other processes."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self.keeper = Keeper()
        keeper = self.keeper

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                line = self.rfile.readline()
                if not line.endswith(b"\n"):  # its sender died
                    return
                self.wfile.write(json.dumps(_answered(keeper, json.loads(line))).encode() + b"\n")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        keeper.task = _task_at(self.address)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    def __enter__(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()


def _task_at(address: tuple[str, int]) -> str:
    """The task that the server of that address keeps, which other processes name alike."""
    return f"execution-{address[1]}/load"


def _answered(keeper: Keeper, asked: list[Any]) -> dict[str, Any]:
    try:
        return {"found": keeper.call(*asked)}
    except Fenced:
        return {"fenced": True}
    except EpochConflict as error:
        return {"conflict": error.epoch}


def _kept(part: Mapping[str, Any]) -> Kept:
    resume = Resume(**part["resume"]) if part.get("resume") else None
    return Kept(
        epoch=part["epoch"], record=part["record"], notes=tuple(part["notes"]), resume=resume
    )
