"""The webhook over HTTP: one POST a notification, no redirects, one deadline for all of it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from http.client import HTTPException
from types import MappingProxyType

from urllib3.exceptions import HTTPError
from urllib3.util import Url, parse_url

from conductor_py.outbound.addresses import AddressRefused, AddressRules
from conductor_py.outbound.connection import connect
from conductor_py.outbound.deadline import Deadline, Late
from conductor_py.ports.events import Undelivered

IDENTITY_HEADER = "X-Conductor-Notification-Id"
"""The same value is the same notification: it may come twice."""

_NONE: Mapping[str, str] = MappingProxyType({})


class HttpWebhook:
    """``Webhook`` over HTTP or HTTPS; used by several threads at once."""

    def __init__(
        self,
        rules: AddressRules,
        *,
        connect_ms: int,
        read_ms: int,
        headers: Mapping[str, str] = _NONE,
    ) -> None:
        """Go where ``rules`` allow. A call may last ``connect_ms`` and ``read_ms`` together;
        ``headers`` go with each notification.
        """
        self._rules = rules
        self._connect_s, self._read_s = connect_ms / 1000, read_ms / 1000
        self._total_ms = connect_ms + read_ms
        self._headers = {"Content-Type": "application/json", **headers}

    def post(self, url: str, body: bytes, identity: str) -> None:
        headers = {**self._headers, IDENTITY_HEADER: identity}
        # Path, query and user of a URL may be secrets: its host is enough to find it by.
        where = "the notification URL"
        try:
            read = parse_url(url)
            where = f"{read.scheme}://{read.netloc}"
            with Deadline(self._total_ms) as deadline:
                status = self._ask(read, body, headers, deadline)
        except AddressRefused as refused:
            raise Undelivered(str(refused)) from refused
        except (HTTPError, HTTPException, Late, OSError, ValueError) as failed:
            raise Undelivered(f"{where}: {type(failed).__name__}") from failed
        if not 200 <= status < 300:
            raise Undelivered(f"{where} answered {status}", refused=True)

    def _ask(self, url: Url, body: bytes, headers: Mapping[str, str], deadline: Deadline) -> int:
        """The status of the answer; nothing else of it is read."""
        try:
            connection = connect(
                url, rules=self._rules, deadline=deadline, connect_s=self._connect_s
            )
            with contextlib.closing(connection):
                connection.timeout = deadline.within(self._read_s)
                connection.request(
                    "POST", url.request_uri, body=body, headers=headers, preload_content=False
                )
                status = connection.getresponse().status
            # A head that was broken off reads like one that has ended.
            deadline.check()
            return status
        except (HTTPError, HTTPException, OSError, ValueError):
            # What is broken off for its time fails in its own way.
            deadline.check()
            raise
