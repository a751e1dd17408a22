"""Why, audit and quarantine over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.api import create_app
from conductor_py.api.metrics import Metrics
from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import FakeClock
from conductor_py.testing.engine import MemoryEngine, memory_engine
from tests.builders import simple, typed, workflow

NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def space() -> MemorySpace:
    return MemorySpace(clock=FakeClock())


@pytest.fixture
def engine(space: MemorySpace) -> MemoryEngine:
    clock: Any = space.clock
    return memory_engine(clock=clock, space=space)


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    return create_app(engine.engine).test_client()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def quarantined(engine: MemoryEngine) -> str:
    started = engine.start(workflow("w", typed("HUMAN", "h")))
    version = engine.ports.store.load(ExecutionId(started), ["h"])
    assert version is not None
    for _ in range(5):
        engine.ports.quarantine.set_back(ExecutionId(started), "h", version[0], "it is broken")
    return started


def test_why_names_a_cause_and_what_to_do(engine: MemoryEngine, client: Any) -> None:
    started = engine.start(workflow("w", simple("a")))
    answer = client.get(f"/api/workflow/{started}/why")
    assert answer.status_code == 200
    cause = answer.json["cause"]
    assert (cause["code"], cause["workflowId"]) == ("no-worker-ever", started)
    assert cause["advice"].startswith("Start a worker")
    assert len(answer.json["causes"]) == 1


@pytest.mark.parametrize("path", ["/api/workflow/{}/why", "/api/admin/audit/{}"])
def test_an_unknown_execution_is_not_found(client: Any, path: str) -> None:
    for unknown in (NOBODY, "nonsense"):
        answer = client.get(path.format(unknown))
        assert (answer.status_code, answer.json["status"]) == (404, 404)


def test_an_audit_goes_page_by_page(engine: MemoryEngine, space: MemorySpace, client: Any) -> None:
    started = [engine.start(workflow("w", simple("a"))) for _ in range(5)]
    space.partition(0).ready["a", "s0"].drop(f"{started[2]}-1")
    found, cursor, looked = [], "", 0
    while True:
        page = client.get("/api/admin/audit", query_string={"cursor": cursor, "size": 2}).json
        found += page["findings"]
        looked += page["executions"]
        cursor = page["cursor"]
        if not cursor:
            break
    assert looked == 5
    (finding,) = found
    assert (finding["invariant"], finding["code"]) == ("I3", "no-place")
    assert (finding["subject"], finding["task"]) == (started[2], f"{started[2]}-1")
    alone = client.get(f"/api/admin/audit/{started[2]}").json
    assert (alone["violations"], alone["findings"]) == (1, found)


@pytest.mark.parametrize("query", [{"size": 0}, {"size": 9_999}, {"size": "x"}, {"cursor": "x"}])
def test_a_bad_audit_is_refused(client: Any, query: dict[str, Any]) -> None:
    answer = client.get("/api/admin/audit", query_string=query)
    assert answer.status_code == 400
    assert answer.json["validationErrors"]


def test_quarantine_is_listed_and_retried(engine: MemoryEngine, client: Any) -> None:
    started = quarantined(engine)
    listed = client.get("/api/admin/quarantine").json
    (one,) = listed["results"]
    assert (listed["totalHits"], one["workflowId"], one["tries"]) == (1, started, 5)
    assert one["reason"] == "it is broken"
    assert client.get("/api/admin/quarantine", query_string={"size": 0}).json["totalHits"] == 1
    answer = client.post(f"/api/admin/quarantine/{started}/retry")
    assert answer.json == {"workflowId": started, "decided": True}
    assert client.get("/api/admin/quarantine").json == {
        "totalHits": 0,
        "results": [],
        "damaged": [],
    }
    assert client.post(f"/api/admin/quarantine/{started}/retry").status_code == 404


def test_one_in_quarantine_is_dropped(engine: MemoryEngine, client: Any) -> None:
    started = quarantined(engine)
    dropped = f"/api/admin/quarantine/{started}/drop"
    assert client.post(dropped, query_string={"reason": "given up"}).status_code == 200
    found = engine.workflow(started)
    assert (found["status"], found["reasonForIncompletion"]) == ("TERMINATED", "given up")
    assert client.post(dropped).status_code == 404


@pytest.mark.parametrize("verb", ["retry", "drop"])
def test_a_damaged_entry_that_is_none_is_not_found(client: Any, verb: str) -> None:
    path = f"/api/admin/quarantine/damaged/{verb}"
    assert client.post(path, query_string={"entry": "0 outbox x"}).status_code == 404
    assert client.post(path).status_code == 404


def test_all_in_quarantine_are_retried(engine: MemoryEngine, client: Any) -> None:
    for _ in range(3):
        quarantined(engine)
    answer = client.post("/api/admin/quarantine/retry")
    assert answer.json == {"decided": 3, "failed": 0, "left": 0, "cursor": ""}
    refused = client.post("/api/admin/quarantine/retry", query_string={"cursor": "none"})
    assert (refused.status_code, refused.json["code"]) == (400, "INVALID_INPUT")


def test_metrics_tell_of_the_last_audit_and_of_quarantine(
    engine: MemoryEngine, space: MemorySpace
) -> None:
    metrics = Metrics()
    metrics.show_oversight(engine.engine.auditor.last, engine.engine.quarantine.count, lambda: 0)
    assert b"conductor_audit_violations{" not in metrics.write()
    assert b"conductor_quarantined_executions 0.0" in metrics.write()
    quarantined(engine)
    broken = engine.start(workflow("w", simple("a")))
    space.partition(0).ready["a", "s0"].drop(f"{broken}-1")
    auditor: Any = engine.engine.auditor
    auditor._interval_ms = 1
    while auditor.tick() and not auditor.last():
        pass
    written = metrics.write()
    assert b'conductor_audit_violations{invariant="I3"} 1.0' in written
    assert b'conductor_audit_violations{invariant="I4"} 0.0' in written
    assert b"conductor_audits_total 1.0" in written
    assert b"conductor_quarantined_executions 1.0" in written


def test_a_scrape_works_while_the_store_is_away() -> None:
    def away() -> Any:
        raise StoreUnavailable

    metrics = Metrics()
    metrics.show_oversight(away, away, away)
    assert b"conductor_quarantined_executions" in metrics.write()
