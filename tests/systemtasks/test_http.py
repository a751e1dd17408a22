"""HTTP tasks against a real web server."""

import encodings
import gzip
import json
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any
from unittest.mock import Mock

import pytest

from conductor_py.model.status import TaskStatus
from conductor_py.systemtasks import http_response
from conductor_py.systemtasks.http import HttpLimits, HttpTask
from conductor_py.wire.outside import HeavyPlace, OutsideJson
from tests.heavy import another_has
from tests.services.ports import free_port
from tests.systemtasks.conftest import LOOPBACK, WebServer, ask, call, response_of


def get(url: str, **more: Any) -> dict[str, Any]:
    return {"http_request": {"uri": url, "method": "GET", **more}}


def test_output_is_the_response(web: WebServer) -> None:
    result = ask(get(web.answer("/a", '{"x": [1, null]}', X_One="1")))
    assert result.status is TaskStatus.COMPLETED
    response = response_of(result)
    assert response["body"] == {"x": [1, None]}
    assert response["statusCode"] == 200
    assert response["reasonPhrase"] == "OK"
    assert response["headers"]["X-One"] == ["1"]


def test_input_may_be_the_request_itself(web: WebServer) -> None:
    result = ask({"uri": web.answer("/a", "[]"), "method": "get"})
    assert response_of(result)["body"] == []


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        pytest.param("3", 3.0, id="a number", marks=pytest.mark.oracle(31)),
        ("-2.5", -2.5),
        ("true", "true"),
        ("null", "null"),
        ('"text"', "text"),
        ("<a/>", "<a/>"),
        ("{broken", "{broken"),
        ("", None),
        ("[" * 5000 + "]" * 5000, "[" * 5000 + "]" * 5000),
        ("[" * 150 + "]" * 150, "[" * 150 + "]" * 150),
        ('"\\ud800"', '"\\ud800"'),
    ],
)
def test_body_in_the_output(web: WebServer, sent: str, body: Any) -> None:
    found = response_of(ask(get(web.answer("/a", sent))))["body"]
    assert found == body
    assert type(found) is type(body)


def test_answer_of_millions_of_lists_fails_for_good_before_it_is_parsed(web: WebServer) -> None:
    result = ask(get(web.answer("/a", b"[" + b"[]," * 1_100_000 + b"[]]")))
    assert result.status is TaskStatus.FAILED_WITH_TERMINAL_ERROR
    wrong = "The answer has more than 2000000 JSON values, the limit (conductor.limits.jsonValues)"
    assert (result.reason or "").startswith(wrong)


@pytest.mark.parametrize("sent", ["a,b;c\n" * 1_100_000, '"' + "[," * 1_100_000 + '"'])
def test_signs_of_a_text_are_no_values(web: WebServer, sent: str) -> None:
    result = ask(get(web.answer("/a", sent)))
    assert result.status is TaskStatus.COMPLETED
    assert response_of(result)["body"] == sent.strip('"')


def test_heavy_answer_is_not_parsed_while_another_has_the_place(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_response, "_WAIT_S", 0.0)
    place = HeavyPlace()
    with another_has(place):
        task = HttpTask(LOOPBACK, outside=OutsideJson(place=place))
        result = task.execute(call(get(web.answer("/a", b"[" + b"[]," * 60_000 + b"[]]"))))
    assert result.status is TaskStatus.FAILED
    assert "others were dealt with" in (result.reason or "")


def test_body_in_another_character_set(web: WebServer) -> None:
    url = web.answer("/a", "größer".encode("latin-1"), content_type="text/plain; charset=latin-1")
    assert response_of(ask(get(url)))["body"] == "größer"


def test_body_that_is_no_text_is_written_in_base64(web: WebServer) -> None:
    response = response_of(ask(get(web.answer("/a", b"\xff\xfe\x00", content_type="image/png"))))
    assert (response["body"], response["bodyEncoding"]) == ("//4A", "base64")


