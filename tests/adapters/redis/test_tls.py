"""A Redis that speaks TLS, with a certificate that no authority of the system has signed."""

from __future__ import annotations

import re
import socketserver
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.redis.sentinel import Watched
from conductor_py.adapters.rq.connection import connect as connect_queue
from conductor_py.config import load
from conductor_py.errors import StoreUnavailable
from conductor_py.wiring.effects import effects_url
from conductor_py.wiring.redis import connect
from tests.certificates import certificate_of, serving_tls


class _Obliging(socketserver.BaseRequestHandler):
    """Says OK to every command."""

    def handle(self) -> None:
        with suppress(OSError):  # who does not trust the certificate hangs up
            while asked := self.request.recv(4096):
                self.request.sendall(b"+OK\r\n" * len(re.findall(rb"\*\d+\r\n", asked)))


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return certificate_of("localhost", tmp_path)


@pytest.fixture
def port(certificate: Path) -> Iterator[int]:
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Obliging)
    with serving_tls(server, certificate) as found:
        yield found


def _settings(port: int, **flags: str) -> Any:
    redis = {"hosts": f"localhost:{port}:rack", "ssl": "true", **flags}
    return load(flags={f"conductor.redis.{name}": value for name, value in redis.items()})


def test_a_certificate_that_the_named_file_vouches_for_is_good(
    port: int, certificate: Path
) -> None:
    settings = _settings(port, sslCaFile=str(certificate))
    connection = connect(settings)
    assert connection.command("PING") == b"OK"
    connection.close()
    queue: Any = connect_queue(effects_url(settings), timeout_s=1.0)
    assert queue.connection_pool.connection_kwargs["ssl_ca_certs"] == str(certificate)


def test_a_certificate_that_nobody_vouches_for_is_refused(port: int) -> None:
    connection = connect(_settings(port))
    with pytest.raises(StoreUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        connection.command("PING")
    connection.close()


def test_the_primary_and_its_sentinels_are_judged_by_that_file_too(
    port: int, certificate: Path
) -> None:
    place = Watched(
        sentinels=(("localhost", port),), master="m", ssl=True, ca_file=str(certificate)
    )
    (sentinel,) = connect(
        load(
            flags={
                "conductor.db.type": "redis_sentinel",
                "conductor.redis.hosts": f"localhost:{port}:rack",
                "conductor.redis.ssl": "true",
                "conductor.redis.sslCaFile": str(certificate),
            }
        )
    )._sentinels  # type: ignore[attr-defined]
    assert sentinel.command("PING") == b"OK"
    sentinel.close()
    pool: Any = connect_queue(place.url, timeout_s=1.0).connection_pool
    (asked,) = pool.sentinel_manager.sentinels
    for each in (pool, asked.connection_pool):
        assert each.connection_kwargs["ssl_ca_certs"] == str(certificate)
