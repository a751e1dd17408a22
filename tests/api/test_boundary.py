"""The browser's boundary: what a page of another site sends reaches no route, changes nothing."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import Rule

from conductor_py.adapters.files.payloads import FilePayloads
from conductor_py.api import create_app
from conductor_py.api.admission import Admission
from conductor_py.api.boundary import Boundary
from conductor_py.errors import Overloaded
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.ui import create_ui
from tests.api.fake_engine import FakeEngine

_FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
_BROWSER = {"User-Agent": _FIREFOX, "Accept-Language": "en"}
_EVIL = "http://evil.example"
_ATTACKS: dict[str, tuple[dict[str, str], int]] = {
    "cross-site Origin": ({"Origin": _EVIL}, 403),
    "opaque Origin": ({"Origin": "null"}, 403),
    "Origin of another port here": ({"Origin": "http://localhost:3000"}, 403),
    "cross-site fetch": ({"Sec-Fetch-Site": "cross-site"}, 403),
    "fetch of another port here": ({"Sec-Fetch-Site": "same-site"}, 403),
    "image in a frame": (
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        403,
    ),
    "rebound Host": ({"Host": "evil.example:8080"}, 403),
    "rebound Host, asked from its own page": (
        {"Host": "evil.example", "Origin": _EVIL, "Sec-Fetch-Site": "same-origin"},
        403,
    ),
    "Host that hides another": ({"Host": "localhost@evil.example"}, 403),
    "Host below a name of ours": ({"Host": "localhost.evil.example"}, 403),
    "Host of no name": ({"Host": ".localhost"}, 403),
    "Host of no name in between": ({"Host": "a..localhost"}, 403),
    "Host that ends twice": ({"Host": "localhost..:8080"}, 403),
    "Host of a name that none can have": ({"Host": f"{'a' * 64}.localhost"}, 403),
}
_PAYLOADS = "http://localhost/api/payloads"
_TASK = {"name": "resize", "taskReferenceName": "resize"}
_THUMBS = {"name": "thumbs", "version": 1, "tasks": [_TASK]}


class _Site:
    """The whole front over an engine in memory, in which there is something to change."""

    def __init__(self, root: Path) -> None:
        self.engine: MemoryEngine = memory_engine()
        self.app: Flask = create_app(
            self.engine.engine,
            served_payloads=FilePayloads(root, base_url=_PAYLOADS, now_ms=lambda: 1_000),
            files=self.engine.engine.files,
            metrics=lambda: b"up 1\n",
            max_wait_ms=1,
        )
        self.app.register_blueprint(create_ui(self.engine.engine))
        self.client: Any = self.app.test_client()
        self.client.post("/api/metadata/workflow", json=_THUMBS)
        self.workflow = self.client.post("/api/workflow", json={"name": "thumbs"}).text
        self.client.post(
            "/api/scheduler/schedules",
            json={
                "name": "nightly",
                "cronExpression": "0 0 1 * * *",
                "startWorkflowRequest": {"name": "thumbs"},
            },
        )
        self.reached: list[str] = []
        for endpoint, view in self.app.view_functions.items():
            self.app.view_functions[endpoint] = self._noted(endpoint, view)

    def _noted(self, endpoint: str, view: Callable[..., Any]) -> Callable[..., Any]:
        def noted(**given: Any) -> Any:
            self.reached.append(endpoint)
            return view(**given)

        return noted

    def requests(self) -> Iterator[tuple[str, str]]:
        """Every method of every route, with the ids and names of what is there."""
        for rule in self.app.url_map.iter_rules():
            for method in sorted(rule.methods or ()):
                yield method, self._path(rule)

    def _path(self, rule: Rule) -> str:
        known = {
            "workflow_id": self.workflow,
            "execution": self.workflow,
            "task_type": "resize",
            "filename": "api.js",
            "name": "nightly" if "scheduler" in rule.rule else "thumbs",
        }
        path = rule.rule
        for argument in rule.arguments:
            for form in (f"<path:{argument}>", f"<{argument}>"):
                path = path.replace(form, known.get(argument, "1"))
        assert "<" not in path
        return path

    def state(self) -> object:
        """All that is stored, as values that can be compared."""
        return _plain((self.engine.space, self.engine.ports), {})


def _plain(found: object, seen: dict[int, int]) -> object:
    if found is None or isinstance(found, str | bytes | int | float):
        return found
    if id(found) in seen:
        return seen[id(found)]
    seen[id(found)] = len(seen)
    if isinstance(found, dict):
        return sorted((repr(key), _plain(value, seen)) for key, value in list(found.items())) or 0
    if isinstance(found, list | tuple | set | frozenset):
        return [_plain(each, seen) for each in found]
    if not type(found).__module__.startswith("conductor_py."):
        return type(found).__name__
    names = (*getattr(found, "__dict__", ()), *_slots(type(found)))
    return [(name, _plain(getattr(found, name, None), seen)) for name in names]


def _slots(kind: type) -> Iterator[str]:
    for each in inspect.getmro(kind):
        yield from getattr(each, "__slots__", ())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> _Site:
    return _Site(tmp_path_factory.mktemp("payloads"))


# -- every route -----------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", _ATTACKS)
def test_attack_of_a_page_reaches_no_route_and_changes_nothing(site: _Site, attack: str) -> None:
    headers, status = _ATTACKS[attack]
    before = site.state()
    site.reached.clear()
    answers = {
        (method, path): site.client.open(path, method=method, headers=headers)
        for method, path in site.requests()
    }
    assert len(answers) > 200
    assert {answer.status_code for answer in answers.values()} == {status}
    assert {answer.headers["X-Content-Type-Options"] for answer in answers.values()} == {"nosniff"}
    assert not any("Access-Control-Allow-Origin" in answer.headers for answer in answers.values())
    assert site.reached == []
    assert site.state() == before


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
@pytest.mark.parametrize(
    "browser",
    [
        {"Sec-Fetch-Site": "same-origin"},
        {"Origin": "http://localhost"},
        _BROWSER,
    ],
    ids=["fetch metadata", "origin", "user agent"],
)
def test_body_of_a_page_that_is_not_json_reaches_no_route(
    site: _Site, kind: str, browser: dict[str, str]
) -> None:
    before = site.state()
    site.reached.clear()
    body = b'{"name": "thumbs"}'
    for method, path in site.requests():
        if path.startswith(("/api/payloads/", "/api/files/content/")):
            continue
        answer = site.client.open(
            path, method=method, data=body, headers=browser, content_type=kind or None
        )
        # Who says neither where it comes from nor that it is ours may do less.
        wanted = {403, 415} if browser is _BROWSER else {415}
        assert answer.status_code in wanted, (method, path)
    assert site.reached == []
    assert site.state() == before


def test_form_of_a_page_is_refused_whoever_sends_it(site: _Site) -> None:
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = site.client.post("/api/workflow", data=b"a=b", content_type=kind)
        assert (answer.status_code, answer.json["code"]) == (415, "UNSUPPORTED_CONTENT")
        assert answer.headers["Connection"] == "close"


def test_without_the_attack_the_same_requests_do_change_what_is_compared(tmp_path: Path) -> None:
    site = _Site(tmp_path)
    for method, path in (
        ("GET", "/api/tasks/poll/resize"),
        ("GET", "/api/scheduler/schedules/nightly/pause"),
        ("DELETE", f"/api/workflow/{site.workflow}"),
    ):
        before = site.state()
        assert site.client.open(path, method=method).status_code == 200
        assert site.state() != before, path


# -- reads that act --------------------------------------------------------------------------------

_POLL = "/api/tasks/poll/batch/resize?timeout=0"
_ACTING = (_POLL, "/api/scheduler/schedules/nightly/pause", "/api/scheduler/admin/pause")


@pytest.mark.parametrize("path", _ACTING)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "headers",
    [{}, {"Referer": f"{_EVIL}/page"}, {"Referer": "http://[bad"}],
    ids=["no referrer", "foreign referrer", "odd referrer"],
)
def test_image_of_a_page_pauses_no_schedule_where_browsers_send_no_metadata(
    site: _Site, path: str, method: str, headers: dict[str, str]
) -> None:
    """Over HTTP to an address that is not loopback they send neither Origin nor Sec-Fetch-Site."""
    site.reached.clear()
    sent = {"Host": "10.0.0.5:8080", **_BROWSER, **headers}
    assert site.client.open(path, method=method, headers=sent).status_code == 403
    assert site.reached == []


def test_rebound_name_can_neither_poll_nor_wait(site: _Site) -> None:
    waiting = (
        "/api/tasks/poll/batch/resize?timeout=5000",
        "/api/tasks/poll/resize",
        f"/api/workflow/{site.workflow}?includeTasks=true",
        f"/api/workflow/{site.workflow}/status",
    )
    for browser in (_BROWSER, {}):  # a page that is at home may choose its headers
        for path in waiting:
            headers = {"Host": "rebound.evil.example", **browser}
            assert site.client.get(path, headers=headers).status_code == 403
    assert site.engine.engine.tasks.queue_sizes(None) == {"resize": 1}


@pytest.mark.parametrize("path", _ACTING)
@pytest.mark.parametrize("slashes", ["/", "///"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        {"Host": "10.0.0.5:8080", **_BROWSER},
        {"Host": "10.0.0.5:8080", **_BROWSER, "Referer": f"{_EVIL}/page"},
    ],
    ids=["frame", "image", "frame without metadata"],
)
def test_a_path_that_begins_with_more_slashes_is_no_way_around(
    site: _Site, path: str, slashes: str, headers: dict[str, str]
) -> None:
    """The router passes over them: ``//api`` is ``/api`` there, and was no part of it here."""
    site.reached.clear()
    before = site.state()
    sent = {"PATH_INFO": slashes + path.partition("?")[0]}
    for method in ("GET", "HEAD"):
        answer = site.client.open("/", method=method, environ_overrides=sent, headers=headers)
        assert answer.status_code == 403, (method, answer.text)
    assert site.reached == []
    assert site.state() == before


