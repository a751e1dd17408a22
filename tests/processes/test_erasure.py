"""After an execution is removed, no store and no file of a deployment has a byte of it."""

from __future__ import annotations

import base64
import hashlib
import re
import signal
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from redis import Redis

from conductor_py.adapters.files.payloads import FilePayloads
from conductor_py.adapters.rq.connection import connect
from conductor_py.adapters.rq.job import handle_with
from conductor_py.adapters.rq.worker import worker_of
from conductor_py.config import load
from conductor_py.engine import Engine
from conductor_py.engine.assembly import assemble
from conductor_py.engine.payloads import file_retention, files
from conductor_py.engine.payloads import retention as payload_retention
from conductor_py.engine.port_set import Ports
from conductor_py.errors import StoreUnavailable
from conductor_py.processes.embedded_redis import EmbeddedRedis
from conductor_py.wiring import build_application, build_engine
from conductor_py.wiring import engine as wiring
from tests.waiting import until

_PLACES = (
    *("input", "variable", "output", "result", "correlation", "key", "log", "reason", "note"),
    *("large", "handed", "file", "filename", "message", "creator"),
)
CANARIES: Mapping[str, str] = {
    # Lower-case, as words in the index are; and different from the first letter on, since sorted
    # words share their beginnings.
    place: hashlib.sha256(place.encode()).hexdigest()[:24]
    for place in _PLACES
}
_POSTS: list[bytes] = []


class _Receiver(BaseHTTPRequestHandler):
    """Takes notifications."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        _POSTS.append(body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Site:
    """One deployment in this process: HTTP, effects by the job queue, maintenance."""

    def __init__(self, folder: Path, store: EmbeddedRedis, receiver: str) -> None:
        settings = load(
            flags={
                "conductor.data.directory": str(folder),
                "conductor.db.type": "redis_standalone",
                "conductor.redis.socket": str(store.socket),
                "conductor.file-storage.enabled": "true",
                "conductor.idempotency.keyTtl": "1s",
                "conductor.app.taskOutputPayloadSizeThreshold": "3KB",
                "conductor.workflow-status-listener.type": "workflow_publisher",
                "conductor.status-notifier.notification.url": receiver,
                "conductor.erasure.interval": "1ms",
                "conductor.erasure.rewriteAppendOnlyFile": "true",
            }
        )
        # Not settings: a grace period is an hour at least, so that nobody loses what is on its way.
        settings = replace(settings, payload_storage=replace(settings.payload_storage, grace_ms=1))
        self.folder = folder
        self.url = f"unix://{store.socket}"
        self.redis: Redis = Redis.from_url(self.url)
        # What is compressed cannot be searched for.
        self.redis.config_set("rdbcompression", "no")
        self.redis.config_set("slowlog-log-slower-than", 0)
        self.ports: list[Ports] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(wiring, "assemble", self._assembled)
            self.engine: Engine = build_engine(settings, server="test", sweeps=True)
        self.engine.shards.keep()
        application = build_application(
            settings, self.engine, stop=threading.Event(), instance="test"
        )
        self.client: FlaskClient = application.test_client()
        handle_with(self.engine.effects.run)

    def _assembled(self, ports: Ports, *parts: Any, **named: Any) -> Engine:
        self.ports.append(ports)
        return assemble(ports, *parts, **named)

    def close(self) -> None:
        """End what belongs to the engine, which in a process ends with it."""
        for each in self.ports:
            record: Any = each.erasure and each.erasure.record
            parts: tuple[Any, ...] = each.wakeups, each.scripts, each.search
            parts += (record._scripts.connection,)
            for part in parts:
                part.close()
        self.redis.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        given = {"data": body} if isinstance(body, bytes) else {"json": body}
        answer = self.client.open(
            path, method=method, headers=headers, **({} if body is None else given)
        )
        assert answer.status_code < 300, answer.text
        return answer.json if answer.is_json else answer.text

    def tick(self) -> bool:
        """Do what the processes of a server do; whether nothing but a removal is still to come."""
        self.engine.sweeper.tick()
        self.engine.relay.tick()
        with connect(self.url, timeout_s=None) as connection:
            worker_of("conductor-effects", connection).work(burst=True, logging_level="ERROR")
        for tick in (
            self.engine.retention.tick,
            self.engine.file_retention.tick,
            self.engine.payload_retention.tick,
            self.engine.erasure.tick,
        ):
            tick()
        waiting: Any = self.redis.zrange("{conductor:0}:outbox", 0, -1)
        return all(effect.endswith(b":remove") for effect in waiting)

    def found(self) -> dict[str, set[str]]:
        """Which canaries are where, by their places."""
        texts = dict(_texts(self.redis))
        for path in self.folder.rglob("*"):
            if path.is_file():
                texts[str(path.relative_to(self.folder))] = path.read_bytes()
        texts |= {f"{name}, unpacked": _unpacked(text) for name, text in texts.items()}
        found = {
            place: {name for name, text in texts.items() if any(form in text for form in forms)}
            for place, forms in _FORMS.items()
        }
        return {place: names for place, names in found.items() if names}


def _forms(text: str) -> tuple[bytes, ...]:
    """A text as it is, the most of it, and in base64 at each of three offsets."""
    raw = text.encode()
    coded = [base64.b64encode(b" " * pad + raw)[4:-4] for pad in range(3)]
    return (raw, raw[4:], *coded)


_FORMS = {place: _forms(text) for place, text in CANARIES.items()}


def _texts(redis: Redis) -> Iterator[tuple[str, bytes]]:
    """Each key with all that it holds, whatever its type, and the server's log of slow commands."""
    reads: dict[bytes, Any] = {
        b"string": redis.get,
        b"hash": redis.hgetall,
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"set": redis.smembers,
        b"zset": lambda key: redis.zrange(key, 0, -1),
        b"stream": redis.xrange,
    }
    for key in redis.scan_iter(count=1000):
        read = reads.get(redis.type(key))  # type: ignore[arg-type]
        if read is None:
            continue  # it has expired
        held = read(key)
        if isinstance(held, dict):
            held = [part for pair in held.items() for part in pair]
        parts = [held] if isinstance(held, bytes) else list(held or ())
        yield f"key {key.decode(errors='replace')}", b"\n".join([key, *parts])
    slow = redis.execute_command("SLOWLOG", "GET", "-1")
    yield "the slow log", str(slow).encode()


