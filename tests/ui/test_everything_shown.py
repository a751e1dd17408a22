"""Every task type and every status in a real browser: nothing blank, no exception's text."""

import json
import os
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.docs.pages import DOCS, Page
from tests.ui import everything
from tests.ui.everything import ID, TASK_STATUSES, TASK_TYPES, WORKFLOW_STATUSES
from tests.waiting import until

pytestmark = [
    pytest.mark.thorough(target="pages"),
    pytest.mark.service,
]

SINK = DOCS / "tutorials" / "kitchen-sink.md"
_RAW = re.compile(r"undefined|\[object |NaN|TypeError|Cannot read|Traceback|Infinity")


@pytest.fixture
def shown(tab, client):
    """Show an execution's page with what the endpoints say of it in its place."""
    page_of = client.start_workflow(
        definition={
            "name": "stand_in",
            "tasks": [{"name": "w", "taskReferenceName": "w", "type": "HUMAN"}],
        }
    )

    def show(document, tab_name="Tasks"):
        pages = {"totalHits": len(document["tasks"]), "results": document["tasks"]}
        head = {**document, "tasks": []}

        def answer(route):
            body = pages if "/tasks?" in route.request.url else head
            route.fulfill(json=body)

        tab.page.route(f"**/api/workflow/{page_of}**", answer)
        tab.page.route("**/api/tasks/**", lambda route: route.fulfill(json=[]))
        tab.execution(page_of)
        if tab_name != "Tasks":
            tab.page.get_by_role("tab", name=tab_name).click()
        return tab.page

    return show


def _row(page, ref):
    return page.locator("tr.group", has=page.locator("strong", has_text=re.compile(f"^{ref}$")))


def test_every_type_and_status_has_its_words_in_the_table(shown):
    page = shown(everything.every_type_and_status())
    for kind, (words, *_) in TASK_TYPES.items():
        text = _row(page, f"t_{kind.lower()}").inner_text()
        assert words in text, kind
        assert "Completed" in text
    for status, words in TASK_STATUSES.items():
        expect(_row(page, f"s_{status.lower()}")).to_contain_text(words)


def test_every_type_and_status_is_in_the_graph(shown):
    page = shown(everything.every_type_and_status())
    labels = page.locator(".node").evaluate_all(
        "nodes => nodes.map((node) => node.getAttribute('aria-label'))"
    )
    expected = [f"t_{kind.lower()}, {words}, " for kind, (words, *_) in TASK_TYPES.items()]
    expected += [f"s_{status.lower()}, Worker task, {w}" for status, w in TASK_STATUSES.items()]
    for label in expected:
        assert any(one.startswith(label) for one in labels), label


def test_every_type_shows_what_it_did_and_links_to_what_it_started(shown):
    page = shown(everything.every_type_and_status())
    for kind, (*_, text) in TASK_TYPES.items():
        row = _row(page, f"t_{kind.lower()}")
        row.locator(".twist").click()
        detail = row.locator("xpath=following-sibling::tr[1]").inner_text()
        assert text in detail, kind
        row.locator(".twist").click()
    for ref in ("t_sub_workflow", "t_start_workflow"):
        row = _row(page, ref)
        row.locator(".twist").click()
        link = row.locator("xpath=following-sibling::tr[1]").locator(
            f"a[href$='{everything.CHILD}']"
        )
        expect(link).to_have_count(1)
    assert not _RAW.search(page.locator("body").inner_text())


@pytest.mark.parametrize(("status", "words"), WORKFLOW_STATUSES.items())
def test_every_status_of_an_execution_has_its_word_and_a_way_on(shown, status, words):
    page = shown(everything.execution(status, [everything.part("a", "NOOP")], []))
    assert page.locator("#head .pill").first.inner_text().strip() == words
    assert page.title().startswith(f"everything · {words}")
    assert page.locator("#head .buttons button").count() > 0


def test_loops_tries_and_branches_are_all_there(shown):
    page = shown(everything.nested())
    expect(_row(page, "work__2__1")).to_contain_text("3")
    _row(page, "work__2__1").locator(".twist").click()
    expect(page.get_by_text("superseded")).to_have_count(2)
    expect(page.get_by_text("Attempt 3 of 3")).to_have_count(1)
    labels = page.locator(".node").evaluate_all(
        "nodes => nodes.map((node) => node.getAttribute('aria-label'))"
    )
    assert "left, HTTP, Failed" in labels
    assert "right, Wait, not reached" in labels
    expect(page.locator(".badge-text", has_text="3 tries")).to_have_count(1)
    # An empty case of a DECISION is its default.
    assert page.locator(".case.taken title").all_text_contents() == ["case default, chosen"]
    page.get_by_role("button", name="work, Worker task, In progress").click()
    expect(page.locator("tr.group")).to_have_count(2)


