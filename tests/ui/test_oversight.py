"""Why an execution does not move, on its page, and quarantine, on that of the queues."""

import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from playwright.sync_api import expect

from tests.builders import Json

pytestmark = [pytest.mark.thorough(target="pages"), pytest.mark.service, pytest.mark.timeout(300)]

_TASK = {"name": "ui_nobody", "taskReferenceName": "first", "type": "SIMPLE"}
_NOBODY = {"name": "ui_waits", "version": 1, "tasks": [_TASK]}


def test_the_page_of_an_execution_says_why_it_does_not_move(tab, client):
    started = client.start_workflow("ui_waits", definition=_NOBODY)
    tab.execution(started)
    line = tab.page.locator("#why")
    line.get_by_text("no worker ever asked").wait_for()
    expect(line).to_contain_text("Start a worker for it")
    client.terminate_workflow(started, "enough")
    tab.status("Terminated")
    assert line.inner_text() == ""


def test_an_answer_that_the_end_has_overtaken_is_not_shown(tab, client):
    held: list[Any] = []
    cause = {"code": "RUNNING", "sentence": "it was at work", "workflowId": "x"}

    def hold(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    tab.page.route("**/why", hold)
    started = client.start_workflow("ui_waits", definition=_NOBODY)
    with tab.page.expect_request("**/why"):
        tab.execution(started)
    client.terminate_workflow(started, "enough")
    tab.status("Terminated")
    with tab.page.expect_request_finished(lambda request: request == held[0].request):
        held[0].fulfill(json={"cause": cause})
    tab.page.evaluate("() => new Promise(done => setTimeout(done, 100))")
    assert tab.page.locator("#why").inner_text() == ""


def test_the_cause_of_a_sub_workflow_leads_to_it(tab, client):
    inner: Json = {"name": "sub", "taskReferenceName": "sub", "type": "SUB_WORKFLOW"}
    inner["subWorkflowParam"] = {"name": "ui_waits", "version": 1, "workflowDefinition": _NOBODY}
    outer = {"name": "ui_outer", "version": 1, "tasks": [inner]}
    started = client.start_workflow("ui_outer", definition=outer)
    tab.execution(started)
    link = tab.page.locator("#why").get_by_role("link")
    link.wait_for()
    link.click()
    tab.page.locator("#why").get_by_text("no worker ever asked").wait_for()
    client.terminate_workflow(started, "enough")


def test_executions_in_quarantine_are_listed_and_tried_again(tab):
    one = {"workflowId": "0000-<b>1</b>", "reason": "its definition is lost", "tries": 5}
    kept = [{**one, "since": 1_700_000_000_000, "retryAt": 4_000_000_000_000}]
    tried = []

    def answer(route):
        if route.request.method == "POST":
            tried.append(route.request.url)
            kept.clear()
            route.fulfill(json={"decided": True})
        else:
            route.fulfill(json={"totalHits": len(kept), "results": kept, "damaged": []})

    tab.page.route("**/api/admin/quarantine**", answer)
    tab.page.route("**/api/admin/quarantine/**", answer)
    tab.open("/queues")
    row = tab.page.get_by_role("row", name="0000-<b>1</b>")
    row.wait_for()
    expect(row).to_contain_text("its definition is lost")
    row.get_by_role("button", name="Try again").click()
    row.wait_for(state="detached")
    assert len(tried) == 1
    expect(tab.page.locator("#quarantine")).to_be_hidden()


def test_what_is_in_quarantine_or_cannot_be_read_is_dropped_when_somebody_says_so(tab):
    facts = {"tries": 5, "since": 1_700_000_000_000, "retryAt": 4_000_000_000_000}
    executions = [{**facts, "workflowId": "0000-1", "reason": "its definition is lost"}]
    damaged = [{**facts, "entry": "0 schedules:due nightly", "reason": "not JSON"}]
    dropped: list[object] = []

    def answer(route):
        if route.request.method != "POST":
            listed = {"results": executions, "damaged": damaged}
            route.fulfill(json={"totalHits": len(executions), **listed})
            return
        asked = urlsplit(route.request.url)
        dropped.extend((unquote(asked.path), parse_qs(asked.query)))
        (damaged if "damaged" in route.request.url else executions).clear()
        route.fulfill(json={})

    tab.page.route("**/api/admin/quarantine**", answer)
    tab.page.route("**/api/admin/quarantine/**", answer)
    tab.open("/queues")
    row = tab.page.get_by_role("row", name="0000-1")
    row.get_by_role("button", name="Drop…").click()
    tab.dialog.get_by_label("Reason").fill("given up")
    tab.submit("Drop")
    row.wait_for(state="detached")
    tab.page.get_by_role("row", name="nightly").get_by_role("button", name="Drop…").click()
    expect(tab.dialog).to_contain_text("for ever")
    tab.submit("Drop")
    tab.page.locator("#damage").wait_for(state="hidden")
    assert dropped == [
        "/api/admin/quarantine/0000-1/drop",
        {"reason": ["given up"]},
        "/api/admin/quarantine/damaged/drop",
        {"entry": ["0 schedules:due nightly"]},
    ]


def test_the_page_of_queues_lists_the_workers_that_are_there(tab, client):
    sign: Json = {"workerId": "ui-host/1", "host": "ui-host", "version": "1.4", "sdk": "test"}
    sign |= {"taskTypes": [{"taskType": "ui_type", "domain": "gpu", "running": 1, "capacity": 4}]}
    tab.page.request.post(f"{tab.root}/api/workers", data=sign)
    tab.open("/queues")
    row = tab.page.get_by_role("row", name="ui-host/1")
    row.wait_for()
    shown = row.inner_text()
    for told in ("ui-host", "1.4", "gpu:ui_type", "1 of 4", "ago"):
        assert told in shown
    tab.page.request.delete(f"{tab.root}/api/workers?workerId=ui-host/1")
    row.wait_for(state="detached")


def test_the_time_that_is_left_is_counted_down(tab, client):
    wait = {"name": "nap", "taskReferenceName": "nap", "type": "WAIT"}
    nap = {**wait, "inputParameters": {"duration": "10 minutes"}}
    definition = {"name": "ui_naps", "version": 1, "tasks": [nap]}
    started = client.start_workflow("ui_naps", definition=definition)
    tab.execution(started)
    line = tab.page.locator("#why")
    line.get_by_text("Now: ").wait_for()
    assert re.search(r"It goes on in (10 m 00|9 m \d\d) s\.", line.inner_text())
    shown = line.get_by_role("timer").inner_text()
    tab.page.wait_for_function(
        "shown => document.querySelector('#why [role=timer]').textContent !== shown", arg=shown
    )
    line.get_by_role("button", name="End the wait…").click()
    tab.submit("Complete")
    tab.status("Completed")
    assert line.inner_text() == ""


def test_the_button_beside_the_cause_does_what_helps(tab, client):
    person = {"name": "person", "taskReferenceName": "person", "type": "HUMAN"}
    definition = {"name": "ui_asks", "version": 1, "tasks": [person]}
    started = client.start_workflow("ui_asks", definition=definition)
    client.pause_workflow(started)
    tab.execution(started)
    line = tab.page.locator("#why")
    line.get_by_role("button", name="Resume…").click()
    tab.submit("Resume")
    line.get_by_role("button", name="Complete…").click()
    tab.submit("Complete")
    tab.status("Completed")


def test_one_in_quarantine_is_tried_again_from_its_own_page(tab, client):
    started = client.start_workflow("ui_waits", definition=_NOBODY)
    cause = {"code": "quarantined", "workflowId": started, "until": 4_000_000_000_000}
    cause |= {"sentence": "It is in quarantine: no plan.", "advice": "Read the reason."}
    tried = []

    def retried(route):
        tried.append(route.request.method)
        route.fulfill(json={"decided": False})

    tab.page.route(
        f"**/api/workflow/{started}/why", lambda route: route.fulfill(json={"cause": cause})
    )
    tab.page.route(f"**/api/admin/quarantine/{started}/retry", retried)
    tab.execution(started)
    line = tab.page.locator("#why")
    line.get_by_text("Next try in ").wait_for()
    line.get_by_role("button", name="Try again").click()
    tab.page.locator("#announcer", has_text="It still cannot be decided").wait_for(state="attached")
    assert tried == ["POST"]
    client.terminate_workflow(started, "enough")