# -- who goes on -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost:8080"},
        {"Host": "LOCALHOST"},
        {"Host": "ui.localhost"},
        {"Host": "127.0.0.1:1"},
        {"Host": "127.9.9.9"},
        {"Host": "[::1]:8080"},
        {"Host": "10.0.0.5:8080"},
        {"Host": "conductor.example.com"},
        {"Host": "conductor.example.com.:8080"},
        {"Host": "a.b.lan"},
        {"User-Agent": "Java-http-client/21", "Content-Type": "text/plain"},
        {"Content-Type": "application/merge-patch+json"},
        {"Sec-Fetch-Site": "same-origin", **_BROWSER},
        {"Sec-Fetch-Site": "none", **_BROWSER},
        {"User-Agent": "Mozilla/5.0 (Windows NT; en-US) WindowsPowerShell/5.1"},
        {"Host": "localhost:8080", "Origin": "http://localhost:8080"},
        {"Host": "conductor.example.com", "Origin": "https://conductor.example.com"},
        {"Host": "conductor.example.com:443", "Origin": "https://conductor.example.com"},
        {"Origin": "https://console.example.com", "Sec-Fetch-Site": "cross-site"},
        {
            "Host": "10.0.0.5:8080",
            **_BROWSER,
            "Referer": "http://10.0.0.5:8080/schedules",
        },
    ],
    ids=str,
)
def test_own_pages_sdks_and_configured_names_pass(headers: dict[str, str]) -> None:
    boundary = Boundary(
        hosts=("Conductor.example.com", "*.lan"), origins=("https://console.example.com/",)
    )
    engine = FakeEngine()
    client: Any = create_app(engine, boundary=boundary).test_client()
    kind = headers.get("Content-Type", "application/json")
    others = {name: value for name, value in headers.items() if name != "Content-Type"}
    body = b'{"name": "thumbs"}'
    answer = client.post("/api/workflow", data=body, content_type=kind, headers=others)
    assert answer.status_code == 200
    assert len(engine.executions.started) == 1
    assert client.get("/api/scheduler/admin/pause", headers=others).status_code != 403


