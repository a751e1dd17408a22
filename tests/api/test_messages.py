"""Messages to executions, over HTTP: what a client is answered."""

from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.decider.workspace import Limits
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import task_of, typed, wait, workflow

_NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine(limits=Limits(messages=2))


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    return create_app(engine.engine).test_client()


def _push(client: Any, execution: str, body: Any) -> Any:
    return client.post(f"/api/workflow/{execution}/messages", json=body)


def test_the_answer_is_the_id_of_the_message_as_text(engine: MemoryEngine, client: Any) -> None:
    started = engine.start(workflow("w", typed("PULL_WORKFLOW_MESSAGES", "p")))
    answer = _push(client, started, {"n": 1})
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain")
    (message,) = task_of(engine, started, "p")["outputData"]["messages"]
    assert message["id"] == answer.text


def test_an_empty_body_is_no_message(engine: MemoryEngine, client: Any) -> None:
    started = engine.start(workflow("w", wait("t")))
    assert client.post(f"/api/workflow/{started}/messages", data=b"").status_code == 400


@pytest.mark.parametrize("body", [[], "text", 1, None])
def test_a_message_is_an_object(engine: MemoryEngine, client: Any, body: Any) -> None:
    started = engine.start(workflow("w", wait("t")))
    assert _push(client, started, body).status_code == 400


def test_refusals_have_their_status(engine: MemoryEngine, client: Any) -> None:
    started = engine.start(workflow("w", wait("t")))
    ended = engine.start(workflow("w"))
    assert _push(client, _NOBODY, {}).status_code == 404
    assert _push(client, "junk", {}).status_code == 404
    assert _push(client, ended, {}).status_code == 409
    assert _push(client, started, {"a": "x" * 300_000}).status_code == 413
    assert [_push(client, started, {}).status_code for _ in range(3)] == [200, 200, 429]


def test_switched_off_it_is_not_there() -> None:
    engine = memory_engine(limits=Limits(messages=0))
    started = engine.start(workflow("w", wait("t")))
    assert _push(create_app(engine.engine).test_client(), started, {}).status_code == 404


def test_an_archived_execution_has_ended(engine: MemoryEngine, client: Any) -> None:
    ended = engine.start(workflow("w"))
    engine.clock.advance(seconds=100)
    engine.settle()
    assert _push(client, ended, {}).status_code == 409
