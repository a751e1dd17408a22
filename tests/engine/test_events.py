"""Event handlers end to end: from the EVENT task to what its handlers do."""

import json
import logging
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.codec.event_handlers import load_handler, load_message
from conductor_py.engine.effects import events
from conductor_py.engine.effects.event_actions import EventActions
from conductor_py.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    NotYet,
    StoreDamaged,
    StoreUnavailable,
)
from conductor_py.model.event_handlers import ActionType, EventAction, EventHandler, EventMessage
from conductor_py.ports.events import Undelivered
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.event_handlers import read_event_handler
from tests.builders import Json, pass_time, simple, typed, wait, workflow

EVENT = "conductor:orders:paid"


def action(kind: str, *, expand: bool = False, **details: Any) -> Json:
    return {"action": kind, kind: details, "expandInlineJSON": expand}


def handler(*actions: Json, name: str = "h", **more: Any) -> Json:
    return {"name": name, "event": EVENT, "actions": list(actions), "active": True, **more}


def register(engine: MemoryEngine, body: Json) -> None:
    engine.engine.events.register(read_event_handler(body))


def publish(engine: MemoryEngine, **payload: Any) -> str:
    """Run a workflow that publishes; the id of the message."""
    task = typed("EVENT", "ev", sink="conductor:paid", inputParameters=payload)
    started = engine.start(workflow("orders", task))
    return f"{started}-1"


def happened(engine: MemoryEngine) -> list[Any]:
    """What handlers did, oldest first."""
    return engine.engine.events.executions(event="", name="", size=100)[::-1]


def statuses(engine: MemoryEngine) -> list[str]:
    return [record["status"] for record in happened(engine)]


@pytest.fixture(autouse=True)
def target(engine: MemoryEngine) -> None:
    definition = workflow_from_json(workflow("target", simple("a")))
    engine.engine.definitions.register(definition, overwrite=True)


def again(engine: MemoryEngine, story: Callable[[], None]) -> None:
    """Deliver everything twice: the confirmation of the first time is lost."""
    confirm = engine.ports.outbox.confirm
    engine.ports.outbox.confirm = lambda *given: 0  # type: ignore[method-assign]
    story()
    engine.ports.outbox.confirm = confirm  # type: ignore[method-assign]
    engine.clock.advance(seconds=31)
    engine.settle()


# -- actions ---------------------------------------------------------------------------------------


def test_a_message_starts_a_workflow_with_what_it_says(engine: MemoryEngine) -> None:
    start = action(
        "start_workflow",
        name="${kind}",
        correlationId="${order.id}",
        input={"order": "${order}", "fixed": 1},
    )
    register(engine, handler(start))
    message = publish(engine, kind="target", order={"id": 7}, taskToDomain={"a": "eu"})
    engine.settle()
    (record,) = happened(engine)
    assert (record["id"], record["status"], record["action"]) == (
        f"{message}:h:0",
        "COMPLETED",
        "start_workflow",
    )
    begun = engine.workflow(record["output"]["workflowId"])
    assert begun["input"] == {
        "order": {"id": 7},
        "fixed": 1,
        "conductor.event.messageId": message,
        "conductor.event.name": EVENT,
    }
    assert (begun["correlationId"], begun["event"]) == ("7", EVENT)
    assert begun["taskToDomain"] == {}, "the message's own says none: it was started without"


def test_the_task_to_domain_of_the_action_wins_over_the_messages(engine: MemoryEngine) -> None:
    register(engine, handler(action("start_workflow", name="target", taskToDomain={"a": "x"})))
    publish(engine)
    engine.settle()
    (record,) = happened(engine)
    assert engine.workflow(record["output"]["workflowId"])["taskToDomain"] == {"a": "x"}


@pytest.mark.parametrize("version", [pytest.param("9" * 5_000, id="long"), "--1"])
def test_a_version_that_is_no_number_holds_no_message_up(
    engine: MemoryEngine, version: str
) -> None:
    register(engine, handler(action("start_workflow", name="target", version="${version}")))
    publish(engine, version=version)
    engine.settle()
    assert statuses(engine) == ["COMPLETED"]


