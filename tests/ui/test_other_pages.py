"""Lists, definitions, schedules, events, queues and workers in a real browser, all clicked."""

import pytest
from playwright.sync_api import expect

from tests.waiting import until

pytestmark = [
    pytest.mark.thorough(target="pages"),
    pytest.mark.service,
]

_ONE = {"name": "noted", "taskReferenceName": "noted", "type": "NOOP"}
SMALL = {"name": "ui_small", "version": 1, "description": "first", "tasks": [_ONE]}


def test_an_older_version_is_shown_and_started(tab, client):
    two = [_ONE, {**_ONE, "taskReferenceName": "again"}]
    newer = {**SMALL, "version": 2, "description": "second", "tasks": two}
    for definition in (SMALL, newer):
        client.register_workflow(definition, overwrite=True)
    tab.open("/definitions")
    row = tab.page.get_by_role("row", name="ui_small")
    expect(row).to_contain_text("2 versions")
    expect(row).to_contain_text("second")
    row.get_by_role("button", name="Show the definition").click()
    nodes = tab.page.locator(".node")
    expect(nodes).to_have_count(2)
    tab.page.get_by_label("Version").select_option(label="Version 1")
    expect(nodes).to_have_count(1)
    tab.page.locator(".detail").get_by_role("button", name="Start…").click()
    expect(tab.dialog).to_contain_text("ui_small v1")
    tab.dialog.get_by_role("button", name="Start").click()
    tab.page.wait_for_url("**/execution/*")
    tab.status("Completed")
    expect(tab.page.locator("h1")).to_contain_text("v1")


def test_what_is_hardly_meant_in_a_definition_is_said(tab, client):
    fork = {"name": "f", "taskReferenceName": "f", "type": "FORK_JOIN", "forkTasks": [[_ONE]]}
    client.register_workflow({"name": "ui_split", "tasks": [fork]}, overwrite=True)
    tab.open("/definitions")
    tab.page.get_by_label("Filter by name").fill("split")
    tab.page.get_by_role("button", name="Show the definition").click()
    tab.page.get_by_text("$.tasks[0] has no JOIN right behind it").wait_for()


def test_an_address_that_official_clients_print_shows_its_definition_only(tab, client):
    for name in ("ui_small", "ui_split"):
        client.register_workflow({**SMALL, "name": name}, overwrite=True)
        client.register_tasks([{"name": f"{name}_task", "ownerEmail": "a@b.c"}])
    tab.open("/workflowDef/ui_split/1")
    tab.page.get_by_role("row", name="ui_split").wait_for()
    expect(tab.page.get_by_role("row", name="ui_small")).to_have_count(0)
    tab.open("/taskDef/ui_small_task")
    tab.page.get_by_role("row", name="ui_small_task").wait_for()
    expect(tab.page.get_by_role("row", name="ui_split_task")).to_have_count(0)


def test_tags_of_a_definition_are_shown(tab, client, server_url):
    client.register_workflow(SMALL, overwrite=True)
    tags = [{"key": "team", "value": "<b>blue</b>"}]
    tab.page.request.put(f"{server_url}/api/metadata/workflow/ui_small/tags", data=tags)
    tab.open("/definitions")
    tab.page.get_by_label("Filter by name").fill("small")
    tab.page.get_by_role("button", name="Show the definition").click()
    tab.page.get_by_text("team: <b>blue</b>").wait_for()


def test_a_start_that_is_refused_says_why_in_the_dialog(tab, client):
    client.register_workflow(SMALL, overwrite=True)
    tab.open("/definitions")
    row = tab.page.get_by_role("row", name="ui_small")
    row.get_by_role("button", name="Start…").click()
    tab.dialog.get_by_label("Priority").fill("1000")
    tab.dialog.get_by_role("button", name="Start").click()
    tab.dialog.get_by_role("alert").get_by_text("priority").wait_for()


def test_a_task_definition_is_shown(tab, client):
    client.register_tasks([{"name": "ui_task", "retryCount": 4}])
    tab.open("/definitions#tasks")
    row = tab.page.get_by_role("row", name="ui_task")
    expect(row).to_contain_text("4 \N{MULTIPLICATION SIGN} FIXED")
    row.get_by_role("button", name="Show the definition").click()
    tab.page.locator(".detail").get_by_text('"retryCount"').wait_for()


def test_a_schedule_is_run_paused_and_resumed(tab, client):
    client.register_workflow(SMALL, overwrite=True)
    request = {"name": "ui_small", "version": 1}
    client.save_schedule(
        {
            "name": "ui_nightly",
            "cronExpression": "0 0 3 * * *",
            "startWorkflowRequest": request,
        }
    )
    tab.open("/schedules")
    row = tab.page.get_by_role("row", name="ui_nightly")
    row.get_by_role("button", name="Run").click()
    row.get_by_role("button", name="Pause").click()
    row.get_by_role("button", name="Resume").wait_for()
    expect(row).to_contain_text("Paused")
    row.get_by_role("button", name="Resume").click()
    row.get_by_role("button", name="Pause").wait_for()
    row.get_by_role("button", name="Show what it started").click()
    tab.page.locator(".detail a").first.click()
    tab.status("Completed")


