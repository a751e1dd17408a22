"""Status listeners and state changes of tasks: who is told, what, in which order."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.decider.workspace import Limits
from conductor_py.engine.effects.notifications import Listeners, Notifications
from conductor_py.errors import StoreDamaged, StoreUnavailable
from conductor_py.model.definition_form import workflow_from_json
from conductor_py.model.event_handlers import EventMessage
from conductor_py.ports.events import Undelivered
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import Json, fork, join, policy, run_failing, set_variable, simple, typed, wait
from tests.builders import workflow as plain

EVERYTHING = frozenset(
    {"RUNNING", "PAUSED", "RESUMED", "RESTARTED", "RETRIED", "RERAN"}
    | {"COMPLETED", "TERMINATED", "FINALIZED"}
)
LISTENED = {"workflowStatusListenerEnabled": True}


class Hook:
    """A webhook that remembers, and can be away."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, str, Any]] = []
        self.away: set[str] = set()
        self.tried = 0

    def post(self, url: str, body: bytes, identity: str) -> None:
        self.tried += 1
        document = orjson.loads(body)
        if url in self.away:
            raise Undelivered(f"{url} is away")
        if document["workflowId"] in self.away:
            raise Undelivered(f"{url} answered 400", refused=True)
        self.posts.append((url, identity, document))

    def said(self, execution: str | None = None) -> list[str]:
        """What was told, in order: the change of a workflow, or reference and status of a task."""
        return [
            body.get("eventType") or f"{body['referenceTaskName']} {body['status']}"
            for _, _, body in self.posts
            if execution in {None, body["workflowId"]}
        ]


@pytest.fixture
def hook() -> Hook:
    return Hook()


def listening(
    hook: Hook, *, tasks: bool = False, workflows: bool = True, **who: Any
) -> MemoryEngine:
    given: dict[str, Any] = {"workflow_statuses": EVERYTHING, **who}
    listeners = Listeners(
        workflow_url="http://w" if workflows else "",
        task_url="http://t" if tasks else "",
        **given,
    )
    limits = Limits(task_notices=listeners.of_tasks, workflow_notices=listeners.of_workflows)
    return memory_engine(webhook=hook, listeners=listeners, limits=limits)


def workflow(name: str, *tasks: Json, **more: Any) -> Json:
    return plain(name, *tasks, **LISTENED, **more)


# -- workflows -------------------------------------------------------------------------------------


def test_each_change_of_a_workflow_is_told_once_in_order(hook: Hook) -> None:
    engine = listening(hook)
    started = engine.start(workflow("w", simple("a"), simple("b")), input={"x": 1})
    engine.settle()
    engine.engine.steering.pause(started)
    engine.engine.steering.resume(started)
    engine.run("a")
    engine.run("b", {"y": 2})
    engine.settle()
    assert hook.said() == ["STARTED", "PAUSED", "RESUMED", "COMPLETED", "FINALIZED"]
    assert len({identity for _, identity, _ in hook.posts}) == 5
    url, _, body = hook.posts[3]
    assert url == "http://w"
    assert (body["workflowId"], body["workflowType"], body["status"]) == (started, "w", "COMPLETED")
    assert (body["input"], body["output"]) == ('{"x":1}', '{"y":2}')


@pytest.mark.anomaly("A-18")
def test_the_end_of_a_failed_workflow_is_told_once_however_often_it_is_looked_at(
    hook: Hook,
) -> None:
    engine = listening(hook)
    started = engine.start(workflow("w", fork("f", [simple("a")], [simple("b")]), join("j")))
    run_failing(engine, "a", "broken")
    for _ in range(5):
        engine.clock.advance(seconds=40)
        engine.settle()
    assert hook.said(started) == ["STARTED", "TERMINATED", "FINALIZED"]
    body = hook.posts[1][2]
    assert (body["status"], body["reasonForIncompletion"]) == (
        "FAILED",
        "Task a (a) failed: broken",
    )