@pytest.mark.anomaly("A-60")
def test_a_message_that_comes_twice_starts_one_workflow(engine: MemoryEngine) -> None:
    register(engine, handler(action("start_workflow", name="target")))

    def first() -> None:
        publish(engine)
        engine.engine.relay.tick()

    again(engine, first)
    assert len(engine.engine.executions.running("target")) == 1
    ids = {record["output"]["workflowId"] for record in happened(engine)}
    assert len(ids) == 1


@pytest.mark.anomaly("A-60")
def test_a_message_that_comes_again_after_its_workflow_is_archived_starts_none(
    engine: MemoryEngine,
) -> None:
    register(engine, handler(action("start_workflow", name="target")))

    def first() -> None:
        publish(engine)
        engine.engine.relay.tick()
        engine.run("a")

    confirm = engine.ports.outbox.confirm
    keep = [""]

    def lose(partition: int, done: Sequence[tuple[str, int]], life: str = "") -> int:
        keep[0] = keep[0] or next((one for one, _ in done if ":publish:" in one), "")
        return confirm(partition, [pair for pair in done if pair[0] != keep[0]], life)

    engine.ports.outbox.confirm = lose  # type: ignore[method-assign]
    first()
    for _ in range(5):
        engine.clock.advance(seconds=31)
        engine.settle()
    assert engine.engine.executions.running("target") == ()
    assert len({record["output"]["workflowId"] for record in happened(engine)}) == 1


def test_a_message_completes_the_task_that_waits_for_it(engine: MemoryEngine) -> None:
    waiting = engine.start(workflow("waits", wait("w"), simple("after")))
    complete = action(
        "complete_task", workflowId="${id}", taskRefName="w", output={"sum": "${sum}"}
    )
    register(engine, handler(complete))
    message = publish(engine, id=waiting, sum=12)
    engine.settle()
    task = engine.workflow(waiting)["tasks"][0]
    assert task["status"] == "COMPLETED"
    assert task["outputData"] == {
        "sum": 12,
        "workflowId": waiting,
        "taskRefName": "w",
        "conductor.event.messageId": message,
        "conductor.event.name": EVENT,
    }
    assert engine.statuses(waiting)["after"] == "SCHEDULED"


def test_a_message_fails_a_task_by_its_id(engine: MemoryEngine) -> None:
    waiting = engine.start(workflow("waits", wait("w")))
    fail = action("fail_task", taskId="${task}", reasonForIncompletion="${why}")
    register(engine, handler(fail))
    publish(engine, task=f"{waiting}-1", why="no stock")
    engine.settle()
    found = engine.workflow(waiting)
    assert (found["status"], found["reasonForIncompletion"]) == (
        "FAILED",
        "Task w (WAIT) failed: no stock",
    )


@pytest.mark.anomaly("A-60")
def test_a_message_that_comes_twice_completes_one_round_of_a_loop(engine: MemoryEngine) -> None:
    loop = typed("DO_WHILE", "loop", loopCondition="$.loop['iteration'] < 3", loopOver=[wait("w")])
    waiting = engine.start(workflow("waits", loop))
    register(engine, handler(action("complete_task", workflowId=waiting, taskRefName="w")))

    def first() -> None:
        publish(engine)
        engine.engine.relay.tick()

    again(engine, first)
    assert engine.statuses(waiting)["w__1"] == "COMPLETED"
    assert engine.statuses(waiting)["w__2"] == "IN_PROGRESS"


def test_a_message_ends_a_workflow(engine: MemoryEngine) -> None:
    running = engine.start("target")
    end = action("terminate_workflow", workflowId="${id}", terminationReason="stop ${who}")
    register(engine, handler(end))
    publish(engine, id=running, who="all")
    engine.settle()
    found = engine.workflow(running)
    assert (found["status"], found["reasonForIncompletion"]) == ("TERMINATED", "stop all")