@pytest.mark.parametrize("charset", ["base64", "zlib", "rot13", "utf-7", "no-such", "undefined"])
def test_character_set_that_is_none_costs_nothing(web: WebServer, charset: str) -> None:
    url = web.answer("/a", b"+2AA-", content_type=f"text/plain; charset={charset}")
    result = ask(get(url, contentType=f"text/plain; charset={charset}", body="x"))
    assert result.status is TaskStatus.COMPLETED
    json.dumps(response_of(result)).encode()
    assert "\ud800" not in str(response_of(result)["body"])


@pytest.fixture
def punycode(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """What the codecs of domain names do with a text, which takes the square of its length."""
    done = Mock(side_effect=UnicodeError)
    for way in ("encode", "decode"):
        monkeypatch.setattr(f"encodings.punycode.punycode_{way}", done)
    return done


@pytest.mark.parametrize("charset", ["punycode", "Punycode", "idna"])
def test_peer_cannot_choose_a_codec_of_python_that_takes_the_square_of_the_text(
    web: WebServer, charset: str, punycode: Mock
) -> None:
    """Reading this takes punycode some seconds, and 10 MB of it an hour."""
    body = b"-" + b"b9" * 250_000
    url = web.answer("/a", body, content_type=f"text/plain; charset={charset}")
    assert response_of(ask(get(url)))["body"] == body.decode()
    punycode.assert_not_called()


@pytest.mark.parametrize("charset", ["punycode", "idna"])
def test_definition_cannot_choose_one_either(web: WebServer, charset: str, punycode: Mock) -> None:
    """Writing this takes punycode five seconds, and a text of 100 kB hours."""
    body = "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(8_000))
    ask(get(web.answer("/a"), contentType=f"text/plain; charset={charset}", body=body))
    assert web.seen[-1].body == body.encode()
    punycode.assert_not_called()


def test_invented_character_sets_are_not_kept(web: WebServer) -> None:
    kept_names: dict[str, object] = vars(encodings)["_cache"]
    kept = len(kept_names)
    for number in range(20):
        kind = f"text/plain; charset=invented{number}{'x' * 9_000}"
        assert ask(get(web.answer("/a", "x", content_type=kind))).status is TaskStatus.COMPLETED
    assert len(kept_names) == kept


@pytest.mark.parametrize("charset", ["koi8-u", "ISO_8859-1:1987", "utf-8-sig", "mac-roman", "L1"])
def test_character_sets_of_the_world_are_read(web: WebServer, charset: str) -> None:
    url = web.answer("/a", "a".encode(charset), content_type=f"text/plain; charset={charset}")
    assert response_of(ask(get(url)))["body"] == "a"


def test_packed_body_is_unpacked(web: WebServer) -> None:
    url = web.answer("/a", gzip.compress(b'{"a": 1}'), Content_Encoding="gzip")
    assert response_of(ask(get(url, headers={"Accept-Encoding": "gzip"})))["body"] == {"a": 1}


@pytest.mark.oracle(30)
def test_404_fails_with_the_response_as_text(web: WebServer) -> None:
    result = ask(get(web.answer("/a", '{"why": "gone"}', 404)))
    assert result.status is TaskStatus.FAILED
    assert response_of(result) == '404 Not Found: "{"why": "gone"}"'
    assert result.reason == response_of(result)


def test_error_without_a_body_fails(web: WebServer) -> None:
    assert response_of(ask(get(web.answer("/a", "", 503)))) == "503 Service Unavailable: [no body]"


def test_status_that_is_neither_success_nor_error_fails_with_the_whole_response(
    web: WebServer,
) -> None:
    result = ask(get(web.answer("/a", "", 304)))
    assert result.status is TaskStatus.FAILED
    assert response_of(result)["statusCode"] == 304


def test_task_that_somebody_else_completes_stays_open(web: WebServer) -> None:
    result = ask(get(web.answer("/a", "1")), asynchronous=True)
    assert result.status is TaskStatus.IN_PROGRESS
    assert response_of(result)["body"] == 1.0


@pytest.mark.parametrize(
    ("more", "content_type", "body"),
    [
        ({"body": {"a": 1}}, "application/json", b'{"a":1}'),
        ({"body": "as it is"}, "application/json", b"as it is"),
        ({"body": [True, None]}, "application/json", b"[true,null]"),
        ({"body": 7, "contentType": "text/plain"}, "text/plain", b"7"),
        (
            {
                "body": {"a": "x y", "b": [1, 2], "c": None},
                "contentType": "application/x-www-form-urlencoded",
            },
            "application/x-www-form-urlencoded",
            b"a=x+y&b=1&b=2",
        ),
        (
            {"body": "é", "contentType": "text/plain; charset=latin-1"},
            "text/plain; charset=latin-1",
            b"\xe9",
        ),
        ({}, "application/json", b""),
        ({"body": "x", "headers": {"content-type": "a/b"}}, "a/b", b"x"),
    ],
)
def test_body_is_written_by_its_content_type(
    web: WebServer, more: dict[str, Any], content_type: str, body: bytes
) -> None:
    ask({"uri": web.answer("/a"), "method": "POST", **more})
    (seen,) = web.seen
    headers = {name.lower(): value for name, value in seen.headers.items()}
    assert (seen.method, headers["content-type"], seen.body) == ("POST", content_type, body)


def test_headers_are_sent(web: WebServer) -> None:
    given = {"X-Number": 3, "X-Flag": True, "X-None": None, "Content-Length": "999"}
    ask(get(web.answer("/a"), headers=given, accept=["a/b", "c/d"]))
    (seen,) = web.seen
    assert seen.headers["X-Number"] == "3"
    assert seen.headers["X-Flag"] == "true"
    assert "X-None" not in seen.headers
    assert seen.headers["Accept"] == "a/b, c/d"
    assert seen.headers["Content-Type"] == "application/json"
    assert "999" not in seen.headers.values()


def test_path_and_query_are_escaped(web: WebServer) -> None:
    ask(get(web.answer("/a") + "?q=a b&z=ü"))
    assert web.seen[0].path == "/a?q=a%20b&z=%C3%BC"


def test_credentials_in_the_url_become_a_header(web: WebServer) -> None:
    url = web.answer("/a").replace("http://", "http://user:pass%20word@")
    ask(get(url))
    assert web.seen[0].headers["Authorization"] == "Basic dXNlcjpwYXNzIHdvcmQ="


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"http_request": "no object"},
        {"http_request": {"method": "GET"}},
        {"uri": "http://example.com"},
        {"uri": "http://example.com", "method": "FETCH"},
        {"uri": 3, "method": "GET"},
        {"uri": "file:///etc/passwd", "method": "GET"},
        {"uri": "http://", "method": "GET"},
        {"uri": "http://[::1", "method": "GET"},
        {"uri": "http://a.example:99999", "method": "GET"},
        {"uri": "http://example.com", "method": "GET", "headers": [1]},
        {"uri": "http://example.com", "method": "GET", "headers": {"a b": "1"}},
        {"uri": "http://example.com", "method": "GET", "headers": {"a": "1\r\nb: 2"}},
        {"uri": "http://example.com", "method": "GET", "headers": {"a": "\u20ac"}},
        {"uri": "http://example.com", "method": "GET", "readTimeOut": "soon"},
        {"uri": "http://example.com", "method": "GET", "connectionTimeOut": -1},
        {"uri": "http://example.com", "method": "GET", "connectionTimeOut": True},
        {"uri": "http://example.com/\r\nHost: other", "method": "GET"},
    ],
)
def test_input_that_is_no_request_fails_with_a_sentence(value: dict[str, Any]) -> None:
    rules = LOOPBACK.__class__(resolve=lambda *_: ())
    result = ask(value, rules)
    assert result.status is TaskStatus.FAILED
    assert result.reason
    assert response_of(result) == result.reason