@pytest.mark.parametrize("headers", [{"Host": "lan"}, {"Host": "b.lan.evil.example"}], ids=str)
def test_name_like_a_configured_one_is_another(headers: dict[str, str]) -> None:
    client: Any = create_app(FakeEngine(), boundary=Boundary(hosts=("*.lan",))).test_client()
    assert client.get("/api/version", headers=headers).status_code == 403


@pytest.mark.parametrize(
    ("bound", "host", "status"),
    [
        ("0.0.0.0", "conductor-server:8080", 200),
        ("::", "conductor", 200),
        ("10.0.0.5", "conductor", 200),
        ("0.0.0.0", "conductor.evil.example", 403),
        ("conductor.lan", "conductor.lan", 200),
        ("127.0.0.1", "conductor-server", 403),
        ("::1", "conductor-server", 403),
        ("localhost", "conductor-server", 403),
    ],
)
def test_short_names_are_ours_only_where_other_machines_ask(
    bound: str, host: str, status: int
) -> None:
    client: Any = create_app(FakeEngine(), boundary=Boundary(bound=bound)).test_client()
    assert client.get("/api/version", headers={"Host": host}).status_code == status


def test_link_of_another_site_opens_a_page_and_nothing_of_the_api(site: _Site) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert site.client.get(f"/execution/{site.workflow}", headers=link).status_code == 200
    assert site.client.get("/api/scheduler/admin/pause", headers=link).status_code == 403
    assert site.client.post("/execution/x", headers=link).status_code == 403


# -- every answer ----------------------------------------------------------------------------------


def test_no_answer_has_its_type_guessed(tmp_path: Path) -> None:
    site, seen = _Site(tmp_path), set()
    for method, path in site.requests():
        answer = site.client.open(path, method=method, buffered=True)
        assert answer.headers.getlist("X-Content-Type-Options") == ["nosniff"], (method, path)
        seen.add(answer.status_code)
    assert seen >= {200, 400, 404}
    for answer in (site.client.get("/nowhere"), site.client.patch("/api/workflow")):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_refusal_of_a_full_server_has_no_type_to_guess() -> None:
    full = Admission(threads=0, working=1, resting=1, wait_s=1)
    answer: Any = create_app(FakeEngine(), admission=full).test_client().get("/api/version")
    assert (answer.status_code, answer.json["code"]) == (503, Overloaded.code)
    assert answer.headers.getlist("X-Content-Type-Options") == ["nosniff"]
