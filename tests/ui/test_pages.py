"""The pages over HTTP: what is found, what is not, and that nothing of a user becomes markup."""

import re

import pytest
from flask import Flask

from conductor_py.errors import ConductorError, NotFound, StoreUnavailable
from conductor_py.ui import create_ui
from conductor_py.ui.pages import POLICY

KNOWN = "000f3a52-1111-4222-8333-444455556666"
PAGES = (
    *("/", f"/execution/{KNOWN}", "/definitions", "/catalog"),
    *("/schedules", "/events", "/queues", "/workers"),
)
_REFERENCE = re.compile(r'(?:src|href)="([^"]+)"')


class _Executions:
    def __init__(self, failure: ConductorError | None) -> None:
        self.failure = failure
        self.asked: list[str] = []

    def status(self, execution, /, *, include_output, include_variables):
        self.asked.append(execution)
        if self.failure is not None:
            raise self.failure
        if execution != KNOWN:
            raise NotFound(f"No such workflow found by id: {execution}")
        return {"workflowId": execution, "status": "RUNNING"}


class _Engine:
    version = "1.2.3"

    def __init__(self, failure: ConductorError | None = None) -> None:
        self.executions = _Executions(failure)


def _client(failure: ConductorError | None = None):
    app = Flask("pages", static_folder=None)
    app.register_blueprint(create_ui(_Engine(failure)))
    return app.test_client()


@pytest.mark.parametrize("path", PAGES)
def test_each_page_is_html_with_its_title_and_the_version(path):
    answer = _client().get(path)
    assert answer.status_code == 200
    assert answer.mimetype == "text/html"
    assert "Conductor</title>" in answer.text
    assert "1.2.3" in answer.text


@pytest.mark.parametrize("path", [*PAGES, "/execution/unknown", "/ui/static/ui.css"])
def test_every_answer_allows_nothing_but_this_server(path):
    headers = _client().get(path, buffered=True).headers
    assert headers["Content-Security-Policy"] == POLICY
    assert "default-src 'self'" in POLICY
    assert "unsafe" not in POLICY
    assert headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("path", PAGES)
def test_all_that_a_page_refers_to_is_on_this_server(path):
    client = _client()
    references = _REFERENCE.findall(client.get(path).text)
    assert any(one.endswith(".js") for one in references)
    assert all(one.startswith(("/", "#")) and not one.startswith("//") for one in references)
    loaded = [one for one in references if one.startswith("/ui/static/")]
    assert [one for one in loaded if client.get(one, buffered=True).status_code != 200] == []


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/workflowDef/my%20flow", "/definitions?name=my+flow"),
        ("/workflowDef/w/3", "/definitions?name=w"),
        ("/taskDef/t%26x=%23", "/definitions?name=t%26x%3D%23#tasks"),
        ("/taskDef/evil.example:80", "/definitions?name=evil.example:80#tasks"),
    ],
)
def test_addresses_that_official_clients_print_lead_to_the_definitions(path, to):
    answer = _client().get(path)
    assert answer.status_code == 302
    assert answer.headers["Location"].replace("%3A", ":").replace("%20", "+") == to


def test_scripts_are_sent_as_scripts():
    assert _client().get("/ui/static/execution.js", buffered=True).mimetype.endswith("javascript")


def test_no_page_has_inline_script_or_style():
    client = _client()
    for path in (*PAGES, "/execution/unknown"):
        page = client.get(path).text
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page), path


def test_a_missing_execution_is_a_page_that_says_so():
    answer = _client().get("/execution/unknown")
    assert answer.status_code == 404
    assert answer.mimetype == "text/html"
    assert "No such workflow found by id: unknown" in answer.text


def test_a_hostile_id_is_shown_as_text():
    page = _client().get("/execution/%22%3E%3Cscript%3Ealert(1)%3C%5Cscript%3E").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_hostile_id_stays_within_its_attribute():
    # The store is away, so nothing says yet that there is no such execution.
    page = _client(StoreUnavailable()).get("/execution/%22%3E%3Cscript%3Ealert(1)").text
    assert 'data-execution="&#34;&gt;&lt;script&gt;alert(1)"' in page


def test_a_long_id_is_not_repeated_whole():
    assert "x" * 300 not in _client().get(f"/execution/{'x' * 5_000}").text


def test_the_shell_is_there_while_the_store_is_away():
    answer = _client(StoreUnavailable(retry_after_s=7)).get(f"/execution/{KNOWN}")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "7"
    assert f'data-execution="{KNOWN}"' in answer.text


def test_the_list_asks_the_store_nothing():
    assert _client(StoreUnavailable()).get("/").status_code == 200


def test_a_failure_of_the_server_is_not_told_to_the_reader():
    answer = _client(ConductorError("password 1234")).get(f"/execution/{KNOWN}")
    assert answer.status_code == 500
    assert "1234" not in answer.text


def test_below_a_prefix_all_addresses_begin_with_it():
    page = _client().get("/", base_url="http://localhost/engine").text
    assert 'data-base="/engine"' in page
    assert [one for one in _REFERENCE.findall(page) if not one.startswith(("/engine/", "#"))] == []
