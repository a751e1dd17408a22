"""The catalog in a real browser: saved, published, edited, compared, gone back to."""

import json

import pytest
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.thorough(target="pages"),
    pytest.mark.service,
]

_TASKS = [{"name": ref, "taskReferenceName": ref, "type": "NOOP"} for ref in ("one", "two")]


def _document(name):
    return {"name": name, "tasks": _TASKS, "relations": [{"preTask": "one", "postTask": "two"}]}


def _opened(tab, name):
    tab.open("/catalog")
    row = tab.page.get_by_role("row", name=name)
    row.get_by_role("button", name="Show its versions").click()
    tab.page.locator(".detail .node").first.wait_for()
    return row


def test_a_workflow_is_saved_published_and_started(tab):
    tab.open("/catalog")
    tab.page.get_by_role("button", name="New workflow").click()
    tab.dialog.get_by_label("Workflow").fill(json.dumps(_document("ui_made")))
    tab.submit("Save")
    row = _opened(tab, "ui_made")
    expect(row).to_contain_text("nothing")
    expect(tab.page.locator(".detail .node")).to_have_count(2)
    assert "[object" not in tab.page.locator(".detail").inner_text()
    tab.page.get_by_role("button", name="Publish…").click()
    tab.submit("Publish")
    tab.page.get_by_role("row", name="ui_made").get_by_text("version 1").wait_for()
    _opened(tab, "ui_made")
    tab.page.locator(".detail").get_by_role("button", name="Start…").click()
    tab.dialog.get_by_role("button", name="Start").click()
    tab.page.wait_for_url("**/execution/*")
    tab.status("Completed")


def test_what_an_edit_has_changed_is_listed_and_an_older_version_is_gone_back_to(tab, client):
    head = client.save_version("workflows", _document("ui_edited"))
    client.publish(head["code"])
    _opened(tab, "ui_edited")
    tab.page.get_by_role("button", name="Edit…").click()
    edited = {**_document("ui_edited"), "description": "<b>new</b>"}
    edited["tasks"] = [_TASKS[0], {**_TASKS[1], "optional": True}]
    tab.dialog.get_by_label("Workflow").fill(json.dumps(edited))
    tab.submit("Save")
    tab.page.get_by_role("row", name="ui_edited").get_by_text("version 1").wait_for()
    _opened(tab, "ui_edited")
    told = tab.page.locator(".diff").inner_text()
    assert '$.description: nothing → "<b>new</b>"' in told
    assert "task two version 1 → 2" in told
    assert "$.optional: nothing → true" in told
    tab.page.get_by_role("combobox", name="Version").select_option(value="1")
    tab.page.get_by_role("button", name="Edit this one…").click()
    tab.submit("Switch")
    assert client.get_head("workflows", head["code"])["version"] == 1


def test_a_stale_edit_is_refused_in_the_dialog(tab, client):
    head = client.save_version("workflows", _document("ui_stale"))
    _opened(tab, "ui_stale")
    tab.page.get_by_role("button", name="Edit…").click()
    faster = {**_document("ui_stale"), "description": "faster"}
    client.save_version("workflows", faster, code=head["code"])
    tab.dialog.get_by_label("Workflow").fill(
        json.dumps({**_document("ui_stale"), "description": "x"})
    )
    tab.dialog.get_by_role("button", name="Save").click()
    tab.dialog.get_by_role("alert").get_by_text("read it again").wait_for()


def test_a_task_tells_who_has_it(tab, client):
    task = client.save_version("tasks", {"name": "ui_shared", "type": "NOOP"})
    used = {"uses": {"code": task["code"], "version": 1}, "taskReferenceName": "s"}
    client.save_version("workflows", {"name": "ui_user", "tasks": [used]})
    tab.open("/catalog#tasks")
    row = tab.page.get_by_role("row", name="ui_shared")
    row.get_by_role("button", name="Show its versions").click()
    tab.page.get_by_text("In ui_user (version 1).").wait_for()


def test_a_task_is_made_and_a_new_version_of_it_used_everywhere(tab, client):
    tab.open("/catalog#tasks")
    tab.page.get_by_role("button", name="New task…").click()
    tab.dialog.get_by_label("Task").fill(json.dumps({"name": "ui_everywhere", "type": "NOOP"}))
    tab.submit("Save")
    row = tab.page.get_by_role("row", name="ui_everywhere")
    row.wait_for()
    heads = client.list_heads("tasks", shared=True, size=1000)
    code = next(head["code"] for head in heads if head["name"] == "ui_everywhere")
    used = {"uses": {"code": code, "version": 1}, "taskReferenceName": "s"}
    user = client.save_version("workflows", {"name": "ui_everywhere_user", "tasks": [used]})
    client.save_version("tasks", {"name": "ui_everywhere", "type": "WAIT"}, code=code)
    tab.open("/catalog#tasks")
    row.get_by_role("button", name="Show its versions").click()
    tab.page.get_by_role("button", name="Use everywhere…").click()
    tab.dialog.get_by_role("button", name="Use it").click()
    tab.dialog.get_by_text("Drafts: ui_everywhere_user (version 2).").wait_for()
    assert client.get_head("workflows", user["code"])["version"] == 2


def test_what_surrounds_a_workflow_is_listed_below_it(tab, client):
    client.publish(client.save_version("workflows", _document("ui_child"))["code"])
    call = {
        "name": "s",
        "taskReferenceName": "s",
        "type": "SUB_WORKFLOW",
        "subWorkflowParam": {"name": "ui_child"},
    }
    client.save_version("workflows", {"name": "ui_parent", "tasks": [call]})
    _opened(tab, "ui_child")
    told = tab.page.locator(".lineage li").inner_text()
    assert told == "ui_parent starts ui_child in version 1 (edited)"