def test_nobody_listens() -> None:
    port = free_port()
    result = ask(get(f"http://127.0.0.1:{port}/secret?token=abc"))
    assert result.status is TaskStatus.FAILED
    assert result.reason == f"No connection to 127.0.0.1:{port}: Connection refused"


def test_unknown_host() -> None:
    def resolve(_host: str, _port: int) -> tuple[str, ...]:
        raise OSError(-2, "Name or service not known")

    result = ask(get("http://nowhere.example/"), LOOPBACK.__class__(resolve=resolve))
    assert result.reason == "The host nowhere.example is not known"


def _slow(release: threading.Event, dripping: threading.Event | None = None) -> Any:
    def handler(request: BaseHTTPRequestHandler) -> None:
        if dripping is not None:
            request.send_response(200)
            request.end_headers()
        while not release.wait(0.02):
            if dripping is not None:
                request.wfile.write(b"x")
                request.wfile.flush()
                dripping.set()

    return handler


def test_server_that_says_nothing_is_left_after_the_read_timeout(web: WebServer) -> None:
    release = threading.Event()
    web.answers["/slow"] = _slow(release)
    result = ask(get(f"{web.url}/slow", readTimeOut=50))
    release.set()
    assert result.status is TaskStatus.FAILED
    assert result.reason == f"No answer from 127.0.0.1:{web.port} within 50 ms"


