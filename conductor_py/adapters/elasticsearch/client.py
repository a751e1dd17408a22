"""The client: one a process, speaking what every supported server understands.

Client 8 announces its major version in the media type and insists on a header of the vendor's.
OpenSearch and other majors refuse the one and lack the other; plain ``application/json`` means the
same to all of them, so the node below speaks that, and adds the header to what comes back. Driver
errors become ``StoreUnavailable`` here and nowhere else.
"""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from conductor_py.errors import StoreUnavailable
from conductor_py.ports.search import DocumentRefused

if TYPE_CHECKING:
    from elastic_transport import HttpHeaders, Urllib3HttpNode
    from elastic_transport._node import NodeApiResponse
    from elasticsearch import Elasticsearch

_REQUEST_TIMEOUT_S = 30
_RETRIES = 2
_RETRIED_STATUSES = (429, 502, 503, 504)
_TOO_LARGE = 413
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,100}")
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, RecursionError, zlib.error)
"""What reading a damaged answer raises."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ElasticsearchSettings:
    """Where the cluster is, what the indices are called, and how they are made and written.

    Without ``manage`` they are there already. ``refresh_ms`` is how soon an index that is made
    shows what was written; ``wait_for_refresh`` makes every write wait until it is shown. ``batch``
    bounds the documents of one request.
    """

    urls: tuple[str, ...]
    prefix: str = "conductor"
    shards: int = 5
    replicas: int = 1
    manage: bool = True
    refresh_ms: int = 1_000
    wait_for_refresh: bool = False
    batch: int = 1_000
    username: str | None = None
    password: str | None = dataclasses.field(default=None, repr=False)
    api_key: str | None = dataclasses.field(default=None, repr=False)
    ca_certs: str | None = None


@cache
def _plain_node() -> type[Urllib3HttpNode]:
    # A class in a function, because importing what it extends opens a socket to look for IPv6.
    from elastic_transport import HttpHeaders, Urllib3HttpNode

    class PlainNode(Urllib3HttpNode):
        """Speaks JSON without a version, to Elasticsearch 7, 8 and 9 and to OpenSearch alike."""

        def perform_request(  # type: ignore[override]
            self,
            method: str,
            target: str,
            body: bytes | None = None,
            headers: HttpHeaders | None = None,
            **options: Any,  # noqa: ANN401 - handed through
        ) -> NodeApiResponse:
            plain = HttpHeaders(headers or {})
            for name in ("accept", "content-type"):
                media_type = plain.get(name) or ""
                if "elasticsearch+" in media_type:
                    lines = "x-ndjson" in media_type
                    plain[name] = "application/x-ndjson" if lines else "application/json"
            answer = super().perform_request(method, target, body=body, headers=plain, **options)
            known = HttpHeaders(answer.meta.headers)
            known["x-elastic-product"] = "Elasticsearch"
            return answer._replace(meta=dataclasses.replace(answer.meta, headers=known))

    return PlainNode


def connect(settings: ElasticsearchSettings) -> Elasticsearch:
    """Make a client; nothing is sent yet."""
    from elasticsearch import Elasticsearch

    options: dict[str, Any] = {}
    if settings.username is not None:
        options["basic_auth"] = (settings.username, settings.password or "")
    if settings.api_key is not None:
        options["api_key"] = settings.api_key
    if settings.ca_certs is not None:
        options["ca_certs"] = settings.ca_certs
    return Elasticsearch(
        list(settings.urls),
        node_class=_plain_node(),
        request_timeout=_REQUEST_TIMEOUT_S,
        max_retries=_RETRIES,
        retry_on_status=_RETRIED_STATUSES,
        retry_on_timeout=True,
        **options,
    )


@contextmanager
def wrapped() -> Iterator[None]:
    """Turn what the driver raises into the port's errors, and what its answers are made of: one
    that is damaged, or of something in between, says nothing about what was asked for.
    """
    from elasticsearch import ApiError, TransportError

    try:
        yield
    except ApiError as error:
        sentence = f"The search server refused: {error.status_code} {word(error.error)}"
        if error.status_code == _TOO_LARGE:
            raise DocumentRefused(sentence) from error
        raise StoreUnavailable(sentence) from error
    except TransportError as error:
        name = type(error).__name__
        raise StoreUnavailable(f"The search server does not answer: {name}") from error
    except DAMAGE as error:
        name = type(error).__name__
        raise StoreUnavailable(f"The search server's answer cannot be read: {name}") from error


def word(told: object) -> str:
    """The kind of an error, as a server tells it; of anything else nothing is said on, since it may
    be a page, or have in it what was sent.
    """
    return told if isinstance(told, str) and _WORD.fullmatch(told) else "unknown"