def test_a_schedule_is_backfilled_after_a_look(tab, client):
    client.register_workflow(SMALL, overwrite=True)
    client.save_schedule(
        {
            "name": "ui_weekly",
            "cronExpression": "0 0 3 * * MON",
            "startWorkflowRequest": {"name": "ui_small", "version": 1},
        }
    )
    tab.open("/schedules")
    row = tab.page.get_by_role("row", name="ui_weekly")
    row.get_by_role("button", name="Backfill…").click()
    dialog = tab.page.get_by_role("dialog")
    dialog.get_by_label("From").fill("2026-01-05")
    dialog.get_by_label("To").fill("2026-01-19")
    dialog.get_by_label("How many side by side").fill("2")
    dialog.get_by_role("button", name="Go on").click()
    dialog.get_by_text("3 runs:").wait_for()
    expect(dialog).to_contain_text("Lane 2: 1 from")
    dialog.get_by_label("Only show what would run").uncheck()
    dialog.get_by_role("button", name="Go on").click()
    dialog.locator(".answer a").click()
    tab.status("Completed")
    expect(tab.page.locator("main")).to_contain_text("20260119T030000")


def test_an_event_leads_to_what_it_started(tab, client):
    client.register_workflow(SMALL, overwrite=True)
    client.register_event_handler(
        {
            "name": "ui_handler",
            "event": "conductor:ui_tells:shipped",
            "active": True,
            "actions": [
                {"action": "start_workflow", "start_workflow": {"name": "ui_small", "version": 1}}
            ],
        },
        overwrite=True,
    )
    told = {"name": "t", "taskReferenceName": "t", "type": "EVENT", "sink": "conductor:shipped"}
    client.start_workflow(definition={"name": "ui_tells", "tasks": [told]})
    until(lambda: client.list_event_executions(name="ui_handler", size=1), what="handled")
    tab.open("/events")
    expect(tab.page.get_by_role("row", name="ui_handler").first).to_contain_text("start_workflow")
    tab.page.locator("#records a").first.click()
    tab.status("Completed")


def test_a_list_can_be_searched_sorted_and_left_for_an_execution(tab, client):
    client.register_workflow({**SMALL, "name": "ui_searched"}, overwrite=True)
    started = client.start_workflow("ui_searched", version=1)
    until(
        lambda: client.search_workflows(f"workflowId = {started}").get("totalHits") == 1,
        what="indexed",
    )
    tab.open("/")
    tab.page.get_by_label("Search", exact=True).fill(started)
    tab.page.get_by_role("button", name="Search").click()
    tab.page.get_by_role("link", name="ui_searched").wait_for()
    tab.page.get_by_role("button", name="Ended").click()
    tab.page.get_by_role("button", name="Ended ↓").wait_for()
    tab.page.get_by_role("button", name="Completed").first.click()
    tab.page.get_by_role("link", name="ui_searched").click()
    tab.status("Completed")


def test_a_wrong_query_is_answered_in_the_form(tab):
    tab.open("/")
    tab.page.get_by_label("Search", exact=True).fill("status = = FAILED")
    tab.page.get_by_role("button", name="Search").click()
    tab.page.locator("#search-error").wait_for()
    assert len(tab.page.locator("#search-error").inner_text()) > 10


def test_a_queue_says_who_polls_it(tab, client):
    client.poll_batch("ui_queue", worker_id="poller-7", count=1)
    tab.open("/queues")
    row = tab.page.locator("#rows").get_by_role("row", name="ui_queue")
    row.wait_for()
    expect(row).to_contain_text("poller-7")


def test_workers_and_servers_that_are_there_are_shown(tab, client):
    load = {"taskType": "ui_load", "domain": "gpu", "running": 1, "capacity": 4}
    sign = {"workerId": "ui-worker-<b>7</b>", "host": "ui-host", "version": "1.4"}
    client.report_worker({**sign, "taskTypes": [load]})
    tab.open("/workers")
    row = tab.page.get_by_role("row", name="ui-worker-<b>7</b>")
    row.wait_for()
    shown = row.inner_text()
    assert all(text in shown for text in ("ui-host", "1.4", "gpu:ui_load", "1 of 4", "ago"))
    expect(tab.page.locator("#servers")).to_contain_text("term 1")
    tab.page.get_by_label("Filter by worker").fill("nobody like that")
    tab.page.get_by_text("No worker is there.").wait_for()


_PAGES = ["/", "/definitions", "/catalog", "/schedules", "/events", "/queues", "/workers"]


@pytest.mark.parametrize("path", _PAGES)
def test_a_server_that_is_away_is_a_sentence_on_every_page(tab, path):
    tab.page.route("**/api/**", lambda route: route.abort())
    tab.open(path)
    tab.page.get_by_text("The server cannot be reached.").first.wait_for()


@pytest.mark.parametrize("path", _PAGES)
def test_an_empty_server_is_no_blank_page(tab, path):
    empty = {"totalHits": 0, "results": []}
    tab.page.route(
        "**/api/**",
        lambda route: route.fulfill(
            json=empty if "search" in route.request.url else {} if "queue/all" in route.request.url
            and "polldata" not in route.request.url else []
        ),
    )  # fmt: skip
    tab.open(path)
    tab.page.locator("main").get_by_text("No ").or_(
        tab.page.locator("main").get_by_text("Nothing")
    ).first.wait_for()