def test_a_message_changes_variables(engine: MemoryEngine) -> None:
    running = engine.start("target")
    change = action("update_workflow_variables", workflowId="${id}", variables={"x": "${x}"})
    register(engine, handler(change))
    publish(engine, id=running, x={"y": 1})
    engine.settle()
    assert statuses(engine) == ["COMPLETED"]
    assert engine.workflow(running)["variables"] == {"x": {"y": 1}}


def test_a_message_makes_lists_in_variables_grow_once(engine: MemoryEngine) -> None:
    change = action(
        "update_workflow_variables",
        workflowId="${id}",
        variables={"list": "${more}", "one": "${one}", "other": 2},
        appendArray=True,
    )
    register(engine, handler(change))
    definition = workflow("w", simple("a"), variables={"list": [1], "one": ["x"], "other": 1})
    running = engine.start(definition)

    def first() -> None:
        publish(engine, id=running, more=[2, 3], one="y")
        engine.engine.relay.tick()

    again(engine, first)
    found = engine.workflow(running)["variables"]
    assert found == {"list": [1, 2, 3], "one": ["x", "y"], "other": 2}


def test_a_message_for_what_cannot_be_decided_for_long_makes_lists_grow_once(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes again and again meanwhile, long after the store has forgotten that it came."""
    change = action(
        "update_workflow_variables", workflowId="${id}", variables={"list": 1}, appendArray=True
    )
    register(engine, handler(change))
    running = engine.start(workflow("w", simple("a"), variables={"list": [0]}))
    delivered: list[Any] = []
    perform = EventActions.perform

    def late(self: EventActions, *wanted: Any) -> Any:
        delivered.append(wanted)
        done = perform(self, *wanted)
        if len(delivered) < 4:
            raise NotYet("it is not known yet what came of it")
        return done

    monkeypatch.setattr(EventActions, "perform", late)
    publish(engine, id=running)
    for _ in range(40):
        pass_time(engine, seconds=61)
    assert len(delivered) == 4
    assert statuses(engine) == ["COMPLETED"]
    assert engine.workflow(running)["variables"] == {"list": [0, 1]}


def test_what_an_action_has_done_is_not_done_again_when_a_store_is_away_for_the_next(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = action("terminate_workflow", workflowId="${id}", terminationReason="said so")
    register(engine, handler(ends, action("start_workflow", name="target")))
    running = engine.start(workflow("w", simple("a")))
    perform = EventActions.perform

    def away(self: EventActions, identity: str, act: EventAction, message: EventMessage) -> Any:
        if act.action is ActionType.START_WORKFLOW:
            raise StoreUnavailable("its partition is away")
        return perform(self, identity, act, message)

    monkeypatch.setattr(EventActions, "perform", away)
    publish(engine, id=running)
    with pytest.raises(StoreUnavailable):
        engine.settle()
    assert engine.workflow(running)["status"] == "TERMINATED"
    monkeypatch.undo()
    engine.engine.recovery.retry(running)
    for _ in range(5):
        pass_time(engine, seconds=40)
    assert statuses(engine) == ["COMPLETED", "COMPLETED"]
    assert engine.workflow(running)["status"] == "RUNNING"


def test_json_inside_a_text_is_read_by_conditions_always_and_by_actions_when_asked(
    engine: MemoryEngine,
) -> None:
    plain = action("start_workflow", name="target", input={"v": "${body.v}"})
    expanded = action("start_workflow", name="target", input={"v": "${body.v}"}, expand=True)
    register(engine, handler(plain, expanded, condition="$.body.v == 5"))
    publish(engine, body='{"v": 5}')
    engine.settle()
    begun = [engine.workflow(record["output"]["workflowId"]) for record in happened(engine)]
    assert [found["input"]["v"] for found in begun] == [None, 5]


@pytest.mark.thorough(target="fuzz")
def test_text_of_millions_of_lists_in_a_message_is_not_read_as_json(engine: MemoryEngine) -> None:
    kinds = {"v": "${bodies}"}
    register(engine, handler(action("start_workflow", name="target", input=kinds, expand=True)))
    half = "[" + "[]," * 600_000 + "[]]"
    publish(engine, bodies={"one": half, "other": half, "little": "[1]"})
    engine.settle()
    (record,) = happened(engine)
    found = engine.workflow(record["output"]["workflowId"])["input"]["v"]
    assert len(found["one"]) == 600_001
    assert found["other"] == half, "both together have too many values"


def test_an_action_that_multiplies_a_message_is_refused_before_it_is_made(
    engine: MemoryEngine,
) -> None:
    many = {f"k{n}": "${x}" for n in range(250)}
    register(engine, handler(action("start_workflow", name="target", input=many)))
    publish(engine, x="x" * 1_000_000)
    tracemalloc.start()
    engine.settle()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    (record,) = happened(engine)
    assert record["status"] == "FAILED"
    assert "of more than 10485760 bytes is larger than the limit" in record["output"]["error"]
    assert peak < 60_000_000


@pytest.mark.parametrize("half", [r"\ud800x", r"\udc00\ud800"])
def test_half_of_a_surrogate_pair_in_a_message_holds_no_other_action_up(
    engine: MemoryEngine, half: str
) -> None:
    bad = action("start_workflow", name="${p.s}", input={"v": "${p.s}"}, expand=True)
    register(engine, handler(bad, name="a"))
    register(engine, handler(action("start_workflow", name="target"), name="b"))
    publish(engine, p=f'{{"s": "{half}"}}')
    engine.settle()
    assert sorted(statuses(engine)) == ["COMPLETED", "FAILED"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (action("start_workflow", name="unknown"), "No such workflow found by name"),
        (action("start_workflow", name="${absent}"), "'name' is nothing"),
        (action("complete_task", workflowId="${workflowInstanceId}", taskRefName="x"), "open task"),
        (action("complete_task", taskId="nonsense"), "No such task"),
        (action("terminate_workflow", workflowId="nonsense"), "No such workflow"),
    ],
)
def test_an_action_that_cannot_be_done_is_recorded_and_the_next_one_goes_on(
    engine: MemoryEngine, body: Json, error: str
) -> None:
    register(engine, handler(body, action("start_workflow", name="target")))
    publish(engine)
    engine.settle()
    failed, done = happened(engine)
    assert (failed["status"], done["status"]) == ("FAILED", "COMPLETED")
    assert error in failed["output"]["error"]
    assert engine.engine.events.counts() == {"FAILED": 1, "COMPLETED": 1}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(r'{"s": "\ud800x"}', id="half of a surrogate pair"),
        pytest.param(r'{"\uDFFF": 1, "s": "x"}', id="half of one in a name"),
        pytest.param('{"s": 1e999}', id="infinite number"),
        pytest.param('{"s": "target"}', id="as it should be"),
    ],
)
def test_json_in_a_text_of_a_message_holds_nothing_that_no_request_could_hold(
    engine: MemoryEngine, text: str
) -> None:
    start = action("start_workflow", name="target", input={"v": "${p}"}, expand=True)
    register(engine, handler(start))
    publish(engine, p=text)
    engine.settle()
    (record,) = happened(engine)
    found = engine.workflow(record["output"]["workflowId"])["input"]["v"]
    assert found == (text if "target" not in text else {"s": "target"})


def test_number_of_more_than_64_bits_in_a_text_of_a_message_is_read_as_in_a_request(
    engine: MemoryEngine,
) -> None:
    start = action("start_workflow", name="target", input={"v": "${p}"}, expand=True)
    register(engine, handler(start))
    publish(engine, p='{"n": [36893488147419103232, 18446744073709551615]}')
    engine.settle()
    (record,) = happened(engine)
    found = engine.workflow(record["output"]["workflowId"])["input"]["v"]
    assert found == {"n": [2.0**65, 2**64 - 1]}


def test_a_handler_that_a_message_makes_fail_keeps_no_other_from_the_message(
    engine: MemoryEngine,
) -> None:
    hostile = action("start_workflow", name="${p.s}", expand=True)
    register(engine, handler(hostile, name="a1"))
    register(engine, handler(action("start_workflow", name="target"), name="b1"))
    publish(engine, p=r'{"s":"\ud800x"}')
    engine.settle()
    assert [(each["name"], each["status"]) for each in happened(engine)] == [
        ("a1", "FAILED"),
        ("b1", "COMPLETED"),
    ]
    assert not [left for left in _waiting(engine) if ":publish:" in left]


@pytest.fixture
def _nothing_is_logged() -> Iterator[None]:
    """Half of a pair in a log cannot be sent on by who runs tests side by side."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("_nothing_is_logged")
@pytest.mark.parametrize("broken", [ValueError("\ud800"), UnicodeError("x"), NotFound("\ud800")])
def test_whatever_an_action_raises_is_its_own_failure_and_the_others_go_on(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, broken: Exception
) -> None:
    start = type(engine.engine.executions).start

    def failing(self: Any, request: Any, **more: Any) -> Any:
        if ":a1:" in more.get("cause", ""):
            raise broken
        return start(self, request, **more)

    monkeypatch.setattr(type(engine.engine.executions), "start", failing)
    for name in ("a1", "b1"):
        register(engine, handler(action("start_workflow", name="target"), name=name))
    publish(engine)
    engine.settle()
    failed, done = happened(engine)
    assert (failed["name"], failed["status"]) == ("a1", "FAILED")
    assert str(broken).replace("\ud800", "?") in failed["output"]["error"]
    assert (done["name"], done["status"]) == ("b1", "COMPLETED")


def test_a_condition_that_breaks_its_evaluation_costs_its_own_handler_only(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = type(engine.ports.scripts).evaluate

    def broken(self: Any, requests: Any, **more: Any) -> Any:
        if any(request.expression == "$.bad" for request in requests):
            raise UnicodeError("no text")
        return evaluate(self, requests, **more)

    monkeypatch.setattr(type(engine.ports.scripts), "evaluate", broken)
    start = action("start_workflow", name="target")
    register(engine, handler(start, name="a1", condition="$.bad"))
    register(engine, handler(start, name="b1"))
    publish(engine)
    engine.settle()
    assert statuses(engine) == ["FAILED", "COMPLETED"]


def test_what_the_store_cannot_read_is_tried_again_while_the_others_go_on(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = type(engine.engine.executions).start

    def damaged(self: Any, request: Any, **more: Any) -> Any:
        if ":a1:" in more.get("cause", ""):
            raise StoreDamaged
        return start(self, request, **more)

    monkeypatch.setattr(type(engine.engine.executions), "start", damaged)
    for name in ("a1", "b1"):
        register(engine, handler(action("start_workflow", name="target"), name=name))
    publish(engine)
    engine.settle()
    assert [(each["name"], each["status"]) for each in happened(engine)] == [("b1", "COMPLETED")]
    assert [left for left in _waiting(engine) if ":publish:" in left] != []


# -- conditions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "evaluator", "acts"),
    [
        (None, None, True),
        ("", None, True),
        ("$.amount > 10", None, True),
        ("$.amount > 100", "javascript", False),
        ("$.amount", None, True),
        ("$.zero", "graaljs", False),
        ("$.absent", None, False),
        ("'text'", None, True),
        ("flag", "value-param", True),
        ("absent", "value-param", False),
    ],
)
def test_a_handler_acts_when_its_condition_holds(
    engine: MemoryEngine, condition: str | None, evaluator: str | None, acts: bool
) -> None:
    start = action("start_workflow", name="target")
    register(engine, handler(start, condition=condition, evaluatorType=evaluator))
    publish(engine, amount=12, zero=0, flag=True)
    engine.settle()
    assert statuses(engine) == ["COMPLETED" if acts else "SKIPPED"]


@pytest.mark.anomaly("A-61")
def test_a_condition_that_throws_costs_its_own_handler_only(
    engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    start = action("start_workflow", name="target")
    register(engine, handler(start, name="a", condition="$.no.such.thing > 1"))
    register(engine, handler(start, name="b"))
    publish(engine)
    engine.settle()
    failed, done = happened(engine)
    assert (failed["name"], failed["status"]) == ("a", "FAILED")
    assert "The condition failed" in failed["output"]["error"]
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert (done["name"], done["status"]) == ("b", "COMPLETED")
    engine.clock.advance(seconds=3600)
    engine.settle()
    assert len(happened(engine)) == 2, "it is not tried for ever"


def test_a_script_that_does_not_parse_is_refused(engine: MemoryEngine) -> None:
    with pytest.raises(InvalidInput) as refused:
        register(engine, handler(action("start_workflow", name="t"), condition="$.x >"))
    assert refused.value.violations[0].path == "$.condition"


# -- handlers --------------------------------------------------------------------------------------


def test_handlers_are_kept_listed_and_forgotten(engine: MemoryEngine) -> None:
    events = engine.engine.events
    one = handler(action("start_workflow", name="t", input={"x": "${y}"}), condition="$.x == 1")
    register(engine, one)
    register(engine, handler(action("terminate_workflow", workflowId="w"), name="i", active=False))
    assert events.handlers(dict)[0] == one
    assert [found["name"] for found in events.handlers(dict, EVENT)] == ["h", "i"]
    assert [found["name"] for found in events.handlers(dict, EVENT, active_only=True)] == ["h"]
    assert events.handlers(dict, "conductor:orders:other") == []
    with pytest.raises(Conflict, match="already exists"):
        register(engine, one)
    events.delete("h")
    for story in (lambda: events.delete("h"), lambda: events.update(read_event_handler(one))):
        with pytest.raises(NotFound, match="not found"):
            story()


def test_a_handler_acts_at_once_on_what_was_published_before_it_came(
    engine: MemoryEngine,
) -> None:
    publish(engine, text="x" * 10_000)
    register(engine, handler(action("start_workflow", name="target"), active=False))
    publish(engine, text="short")
    engine.settle()
    assert happened(engine) == []
    active = handler(action("start_workflow", name="target", input={"text": "${text}"}))
    engine.engine.events.update(read_event_handler(active))
    engine.settle()
    begun = [engine.workflow(record["output"]["workflowId"]) for record in happened(engine)]
    assert sorted(len(found["input"]["text"]) for found in begun) == [5, 10_000]
    assert engine.ports.events.held(EVENT, 10) == ()


def test_messages_that_nobody_wants_are_bounded(engine: MemoryEngine) -> None:
    for _ in range(3):
        publish(engine)
    engine.settle()
    assert len(engine.ports.events.held(EVENT, 10)) == 3
    engine.clock.advance(seconds=8 * 24 * 3600)
    assert engine.ports.events.held(EVENT, 10) == ()


@pytest.mark.anomaly("A-58")
def test_another_server_delivers_the_payload_as_well(engine: MemoryEngine) -> None:
    register(engine, handler(action("start_workflow", name="target", input={"text": "${text}"})))
    publish(engine, text="x" * 1_000)
    space = engine.ports.outbox._space  # type: ignore[attr-defined]
    memory_engine(clock=engine.clock, space=space).settle()
    (record,) = happened(engine)
    assert len(engine.workflow(record["output"]["workflowId"])["input"]["text"]) == 1_000


def test_a_large_message_that_is_kept_has_its_payload_for_the_handler_that_comes(
    engine: MemoryEngine,
) -> None:
    publish(engine, text="x" * 200_000)
    engine.settle()
    for _ in range(6):
        engine.clock.advance(seconds=24 * 3600)
        engine.settle()
        engine.engine.payload_retention.tick()
    register(engine, handler(action("start_workflow", name="target", input={"text": "${text}"})))
    for _ in range(3):
        engine.engine.payload_retention.tick()
    engine.settle()
    (record,) = happened(engine)
    assert len(engine.workflow(record["output"]["workflowId"])["input"]["text"]) == 200_000


def test_a_large_message_that_is_kept_no_longer_leaves_no_payload(engine: MemoryEngine) -> None:
    publish(engine, text="x" * 200_000)
    engine.settle()
    (kept,) = engine.ports.events.held(EVENT, 10)
    path = str(json.loads(kept)["path"])
    assert engine.ports.payloads.get(path)
    for _ in range(16):
        engine.clock.advance(seconds=24 * 3600)
        engine.settle()
        engine.engine.payload_retention.tick()
    with pytest.raises(NotFound):
        engine.ports.payloads.get(path)


def test_a_message_whose_payload_is_gone_is_given_up_and_nobody_acts_on_nothing(
    engine: MemoryEngine,
) -> None:
    publish(engine, text="x" * 200_000)
    engine.settle()
    (kept,) = engine.ports.events.held(EVENT, 10)
    engine.ports.payloads.delete(str(json.loads(kept)["path"]))
    register(engine, handler(action("start_workflow", name="target", input={"text": "${text}"})))
    engine.settle()
    (record,) = happened(engine)
    assert record["output"] == {"error": "Given up: its payload is gone"}
    assert engine.engine.executions.running("target") == ()


def test_a_large_message_that_comes_again_was_delivered_and_is_not_given_up(
    engine: MemoryEngine,
) -> None:
    register(engine, handler(action("start_workflow", name="target", input={"text": "${text}"})))

    def story() -> None:
        publish(engine, text="x" * 200_000)
        engine.settle()

    again(engine, story)
    assert statuses(engine) == ["COMPLETED"]
    assert len(engine.engine.executions.running("target")) == 1


def test_messages_of_one_moment_are_delivered_in_the_order_of_their_tasks(
    engine: MemoryEngine,
) -> None:
    start = action("start_workflow", name="target", correlationId="${k}")
    register(engine, handler(start))
    refs = [f"e{number}" for number in range(1, 13)]
    tasks = (typed("EVENT", ref, sink="conductor:paid", inputParameters={"k": ref}) for ref in refs)
    engine.start(workflow("orders", *tasks))
    engine.settle()
    begun = [engine.workflow(record["output"]["workflowId"]) for record in happened(engine)]
    assert [each["correlationId"] for each in begun] == refs


# -- trouble ---------------------------------------------------------------------------------------


def test_a_store_that_is_away_loses_no_message_and_repeats_no_action(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(engine, handler(*(action("start_workflow", name="target") for _ in range(2))))
    publish(engine)
    start, calls = engine.engine.executions.start, []

    def away_at_the_second(request: Any, **more: Any) -> Any:
        calls.append(more["cause"])
        if len(calls) == 2:
            raise StoreUnavailable
        return start(request, **more)

    monkeypatch.setattr(
        type(engine.engine.executions), "start", lambda _, *a, **m: away_at_the_second(*a, **m)
    )
    with pytest.raises(StoreUnavailable):
        engine.settle()
    engine.clock.advance(seconds=31)
    engine.settle()
    assert len(calls) == 3
    assert len(engine.engine.executions.running("target")) == 2


class Broker:
    """A sink that is away for so many calls."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.got: list[EventMessage] = []
        self.calls = 0

    def publish(self, messages: Sequence[EventMessage]) -> None:
        self.calls += 1
        if self.calls <= self.away:
            raise Undelivered("the broker is away")
        self.got += messages


def _to_broker(broker: Broker) -> MemoryEngine:
    engine = memory_engine(sinks={"kafka": broker})
    task = typed("EVENT", "ev", sink="kafka:topic", inputParameters={"x": 1})
    started = engine.start(workflow("orders", task))
    assert engine.workflow(started)["tasks"][0]["outputData"]["event_produced"] == "kafka:topic"
    return engine


def test_other_sinks_get_the_message_whole() -> None:
    broker = Broker()
    engine = _to_broker(broker)
    engine.settle()
    (message,) = broker.got
    assert message.event == "kafka:topic"
    assert isinstance(message.payload, dict)
    assert message.payload["x"] == 1


def test_a_broker_that_is_away_is_tried_with_growing_waits() -> None:
    broker = Broker(away=5)
    engine = _to_broker(broker)
    waits = []
    for _ in range(5):
        calls, begun = broker.calls, engine.clock.now_ms
        while broker.calls == calls:
            engine.settle()
            engine.clock.advance(milliseconds=500)
        waits.append(engine.clock.now_ms - begun)
    assert waits == sorted(waits)
    assert waits[-1] >= 4 * waits[1]
    engine.clock.advance(seconds=60)
    engine.settle()
    assert len(broker.got) == 1


@pytest.mark.anomaly("A-61")
def test_what_cannot_be_delivered_for_a_day_is_given_up_visibly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = Broker(away=10**6)
    engine = _to_broker(broker)
    for _ in range(400):
        engine.settle()
        engine.clock.advance(seconds=300)
    assert engine.ports.outbox.size(0) <= 1
    assert engine.engine.events.counts() == {"DEAD": 1}
    (record,) = happened(engine)
    assert record["output"]["error"] == "Given up: the broker is away"
    assert "given up" in caplog.text
    assert broker.calls < 400


def test_an_index_that_is_away_does_not_hold_up_messages(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise StoreUnavailable

    monkeypatch.setattr(engine.ports.search, "put", away)
    register(engine, handler(action("start_workflow", name="target")))
    publish(engine)
    with pytest.raises(StoreUnavailable):
        engine.engine.relay.tick()
    assert statuses(engine) == ["COMPLETED"]
    assert [left for left in _waiting(engine) if ":publish:" in left] == []


def test_a_defect_in_one_message_does_not_hold_up_the_others(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    register(engine, handler(action("start_workflow", name="target")))
    first, second = publish(engine), publish(engine)

    def broken(document: dict[str, Any]) -> EventMessage:
        message = load_message(document)
        if message.id == first:
            raise AssertionError("a defect")
        return message

    monkeypatch.setattr("conductor_py.engine.effects.event_delivery.load_message", broken)
    engine.engine.relay.tick()
    assert [record["messageId"] for record in happened(engine)] == [second]
    assert "A message cannot be delivered" in caplog.text
    assert [left for left in _waiting(engine) if ":publish:" in left] != []


def _waiting(engine: MemoryEngine) -> list[str]:
    return list(engine.ports.outbox._space.partition(0).effects)  # type: ignore[attr-defined]


def test_handlers_are_read_one_after_the_other_for_a_message(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcd":
        register(engine, handler(action("start_workflow", name="t"), name=name))
    happening: list[str] = []
    load, perform = load_handler, EventActions.perform

    def loaded(stored: bytes) -> EventHandler:
        found = load(stored)
        happening.append(f"read {found.name}")
        return found

    def performed(self: EventActions, identity: str, *given: Any) -> Any:
        happening.append(f"act {identity.split(':')[-2]}")
        return perform(self, identity, *given)

    monkeypatch.setattr(events, "load_handler", loaded)
    monkeypatch.setattr(EventActions, "perform", performed)
    publish(engine)
    engine.settle()
    # The next one is read when the one before has been dealt with.
    assert happening == [f"{what} {name}" for name in "abcd" for what in ("read", "act")]


def test_a_handler_that_would_fill_whoever_reads_it_for_each_message_is_refused(
    engine: MemoryEngine,
) -> None:
    large = handler(action("start_workflow", name="t", input={"b": [[]] * 90_000}))
    with pytest.raises(InvalidInput) as refused:
        register(engine, large)
    assert "not be larger than 262144 bytes" in refused.value.violations[0].message
