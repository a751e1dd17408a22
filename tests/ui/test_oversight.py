"""Why an execution does not move, on its page, and quarantine, on that of the queues."""

import pytest

from tests.builders import Json

pytestmark = [pytest.mark.thorough(target="pages"), pytest.mark.service, pytest.mark.timeout(300)]

_TASK = {"name": "ui_nobody", "taskReferenceName": "first", "type": "SIMPLE"}
_NOBODY = {"name": "ui_waits", "version": 1, "tasks": [_TASK]}


def test_the_page_of_an_execution_says_why_it_does_not_move(tab, client):
    started = client.start_workflow("ui_waits", definition=_NOBODY)
    tab.execution(started)
    line = tab.page.locator("#why")
    line.get_by_text("no worker ever asked").wait_for()
    assert "Start a worker for it" in line.inner_text()
    client.terminate_workflow(started, "enough")
    tab.status("Terminated")
    assert line.inner_text() == ""


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
            route.fulfill(json={"totalHits": len(kept), "results": kept})

    tab.page.route("**/api/admin/quarantine**", answer)
    tab.page.route("**/api/admin/quarantine/**", answer)
    tab.open("/queues")
    row = tab.page.get_by_role("row", name="0000-<b>1</b>")
    row.wait_for()
    assert "its definition is lost" in row.inner_text()
    row.get_by_role("button", name="Try again").click()
    row.wait_for(state="detached")
    assert len(tried) == 1
    assert not tab.page.locator("#quarantine").is_visible()
