"""The page of an execution shows what its long tasks keep."""

import pytest

pytestmark = [pytest.mark.thorough(target="pages"), pytest.mark.service, pytest.mark.timeout(300)]


def test_epochs_savepoints_and_what_is_asked_are_shown(tab, client):
    task = {"name": "ui_long", "taskReferenceName": "copy", "type": "SIMPLE"}
    definition = {"name": "ui_copying", "version": 1, "tasks": [task]}
    started = client.start_workflow("ui_copying", definition=definition)
    (polled,) = client.poll_batch("ui_long", worker_id="w", timeout_ms=5000, lease_s=300)
    held = (polled["taskId"], polled["claimToken"])
    client.put_checkpoint(*held, "files", {"done": 1}, expected=0, epoch=1)
    client.take_savepoint(started, "copy", "noon")
    client.put_checkpoint(*held, "files", {"done": 2}, expected=1, epoch=2)
    client.append_notes(*held, "files", [{"begun": "a"}])
    client.stop_task(started, "copy")
    tab.execution(started)
    tab.page.get_by_role("row", name="copy").first.click()
    tab.page.get_by_text("Checkpoints", exact=True).click()
    row = tab.page.get_by_role("table", name="Checkpoints").get_by_role("row", name="files")
    row.wait_for()
    assert row.get_by_role("cell").all_inner_texts()[1] == "2"
    assert row.get_by_role("cell").all_inner_texts()[3:] == ["1", "2, 1"]
    text = tab.page.locator(".checkpoints").inner_text()
    assert "It is asked to stop." in text
    assert "Savepoint noon" in text
    client.terminate_workflow(started, "enough")
