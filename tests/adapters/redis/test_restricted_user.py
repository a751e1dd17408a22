"""A user of Redis that may do what the page on your own Redis says, and no more."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

import conductor_py.adapters.redis as adapter
from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.removals import RedisHistory
from conductor_py.config import load
from conductor_py.errors import StoreUnavailable
from conductor_py.processes.embedded_redis import EmbeddedRedis
from conductor_py.wiring import build_application, build_engine, check_redis
from tests.waiting import until

_PAGE = Path("docs/how-to/external-services.md")
_CALLS = re.compile(r"""(?:redis\.p?call|command|execute)\(\s*\*?\(?\s*["']([A-Z]+)["']""")
#: Of other servers, or of the cluster's nodes: the page on those names them.
_ELSEWHERE = {"CLUSTER", "ROLE", "SENTINEL"}


def _wanted() -> list[str]:
    (line,) = re.findall(r"^ACL SETUSER orders (.*)$", _PAGE.read_text(), re.MULTILINE)
    return line.split()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """Whoever connects is that user."""
    rules = ["reset", "on", "nopass", *_wanted()[2:]]
    with EmbeddedRedis(tmp_path / "redis") as made:
        with Redis.from_url(f"unix://{made.socket}") as client:
            client.execute_command("ACL", "SETUSER", "default", *rules)
        yield made


@pytest.fixture
def connection(store: EmbeddedRedis) -> Iterator[Connection]:
    made = Connection(f"unix://{store.socket}")
    yield made
    made.close()


def test_the_page_allows_each_dangerous_command_that_is_called(connection: Connection) -> None:
    folder = Path(str(adapter.__file__)).parent
    sources = [*folder.glob("*.py"), *folder.glob("lua/*.lua")]
    called = {name for path in sources for name in _CALLS.findall(path.read_text())}
    assert {"MEMORY", "ZADD", "HGETALL", "BGREWRITEAOF"} <= called
    everything = {name.partition(b"|")[0].decode().upper() for name in _dangerous(connection)}
    allowed = {word[1:].partition("|")[0].upper() for word in _wanted() if word.startswith("+")}
    assert called & everything - _ELSEWHERE <= allowed


def _dangerous(connection: Connection) -> list[bytes]:
    found: list[bytes] = connection.command("COMMAND", "LIST", "FILTERBY", "ACLCAT", "dangerous")
    return found


def test_an_execution_runs_is_read_and_erased_by_that_user(
    store: EmbeddedRedis, connection: Connection, tmp_path: Path
) -> None:
    settings = load(
        flags={
            "conductor.redis.socket": str(store.socket),
            "conductor.redis.workflowNamespacePrefix": "orders",
            "conductor.redis.commandTimeout": "60s",
            "conductor.data.directory": str(tmp_path),
        }
    )
    check_redis(settings)
    engine = build_engine(settings, server="one")
    front = build_application(settings, engine, stop=threading.Event(), instance="one")
    client = front.test_client()
    task = {"name": "t", "taskReferenceName": "t", "type": "SIMPLE"}
    inline = {"name": "w", "version": 1, "tasks": [task]}
    started = client.post("/api/workflow", json={"name": "w", "workflowDef": inline}).text
    (claimed,) = client.get("/api/tasks/poll/batch/t?timeout=0").get_json()
    result = {name: claimed[name] for name in ("taskId", "workflowInstanceId")}
    assert client.post("/api/tasks", json={**result, "status": "COMPLETED"}).status_code == 200
    engine.sweeper.tick()
    assert client.get(f"/api/workflow/{started}").get_json()["status"] == "COMPLETED"
    until(RedisHistory(connection).erase)


def test_the_user_sees_no_other_namespace(connection: Connection) -> None:
    connection.command("SET", "{orders:0}:x", "1")
    with pytest.raises(StoreUnavailable, match="permissions"):
        connection.command("GET", "{payments:0}:x")