def test_server_that_drips_is_left_after_the_total_timeout(
    web: WebServer, dripping: threading.Event
) -> None:
    release = threading.Event()
    web.answers["/slow"] = _slow(release, dripping)
    result = ask(get(f"{web.url}/slow", readTimeOut=60_000), total_ms=200)
    assert dripping.is_set()
    release.set()
    assert result.reason == "The whole call took longer than 200 ms"


@pytest.mark.thorough(target="timing")
def test_total_timeout_ends_a_call_in_its_time(web: WebServer) -> None:
    release = threading.Event()
    web.answers["/slow"] = _slow(release, threading.Event())
    began = time.monotonic()
    result = ask(get(f"{web.url}/slow", readTimeOut=20_000), total_ms=200)
    release.set()
    assert result.reason == "The whole call took longer than 200 ms"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("packed", [False, True])
def test_answer_that_is_too_large_is_refused(web: WebServer, packed: bool) -> None:
    body = b"x" * 1_000_000
    if packed:
        url = web.answer("/a", gzip.compress(body), Content_Encoding="gzip")
    else:
        url = web.answer("/a", body)
    result = ask(get(url), response_bytes=100_000)
    assert result.status is TaskStatus.FAILED_WITH_TERMINAL_ERROR
    assert "larger than the limit of 100000 bytes" in str(result.reason)


def test_call_that_does_not_count_any_more_is_given_up(web: WebServer) -> None:
    url = web.answer("/a", "1")
    wanted = call(get(url))
    wanted.cancelled.set()
    assert HttpTask(LOOPBACK, HttpLimits()).execute(wanted).status is TaskStatus.FAILED
    assert not web.seen


@pytest.mark.parametrize(
    ("status", "sent", "followed"),
    [
        (301, "POST", "GET"),
        (302, "PUT", "PUT"),
        (303, "PUT", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
    ],
)
def test_redirects_are_followed(web: WebServer, status: int, sent: str, followed: str) -> None:
    web.answer("/there", '"here"')
    url = web.answer("/a", "", status, Location="/there")
    result = ask({"uri": url, "method": sent, "body": {"a": 1}})
    assert response_of(result)["body"] == "here"
    last = web.seen[-1]
    assert (last.method, last.path) == (followed, "/there")
    assert last.body == (b"" if followed == "GET" else b'{"a":1}')


def test_circle_of_redirects_ends(web: WebServer) -> None:
    result = ask(get(web.answer("/a", "", 302, Location="/a")))
    assert result.status is TaskStatus.FAILED
    assert "more than 10 redirects" in str(result.reason)


def test_redirect_to_another_scheme_is_not_followed(web: WebServer) -> None:
    result = ask(get(web.answer("/a", "", 302, Location="file:///etc/passwd")))
    assert result.status is TaskStatus.FAILED
    assert response_of(result)["statusCode"] == 302


def test_reasons_keep_the_secrets_of_a_url(web: WebServer) -> None:
    url = f"http://user:hidden@127.0.0.1:{free_port()}/hidden?key=hidden"
    result = ask(get(url, headers={"X": "hidden"}, body="hidden"))
    assert "hidden" not in json.dumps([result.reason, dict(result.output)])
