"""``/api/event``: event handlers over the interface, from registration to what they did."""

from collections.abc import Iterator
from typing import Any

import pytest

from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.api import create_app
from conductor_py.decider.expressions.expressions import check
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.wire.answers import AdviceForm
from conductor_py.wire.event_handlers import EventExecutionForm, EventHandlerForm
from conductor_py.wire.fields import load

EVENT = "conductor:orders:paid"


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    scripts = QuickJsScripts(workers=1)
    yield memory_engine(scripts=scripts)
    scripts.close()


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    return create_app(engine.engine, check_expressions=check).test_client()


def _handler(**more: Any) -> dict[str, Any]:
    start = {"name": "ship", "version": 1, "input": {"id": "${order.id}"}, "taskToDomain": {}}
    action = {"action": "start_workflow", "start_workflow": start, "expandInlineJSON": False}
    return {"name": "h", "event": EVENT, "actions": [action], "active": True, **more}


def test_handlers_are_registered_replaced_listed_and_removed(client: Any) -> None:
    made = client.post("/api/event", json=_handler(condition="$.x > 1"))
    assert (made.status_code, made.data, made.content_type) == (200, b"", None)
    (listed,) = client.get("/api/event").json
    assert listed == _handler(condition="$.x > 1")
    load(EventHandlerForm(), listed)
    assert client.put("/api/event", json=_handler(active=False)).status_code == 200
    assert client.get(f"/api/event/{EVENT}").json == []
    assert client.get(f"/api/event/{EVENT}?activeOnly=false").json == [_handler(active=False)]
    assert client.get("/api/event/conductor:other:q").json == []
    removed = client.delete("/api/event/h")
    assert (removed.status_code, removed.data) == (200, b"")
    assert client.get("/api/event").json == []


def _said(client: Any, **more: Any) -> list[tuple[str, str | None]]:
    answer = client.post("/api/event/validate", json=_handler(**more))
    assert answer.status_code == 200
    load(AdviceForm(), answer.json)
    return [(found["path"], found.get("invalidValue")) for found in answer.json["warnings"]]


def test_a_handler_is_checked_without_being_stored(client: Any) -> None:
    task = {"name": "t", "taskReferenceName": "t"}
    missing = ("$.actions[0].start_workflow.name", "ship version 1")
    assert _said(client) == [missing]
    client.post("/api/metadata/workflow", json={"name": "ship", "tasks": [task]})
    assert _said(client) == []
    assert _said(client, event="foo:bar") == [("$.event", "foo:bar")]
    assert [path for path, _ in _said(client, conditoin="1")] == ["$.conditoin"]
    named = {"action": "start_workflow", "start_workflow": {"name": "${kind}_order"}}
    assert _said(client, actions=[named]) == []
    refused = client.post("/api/event/validate", json=_handler(condition="(("))
    assert refused.status_code == 400
    assert client.get("/api/event").json == []


def test_a_handler_and_an_event_may_have_a_slash_in_their_names(client: Any) -> None:
    handler = _handler(name="a/b?", event="conductor:eu/orders:paid")
    client.post("/api/event", json=handler)
    assert client.get("/api/event/conductor:eu%2Forders:paid").json == [handler]
    assert client.delete("/api/event/a%2Fb%3F").status_code == 200
    assert client.get("/api/event").json == []


@pytest.mark.parametrize("path", ["queue/config", "queue/config/sqs/q"])
def test_what_is_no_event_is_not_served(client: Any, path: str) -> None:
    answer = client.get(f"/api/event/{path}")
    assert answer.status_code == 404
    assert "No static resource" in answer.json["message"]


def test_a_list_of_handlers_is_registered_whole_or_not_at_all(client: Any) -> None:
    both = [_handler(), _handler(name="second")]
    assert client.post("/api/event", json=both).status_code == 200
    assert [each["name"] for each in client.get("/api/event").json] == ["h", "second"]

    again = client.post("/api/event", json=[_handler(name="third"), _handler()])
    assert again.status_code == 409
    wrong = client.post("/api/event", json=[_handler(name="third"), _handler(name="")])
    assert wrong.status_code == 400
    assert wrong.json["validationErrors"][0]["path"] == "$[1].name"
    twice = client.post("/api/event", json=[_handler(name="third"), _handler(name="third")])
    assert twice.json["validationErrors"][0]["path"] == "$[1].name"
    assert len(client.get("/api/event").json) == 2


