"""The operations of the pages, pressed in a real browser against a real server."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.waiting import until

pytestmark = [
    pytest.mark.thorough(target="pages"),
    pytest.mark.service,
]


def _task(ref, kind="SIMPLE", **more):
    return {"name": ref, "taskReferenceName": ref, "type": kind, **more}


def _tasks(tab):
    """The table of tasks; the line that says why it does not move may have the same button."""
    return tab.page.get_by_role("region", name="Tasks", exact=True)


def _script(ref, expression):
    given = {"evaluatorType": "javascript", "expression": expression, "n": "${workflow.input.n}"}
    return _task(ref, "INLINE", inputParameters=given)


WAITS: dict[str, Any] = {
    "name": "ui_waits",
    "version": 1,
    "tasks": [
        _task("asked", "WAIT"),
        _script("then", "$.n"),
        _task("person", "HUMAN"),
        _script("last", "1"),
    ],
    "outputParameters": {"by": "${person.output.by}", "then": "${then.output.result}"},
}
FAILS = {
    "name": "ui_fails",
    "version": 1,
    "tasks": [_script("first", "1"), _script("breaks", "$.n > 1 ? 'well' : null.x")],
}


def _status(client, workflow_id):
    return client.get_workflow(workflow_id)["status"]


def test_a_wait_is_completed_with_json_and_a_person_after_it(tab, client):
    execution = client.start_workflow(definition=WAITS, input={"n": 3})
    tab.execution(execution)
    tab.page.get_by_role("button", name="asked, Wait, In progress").click()
    _tasks(tab).get_by_role("button", name="Complete…").click()
    tab.dialog.get_by_label("Output").fill('{"a": 1}')
    tab.submit("Complete")
    tab.page.get_by_role("button", name="person, Human task, In progress").click()
    _tasks(tab).get_by_role("button", name="Complete…").last.click()
    tab.dialog.get_by_label("Output").fill('{"by": "Bo"}')
    tab.submit("Complete")
    tab.status("Completed")
    assert client.get_workflow(execution)["output"] == {"by": "Bo", "then": 3}


def test_a_task_is_taken_from_a_dead_worker_and_offered_again(tab, client):
    execution = client.start_workflow(definition={"name": "ui_dead", "tasks": [_task("held")]})
    dead = client.poll_task("held", worker_id="dead")
    assert client.poll_task("held", worker_id="other") is None
    tab.execution(execution)
    tab.page.get_by_role("button", name="held, Worker task, In progress").click()
    _tasks(tab).get_by_role("button", name="Requeue…").click()
    tab.page.get_by_text("The task is taken from worker dead").wait_for()
    tab.submit("Requeue")
    tab.page.get_by_role("button", name="held, Worker task, Scheduled").wait_for()
    assert client.poll_task("held", worker_id="other")["taskId"] == dead["taskId"]


def test_what_is_no_json_stays_in_the_dialog_with_its_reason(tab, client):
    execution = client.start_workflow(definition=WAITS)
    tab.execution(execution)
    tab.choose("Signal…")
    tab.dialog.get_by_label("Output").fill("{broken")
    tab.dialog.get_by_role("button", name="Signal").click()
    expect(tab.dialog.get_by_role("alert")).to_contain_text("this is not JSON")
    tab.dialog.get_by_label("Output").fill("[1]")
    tab.dialog.get_by_role("button", name="Signal").click()
    expect(tab.dialog.get_by_role("alert")).to_contain_text("a JSON object is wanted")
    tab.page.keyboard.press("Escape")
    tab.dialog.wait_for(state="hidden")
    assert _status(client, execution) == "RUNNING"


def test_pause_resume_and_signal(tab, client):
    execution = client.start_workflow(definition=WAITS)
    tab.execution(execution)
    tab.choose("Pause…")
    tab.submit("Pause")
    tab.status("Paused")
    tab.choose("Resume…")
    tab.submit("Resume")
    tab.status("Running")
    tab.choose("Signal…")
    tab.submit("Signal")
    tab.page.get_by_role("button", name="asked, Wait, Completed").wait_for()
    assert _status(client, execution) == "RUNNING"


def test_terminate_needs_its_button_and_keeps_its_reason(tab, client):
    execution = client.start_workflow(definition=WAITS)
    tab.execution(execution)
    tab.choose("Terminate…")
    # The button that changes nothing has the focus: a stray Enter does no harm.
    tab.page.keyboard.press("Enter")
    tab.dialog.wait_for(state="hidden")
    assert _status(client, execution) == "RUNNING"
    tab.choose("Terminate…")
    tab.dialog.get_by_label("Reason").fill("no longer wanted")
    tab.submit("Terminate")
    tab.status("Terminated")
    tab.page.get_by_text("no longer wanted").first.wait_for()


def test_a_task_is_skipped_and_another_jumped_to(tab, client):
    execution = client.start_workflow(definition=WAITS)
    tab.execution(execution)
    tab.choose("Skip a task…")
    tab.dialog.get_by_label("Task").select_option("then")
    tab.dialog.get_by_label("Output").fill('{"result": "given"}')
    tab.submit("Skip")
    tab.choose("Signal…")
    tab.submit("Signal")
    tab.page.get_by_role("button", name="then, Inline script, Skipped").wait_for()
    # A node that is not reached offers both.
    tab.page.get_by_role("button", name="last, Inline script, not reached").click()
    tab.page.get_by_role("button", name="Jump to a task…").last.click()
    assert tab.dialog.get_by_label("Task").input_value() == "last"
    tab.submit("Jump")
    tab.status("Completed")
    assert client.get_workflow(execution)["output"]["then"] == "given"


def test_retry_and_rerun_with_another_input(tab, client):
    execution = client.start_workflow(definition=FAILS, input={"n": 1})
    until(lambda: _status(client, execution) == "FAILED")
    tab.execution(execution)
    tab.choose("Retry…")
    tab.submit("Retry")
    until(lambda: len(client.get_workflow(execution)["tasks"]) == 3)
    tab.status("Failed")
    tab.page.get_by_text("2 tries").first.wait_for()
    tab.page.get_by_role("button", name="Details of breaks").click()
    tab.page.get_by_text("superseded").wait_for()
    tab.page.get_by_role("button", name="Rerun from here…").click()
    given = json.loads(tab.dialog.get_by_label("Input of that task").input_value())
    tab.dialog.get_by_label("Input of that task").fill(json.dumps({**given, "n": 5}))
    tab.submit("Rerun")
    tab.status("Completed")


def test_restart_and_remove(tab, client):
    client.register_workflow(WAITS, overwrite=True)
    execution = client.start_workflow("ui_waits")
    client.terminate_workflow(execution)
    tab.execution(execution)
    tab.choose("Restart…")
    tab.dialog.get_by_label("With the latest definition").check()
    tab.submit("Restart")
    tab.status("Running")
    tab.choose("Remove…")
    tab.dialog.get_by_role("button", name="Remove").click()
    tab.page.get_by_role("heading", name="Executions", exact=True).wait_for()
    tab.open(f"/execution/{execution}")
    tab.page.get_by_role("heading", name="No such execution").wait_for()


def test_a_refusal_is_shown_with_the_servers_sentence(tab, client):
    execution = client.start_workflow(definition=WAITS)
    tab.execution(execution)
    tab.choose("Pause…")
    # Meanwhile somebody else ends it.
    client.terminate_workflow(execution)
    tab.dialog.get_by_role("button", name="Pause").click()
    tab.dialog.get_by_role("alert").get_by_text("has ended").wait_for()


def test_variables_are_set_and_an_upgrade_is_checked(tab, client):
    client.register_workflow(WAITS, overwrite=True)
    client.register_workflow({**WAITS, "version": 2, "tasks": WAITS["tasks"][1:]}, overwrite=True)
    execution = client.start_workflow("ui_waits", version=1)
    tab.execution(execution)
    tab.choose("Set variables…")
    tab.dialog.get_by_label("Variables").fill('{"colour": "red"}')
    tab.submit("Set")
    assert client.get_workflow(execution)["variables"] == {"colour": "red"}
    tab.choose("Upgrade…")
    tab.dialog.get_by_label("Version").fill("2")
    tab.dialog.get_by_role("button", name="Go on").click()
    tab.dialog.get_by_role("status").get_by_text("asked").wait_for()


def test_a_message_is_sent_to_what_pulls_them(tab, client):
    pulls = _task("pull", "PULL_WORKFLOW_MESSAGES", inputParameters={"batchSize": 1})
    execution = client.start_workflow(definition={"name": "ui_pulls", "tasks": [pulls]})
    tab.execution(execution)
    tab.choose("Send a message…")
    tab.dialog.get_by_label("Message").fill('{"amount": 10}')
    tab.submit("Send")
    tab.status("Completed")


def test_a_workflow_is_started_from_its_definition(tab, client):
    client.register_workflow(WAITS, overwrite=True)
    tab.open("/definitions")
    row = tab.page.get_by_role("row", name="ui_waits")
    row.get_by_role("button", name="Start…").click()
    tab.dialog.get_by_label("Input").fill('{"n": 8}')
    tab.dialog.get_by_label("Correlation id").fill('order "17"')
    tab.dialog.get_by_role("button", name="Start").click()
    tab.page.wait_for_url("**/execution/*")
    tab.status("Running")
    # What belongs together is one click away.
    tab.page.get_by_role("link", name="all that share it").click()
    tab.page.get_by_role("link", name="ui_waits").first.wait_for()


def test_the_menu_is_used_with_the_keyboard_alone(tab, client):
    execution = client.start_workflow(definition=WAITS)
    tab.execution(execution)
    tab.page.locator("#head").get_by_role("button", name="More").focus()
    tab.page.keyboard.press("ArrowUp")
    focused = tab.page.locator(":focus")
    expect(focused).to_have_text("Remove…")
    tab.page.keyboard.press("Home")
    expect(focused).to_have_text("Signal…")
    tab.page.keyboard.press("Enter")
    tab.dialog.wait_for()
    assert focused.evaluate("e => e.closest('dialog') !== null")
    tab.page.keyboard.press("Escape")
    tab.dialog.wait_for(state="hidden")
    expect(focused).to_have_text("More")


def test_a_number_that_scripts_cannot_count_in_is_shown_and_sent_as_it_was_written(tab, client):
    long = 12345678901234567
    execution = client.start_workflow(definition=FAILS, input={"n": 1, "long": long})
    until(lambda: _status(client, execution) == "FAILED")
    tab.execution(execution)
    tab.page.get_by_role("tab", name="Input and output").click()
    tab.page.get_by_text(str(long)).first.wait_for()
    tab.choose("Rerun…")
    given = tab.dialog.get_by_label("Input of the execution")
    expect(given).to_have_value(re.compile(f'"long": {long}'))
    given.fill(given.input_value().replace('"n": 1', '"n": 2'))
    tab.submit("Rerun")
    until(lambda: client.get_workflow(execution)["input"] == {"n": 2, "long": long})


def _dag(name, tasks, *edges):
    relations = [{"preTask": before, "postTask": after} for before, after in edges]
    return {"name": name, "tasks": tasks, "relations": relations}


BREAKS = _dag(
    "ui_dag",
    [_script("first", "1"), _script("breaks", "$.n > 1 ? 'well' : null.x"), _script("then", "1")],
    ("first", "breaks"),
    ("breaks", "then"),
)


def test_what_a_rerun_would_do_is_told_before_it_is_done(tab, client):
    execution = client.start_workflow(definition=BREAKS, input={"n": 2})
    until(lambda: _status(client, execution) == "COMPLETED")
    tab.execution(execution)
    tab.page.get_by_role("button", name="Details of breaks").click()
    tab.page.get_by_role("button", name="Rerun from here…").click()
    tab.dialog.get_by_label("What runs").select_option("TASK_ONLY")
    tab.dialog.get_by_role("button", name="Rerun").click()
    told = tab.dialog.get_by_role("status")
    told.get_by_text("Runs again if the execution reaches it: breaks").wait_for()
    told.get_by_text("Kept, although a task before it runs again (stale): then").wait_for()
    assert len(client.get_workflow(execution)["tasks"]) == 3
    tab.dialog.get_by_label("Only show what would run again").uncheck()
    tab.submit("Rerun")
    until(lambda: len(client.get_workflow(execution)["tasks"]) == 4)
    tab.status("Completed")
    tab.page.get_by_role("row", name="then").get_by_text("stale").wait_for()


def test_from_the_beginning_there_is_nothing_to_choose(tab, client):
    execution = client.start_workflow(definition=BREAKS, input={"n": 2})
    until(lambda: _status(client, execution) == "COMPLETED")
    tab.execution(execution)
    tab.choose("Rerun…")
    expect(tab.dialog.get_by_label("What runs")).to_be_hidden()
    tab.dialog.get_by_role("button", name="Rerun").click()
    tab.dialog.get_by_text("Runs again if the execution reaches it: first, breaks, then").wait_for()


def test_a_failed_task_counts_as_done_with_who_said_so(tab, client):
    execution = client.start_workflow(definition=BREAKS, input={"n": 1})
    until(lambda: _status(client, execution) == "FAILED")
    tab.execution(execution)
    tab.page.get_by_role("button", name="Details of breaks").click()
    tab.page.get_by_role("button", name="Count as done…").click()
    tab.dialog.get_by_label("Who wants this").fill("ann")
    tab.dialog.get_by_label("Why").fill("sent by mail")
    tab.dialog.get_by_label("Output").fill('{"result": "by hand"}')
    tab.submit("Count as done")
    tab.status("Completed")
    tab.page.get_by_text("forced by ann: sent by mail").first.wait_for()
    assert _status(client, execution) == "COMPLETED"
