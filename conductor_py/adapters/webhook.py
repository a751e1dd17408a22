"""The webhook over HTTP: one POST a notification, no redirects, both waits bounded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import urllib3

from conductor_py.ports.events import Undelivered

IDENTITY_HEADER = "X-Conductor-Notification-Id"
"""The same value is the same notification: it may come twice."""

_NONE: Mapping[str, str] = MappingProxyType({})


class HttpWebhook:
    """``Webhook`` over HTTP or HTTPS; connections are kept and shared by threads."""

    def __init__(
        self, *, connect_ms: int, read_ms: int, headers: Mapping[str, str] = _NONE
    ) -> None:
        """``headers`` go with each notification."""
        self._headers = {"Content-Type": "application/json", **headers}
        self._pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=connect_ms / 1000, read=read_ms / 1000),
            retries=False,
        )

    def close(self) -> None:
        """Close the connections that are kept."""
        self._pool.clear()

    def post(self, url: str, body: bytes, identity: str) -> None:
        headers = {**self._headers, IDENTITY_HEADER: identity}
        try:
            answer = self._pool.request("POST", url, body=body, headers=headers, redirect=False)
        except (urllib3.exceptions.HTTPError, ValueError) as failed:
            raise Undelivered(f"{url}: {type(failed).__name__}") from failed
        if not 200 <= answer.status < 300:
            raise Undelivered(f"{url} answered {answer.status}", refused=True)
