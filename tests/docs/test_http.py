"""What the HTTP pages say a server answers, it answers."""

import http.client
import re
from urllib.parse import urlsplit

import orjson
import pytest

from conductor_py.api import create_app
from conductor_py.testing.engine import memory_engine
from tests.docs.pages import page
from tests.waiting import PATIENCE_S

_API = page("docs/reference/http-api.md")
_PLAIN = sorted(row[1] for row in _API.rows() if row[0] == "GET" and "{" not in row[1])
_ABSENT = frozenset(re.findall(r"`(/\S+)` answers\s+404", _API.text))


@pytest.mark.thorough(target="docs")
@pytest.mark.parametrize("path", _PLAIN)
def test_endpoints_are_served_but_for_those_said_to_be_absent(path: str, server_url: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(server_url).netloc, timeout=PATIENCE_S)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status < 500
    assert (answer.status == 404) == (path in _ABSENT)


@pytest.mark.thorough(target="docs")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("DELETE", "/api/metadata/taskdefs/missing", 404),
        ("PUT", "/api/workflow/missing/pause", 404),
        ("GET", "/api/version", 200),
    ],
)
def test_a_connection_outlives_bodies_that_nobody_reads(
    method: str, path: str, status: int, server_url: str
) -> None:
    connection = http.client.HTTPConnection(urlsplit(server_url).netloc, timeout=PATIENCE_S)
    connection.connect()
    first = connection.sock
    for _ in range(300):
        connection.request(method, path, body=b"{}")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
        assert connection.sock is first
    connection.close()


def test_findings_are_answered_as_the_page_shows() -> None:
    text = page("docs/reference/errors.md").text
    shown = re.findall(r"(?ms)^    (\{.*?\})\n\n", text)
    envelope, findings = (orjson.loads(re.sub(r"\n\s*", " ", text)) for text in shown)
    client = create_app(memory_engine().engine, instance=envelope["instance"]).test_client()
    missing = client.get("/api/workflow/0000").json
    assert missing is not None
    assert {**missing, "message": ""} == {**envelope, "message": ""}
    join = {"name": "join", "taskReferenceName": "join", "type": "JOIN", "joinOn": ["laod"]}
    tasks = [{"name": "load", "taskReferenceName": "load"}, join]
    answer = client.post("/api/metadata/workflow", json={"name": "w", "tasks": tasks})
    assert answer.json == findings
