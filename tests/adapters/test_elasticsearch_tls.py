"""An Elasticsearch that speaks TLS, with a certificate that no authority has signed."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from conductor_py.config import load
from conductor_py.errors import ConfigurationError, StoreUnavailable
from conductor_py.model.search import SearchRequest
from conductor_py.wiring.search import search_of
from tests.certificates import certificate_of, serving_tls

_NOTHING = b'{"hits": {"total": {"value": 0, "relation": "eq"}, "hits": []}}'


class _Empty(BaseHTTPRequestHandler):
    """Finds nothing, and remembers who asked."""

    callers: list[str | None]

    def do_POST(self) -> None:
        self.callers.append(self.headers["Authorization"])
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(_NOTHING)))
        self.end_headers()
        self.wfile.write(_NOTHING)

    def log_message(self, *_: object) -> None:
        """Nothing to tell."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Who does not trust the certificate hangs up."""


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return certificate_of("localhost", tmp_path)


@pytest.fixture
def server(certificate: Path) -> Iterator[Any]:
    handler = type("Handler", (_Empty,), {"callers": []})
    made = _Server(("127.0.0.1", 0), handler)
    with serving_tls(made, certificate):
        yield made


def _search(server: Any, **flags: str) -> Any:
    named = {
        "indexing.type": "elasticsearch",
        "elasticsearch.url": f"https://localhost:{server.server_address[1]}" if server else "",
        "elasticsearch.autoIndexManagementEnabled": "false",
        **{f"elasticsearch.{name}": value for name, value in flags.items()},
    }
    return search_of(load(flags={f"conductor.{key}": value for key, value in named.items()}))


def test_a_certificate_that_the_named_file_vouches_for_is_good(
    server: Any, certificate: Path
) -> None:
    search = _search(server, sslCaFile=str(certificate), apiKey="bmFtZTprZXk=")
    assert search.search(SearchRequest()).total_hits == 0
    assert server.RequestHandlerClass.callers == ["ApiKey bmFtZTprZXk="]


def test_a_certificate_that_nobody_vouches_for_is_refused(server: Any) -> None:
    with pytest.raises(StoreUnavailable, match="TlsError"):
        _search(server).search(SearchRequest())
    assert server.RequestHandlerClass.callers == []


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_file_that_holds_no_certificates_is_a_wrong_setting(
    server: Any, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content)
    with pytest.raises(ConfigurationError, match=r"sslCaFile: .*ca\.pem is no file of cert"):
        _search(server, sslCaFile=str(file))


def test_certificates_for_a_server_without_https_are_a_wrong_setting(certificate: Path) -> None:
    with pytest.raises(ConfigurationError, match="names a server without https"):
        _search(None, sslCaFile=str(certificate), url="https://one:9200,http://two:9200")


@pytest.mark.parametrize("other", [{"username": "u"}, {"password": "p"}])
def test_a_key_and_a_user_are_not_named_together(server: Any, other: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="apiKey: takes the place of"):
        _search(server, apiKey="a", **other)


@pytest.mark.parametrize("key", ["a\nb", "a b", "schl\u00fcssel"])
def test_a_key_that_no_header_can_carry_is_a_wrong_setting(server: Any, key: str) -> None:
    with pytest.raises(ConfigurationError, match="apiKey: not a key"):
        _search(server, apiKey=key)