def test_a_new_generation_is_told_by_the_name_of_its_operation(hook: Hook) -> None:
    engine = listening(hook)
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a", "broken")
    engine.settle()
    engine.engine.recovery.retry(started)
    engine.run("a")
    engine.settle()
    engine.engine.recovery.restart(started)
    engine.settle()
    expected = ["STARTED", "TERMINATED", "FINALIZED", "RETRIED", "COMPLETED", "FINALIZED"]
    assert hook.said() == [*expected, "RESTARTED"]


def test_nobody_is_told_of_a_workflow_that_does_not_ask_for_it(hook: Hook) -> None:
    engine = listening(hook)
    engine.start(plain("w", simple("a")))
    engine.run("a")
    engine.settle()
    assert hook.posts == []


def test_only_subscribed_changes_are_posted(hook: Hook) -> None:
    engine = listening(hook, workflow_statuses=frozenset({"COMPLETED", "TIMED_OUT"}))
    engine.start(workflow("w", set_variable("s", x=1)))
    engine.start(workflow("w", simple("a")))
    timed = engine.start(workflow("w", wait("x"), timeoutSeconds=1, timeoutPolicy="TIME_OUT_WF"))
    run_failing(engine, "a", "broken")
    engine.clock.advance(seconds=2)
    engine.settle()
    assert sorted(hook.said()) == ["COMPLETED", "TERMINATED"]
    assert hook.said(timed) == ["TERMINATED"]


# -- tasks -----------------------------------------------------------------------------------------


def test_each_change_of_a_task_is_told_its_start_when_it_is_taken(hook: Hook) -> None:
    engine = listening(hook, tasks=True, workflows=False)
    engine.start(plain("w", simple("a"), set_variable("s", x=1)))
    engine.settle()
    assert hook.said() == ["a SCHEDULED"]
    engine.clock.advance(seconds=3)
    (task,) = engine.poll("a")
    engine.settle()
    assert hook.said()[1:] == ["a IN_PROGRESS"]
    assert hook.posts[1][2]["queueWaitTime"] == 3000
    engine.clock.advance(seconds=2)
    engine.complete(task, {"n": 1})
    engine.settle()
    assert hook.said()[2:] == ["a COMPLETED", "s IN_PROGRESS", "s COMPLETED"]
    body = hook.posts[2][2]
    assert (body["executionTime"], body["output"]) == (2000, '{"n":1}')


def test_a_fast_worker_starts_before_it_ends(hook: Hook) -> None:
    engine = listening(hook, tasks=True, workflows=False)
    engine.start(plain("w", simple("a")))
    engine.run("a")
    engine.settle()
    assert hook.said() == ["a SCHEDULED", "a IN_PROGRESS", "a COMPLETED"]


def test_a_retry_and_a_cancelled_task_are_told(hook: Hook) -> None:
    engine = listening(hook, tasks=True, workflows=False)
    retried = policy("a", retryCount=1)
    engine.start(plain("w", fork("f", [retried], [simple("b")]), join("j", "a", "b")))
    run_failing(engine, "a", "once")
    engine.settle()
    run_failing(engine, "a", "twice")
    engine.settle()
    said = [line for line in hook.said() if line[0] in "ab"]
    assert said == [
        "a SCHEDULED",
        "b SCHEDULED",
        "a IN_PROGRESS",
        "a FAILED",
        "a SCHEDULED",
        "a IN_PROGRESS",
        "a FAILED",
        "b CANCELED",
    ]


def test_a_definition_can_keep_its_tasks_from_being_told(hook: Hook) -> None:
    engine = listening(hook, tasks=True, workflows=False, task_statuses=frozenset({"COMPLETED"}))
    engine.start(plain("w", policy("a", taskStatusListenerEnabled=False), simple("b")))
    engine.run("a")
    engine.run("b")
    engine.settle()
    assert hook.said() == ["b COMPLETED"]


