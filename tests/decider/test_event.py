"""EVENT: what it publishes, where to, and how often."""

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conductor_py.codec.event_handlers import load_message
from conductor_py.errors import Conflict
from conductor_py.model.event_handlers import EventMessage
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import Json, set_variable, simple, task_of, typed, workflow

_TEXTS = (
    *("conductor", "conductor:q", "kafka:t", "type", "payload", "onStart", "onSuccess,onFailed"),
    *("${workflow.input}", "${ev.output", "${a..b[?(@)]}", "asyncComplete", "sink", "", "\0"),
)


def event(ref: str = "ev", sink: str = "conductor", **more: Any) -> Json:
    return typed("EVENT", ref, sink=sink, **more)


def published(engine: MemoryEngine) -> list[EventMessage]:
    """What waits in the outbox to be published, oldest first."""
    effects = engine.ports.outbox.take(0, 1_000, 0)
    documents = [orjson.loads(effect.document) for effect in effects]
    return [load_message(document) for document in documents if document["kind"] == "publish"]


def test_the_task_completes_with_the_commit_that_publishes_its_output(
    engine: MemoryEngine,
) -> None:
    started = engine.start(
        workflow("orders", event(inputParameters={"id": "${workflow.input.id}"})),
        input={"id": 7},
        correlation_id="c",
        task_to_domain={"a": "d"},
    )
    task = task_of(engine, started, "ev")
    assert task["status"] == "COMPLETED"
    assert task["inputData"] == {"id": 7, "sink": "conductor", "asyncComplete": False}
    assert task["outputData"] == {
        **task["inputData"],
        "workflowInstanceId": started,
        "workflowType": "orders",
        "workflowVersion": 1,
        "correlationId": "c",
        "taskToDomain": {"a": "d"},
        "event_produced": "conductor:orders:ev",
    }
    (message,) = published(engine)
    assert (message.id, message.event) == (task["taskId"], "conductor:orders:ev")
    assert message.payload == task["outputData"]
    assert engine.workflow(started)["status"] == "COMPLETED"


@pytest.mark.parametrize(
    ("sink", "produced"),
    [
        ("conductor", "conductor:orders:ev"),
        ("conductor:paid", "conductor:orders:paid"),
        ("conductor:a:b", "conductor:orders:a:b"),
        ("conductor:${workflow.input.queue}", "conductor:orders:q1"),
    ],
)
def test_the_sink_names_a_queue_of_the_workflow(
    engine: MemoryEngine, sink: str, produced: str
) -> None:
    started = engine.start(workflow("orders", event(sink=sink)), input={"queue": "q1"})
    assert task_of(engine, started, "ev")["outputData"]["event_produced"] == produced


@pytest.mark.parametrize(
    ("sink", "reason"),
    [
        ("conductors:q", "is not a sink"),
        ("conductor:", "is not a sink"),
        ("somewhere", "is not a sink"),
        ("sqs:q", "No provider of events is called 'sqs'"),
        ("${workflow.input.absent}", "must be a text"),
        ("conductor:" + "x" * 600, "not longer than"),
    ],
)
@pytest.mark.anomaly("A-36")
def test_an_unknown_sink_fails_the_task_with_a_sentence(
    engine: MemoryEngine, sink: str, reason: str
) -> None:
    started = engine.start(workflow("orders", event(sink=sink)))
    task = task_of(engine, started, "ev")
    assert task["status"] == "FAILED"
    assert reason in task["reasonForIncompletion"]
    assert engine.workflow(started)["status"] == "FAILED"
    assert published(engine) == []


@pytest.mark.anomaly("A-34")
def test_an_asynchronous_event_is_published_once_however_often_is_decided(
    engine: MemoryEngine,
) -> None:
    definition = workflow(
        "orders",
        typed(
            "FORK_JOIN",
            "f",
            forkTasks=[[event(asyncComplete=True)], [simple("a"), set_variable("s", x=1)]],
        ),
        typed("JOIN", "j", joinOn=["ev", "s"]),
    )
    started = engine.start(definition)
    assert task_of(engine, started, "ev")["status"] == "IN_PROGRESS"
    engine.run("a")
    assert len(published(engine)) == 1
    engine.complete(task_of(engine, started, "ev"), {"answer": 1})
    assert engine.workflow(started)["status"] == "COMPLETED"
    assert task_of(engine, started, "ev")["outputData"] == {"answer": 1}
    assert len(published(engine)) == 1


