"""The page of an execution draws how the job of a data pipeline is cut."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.pipelines.jobs import example

pytestmark = [pytest.mark.thorough(target="pages"), pytest.mark.service, pytest.mark.timeout(300)]


def test_the_cut_of_a_job_is_drawn_with_stages_and_promises(tab, client):
    task = {"name": "ui_orders", "taskReferenceName": "orders", "type": "SPARK_PIPELINE"}
    definition = {
        "name": "ui_pipeline",
        "version": 1,
        "tasks": [{**task, "inputParameters": {"job": example()}}],
    }
    started = client.start_workflow("ui_pipeline", definition=definition)
    tab.execution(started)
    tab.page.get_by_role("row", name="orders").first.click()
    tab.page.get_by_text("Pipelines", exact=True).click()
    drawn = tab.page.get_by_role("region", name="Pipeline p-")
    drawn.first.wait_for()
    expect(drawn).to_have_count(3)
    text = drawn.first.inner_text()
    assert "Stage 1" in text
    assert "exchange of enrich" in text
    assert "idempotent" in text
    client.terminate_workflow(started, "enough")


_LAKE: dict[str, Any] = {
    "id": "p-6f2a",
    "state": "RUNNING",
    "epoch": 41,
    "restarts": 2,
    "splits": {"discovered": 1840, "complete": True, "done": 920},
    "bytes": {"read": 911_822_331, "estimatedTotal": 2_402_000_000},
    "rows": {"read": 3_301_221, "bad": 12},
    "sinks": {"lake": {"rows": 3_288_400}},
    "rate": {"rowsPerSecond": 151_000},
    "etaSeconds": 67,
    "lag": {},
    "lastError": {"code": "SINK_UNAVAILABLE", "message": "the database is away"},
}
_CLICKS: dict[str, Any] = {
    "id": "p-77",
    "state": "WAITING",
    "splits": {"discovered": 4, "complete": False, "done": 2},
    "lag": {"clicks": {"splits": 2, "rows": 80, "bytes": 1234, "seconds": 3.6}},
    "eventTime": {
        "minutes": {
            "watermark": "2024-05-01T10:01:10+00:00",
            "lagSeconds": 90,
            "stateRows": 2000,
            "lateRows": 1,
        }
    },
}


def test_how_far_pipelines_are_is_drawn_while_they_run(tab, client):
    task = {"name": "ui_load", "taskReferenceName": "load", "type": "SIMPLE"}
    definition = {"name": "ui_progress", "version": 1, "tasks": [task]}
    started = client.start_workflow("ui_progress", definition=definition)
    (taken,) = client.poll_batch("ui_load", timeout_ms=2000)
    client.extend_task(taken["taskId"], taken["claimToken"], 60, {"pipelines": [_LAKE, _CLICKS]})
    tab.execution(started)
    tab.page.get_by_role("row", name="load").first.click()
    table = tab.page.get_by_role("table", name="Progress of pipelines")
    table.wait_for()
    lake, clicks = (table.locator("tbody tr").nth(at).inner_text() for at in range(2))
    for said in ("→ lake", "epoch 41, restarts: 2", "920 of 1,840", "3,301,221", "12 bad"):
        assert said in lake
    for said in ("911.8 MB", "of 2.4 GB", "151,000", "1 m 07 s"):
        assert said in lake
    assert "2 of 4 found so far" in clicks
    assert "clicks: 2 splits, 1.2 kB, 3.60 s" in clicks
    reached = "watermark 2024-05-01T10:01:10+00:00, 1 m 30 s ago, 2,000 rows kept, 1 late"
    expect(tab.page.get_by_text(f"p-77, minutes: {reached}")).to_be_visible()
    assert table.get_by_role("progressbar").first.evaluate("bar => bar.value") == 0.5
    expect(tab.page.get_by_text("SINK_UNAVAILABLE: the database is away")).to_be_visible()
    client.terminate_workflow(started, "enough")
