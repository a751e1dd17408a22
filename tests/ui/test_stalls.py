"""Each planted stall, on the page of its execution: the sentence, the time left, and what helps."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.stalls.planted import ALONE, OF_EXECUTIONS, OF_TASKS, Stall, plant

pytestmark = [pytest.mark.thorough(target="pages"), pytest.mark.service, pytest.mark.timeout(300)]

_HELPS = {
    "quarantined": "Try again",
    "plan-lost": "Terminate…",
    "broken": "Decide now",
    "failing": "Decide now",
    "no-sweeper": "See servers and their shards",
    "paused": "Resume…",
    "shard-unserved": "See servers and their shards",
    "effect-stuck": "See servers and their shards",
    "archive-pending": "See servers and their shards",
    "no-system-worker": "See queues and workers",
    "worker-in-other-domain": "See queues and workers",
    "worker-in-other-group": "See queues and workers",
    "no-worker-ever": "See queues and workers",
    "no-worker-since": "See queues and workers",
    "workers-busy": "See queues and workers",
    "worker-silent": "Requeue…",
    "running": "Requeue…",
    "workflow-rate-limit": "See who is before it",
    "concurrency-limit": "See who holds it",
    "human": "Complete…",
    "wait-signal": "Signal…",
    "external": "Report a result…",
    "messages": "Send a message…",
    "callback": "Offer now…",
    "wait-timer": "End the wait…",
}
_UNREADABLE = {"unknown-format"}
"""There is no page of an execution that this version cannot read."""


@pytest.mark.parametrize(
    "stall",
    [one for one in (*OF_TASKS, *OF_EXECUTIONS, *ALONE) if one.code not in _UNREADABLE],
    ids=lambda stall: stall.code,
)
def test_the_page_names_it_and_offers_what_helps(tab: Any, stall: Stall) -> None:
    scene = plant(stall)
    cause = scene.explained()["cause"]
    with scene.serve() as url:
        tab.page.goto(f"{url.removesuffix('/api')}/execution/{scene.started}")
        line = tab.page.locator("#why")
        line.get_by_text(cause["sentence"]).wait_for()
        pressed = line.locator("button, a.button")
        if cause["workflowId"] != scene.started:
            expect(line.get_by_role("link")).to_be_visible()
        else:
            wanted = [_HELPS[stall.code]] if stall.code in _HELPS else []
            assert pressed.all_inner_texts() == wanted
        expect(line.get_by_role("timer")).to_have_count(1 if cause.get("until") else 0)
        tab.open("/queues")