def test_an_input_can_ask_for_asynchronous_completion(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", event(inputParameters={"asyncComplete": True})))
    assert task_of(engine, started, "ev")["status"] == "IN_PROGRESS"
    bad = engine.start(workflow("w", event(inputParameters={"asyncComplete": "perhaps"})))
    assert task_of(engine, bad, "ev")["status"] == "FAILED_WITH_TERMINAL_ERROR"


def test_a_retried_event_is_a_message_of_its_own(engine: MemoryEngine) -> None:
    definition = {"name": "ev", "retryCount": 1, "retryDelaySeconds": 1}
    task = event(sink="${workflow.variables.sink}", taskDefinition=definition)
    started = engine.start(workflow("w", typed("NOOP", "n"), task))
    assert engine.statuses(started)["ev"] == "SCHEDULED"
    engine.clock.advance(seconds=2)
    engine.settle()
    assert engine.workflow(started)["status"] == "FAILED"
    tries = [t for t in engine.workflow(started)["tasks"] if t["referenceTaskName"] == "ev"]
    assert [t["status"] for t in tries] == ["FAILED", "FAILED"]


def test_a_large_payload_travels_apart_from_its_effect(engine: MemoryEngine) -> None:
    engine.start(workflow("w", event(inputParameters={"text": "x" * 10_000})))
    (effect,) = (
        found
        for found in engine.ports.outbox.take(0, 10, 0)
        if b'"kind":"publish"' in found.document
    )
    assert len(effect.document) < 4096
    (message,) = published(engine)
    assert message.payload is None


@pytest.mark.anomaly("A-51")
def test_a_secret_is_not_written_into_a_message(engine: MemoryEngine) -> None:
    engine.start(workflow("w", event(inputParameters={"key": "${workflow.secrets.KEY}"})))
    (message,) = published(engine)
    assert isinstance(message.payload, dict)
    assert message.payload["key"] == "${workflow.secrets.KEY}"


@pytest.mark.anomaly("A-17")
def test_an_open_event_does_not_keep_its_workflow_from_ending(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", event(asyncComplete=True)))
    engine.engine.executions.terminate(started, reason="enough")
    assert engine.workflow(started)["status"] == "TERMINATED"
    assert engine.statuses(started) == {"ev": "CANCELED"}


@pytest.mark.anomaly("A-21")
def test_a_start_that_is_refused_publishes_nothing(engine: MemoryEngine) -> None:
    engine.start(workflow("w", event()), idempotency_key="k")
    with pytest.raises(Conflict):
        engine.start(workflow("w", event()), idempotency_key="k")
    assert len(published(engine)) == 1


@pytest.mark.anomaly("A-48")
def test_the_definition_stays_as_it_was_written(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", event(inputParameters={"x": 1})))
    (task,) = engine.workflow(started)["workflowDefinition"]["tasks"]
    assert task["inputParameters"] == {"x": 1}


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(_TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_TEXTS), inner),
    max_leaves=8,
)


@pytest.mark.anomaly("A-36")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    sink=st.none() | st.sampled_from(_TEXTS),
    inputs=st.dictionaries(st.sampled_from(_TEXTS), _JUNK),
    change=st.dictionaries(st.sampled_from(_TEXTS), _JUNK),
    listed=_JUNK,
)
def test_junk_costs_its_own_execution_at_most(
    sink: str | None, inputs: Json, change: Json, listed: Any
) -> None:
    engine = memory_engine()
    task = event(inputParameters=inputs, onStateChange=change)
    following = simple("a", onStateChange={"onScheduled": listed, "onStart": [listed]})
    started = engine.start(workflow("w", {**task, "sink": sink}, following))
    engine.poll("a")
    engine.settle()
    found = engine.workflow(started)
    assert not str(found.get("reasonForIncompletion")).startswith("internal error")
    assert found["status"] in {"FAILED", "RUNNING"}
