"""The front as a whole: unknown paths, precedence, payloads, health, the published interface."""

import json
from io import BytesIO
from typing import Any, BinaryIO, Self

import pytest

from conductor_py.adapters.files.payloads import FilePayloads
from conductor_py.api import create_app
from conductor_py.api.errors import STATUS
from conductor_py.errors import ConductorError, PayloadTooLarge
from conductor_py.ports.payloads import PayloadKind, UrlRefused
from tests.api.fake_engine import FakeEngine


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/nope"), ("POST", "/api/token"), ("GET", "/api/token/userInfo"), ("GET", "/x")],
)
def test_unknown_paths_are_404_in_json(client: Any, method: str, path: str) -> None:
    answer = client.open(path, method=method)
    assert (answer.status_code, answer.json["status"]) == (404, 404)
    assert answer.json["message"] == f"No static resource {path[1:]}."


class _Body(BytesIO):
    """A body that remembers how far it was read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.read_bytes = 0

    def read(self, size: int | None = -1) -> bytes:
        chunk = super().read(size)
        self.read_bytes += len(chunk)
        return chunk


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("DELETE", "/api/workflow/missing", 404),
        ("GET", "/api/version", 200),
        ("PUT", "/api/nope", 404),
        ("PATCH", "/api/workflow", 405),
        ("POST", "/api/workflow/thumbs?priority=x", 400),
    ],
)
def test_a_body_that_nobody_reads_is_taken_off_the_connection(
    client: Any, method: str, path: str, status: int
) -> None:
    body = _Body(b"{}" * 50)
    answer = client.open(path, method=method, input_stream=body, content_length=100)
    assert (answer.status_code, body.read_bytes) == (status, 100)
    assert "Connection" not in answer.headers


def test_a_body_without_a_length_is_taken_off_the_connection_too(client: Any) -> None:
    body = _Body(b"x" * 200_000)
    chunked = {"Transfer-Encoding": "chunked"}
    answer = client.put("/api/nope", input_stream=body, headers=chunked, buffered=True)
    assert (answer.status_code, body.read_bytes) == (404, 200_000)


def test_a_body_above_the_limit_is_read_to_its_end_so_that_its_413_is_seen(client: Any) -> None:
    body = _Body(b"x" * 300_000)
    answer = client.post("/api/workflow", input_stream=body, buffered=True)
    assert (answer.status_code, body.read_bytes) == (413, 300_000)


@pytest.mark.parametrize("extra", [{"content_length": 500_000}, {}])
def test_a_body_far_above_the_limit_ends_the_connection(client: Any, extra: Any) -> None:
    body = _Body(b"x" * 500_000)
    chunked = {} if extra else {"Transfer-Encoding": "chunked"}
    answer = client.post("/api/workflow", input_stream=body, headers=chunked, **extra)
    assert answer.headers["Connection"] == "close"
    assert body.read_bytes < 500_000


@pytest.mark.parametrize(
    "body", [b"[" * 300 + b"]" * 300, b"[" * 5_000 + b"]" * 5_000, b'{"a":' * 5_000]
)
def test_a_body_that_is_nested_too_deep_is_told_so(client: Any, body: bytes) -> None:
    answer = client.post("/api/metadata/workflow", data=body)
    sentence = "The body is nested more than 200 levels deep."
    assert (answer.status_code, answer.json["message"]) == (400, sentence)


def test_wrong_verb_is_405_in_json(client: Any) -> None:
    answer = client.patch("/api/workflow")
    assert (answer.status_code, answer.json["retryable"]) == (405, False)
    assert answer.headers["Allow"] == "OPTIONS, POST"


def test_trailing_slash_is_another_path(client: Any) -> None:
    assert client.get("/api/metadata/taskdefs/").status_code == 404


@pytest.mark.parametrize("path", ["/api/tasks/update-v2/a/b", "/api/workflow//status"])
def test_odd_paths_are_no_redirects_and_no_crashes(client: Any, path: str) -> None:
    assert client.get(path).status_code in (404, 405)


def _errors(kind: type[ConductorError]) -> set[type[ConductorError]]:
    return {kind}.union(*(_errors(inner) for inner in kind.__subclasses__()))


def test_every_error_code_has_a_status() -> None:
    of_the_server = {
        kind.code
        for kind in _errors(ConductorError)
        if kind.__module__.startswith("conductor_py.")
        and not kind.__module__.startswith("conductor_py.sdk")
    }
    assert of_the_server <= STATUS.keys()


def test_health(client: Any, engine: FakeEngine) -> None:
    well = {"healthResults": [], "suppressedHealthResults": [], "healthy": True}
    assert client.get("/health").json == client.get("/api/health").json == well
    assert client.get("/actuator/health").json == {"status": "UP"}
    engine.healthy = False
    assert client.get("/health").status_code == 503
    assert client.get("/actuator/health").json == {"status": "DOWN"}


def test_version_is_plain_text(client: Any) -> None:
    answer = client.get("/api/version")
    assert (answer.mimetype, answer.text) == ("text/plain", "1.2.3")


def test_metrics_are_served_when_there_are_any(engine: FakeEngine) -> None:
    client = create_app(engine, metrics=lambda: b"up 1\n").test_client()
    assert client.get("/actuator/prometheus").data == b"up 1\n"
    assert create_app(engine).test_client().get("/actuator/prometheus").status_code == 404


def test_interface_is_a_page_without_scripts_or_other_hosts(client: Any) -> None:
    page = client.get("/swagger-ui/index.html")
    assert page.mimetype == "text/html"
    assert "/api/tasks/poll/batch/{task_type}" in page.text
    assert "<script" not in page.text
    assert "http" not in page.text.replace("http_request", "")
    assert client.get("/api-docs").json["info"]["version"] == "1.2.3"


def test_flags_for_pages_of_conductor_are_a_script(client: Any) -> None:
    answer = client.get("/context.js")
    name, _, value = answer.text.partition(" = ")
    assert (answer.mimetype, name) == ("application/javascript", "window.conductor")
    assert json.loads(value.rstrip(";\n")) == {"AGENTSPAN_ENABLED": False, "VERSION": "1.2.3"}


# ------------------------------------------------------------------------------------- payloads


class _Served:
    """Payloads that this server serves, in memory."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}

    def open_upload(self, token: str) -> "_Upload":
        if token == "forged":
            raise UrlRefused
        return _Upload(self.stored, token)

    def open_download(self, token: str) -> BinaryIO:
        return BytesIO(self.stored[token])


