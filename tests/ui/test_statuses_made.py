"""Statuses as a real server makes them, on the page and on the command line."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.cli.conftest import Run, run
from tests.waiting import until

pytestmark = [
    pytest.mark.thorough(target="pages"),
    pytest.mark.service,
]

__all__ = ["run"]


def _part(ref: str, kind: str = "SIMPLE", **more: Any) -> dict[str, Any]:
    return {"name": ref, "taskReferenceName": ref, "type": kind, **more}


def _worker(ref: str, **more: Any) -> dict[str, Any]:
    policy = {"name": ref, "retryCount": 1, "retryDelaySeconds": 0, **more}
    return _part(ref, taskDefinition=policy)


BRANCHES = [
    [_worker("m_tried")],
    [_worker("m_lost", responseTimeoutSeconds=1)],
    [{**_worker("m_optional"), "optional": True}],
    [_part("m_begin", "NOOP"), _part("m_wait", "WAIT"), _part("m_passed", "NOOP")],
    [_part("m_gate", "HUMAN"), _part("m_left_out"), _worker("m_fatal")],
]
MIXED: dict[str, Any] = {
    "name": "ui_mixed",
    "version": 1,
    "tasks": [
        _part("m_fork", "FORK_JOIN", forkTasks=BRANCHES),
        _part("m_join", "JOIN", joinOn=[branch[-1]["taskReferenceName"] for branch in BRANCHES]),
    ],
}

EXPECTED = {
    "m_fork": "COMPLETED",
    "m_join": "CANCELED",
    "m_tried": "CANCELED",
    "m_lost": "CANCELED",
    "m_optional": "COMPLETED_WITH_ERRORS",
    "m_begin": "COMPLETED",
    "m_wait": "CANCELED",
    "m_gate": "COMPLETED",
    "m_left_out": "SKIPPED",
    "m_fatal": "FAILED_WITH_TERMINAL_ERROR",
}
WORDS = {
    "COMPLETED": "Completed",
    "CANCELED": "Canceled",
    "COMPLETED_WITH_ERRORS": "Completed with errors",
    "SKIPPED": "Skipped",
    "FAILED_WITH_TERMINAL_ERROR": "Failed, terminal error",
}


def _fail(client, ref, status):
    """Take the task and report that it failed."""
    found = until(lambda: client.poll_batch(ref, worker_id="w", count=1, timeout_ms=1000))
    task = found[0]
    client.update_task(
        {
            "workflowInstanceId": task["workflowInstanceId"],
            "taskId": task["taskId"],
            "workerId": "w",
            "status": status,
            "reasonForIncompletion": f"{ref} does not work",
        }
    )


@pytest.fixture(scope="module")
def mixed(server_url):
    """An execution whose tasks have ended in every way."""
    from conductor_py.sdk import Client

    with Client(f"{server_url}/api") as client:
        execution = client.start_workflow(definition=MIXED)
        client.skip_task(execution, "m_left_out")
        until(lambda: client.poll_batch("m_lost", worker_id="gone", count=1, timeout_ms=1000))
        _fail(client, "m_tried", "FAILED")
        _fail(client, "m_optional", "FAILED_WITH_TERMINAL_ERROR")

        def tries(ref):
            listed: Any = client.get_workflow(execution)["tasks"]
            return [each["status"] for each in listed if each["referenceTaskName"] == ref]

        until(lambda: tries("m_lost")[:1] == ["TIMED_OUT"] and len(tries("m_lost")) == 2)
        client.update_task_by_ref(execution, "m_gate", "COMPLETED", {})
        _fail(client, "m_fatal", "FAILED_WITH_TERMINAL_ERROR")
        until(lambda: client.get_workflow(execution)["status"] == "FAILED")
        return execution


def test_each_is_on_the_page(tab, mixed):
    tab.execution(mixed)
    tab.status("Failed")
    rows = tab.page.locator("tr.group")
    shown = dict(
        rows.evaluate_all(
            "all => all.map((row) => [row.querySelector('strong').textContent,"
            " row.querySelector('.pill').textContent])"
        )
    )
    assert shown == {ref: WORDS[status] for ref, status in EXPECTED.items()}
    for ref, first in (("m_tried", "Failed"), ("m_lost", "Timed out")):
        tab.page.get_by_role("button", name=f"Details of {ref}").click()
        expect(tab.page.locator(".attempt .pill", has_text=first)).to_have_count(1)
    expect(tab.page.get_by_text("superseded")).to_have_count(2)
    assert tab.page.get_by_text("m_fatal does not work").count() >= 1


def test_each_is_on_the_command_line(run: Run, mixed, server_url):
    outcome = run("workflow", "get", mixed, "--server", server_url)
    assert (outcome.code, outcome.err) == (0, "")
    last = {
        words[0]: words
        for words in (line.split() for line in outcome.out.splitlines())
        if words and words[0].startswith("m_")
    }
    assert {ref: status in last[ref] for ref, status in EXPECTED.items()} == dict.fromkeys(
        EXPECTED, True
    )
    for words in ("FAILED (superseded)", "TIMED_OUT (superseded)", "m_fatal does not work"):
        assert words in outcome.out


def test_what_waits_for_its_turn_says_so(tab, client, run: Run, server_url):
    limited = {
        "name": "ui_limited",
        "version": 1,
        "rateLimitConfig": {"rateLimitKey": "one", "concurrentExecLimit": 1},
        "tasks": [_part("held", "HUMAN")],
    }
    client.register_workflow(limited, overwrite=True)
    first, second = (client.start_workflow("ui_limited") for _ in range(2))
    tab.execution(second)
    tab.page.get_by_text("Waits for its turn").wait_for()
    assert "for its turn" in run("workflow", "get", second, "--server", server_url).out
    client.terminate_workflow(first)
    tab.page.get_by_text("Waits for its turn").wait_for(state="hidden")
    client.terminate_workflow(second)
