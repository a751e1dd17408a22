"""Requests as they are written, without a client that makes them good."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.acceptance.deployment import Api


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
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout_s)
    try:
        connection.request(method, path, body=sent, headers={"Content-Type": "application/json"})
        response = connection.getresponse()
        received = response.read()
    finally:
        connection.close()
    headers = {name.lower(): value for name, value in response.getheaders()}
    is_json = headers.get("content-type", "").startswith("application/json")
    found = json.loads(received) if is_json and received else received.decode()
    return Answer(status=response.status, headers=headers, body=found)