def test_who_does_not_listen_pays_nothing(hook: Hook) -> None:
    space = MemorySpace(clock=lambda: 1)
    engine = memory_engine(space=space)
    started = engine.start(plain("w", simple("a")))
    engine.poll("a")
    assert space.partition(0).executions[started].inbox == []
    assert [one for one in space.partition(0).effects if "notify" in one] == []


# -- onStateChange ---------------------------------------------------------------------------------


def _told(engine: MemoryEngine, event: str) -> list[Any]:
    engine.settle()
    return [orjson.loads(held)["payload"] for held in engine.ports.events.held(event, 100)]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("onScheduled", ["SCHEDULED"]),
        ("onStart", ["IN_PROGRESS"]),
        ("onSuccess", ["COMPLETED"]),
        ("onCompleted, onScheduled", ["COMPLETED", "SCHEDULED"]),
        ("onFailed,onCancelled", []),
        ("whatever", []),
    ],
)
def test_a_task_publishes_the_changes_that_it_names(
    engine: MemoryEngine, keys: str, told: list[str]
) -> None:
    payload = {
        "x": "${workflow.input.x}",
        "id": "${CPEWF_TASK_ID}",
        "deep": {"n": ["${a.output.n}"]},
    }
    change = {keys: [{"type": "changes", "payload": payload}]}
    started = engine.start(plain("w", simple("a", onStateChange=change)), input={"x": 5})
    engine.run("a", {"n": 7})
    found = _told(engine, "conductor:w:changes")
    assert sorted(body["taskStatus"] for body in found) == told
    for body in found:
        assert (body["x"], body["id"], body["referenceTaskName"]) == (5, f"{started}-1", "a")
        assert body["workflowInstanceId"] == started
        if body["taskStatus"] == "COMPLETED":
            assert body["deep"] == {"n": [7]}


@pytest.mark.parametrize("kind", ["INLINE", "SIMPLE"])
def test_the_payload_of_a_change_sees_the_task_as_that_change_left_it(
    engine: MemoryEngine, kind: str
) -> None:
    """Also where one decision takes the task from its beginning to its end."""
    payload = {name: f"${{a.{name}}}" for name in ("status", "output", "reasonForIncompletion")}
    words = "onScheduled,onStart,onFailed,onSuccess"
    change = {words: [{"type": "changes", "payload": payload}]}
    script = {"evaluatorType": "javascript", "expression": "7"}
    task = typed(kind, "a", inputParameters=script, onStateChange=change)
    started = engine.start(plain("w", task))
    if kind == "SIMPLE":
        engine.run("a", {"result": 7})
    found = {body["taskStatus"]: body for body in _told(engine, "conductor:w:changes")}
    assert engine.workflow(started)["status"] == "COMPLETED"
    ends = {"COMPLETED": {"result": 7}}
    assert {body["status"] for body in found.values()} == found.keys()
    assert {status: body["output"] for status, body in found.items()} == {
        status: ends.get(status, {}) for status in found
    }
    assert {"IN_PROGRESS", "COMPLETED"} <= found.keys()


def test_one_large_value_again_and_again_in_a_change_is_told_of_and_costs_the_task_nothing(
    engine: MemoryEngine,
) -> None:
    payload = {f"k{n}": "${workflow.input.x}" for n in range(250)}
    change = {"onScheduled": [{"type": "changes", "payload": payload}]}
    task = simple("a", onStateChange=change)
    started = engine.start(plain("w", task), input={"x": "x" * 1_000_000})
    (body,) = _told(engine, "conductor:w:changes")
    assert "of more than 10485760 bytes is larger than the limit" in body["error"]
    assert engine.statuses(started) == {"a": "SCHEDULED"}


def test_failure_and_cancellation_are_published(engine: MemoryEngine) -> None:
    change = {"onFailed": [{"type": "conductor:bad"}], "onCancelled": [{"type": "conductor:gone"}]}
    branches = [[simple("a", onStateChange=change)], [simple("b", onStateChange=change)]]
    engine.start(plain("w", fork("f", *branches), join("j", "a", "b")))
    run_failing(engine, "a", "broken")
    assert [body["referenceTaskName"] for body in _told(engine, "conductor:w:bad")] == ["a"]
    assert [body["referenceTaskName"] for body in _told(engine, "conductor:w:gone")] == ["b"]