def _unpacked(text: bytes) -> bytes:
    """What zlib makes of each place where something compressed may begin."""
    parts: list[bytes] = []
    for begin in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", text):
        unpacker = zlib.decompressobj()
        try:
            parts.append(unpacker.decompress(text[begin.start() :], 1 << 22))
        except zlib.error:
            continue
    return b"\n".join(parts)


@pytest.fixture
def site(tmp_path: Path, receiver: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(files, "CHECK_MS", 0)
    monkeypatch.setattr(file_retention, "CHECK_MS", 0)
    monkeypatch.setattr(payload_retention, "_AGAIN_MS", 1)
    _POSTS.clear()
    with EmbeddedRedis(tmp_path / "redis", appendfsync="always") as store:
        made = Site(tmp_path, store, receiver)
        yield made
        made.close()


def _definition() -> Any:
    simple = {"type": "SIMPLE", "inputParameters": {}}
    return {
        "name": "watched",
        "version": 1,
        "workflowStatusListenerEnabled": True,
        "tasks": [
            {
                "name": "SET_VARIABLE",
                "type": "SET_VARIABLE",
                "taskReferenceName": "set",
                "inputParameters": {"kept": "${workflow.input.variable}"},
            },
            {
                "name": "EVENT",
                "type": "EVENT",
                "taskReferenceName": "event",
                "sink": "conductor",
                "inputParameters": {"said": "${workflow.input.message}"},
            },
            {**simple, "name": "work", "taskReferenceName": "work"},
            {
                **simple,
                "name": "more",
                "taskReferenceName": "more",
                "inputParameters": {"handed": "${work.output.handed}"},
            },
        ],
        "outputParameters": {"all": "${workflow.input.result}"},
    }


def _polled(site: Site, name: str) -> Any:
    return until(lambda: site.ask("GET", f"/api/tasks/poll/{name}?workerid=w") or None, what=name)


def _report(site: Site, task: Any, status: str, **result: Any) -> None:
    names = {"workflowInstanceId": task["workflowInstanceId"], "taskId": task["taskId"]}
    site.ask("POST", "/api/tasks", {**names, "workerId": "w", "status": status, **result})


def _begun(site: Site) -> str:
    """An execution that has a canary wherever it can have one."""
    handler = {
        "name": "deaf",
        "event": "conductor:watched:event",
        "condition": "false",
        "active": True,
        "actions": [{"action": "start_workflow", "start_workflow": {"name": "watched"}}],
    }
    site.ask("POST", "/api/event", handler)
    site.ask("POST", "/api/metadata/workflow", _definition())
    execution: str = site.ask(
        "POST",
        "/api/workflow",
        {
            "name": "watched",
            "input": {
                place: CANARIES[place] for place in ("input", "variable", "message", "result")
            },
            "correlationId": CANARIES["correlation"],
            "idempotencyKey": CANARIES["key"],
            "createdBy": CANARIES["creator"],
        },
    )
    task = _polled(site, "work")
    site.ask("POST", f"/api/tasks/{task['taskId']}/checkpoints", {"claimToken": task["claimToken"]})
    note = {"claimToken": task["claimToken"], "notes": [{"text": CANARIES["note"]}]}
    site.ask("POST", f"/api/tasks/{task['taskId']}/checkpoints/part/notes", note)
    line = CANARIES["log"].encode()
    site.ask(
        "POST", f"/api/tasks/{task['taskId']}/log", line, **{"Content-Type": "application/json"}
    )
    filed = site.ask(
        "POST", "/api/files", {"workflowId": execution, "fileName": CANARIES["filename"]}
    )
    site.ask("PUT", re.sub(r"^http://[^/]+", "", filed["uploadUrl"]), CANARIES["file"].encode())
    id_ = filed["fileHandleId"].rpartition("/")[2]
    site.ask("POST", f"/api/files/{execution}/{id_}/upload-complete")
    large = {"text": CANARIES["large"] + "." * 4_000, "handed": CANARIES["handed"]}
    _report(site, task, "COMPLETED", outputData=large)
    _report(
        site,
        _polled(site, "more"),
        "FAILED_WITH_TERMINAL_ERROR",
        reasonForIncompletion=CANARIES["reason"],
        outputData={"small": CANARIES["output"]},
    )
    return execution


def _removed(site: Site, execution: str) -> None:
    site.ask("DELETE", f"/api/workflow/{execution}/remove?archiveWorkflow=false")


def _archived_and_removed(site: Site, execution: str) -> None:
    site.ask("DELETE", f"/api/workflow/{execution}/remove?archiveWorkflow=true")
    until(site.tick)
    _removed(site, execution)


def _grown_old(site: Site, execution: str) -> None:
    site.ask("DELETE", f"/api/workflow/{execution}/remove?archiveWorkflow=true")
    site.engine.retention._keep_ms = 1


@pytest.mark.parametrize("leave", [_removed, _archived_and_removed, _grown_old])
def test_no_byte_of_a_removed_execution_is_left(
    site: Site, leave: Callable[[Site, str], None]
) -> None:
    execution = _begun(site)
    until(site.tick)
    before = site.found()
    assert before.keys() == CANARIES.keys()
    assert [CANARIES["reason"].encode() in post for post in _POSTS] == [True]
    assert any("search.sqlite3" in name for name in before["input"])
    assert any(".aof" in name for name in before["log"])

    leave(site, execution)

    until(lambda: site.tick() and not site.found(), what="nothing left")
    assert len(_POSTS) == 1


def test_a_payload_whose_deletion_is_refused_is_collected_later_and_nothing_is_posted_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: Any) -> None:
        raise StoreUnavailable("the storage takes nothing away")

    execution = _begun(site)
    until(site.tick)
    with monkeypatch.context() as broken:
        broken.setattr(FilePayloads, "delete", refused)
        _removed(site, execution)
        until(lambda: site.tick() and "cannot be removed now" in caplog.text, what="refused")
        until(lambda: site.tick() and site.found().keys() == {"large", "handed"}, what="the rest")

    until(lambda: site.tick() and not site.found(), what="nothing left")
    assert len(_POSTS) == 1
