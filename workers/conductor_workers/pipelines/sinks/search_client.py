"""The little of the search servers' protocol that a sink needs, in plain JSON over HTTP.

Plain JSON is what Elasticsearch 7 to 9 and OpenSearch all speak; a vendor's client refuses the
other's servers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import urllib3

from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import SinkProblem

_RETRIES: Final = urllib3.Retry(
    total=4,
    backoff_factor=0.3,
    status_forcelist=(429, 502, 503, 504),
    allowed_methods=None,  # every request here may be repeated
    raise_on_status=False,
)
_SHOWN: Final = 300


class Refused(Exception):
    """The server refused a request: its status and what it said."""

    def __init__(self, status: int, said: str) -> None:
        """Keep both."""
        super().__init__(status, said)
        self.status = status
        self.said = said


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchClient:
    """One or more servers of a cluster; travels to tasks."""

    hosts: tuple[str, ...]
    auth: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0

    def call(
        self,
        method: str,
        path: str,
        body: str | None = None,
        *,
        missing: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """Ask the first server that answers; ``missing`` is the answer for what is not there.

        Raises:
            Refused: a status of 400 or more.
            urllib3.exceptions.HTTPError: none of them answers.
        """
        failed: Exception | None = None
        for host in self.hosts:
            try:
                answer = self._asked(method, host.rstrip("/") + path, body)
            except urllib3.exceptions.HTTPError as error:
                failed = error
                continue
            if answer.status == 404 and missing is not None:
                return missing
            if answer.status >= 400:
                raise Refused(answer.status, _said(answer.data))
            found: Mapping[str, Any] = json.loads(answer.data)
            return found
        raise failed or urllib3.exceptions.HTTPError("there is no host")

    @contextmanager
    def explained(self, sink: str) -> Iterator[None]:
        """Say in one sentence what went wrong, and whether it may pass."""
        try:
            yield
        except Refused as error:
            passes = error.status == 429 or error.status >= 500
            code = "SINK_UNAVAILABLE" if passes else "SINK_REFUSED"
            text = f"{sink}: the search server says {error.status}: {error.said}."
            raise SinkProblem(code, text, retryable=passes) from error
        except urllib3.exceptions.HTTPError as error:
            reason = str(error).partition("\n")[0]
            raise SinkProblem(
                "SINK_UNAVAILABLE", f"{sink}: no search server answers: {reason}."
            ) from error

    def _asked(self, method: str, url: str, body: str | None) -> urllib3.BaseHTTPResponse:
        kind = "application/x-ndjson" if "/_bulk" in url else "application/json"
        headers = {"accept": "application/json", "content-type": kind}
        if self.auth is not None:
            headers |= _authorization(self.auth)
        data = None if body is None else body.encode()
        return _pool().request(
            method, url, body=data, headers=headers, timeout=self.timeout_s, retries=_RETRIES
        )


@cache
def _pool() -> urllib3.PoolManager:
    return urllib3.PoolManager(maxsize=4)


def _authorization(auth: str) -> dict[str, str]:
    if auth.startswith(("ApiKey ", "Bearer ")):
        return {"authorization": auth}
    return urllib3.make_headers(basic_auth=auth)


def _said(data: bytes) -> str:
    try:
        error = json.loads(data)["error"]
    except (ValueError, KeyError, TypeError):
        return data[:_SHOWN].decode("utf-8", "replace")
    reason = error.get("reason", error) if isinstance(error, dict) else error
    return str(reason)[:_SHOWN]