def test_changes_inside_a_dynamic_fork_are_published(engine: MemoryEngine) -> None:
    change = {"onSuccess": [{"type": "done"}]}
    dynamic = typed(
        "FORK_JOIN_DYNAMIC",
        "f",
        dynamicForkTasksParam="tasks",
        dynamicForkTasksInputParamName="inputs",
        inputParameters={
            "tasks": [simple("x", onStateChange=change), simple("y")],
            "inputs": {},
        },
    )
    engine.start(plain("w", dynamic, typed("JOIN", "j")))
    engine.run("x")
    engine.run("y")
    assert [body["referenceTaskName"] for body in _told(engine, "conductor:w:done")] == ["x"]


def test_a_workflow_publishes_its_own_changes_to_the_sink_it_names(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"), workflowStatusListenerSink="conductor:status")
    engine.start(definition)
    engine.run("a")
    found = _told(engine, "conductor:w:status")
    assert sorted(body["eventType"] for body in found) == ["COMPLETED", "FINALIZED", "STARTED"]


def test_an_unknown_sink_of_a_change_disturbs_nothing_and_is_logged(
    engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    change = {"onSuccess": [{"type": "sqs:q"}, {"type": "known"}, {"type": 5}, 7], "onStart": "x"}
    started = engine.start(plain("w", simple("a", onStateChange=change)))
    engine.run("a")
    assert engine.workflow(started)["status"] == "COMPLETED"
    assert len(_told(engine, "conductor:w:known")) == 1
    engine.start(plain("w", simple("a", onStateChange=change)))
    engine.run("a")
    (record,) = _warnings(caplog)
    assert "No provider of events is called 'sqs'" in record.getMessage()
    assert record.__dict__["workflow_id"] == started


def test_an_event_for_an_unknown_provider_says_so_itself(
    engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    started = engine.start(plain("w", typed("EVENT", "e", sink="sqs:q")))
    (task,) = engine.workflow(started)["tasks"]
    assert (task["status"], task["reasonForIncompletion"]) == ("FAILED", _no_provider("sqs"))
    assert list(_warnings(caplog)) == []


def _warnings(caplog: pytest.LogCaptureFixture) -> Iterator[logging.LogRecord]:
    return (each for each in caplog.records if each.levelno >= logging.WARNING)


def test_sinks_that_nothing_can_be_published_to_are_warned_about(engine: MemoryEngine) -> None:
    change = {"onSuccess": [{"type": "sqs:q"}, {"type": "known"}, {"type": 5}, 7], "onStart": "x"}
    inner = plain("c", typed("EVENT", "e", sink="sqs:q"), typed("EVENT", "own", sink="conductor:q"))
    given = workflow(
        "w",
        simple("a", onStateChange=change),
        typed("EVENT", "e1", sink="kafka:${workflow.input.topic}"),
        typed("EVENT", "e2", sink="${workflow.input.sink}:q"),
        typed("EVENT", "e3", sink="nowhere"),
        typed("SUB_WORKFLOW", "s", subWorkflowParam={"name": "c", "workflowDefinition": inner}),
        workflowStatusListenerSink="kafka:topic",
    )
    found = engine.engine.definitions.validate(workflow_from_json(given))
    assert {each.path: each.message for each in found} == {
        "$.workflowStatusListenerSink": _no_provider("kafka"),
        "$.tasks[0].onStateChange['onSuccess'][0].type": _no_provider("sqs"),
        "$.tasks[1].sink": _no_provider("kafka"),
        "$.tasks[3].sink": (
            "'nowhere' is not a sink: write 'conductor', 'conductor:<queue>' or"
            " '<provider>:<queue>'"
        ),
        "$.tasks[4].subWorkflowParam.workflowDefinition.tasks[0].sink": _no_provider("sqs"),
    }


def _no_provider(name: str) -> str:
    return f"No provider of events is called '{name}' on this server; known: conductor"


# -- delivery --------------------------------------------------------------------------------------


@pytest.mark.anomaly("A-65")
def test_a_receiver_that_is_away_loses_nothing_and_hears_all_in_order(hook: Hook) -> None:
    engine = listening(hook, tasks=True)
    hook.away = {"http://w", "http://t"}
    executions = [engine.start(workflow("w", simple("a"))) for _ in range(80)]
    for _ in executions:
        engine.run("a")
    for _ in range(20):
        engine.settle()
        engine.clock.advance(seconds=10)
    assert hook.posts == []
    assert hook.tried < 80 * 3, "who is away is asked once a batch"
    hook.away = set()
    for _ in range(100):
        engine.settle()
        engine.clock.advance(seconds=20)
    for execution in executions:
        assert hook.said(execution) == [
            "a SCHEDULED",
            "STARTED",
            "a IN_PROGRESS",
            "a COMPLETED",
            "COMPLETED",
            "FINALIZED",
        ]


def test_a_receiver_that_is_away_is_logged_and_counted(
    hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    engine = listening(hook)
    hook.away = {"http://w"}
    engine.start(workflow("w", simple("a")))
    engine.settle()
    (record,) = caplog.records
    assert record.getMessage() == "Notifications are not taken, and come again"
    assert record.__dict__["reason"] == "http://w is away"
    assert engine.engine.events.counts() == {"UNDELIVERED": 1}
    assert hook.tried == 1


def test_counts_that_cannot_be_read_have_nothing_told_twice(
    hook: Hook, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = listening(hook)

    def damaged(*_arguments: object) -> None:
        raise StoreDamaged("event:counts cannot be read")

    monkeypatch.setattr(engine.ports.events, "record", damaged)
    first, bad, last = sorted(engine.start(workflow("w", set_variable("s", x=1))) for _ in range(3))
    hook.away = {bad}
    for _ in range(10):
        engine.settle()
        engine.clock.advance(seconds=20)
    told = ["STARTED", "COMPLETED", "FINALIZED"]
    assert [hook.said(each) for each in (first, bad, last)] == [told, [], told]
    reasons = [record.__dict__.get("reason") for record in caplog.records]
    assert "event:counts cannot be read" in reasons
    hook.away = set()
    engine.advance(seconds=400)
    assert hook.said(bad) == told


def test_one_that_cannot_be_given_up_has_no_other_told_twice(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = listening(hook)
    again_at, started = Notifications._again_at, []

    def damaged(self: Notifications, order: Any, problem: str | None) -> int | None:
        if problem is not None:
            raise StoreDamaged("event:counts cannot be read")
        return again_at(self, order, problem)

    monkeypatch.setattr(Notifications, "_again_at", damaged)
    started = sorted(engine.start(workflow("w", set_variable("s", x=1))) for _ in range(3))
    hook.away = {started[1]}
    for _ in range(10):
        engine.settle()
        engine.clock.advance(seconds=40)
    told = ["STARTED", "COMPLETED", "FINALIZED"]
    assert [hook.said(each) for each in started] == [told, [], told]


def test_what_was_refused_is_told_before_what_came_after_it(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = listening(hook)
    post, refused = hook.post, [Undelivered("answered 500", refused=True)]

    def refusing_once(url: str, body: bytes, identity: str) -> None:
        if refused:
            raise refused.pop()
        post(url, body, identity)

    monkeypatch.setattr(hook, "post", refusing_once)
    started = engine.start(workflow("w", simple("a")))
    engine.engine.steering.pause(started)
    engine.engine.steering.resume(started)
    for _ in range(6):
        engine.settle()
        engine.clock.advance(seconds=10)
    assert hook.said() == ["STARTED", "PAUSED", "RESUMED"]


def test_one_execution_that_cannot_be_told_of_holds_up_no_other(hook: Hook) -> None:
    engine = listening(hook)
    bad = engine.start(workflow("w", simple("a")))
    hook.away = {bad}
    good = [engine.start(workflow("w", set_variable("s", x=1))) for _ in range(3)]
    for _ in range(10):
        engine.settle()
        engine.clock.advance(seconds=20)
    for execution in good:
        assert hook.said(execution) == ["STARTED", "COMPLETED", "FINALIZED"]


def test_one_execution_that_cannot_be_read_has_no_other_told_twice(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = listening(hook)
    documents, unreadable = Notifications._documents, {"all"}

    def read(self: Notifications, notice: Json) -> dict[str, str]:
        if notice["workflowId"] in unreadable:
            raise StoreUnavailable("The index is away.")
        return documents(self, notice)

    monkeypatch.setattr(Notifications, "_documents", read)
    started = sorted(engine.start(workflow("w", set_variable("s", x=1))) for _ in range(3))
    unreadable.add(started[1])
    for _ in range(20):
        engine.settle()
        engine.clock.advance(seconds=20)
    told = ["STARTED", "COMPLETED", "FINALIZED"]
    assert [hook.said(execution) for execution in started] == [told, [], told]
    assert hook.tried == 6

    unreadable.clear()
    engine.advance(seconds=400)
    assert hook.said(started[1]) == told


@pytest.mark.anomaly("A-65")
def test_a_notice_is_given_up_after_a_day_visibly_and_the_next_one_is_told(
    hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    engine = listening(hook)
    started = engine.start(workflow("w", simple("a")))
    hook.away = {"http://w"}
    for _ in range(300):
        engine.settle()
        engine.clock.advance(seconds=300)
    assert engine.engine.events.counts() == {"DEAD": 1, "UNDELIVERED": hook.tried}
    assert "given up" in caplog.text
    hook.away = set()
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    assert hook.said() == ["TERMINATED", "FINALIZED"]


def test_a_notice_is_delivered_after_its_execution_has_left(hook: Hook) -> None:
    engine = listening(hook)
    hook.away = {"http://w"}
    started = engine.start(workflow("w", set_variable("s", x=1)), input={"x": 1})
    for _ in range(10):
        engine.settle()
        engine.clock.advance(seconds=30)
    assert engine.engine.executions.view(started) is None
    hook.away = set()
    for _ in range(30):
        engine.settle()
        engine.clock.advance(seconds=30)
    assert hook.said() == ["STARTED", "COMPLETED", "FINALIZED"]
    assert hook.posts[0][2]["status"] == "RUNNING"
    assert hook.posts[0][2]["input"] == '{"x":1}'


class Topic:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.got: list[EventMessage] = []

    def publish(self, messages: Sequence[EventMessage]) -> None:
        self.got += messages


def test_changes_go_to_queues_and_topics_as_well() -> None:
    topic = Topic()
    queues = {"COMPLETED": "conductor:_callbackSuccessQueue"}
    listeners = Listeners(topic="kafka:status", queues=queues)
    limits = Limits(workflow_notices=True)
    engine = memory_engine(sinks={"kafka": topic}, listeners=listeners, limits=limits)
    started = engine.start(workflow("w", set_variable("s", x=1)))
    engine.settle()
    (message,) = engine.ports.events.held("conductor:_callbackSuccessQueue", 10)
    assert orjson.loads(message)["payload"]["workflowId"] == started
    said: list[Any] = [each.payload for each in topic.got]
    assert [body["eventType"] for body in said] == ["STARTED", "COMPLETED", "FINALIZED"]
    assert said[0]["workflowName"] == "w"
    assert said[0]["payload"]["workflowId"] == started


def test_a_message_of_a_task_reads_its_parameters() -> None:
    engine = memory_engine()
    change = {"onSuccess": [{"type": "changes", "payload": {"x": "${param.x}"}}]}
    engine.start(plain("w", simple("a", parameters={"x": "own"}, onStateChange=change)))
    engine.run("a")
    (payload,) = _told(engine, "conductor:w:changes")
    assert payload["x"] == "own"