def test_a_handler_is_inactive_unless_it_says_otherwise(client: Any) -> None:
    body = _handler()
    del body["active"]
    client.post("/api/event", json=body)
    assert client.get("/api/event").json[0]["active"] is False


def test_members_that_say_nothing_are_none(client: Any) -> None:
    body = _handler(condition=None, evaluatorType="", unknown=1)
    body["actions"][0]["complete_task"] = None
    assert client.post("/api/event", json=body).status_code == 200
    assert client.get("/api/event").json == [_handler()]


def test_a_handler_that_exists_or_is_unknown_is_told_so(client: Any) -> None:
    client.post("/api/event", json=_handler())
    again = client.post("/api/event", json=_handler())
    assert (again.status_code, again.json["message"]) == (
        409,
        "EventHandler with name h already exists!",
    )
    unknown = _handler(name="other")
    for answer in (client.put("/api/event", json=unknown), client.delete("/api/event/other")):
        assert (answer.status_code, answer.json["message"]) == (
            404,
            "EventHandler with name other not found!",
        )


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"name": ""}, "$.name"),
        ({"name": None}, "$.name"),
        ({"name": "n" * 501}, "$.name"),
        ({"event": ""}, "$.event"),
        ({"event": "conductor"}, "$.event"),
        ({"event": "a:b\nc"}, "$.event"),
        ({"actions": []}, "$.actions"),
        ({"actions": None}, "$.actions"),
        ({"actions": [{"action": "dance"}]}, "$.actions[0].action"),
        ({"actions": [{"action": "start_agent"}]}, "$.actions[0].action"),
        (
            {"actions": [{"action": "start_workflow", "start_workflow": {"name": "w"}}] * 101},
            "$.actions",
        ),
        ({"actions": [{"action": "start_workflow"}]}, "$.actions[0].start_workflow"),
        (
            {"actions": [{"action": "start_workflow", "start_workflow": {"version": 1}}]},
            "$.actions[0].start_workflow.name",
        ),
        (
            {"actions": [{"action": "fail_task", "fail_task": {"workflowId": "w"}}]},
            "$.actions[0].fail_task",
        ),
        ({"actions": [{"action": "terminate_workflow", "terminate_workflow": {}}]}, None),
        ({"condition": "$.x >"}, "$.condition"),
        ({"evaluatorType": "python"}, "$.evaluatorType"),
    ],
)
def test_a_handler_that_is_wrong_is_refused_with_its_path(
    client: Any, change: dict[str, Any], path: str | None
) -> None:
    answer = client.post("/api/event", json=_handler(**change))
    assert answer.status_code == 400
    if path is not None:
        assert path in [found["path"] for found in answer.json["validationErrors"]]
    assert client.get("/api/event").json == []


def test_what_handlers_did_can_be_read(client: Any, engine: MemoryEngine) -> None:
    ship = {"name": "ship", "tasks": [{"name": "pack", "taskReferenceName": "pack"}]}
    orders = {
        "name": "orders",
        "tasks": [
            {
                "name": "tell",
                "taskReferenceName": "tell",
                "type": "EVENT",
                "sink": "conductor:paid",
                "inputParameters": {"order": {"id": 7}},
            }
        ],
    }
    for definition in (ship, orders):
        assert client.post("/api/metadata/workflow", json=definition).status_code == 200
    client.post("/api/event", json=_handler())
    client.post("/api/event", json=_handler(name="i", condition="false"))
    started = client.post("/api/workflow", json={"name": "orders"}).text
    engine.settle()
    found = client.get("/api/event/executions").json
    for each in found:
        load(EventExecutionForm(), each)
    assert [(each["name"], each["status"]) for each in found] == [
        ("i", "SKIPPED"),
        ("h", "COMPLETED"),
    ]
    assert found[1]["messageId"] == f"{started}-1"
    begun = client.get(f"/api/workflow/{found[1]['output']['workflowId']}").json
    assert (begun["input"]["id"], begun["event"]) == (7, EVENT)
    assert client.get("/api/event/executions?name=i").json == found[:1]
    assert client.get("/api/event/executions?event=other:x").json == []
    assert client.get("/api/event/executions?size=1").json == found[:1]
    assert client.get("/api/event/executions?size=0").status_code == 400


def test_a_list_without_end_of_wrong_handlers_is_refused_before_it_is_read(client: Any) -> None:
    answer = client.post("/api/event", json=[[]] * 1_001)
    assert answer.status_code == 400
    (found,) = answer.json["validationErrors"]
    assert found["message"] == "must not hold more than 1000 event handlers"