class _Upload:
    def __init__(self, stored: dict[str, bytes], token: str) -> None:
        self._stored, self._token, self._content = stored, token, b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if failure[0] is None:
            self._stored[self._token] = self._content

    def write(self, chunk: bytes) -> None:
        self._content += chunk
        if len(self._content) > 300_000:
            raise PayloadTooLarge


def test_payload_larger_than_a_body_is_uploaded_and_fetched(engine: FakeEngine) -> None:
    client = create_app(engine, served_payloads=_Served(), max_body_bytes=1_000).test_client()
    content = b'"' + b"x" * 250_000 + b'"'
    path = "/api/payloads/token"
    assert client.put(path, data=content, content_type="application/json").status_code == 200
    answer = client.get(path, buffered=True)
    assert (answer.data, answer.content_length) == (content, len(content))


@pytest.mark.parametrize(("token", "size", "status"), [("forged", 1, 403), ("token", 400_000, 413)])
def test_upload_is_bounded_by_its_token(
    engine: FakeEngine, token: str, size: int, status: int
) -> None:
    served = _Served()
    client = create_app(engine, served_payloads=served).test_client()
    answer = client.put(f"/api/payloads/{token}", data=b"1" * size)
    assert (answer.status_code, served.stored) == (status, {})


@pytest.mark.parametrize(
    "sent_as", ["application/x-www-form-urlencoded", "multipart/form-data", "text/html", None]
)
def test_a_payload_is_json_whatever_its_sender_calls_it(
    engine: FakeEngine, sent_as: str | None
) -> None:
    client = create_app(engine, served_payloads=_Served()).test_client()
    path, content = "/api/payloads/token", b'{"a":"<script>=&%41"}'
    assert client.put(path, data=content, content_type=sent_as).status_code == 200
    answer = client.get(path, buffered=True)
    assert (answer.data, answer.content_type) == (content, "application/json")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_url_of_the_file_store_leads_back_here(
    engine: FakeEngine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = "http://localhost/api/payloads"
    root = tmp_path_factory.mktemp("payloads")
    payloads = FilePayloads(root, base_url=base, now_ms=lambda: 1_000)
    client = create_app(engine, served_payloads=payloads).test_client()
    place = payloads.write_location(PayloadKind.TASK_OUTPUT)
    path = place.uri.removeprefix("http://localhost")
    assert client.put(path, data=b"{}", content_type="application/json").status_code == 200
    swapped = client.put(path, data=b"[[],[]]", content_type="application/json")
    assert (swapped.status_code, json.loads(swapped.data)["code"]) == (409, "CONFLICT")
    assert client.put(path, data=b"{}", content_type="application/json").status_code == 200
    fetch = payloads.read_location(place.path).uri.removeprefix("http://localhost")
    answer = client.get(fetch, buffered=True)
    assert (answer.data, answer.mimetype) == (b"{}", "application/json")
    assert client.get(path).status_code == 403
