"""Requests as they are written, without a client that makes them good."""

import http.client
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from tests.acceptance.deployment import Api

_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status, headers and body; `body` is the document where it is JSON, else the text."""

    status: int
    headers: Mapping[str, str]
    body: Any


def ask(
    server: Api, method: str, path: str, body: object = None, *, timeout_s: float = 20.0
) -> Answer:
    """Send one request; `body` as it is when it is bytes, else as JSON."""
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    with closing(_connected(server, timeout_s)) as connection:
        connection.request(method, path, body=sent, headers=_JSON)
        return _answer(connection)


def announce(
    server: Api, method: str, path: str, length: int, *, timeout_s: float = 20.0
) -> Answer:
    """Say how long the body is, and wait for the answer before any of it is sent."""
    with closing(_connected(server, timeout_s)) as connection:
        connection.putrequest(method, path)
        for name, value in (_JSON | {"Content-Length": str(length)}).items():
            connection.putheader(name, value)
        connection.endheaders()
        return _answer(connection)


def _connected(server: Api, timeout_s: float) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout_s)


def _answer(connection: http.client.HTTPConnection) -> Answer:
    response = connection.getresponse()
    received = response.read()
    headers = {name.lower(): value for name, value in response.getheaders()}
    is_json = headers.get("content-type", "").startswith("application/json")
    found = json.loads(received) if is_json and received else received.decode()
    return Answer(status=response.status, headers=headers, body=found)