@pytest.mark.parametrize("tab_name", ["Tasks", "Timings", "Input and output", "Definition"])
@pytest.mark.parametrize(
    "build", [everything.every_type_and_status, everything.nested, everything.odd]
)
def test_no_tab_is_blank_and_none_shows_an_exception(shown, build, tab_name):
    document = build()
    page = shown(document, tab_name)
    panel = page.get_by_role("tabpanel")
    assert len(panel.inner_text().strip()) > 20
    expect(page.locator("#banner")).to_have_text("")
    if tab_name == "Timings":
        expect(page.locator(".gantt-row")).to_have_count(len(document["tasks"]) + 1)
    if tab_name == "Tasks":
        panel.locator("tr.group .twist").evaluate_all("all => all.forEach((one) => one.click())")
        folded = panel.locator("details.payload > summary")
        assert folded.count() >= 3 * len(document["tasks"])
        folded.evaluate_all("all => all.forEach((one) => one.click())")
    if build is not everything.odd:
        assert not _RAW.search(panel.inner_text())


def test_what_an_execution_belongs_to_is_linked(shown):
    page = shown(everything.odd())
    facts = page.locator("#head")
    expect(facts.locator(f"a[href$='{everything.CHILD}']")).to_have_count(2)
    expect(facts).to_contain_text("Waits for its turn")
    (correlated,) = facts.get_by_role("link", name="all that share it").all()
    assert "correlationId" in correlated.get_attribute("href")


def test_no_text_of_a_user_became_markup(shown):
    page = shown(everything.odd())
    expect(page.locator("main img, main script")).to_have_count(0)
    expect(page.locator(".why").first).to_contain_text("<script>alert(1)</script>")


def test_a_fault_of_the_page_itself_is_a_sentence_and_not_its_exception(tab, client):
    task = {"name": "w", "taskReferenceName": "w", "type": "HUMAN"}
    real = client.start_workflow(definition={"name": "faulty", "tasks": [task]})
    document = {**everything.execution("RUNNING", [], []), "results": [None], "totalHits": 1}
    tab.page.route(f"**/api/workflow/{real}**", lambda route: route.fulfill(json=document))
    tab.open(f"/execution/{real}")
    tab.page.get_by_text("This page cannot show all of it.").wait_for()
    assert not _RAW.search(tab.page.locator("body").inner_text())
    assert any("TypeError" in one for one in tab.complaints)
    tab.complaints.clear()


def test_what_the_page_was_given_is_json_of_the_server(client):
    """The stand-in has the fields of a real answer, and no other."""
    real = client.start_workflow(
        definition={
            "name": "compared",
            "tasks": [{"name": "w", "taskReferenceName": "w", "type": "HUMAN"}],
        }
    )
    found = json.loads(json.dumps(client.get_workflow(real)))
    assert set(everything.execution("RUNNING", [], [])) <= set(found)
    task = everything.made(everything.part("w", "HUMAN"), 1, "IN_PROGRESS")
    assert set(task) <= set(found["tasks"][0])
    assert real != ID


def test_the_kitchen_sink_is_shown_whole(tab, client, server_url, tmp_path):
    page = Page(path=SINK, text=SINK.read_text(encoding="utf-8"))
    program = tmp_path / "sink.py"
    program.write_text("\n".join(block.text for block in page.blocks("python")))
    environment = {**os.environ, "CONDUCTOR_SERVER_URL": f"{server_url}/api"}
    done = subprocess.run([sys.executable, str(program)], env=environment, timeout=60, check=False)
    assert done.returncode == 0
    query = "workflowType = kitchen_sink"
    until(lambda: client.search_workflows(query).get("totalHits"), what="indexed")
    (found,) = client.search_workflows(query)["results"]
    run = client.get_workflow(found["workflowId"])

    tab.execution(run["workflowId"])
    for task in run["tasks"]:
        row = _row(tab.page, task["referenceTaskName"]).inner_text()
        assert typed(task["workflowTask"]["type"]) in row
        assert TASK_STATUSES[task["status"]] in row
    labels = tab.page.locator(".node").evaluate_all(
        "nodes => nodes.map((node) => node.getAttribute('aria-label'))"
    )
    assert len(labels) == 30
    assert "by_truck, Inline script, not taken" in labels
    assert "never, No operation, not reached" in labels
    assert "remind, Inline script, Completed" in labels
    assert not _RAW.search(tab.page.locator("body").inner_text())


def typed(kind):
    return TASK_TYPES[kind][0]
