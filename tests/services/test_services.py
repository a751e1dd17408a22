"""The services that other tests rely on are real, and do not outlive their tests."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
import uuid
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis

from tests.services.ports import free_port
from tests.services.processes import Service, is_running
from tests.services.redis_servers import NEWEST_REDIS, start_redis
from tests.waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[2]


def test_every_redis_runs_scripts_and_starts_empty(real_redis):
    name, url = real_redis
    with Redis.from_url(url) as client:
        assert client.dbsize() == 0
        assert client.eval("return redis.call('SET', KEYS[1], ARGV[1])", 1, "k", name) == b"OK"
        assert client.get("k") == name.encode()


def test_append_only_redis_keeps_what_it_was_told_across_kill_9(redis_servers):
    redis_servers.get(NEWEST_REDIS)
    server = start_redis(append_only=True)
    try:
        with server.client() as client:
            client.config_set("appendfsync", "always")
            client.set("k", "v")
        server.kill()
        server.start()
        with server.client() as client:
            assert client.get("k") == b"v"
    finally:
        server.stop()


def test_object_store_refuses_a_wrong_secret(s3_bucket):
    import dataclasses

    from botocore.exceptions import ClientError

    s3_bucket.client().put_object(Bucket=s3_bucket.name, Key="k", Body=b"v")
    got = s3_bucket.client().get_object(Bucket=s3_bucket.name, Key="k")
    assert got["Body"].read() == b"v"
    forger = dataclasses.replace(s3_bucket, secret_key="another").client()
    with pytest.raises(ClientError, match=r"403|SignatureDoesNotMatch|Forbidden"):
        forger.get_object(Bucket=s3_bucket.name, Key="k")


@pytest.mark.parametrize(
    "fixture",
    [
        pytest.param("opensearch_url", marks=pytest.mark.thorough(target="versions")),
        "elasticsearch_url",
    ],
)
@pytest.mark.service
@pytest.mark.xdist_group("search")
def test_search_server_indexes_and_finds(fixture, request):
    url = request.getfixturevalue(fixture)
    index = f"{url}/probe-{fixture.replace('_', '-')}"
    document = json.dumps({"word": "heron"}).encode()
    put = urllib.request.Request(
        f"{index}/_doc/1?refresh=true",
        data=document,
        method="PUT",
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(put) as answer:
        assert answer.status == 201
    with urllib.request.urlopen(f"{index}/_search?q=word:heron") as answer:
        assert json.load(answer)["hits"]["total"]["value"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of a parent's death")
def test_service_dies_when_its_tests_are_killed(tmp_path):
    story = (
        "from tests.services.processes import Service\n"
        "s = Service('sleeper'); s.start(['sleep', '300']); print(s.pid, flush=True)\n"
        "import threading; threading.Event().wait()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", story],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert is_running(pid)
    parent.kill()
    parent.communicate()
    until(lambda: not is_running(pid), what="the sleeper is gone")


def test_service_that_ends_while_starting_is_reported_with_its_log():
    with Service("failing") as service:
        service.start([sys.executable, "-c", "print('no such luck')"])
        with pytest.raises(Exception, match="no such luck"):
            service.await_ready(lambda: False, PATIENCE_S)


def test_waiting_ends_at_its_deadline():
    with pytest.raises(AssertionError, match=r"not within 0.05 s: the moon"):
        until(lambda: False, 0.05, what="the moon")


def test_a_port_is_for_servers_alone_and_for_one_at_a_time():
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    for _ in range(2):  # again, with a connection of the first one that was closed a moment ago
        with socket.socket() as client:
            assert client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
        with socket.create_server(("127.0.0.1", port)) as server:
            with socket.create_connection(("127.0.0.1", port)):
                server.accept()[0].close()
            with pytest.raises(OSError, match="in use"):
                socket.create_server(("127.0.0.1", port))


def test_a_port_that_is_held_is_given_to_no_client_and_to_nobody_who_asks_for_any():
    held = {free_port() for _ in range(50)}
    assert len(held) == 50
    with ExitStack() as opened:
        for _ in range(150):
            other = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
            client = opened.enter_context(socket.create_connection(other.getsockname()))
            assert held.isdisjoint({other.getsockname()[1], client.getsockname()[1]})


def test_a_port_is_held_no_longer_than_its_process_lives():
    story = (
        "import subprocess\n"
        "from tests.services.ports import free_port\n"
        "port = free_port()\n"
        "child = subprocess.Popen(['sleep', '300'], stdout=subprocess.DEVNULL, close_fds=False)\n"
        "print(port, child.pid)\n"
    )

    def is_free_again() -> bool:
        told = subprocess.run(
            [sys.executable, "-c", story], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
        port, child = map(int, told.stdout.split())
        try:
            with socket.socket() as other:
                other.bind(("127.0.0.1", port))
        except OSError:
            return False
        finally:
            os.kill(child, signal.SIGKILL)
        return True

    # Somebody else may have been given that port meanwhile, and not all of three.
    assert any(is_free_again() for _ in range(3))


@pytest.mark.parametrize(
    "fixture",
    [
        "postgresql_server",
        "mariadb_server",
        pytest.param("mysql_server", marks=pytest.mark.thorough(target="versions")),
    ],
)
@pytest.mark.service
def test_sql_server_undoes_what_was_not_committed(fixture, request):
    from conductor_workers.pipelines.databases.dialect import read_address
    from conductor_workers.pipelines.databases.opening import Database

    address = read_address(request.getfixturevalue(fixture))
    database = Database(node="test", address=address, lock_wait_s=PATIENCE_S)
    table = f"t_{uuid.uuid4().hex[:12]}"
    with database.connected() as connection:
        connection.cursor().execute(f"CREATE TABLE {table} (n INTEGER PRIMARY KEY)")
        connection.commit()
    with database.connected() as connection:
        database.dialect.begin(connection)
        connection.cursor().execute(f"INSERT INTO {table} VALUES (1)")
    with database.connected() as connection:
        cursor = connection.cursor()
        cursor.execute(f"SELECT COUNT(*) FROM {table}")
        assert cursor.fetchone() == (0,)
