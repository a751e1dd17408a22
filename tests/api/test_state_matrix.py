"""What each call answers in each state of an execution: the table of the dialect, over the engine.

Where Conductor answers 500 for a caller's mistake, the answer here is a 4xx.
"""

from collections.abc import Callable
from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.testing.engine import MemoryEngine
from tests.decider.conftest import _shared_scripts, engine, scripts

__all__ = ["_shared_scripts", "engine", "scripts"]

UNKNOWN = "00000000-0000-0000-0000-000000000000"
STATES = ("unknown", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "TERMINATED")

# method and path below /api, body, then the status in each of the states
TABLE: tuple[tuple[str, str, Any, tuple[int, ...]], ...] = (
    ("DELETE", "/workflow/{id}", None, (404, 200, 200, 409, 200, 200)),
    ("DELETE", "/workflow/{id}/remove", None, (404, 400, 400, 200, 200, 200)),
    ("DELETE", "/workflow/{id}/remove?archiveWorkflow=false", None, (404, *[200] * 5)),
    ("DELETE", "/workflow/{id}/terminate-remove", None, (404, 200, 200, 409, 200, 200)),
    ("PUT", "/workflow/{id}/pause", None, (404, 200, 200, 409, 409, 409)),
    ("PUT", "/workflow/{id}/resume", None, (404, 409, 200, 409, 409, 409)),
    ("POST", "/workflow/{id}/restart", None, (404, 409, 409, 204, 204, 204)),
    ("POST", "/workflow/{id}/retry", None, (404, 404, 404, 409, 204, 204)),
    ("POST", "/workflow/{id}/rerun", {}, (404, 409, 409, 200, 200, 200)),
    ("PUT", "/workflow/{id}/skiptask/b", None, (404, 200, 409, 409, 409, 409)),
    ("PUT", "/workflow/{id}/skiptask/a", None, (404, 409, 409, 409, 409, 409)),
    ("PUT", "/workflow/{id}/skiptask/x", None, (404, 400, 409, 409, 409, 409)),
    ("POST", "/workflow/{id}/tasks/a/force-success", {}, (404, *[400] * 5)),
    ("POST", "/workflow/{id}/resetcallbacks", None, (404, 204, 204, 409, 409, 409)),
    ("PUT", "/workflow/decide/{id}", None, (404, *[200] * 5)),
    ("POST", "/workflow/{id}/variables", {"v": 1}, (404, 200, 200, 409, 409, 409)),
    (
        "POST",
        "/workflow/{id}/state?waitForSeconds=1",
        {"variables": {}},
        (404, 200, 200, 200, 200, 200),
    ),
    ("POST", "/tasks/{id}/COMPLETED/signal", {}, (404, *[200] * 5)),
    ("POST", "/tasks/{id}/COMPLETED/signal/sync", {}, (404, *[404] * 5)),
    ("POST", "/tasks/{id}/a/COMPLETED", {}, (404, *[200] * 5)),
)
CASES = [
    pytest.param(method, path, body, state, status, id=f"{method} {path} {state}")
    for method, path, body, statuses in TABLE
    for state, status in zip(STATES, statuses, strict=True)
]
CHANGING = {"RUNNING", "PAUSED"}


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    return create_app(engine.engine, max_wait_ms=1).test_client()


def _in_state(engine: MemoryEngine, state: str) -> str:
    if state == "unknown":
        return UNKNOWN
    tasks = [{"name": n, "taskReferenceName": n, "type": "SIMPLE", "retryCount": 0} for n in "ab"]
    started = engine.start({"name": "w", "version": 1, "tasks": tasks})
    reach: dict[str, Callable[[], object]] = {
        "RUNNING": lambda: None,
        "PAUSED": lambda: engine.engine.steering.pause(started),
        "COMPLETED": lambda: [engine.run(name) for name in "ab"],
        "FAILED": lambda: engine.run("a", status="FAILED"),
        "TERMINATED": lambda: engine.engine.executions.terminate(started, reason="enough"),
    }
    reach[state]()
    engine.settle()
    assert engine.workflow(started)["status"] == state
    return started


@pytest.mark.parametrize(("method", "path", "body", "state", "status"), CASES)
def test_call_in_state(  # noqa: PLR0917 - a row of the table
    client: Any,
    engine: MemoryEngine,
    method: str,
    path: str,
    body: Any,
    state: str,
    status: int,
) -> None:
    execution = _in_state(engine, state)
    before = engine.workflow(execution) if state != "unknown" else None
    sent = {} if body is None else {"json": body}
    answer = client.open(f"/api{path.format(id=execution)}", method=method, **sent)
    assert answer.status_code == status, answer.text
    if status >= 400:
        assert answer.json["message"]
        assert before is None or engine.workflow(execution) == before


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "TERMINATED"])
def test_verbs_on_what_has_left_the_store_answer_by_its_status(
    client: Any, engine: MemoryEngine, state: str
) -> None:
    execution = _in_state(engine, state)
    engine.clock.advance(seconds=120)
    engine.settle()
    assert engine.engine.executions.view(execution) is None
    for path in ("pause", "resume", "skiptask/b"):
        assert client.put(f"/api/workflow/{execution}/{path}").status_code == 409
    assert client.post(f"/api/workflow/{execution}/resetcallbacks").status_code == 409
    assert client.put(f"/api/workflow/decide/{execution}").status_code == 200
    assert client.post(f"/api/tasks/{execution}/COMPLETED/signal").status_code == 200
    assert client.delete(f"/api/workflow/{execution}/remove").status_code == 200
    assert client.get(f"/api/workflow/{execution}").json["status"] == state
    path = f"/api/workflow/{execution}/remove?archiveWorkflow=false"
    assert [client.delete(path).status_code for _ in range(2)] == [200, 404]
    assert client.get(f"/api/workflow/{execution}").status_code == 404
