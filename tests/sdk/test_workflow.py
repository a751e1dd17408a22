"""Workflows written in Python: the definition is the one that would be written by hand, it runs,
and what makes no sense is refused where it is written.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, cast

import pytest

from conductor_py.sdk import Client, Dag, DefinitionError, InvalidInput, Workflow, worker_task
from conductor_py.testing import memory_engine
from tests.builders import Json
from tests.sdk.bridge import Bridge
from tests.sdk.stub import Reply, StubServer


def _tasks(workflow: Workflow) -> list[Json]:
    return cast("list[Json]", workflow.to_json()["tasks"])


def _simple(name: str, **members: Any) -> Json:
    return {"name": name, "type": "SIMPLE", "taskReferenceName": name, **members}


def _join(reference: str, *awaited: str) -> Json:
    name = {"name": reference, "taskReferenceName": reference}
    return {**name, "type": "JOIN", "joinOn": list(awaited)}


@worker_task("measure")
def measure(path: str) -> dict[str, int]:
    return {"size": len(path)}


# -- what comes of it ------------------------------------------------------------------------------


def test_a_sequence_is_the_definition_that_is_written_by_hand() -> None:
    shop = Workflow(
        "shop",
        version=3,
        description="buys",
        inputs=["path"],
        timeout_seconds=60,
        owner_email="a@b",
    )
    size = shop.task(measure, inputs={"path": shop.input("path")})
    charge = shop.task(
        "charge", reference="pay", inputs={"n": size.output("size")}, retry_count=2, optional=True
    )
    shop >> size >> charge
    shop.outputs(receipt=charge.output("receipt"), all=charge.output(), given=shop.input())
    assert shop.to_json() == {
        "name": "shop",
        "version": 3,
        "description": "buys",
        "inputParameters": ["path"],
        "timeoutSeconds": 60,
        "ownerEmail": "a@b",
        "outputParameters": {
            "receipt": "${pay.output.receipt}",
            "all": "${pay.output}",
            "given": "${workflow.input}",
        },
        "tasks": [
            {
                "name": "measure",
                "taskReferenceName": "measure",
                "type": "SIMPLE",
                "inputParameters": {"path": "${workflow.input.path}"},
            },
            {
                "name": "charge",
                "taskReferenceName": "pay",
                "type": "SIMPLE",
                "inputParameters": {"n": "${measure.output.size}"},
                "retryCount": 2,
                "optional": True,
            },
        ],
    }


def test_a_list_is_a_fork_and_a_join_that_awaits_the_end_of_each_branch() -> None:
    workflow = Workflow("w")
    a, b, c, d, e = (workflow.task(name) for name in "abcde")
    workflow >> a >> [b, c >> d] >> e
    assert _tasks(workflow) == [
        _simple("a"),
        {
            "name": "fork_b",
            "taskReferenceName": "fork_b",
            "type": "FORK_JOIN",
            "forkTasks": [[_simple("b")], [_simple("c"), _simple("d")]],
        },
        _join("join_b", "b", "d"),
        _simple("e"),
    ]


def test_a_fork_may_be_named_and_its_output_is_that_of_its_join() -> None:
    workflow = Workflow("w")
    both = workflow.fork(workflow.task("a"), workflow.task("b"), reference="both")
    workflow >> both >> workflow.task("c", inputs={"n": both.output("a.n")})
    fork, join, last = _tasks(workflow)
    assert fork["taskReferenceName"] == "both"
    assert join == _join("both_join", "a", "b")
    assert last["inputParameters"] == {"n": "${both_join.output.a.n}"}


def test_lists_nest_and_may_come_first() -> None:
    workflow = Workflow("w")
    a, b, c, d = (workflow.task(name) for name in "abcd")
    workflow >> ([[a, b] >> c, d] >> workflow.task("e"))
    outer, outer_join, last = _tasks(workflow)
    assert outer["forkTasks"][0][0]["forkTasks"] == [[_simple("a")], [_simple("b")]]
    assert outer["forkTasks"][0][1:] == [_join("join_a", "a", "b"), _simple("c")]
    assert outer_join == _join("join_fork_a", "c", "d")
    assert last == _simple("e")


def test_a_switch_is_written_with_its_cases() -> None:
    workflow = Workflow("w")
    a, b, c, d = (workflow.task(name) for name in "abcd")
    route = workflow.switch("route", workflow.input("kind"))
    route.case("big", a >> b)
    route.default(c)
    workflow >> route >> d
    assert _tasks(workflow) == [
        {
            "name": "route",
            "taskReferenceName": "route",
            "type": "SWITCH",
            "evaluatorType": "value-param",
            "expression": "case",
            "inputParameters": {"case": "${workflow.input.kind}"},
            "decisionCases": {"big": [_simple("a"), _simple("b")]},
            "defaultCase": [_simple("c")],
        },
        _simple("d"),
    ]


def test_a_switch_by_a_script_has_the_script_as_its_expression() -> None:
    workflow = Workflow("w")
    script = "$.n > 3 ? 'big' : 'small'"
    route = workflow.switch(
        "route", script, evaluator_type="javascript", inputs={"n": workflow.input("n")}
    )
    route.case("big", workflow.task("a"))
    workflow >> route
    (written,) = _tasks(workflow)
    assert (written["evaluatorType"], written["expression"]) == ("javascript", script)
    assert written["inputParameters"] == {"n": "${workflow.input.n}"}


def test_a_join_awaits_all_cases_of_a_switch_that_ends_a_branch() -> None:
    workflow = Workflow("w")
    route = workflow.switch("route", workflow.input("kind"))
    route.case("x", workflow.task("a") >> workflow.task("b"))
    route.default(workflow.task("c"))
    workflow >> [route, workflow.task("d")]
    assert _tasks(workflow)[1] == _join("join_route", "route", "b", "c", "d")


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ({"condition": "$.a.n < 3"}, {"loopCondition": "$.a.n < 3"}),
        ({"times": 3}, {"loopCondition": "$['again'].iteration < 3"}),
        ({"items": "${workflow.input.rows}"}, {"items": "${workflow.input.rows}"}),
    ],
)
def test_a_loop_is_written_with_its_body(told: Any, written: Json) -> None:
    workflow = Workflow("w")
    body = workflow.task("a") >> workflow.task("b")
    workflow >> workflow.do_while("again", body, **told)
    assert _tasks(workflow) == [
        {
            "name": "again",
            "taskReferenceName": "again",
            "type": "DO_WHILE",
            "loopOver": [_simple("a"), _simple("b")],
            **written,
        }
    ]


def _http(w: Workflow) -> Any:
    return w.http(
        "get",
        "http://x/y",
        method="PUT",
        headers={"a": "b"},
        body={"n": 1},
        accept="text/plain",
        content_type="application/json",
        connect_timeout_ms=1,
        read_timeout_ms=2,
    )


_REQUEST = {
    "uri": "http://x/y",
    "method": "PUT",
    "headers": {"a": "b"},
    "body": {"n": 1},
    "accept": "text/plain",
    "contentType": "application/json",
    "connectionTimeOut": 1,
    "readTimeOut": 2,
}


@pytest.mark.parametrize(
    ("make", "written"),
    [
        (_http, {"type": "HTTP", "inputParameters": {"http_request": _REQUEST}}),
        (
            lambda w: w.wait("nap", duration="5s"),
            {"type": "WAIT", "inputParameters": {"duration": "5s"}},
        ),
        (
            lambda w: w.wait("nap", until="2030-12-31 23:59 UTC"),
            {"type": "WAIT", "inputParameters": {"until": "2030-12-31 23:59 UTC"}},
        ),
        (lambda w: w.wait("nap"), {"type": "WAIT"}),
        (
            lambda w: w.human("sign", inputs={"form": "f"}),
            {"type": "HUMAN", "inputParameters": {"form": "f"}},
        ),
        (
            lambda w: w.set_variable("keep", {"n": w.variable("m")}),
            {"type": "SET_VARIABLE", "inputParameters": {"n": "${workflow.variables.m}"}},
        ),
        (
            lambda w: w.terminate("end", "FAILED", reason="no", output={"a": 1}),
            {
                "type": "TERMINATE",
                "inputParameters": {
                    "terminationStatus": "FAILED",
                    "terminationReason": "no",
                    "workflowOutput": {"a": 1},
                },
            },
        ),
        (
            lambda w: w.inline("add", "$.a + 1", inputs={"a": 1}),
            {
                "type": "INLINE",
                "inputParameters": {
                    "evaluatorType": "javascript",
                    "expression": "$.a + 1",
                    "a": 1,
                },
            },
        ),
        (
            lambda w: w.event("tell", "conductor:done", inputs={"a": 1}),
            {"type": "EVENT", "sink": "conductor:done", "inputParameters": {"a": 1}},
        ),
        (
            lambda w: w.sub_workflow("child", "other", version=2, inputs={"a": 1}),
            {
                "type": "SUB_WORKFLOW",
                "subWorkflowParam": {"name": "other", "version": 2},
                "inputParameters": {"a": 1},
            },
        ),
        (
            lambda w: w.task("pick", type="JSON_JQ_TRANSFORM", inputs={"queryExpression": ".a"}),
            {"type": "JSON_JQ_TRANSFORM", "inputParameters": {"queryExpression": ".a"}},
        ),
        (lambda w: w.task("a", permissive=True), {"type": "SIMPLE", "permissive": True}),
    ],
)
def test_each_kind_of_task_is_written_with_the_members_of_its_type(
    make: Callable[[Workflow], Any], written: Json
) -> None:
    workflow = Workflow("w")
    task = make(workflow)
    workflow >> task
    name = {"name": task.reference, "taskReferenceName": task.reference}
    assert _tasks(workflow) == [{**name, **written}]


@pytest.mark.parametrize(
    ("told", "written"),
    [
        (
            {"each": "${a.output.rows}", "task": measure},
            {
                "inputParameters": {
                    "forkTaskName": "measure",
                    "forkTaskInputs": "${a.output.rows}",
                }
            },
        ),
        (
            {"each": "${a.output.rows}", "workflow": "one_row"},
            {
                "inputParameters": {
                    "forkTaskWorkflow": "one_row",
                    "forkTaskInputs": "${a.output.rows}",
                }
            },
        ),
        (
            {"tasks": "${a.output.tasks}", "inputs_by_reference": "${a.output.inputs}"},
            {
                "inputParameters": {"tasks": "${a.output.tasks}", "inputs": "${a.output.inputs}"},
                "dynamicForkTasksParam": "tasks",
                "dynamicForkTasksInputParamName": "inputs",
            },
        ),
    ],
)
def test_a_dynamic_fork_comes_with_its_join(told: Any, written: Json) -> None:
    workflow = Workflow("w")
    fan = workflow.dynamic_fork("fan", **told)
    workflow >> workflow.task("a") >> fan
    name = {"name": "fan", "taskReferenceName": "fan", "type": "FORK_JOIN_DYNAMIC"}
    assert _tasks(workflow)[1:] == [{**name, **written}, _join("fan_join")]
    assert fan.output("x") == "${fan_join.output.x}"


@pytest.mark.parametrize("kind", ["workflow", "dag", "json"])
def test_a_sub_workflow_may_be_built_as_well(kind: str) -> None:
    child, dag = Workflow("child"), Dag("child")
    child >> child.task("a")
    dag.task("a")
    made: Any = {"workflow": child, "dag": dag, "json": child.to_json()}[kind]
    workflow = Workflow("w")
    workflow >> workflow.sub_workflow("run", made)
    expected = dag.build() if kind == "dag" else child.to_json()
    assert _tasks(workflow)[0]["subWorkflowParam"] == {
        "name": "child",
        "workflowDefinition": expected,
    }


def test_what_is_written_in_several_lines_is_one_sequence() -> None:
    workflow = Workflow("w")
    a, b, c, d = (workflow.task(name) for name in "abcd")
    workflow >> a
    c >> d
    a >> b
    workflow >> c
    assert _tasks(workflow) == [_simple(name) for name in "abcd"]


def test_a_long_workflow_may_be_written_from_its_end() -> None:
    workflow = Workflow("w")
    tasks = [workflow.task(f"t{number}") for number in range(2_000)]
    for before, after in reversed(list(itertools.pairwise(tasks))):
        before >> after
    workflow >> tasks[0]
    assert [task["name"] for task in _tasks(workflow)] == [task.reference for task in tasks]


def test_a_case_goes_on_in_a_later_line() -> None:
    workflow = Workflow("w")
    a, b = workflow.task("a"), workflow.task("b")
    route = workflow.switch("route", workflow.input("kind"))
    workflow >> route
    route.case("x", a)
    a >> b
    assert _tasks(workflow)[0]["decisionCases"] == {"x": [_simple("a"), _simple("b")]}


def test_a_dag_has_the_same_kinds_of_tasks() -> None:
    dag = Dag("w")
    dag.http("get", "http://x", inputs={"day": dag.input("day")}) >> dag.wait("nap", duration="5s")
    first, second = cast("list[Json]", dag.to_json()["tasks"])
    request = {"uri": "http://x", "method": "GET"}
    assert first["inputParameters"] == {"http_request": request, "day": "${workflow.input.day}"}
    assert second["type"] == "WAIT"


# -- what is refused where it is written -----------------------------------------------------------


def _two(workflow: Workflow) -> tuple[Any, Any]:
    return workflow.task("a"), workflow.task("b")


def _elsewhere(workflow: Workflow) -> object:
    return workflow >> Workflow("other").task("a")


def _twice(workflow: Workflow) -> object:
    a, _ = _two(workflow)
    return workflow >> a >> a


def _back(workflow: Workflow) -> object:
    a, b = _two(workflow)
    a >> b
    return b >> a


def _beside_itself(workflow: Workflow) -> object:
    a, b = _two(workflow)
    return a >> [a, b]


def _two_places(workflow: Workflow) -> object:
    a, b = _two(workflow)
    workflow >> [a, b]
    return workflow >> a


def _in_the_middle(workflow: Workflow) -> object:
    a, b = _two(workflow)
    workflow >> a >> b
    return a >> workflow.task("c")


def _of_another_line(workflow: Workflow) -> object:
    a, b = _two(workflow)
    a >> b
    return workflow >> b


def _case_again(workflow: Workflow) -> object:
    a, b = _two(workflow)
    route = workflow.switch("route", "${a.output.n}")
    route.case("x", a)
    return route.case("x", b)


def _default_again(workflow: Workflow) -> object:
    a, b = _two(workflow)
    route = workflow.switch("route", "${a.output.n}")
    route.default(a)
    return route.default(b)


def _case_of_itself(workflow: Workflow) -> object:
    route = workflow.switch("route", "${a.output.n}")
    return route.case("x", route)


def _no_task(workflow: Workflow) -> object:
    return workflow >> cast("Any", "a")


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (lambda w: (w.task("a"), w.task("a")), "there is a task a already"),
        (lambda w: w.task("a", reference=" "), "a task needs a reference"),
        (lambda w: (w.fork(w.task("a")), w.task("join_a")), "there is a task join_a already"),
        (lambda w: w >> [], "an empty list is no branch"),
        (lambda w: w >> [w.task("a"), []], "an empty list is no branch"),
        (lambda w: w.switch("s", "x").case("a", []), "an empty list is no branch"),
        (lambda w: w.do_while("l", [], times=2), "an empty list is no branch"),
        (lambda w: w.fork(reference="both"), "both has no branch"),
        (lambda w: w.do_while("l", w.task("a")), "l needs a condition, times or items"),
        (
            lambda w: w.do_while("l", w.task("a"), times=1, items="${x}"),
            "l needs a condition, times or items",
        ),
        (lambda w: w.wait("nap", duration="5s", until="2030-01-01"), "not for both"),
        (lambda w: w.dynamic_fork("fan", each="${x}"), "fan needs each with task or workflow"),
        (lambda w: w.task("f", type="FORK_JOIN"), "f: write workflow.fork(…) for a FORK_JOIN"),
        (lambda w: w.task("f", type="SWITCH"), "f: write workflow.switch(…) for a SWITCH"),
        (lambda w: w.task("f", retries=1), "task f of the workflow w has no member retries"),
        (_elsewhere, "a is a task of another workflow, other"),
        (_twice, "a must not come after itself"),
        (_back, "a must not come after itself"),
        (_beside_itself, "a must not come after itself"),
        (_two_places, "a cannot stand in workflow w: it is in a branch of fork_a"),
        (_in_the_middle, "a has b after it already"),
        (_of_another_line, "b has a place already, in the line that begins with a"),
        (_case_again, "route has a case x already"),
        (_default_again, "route has a default already"),
        (_case_of_itself, "route must not come after itself"),
        (_no_task, "'a' is no task of it; add one with workflow.task(…)"),
    ],
)
def test_what_cannot_be_is_refused_in_its_own_line(
    write: Callable[[Workflow], object], sentence: str
) -> None:
    with pytest.raises(DefinitionError) as refused:
        write(Workflow("w"))
    assert sentence in refused.value.message
    assert "workflow w" in refused.value.message


def test_a_workflow_refuses_members_that_it_does_not_have() -> None:
    with pytest.raises(DefinitionError, match="workflow w has no member failure_strategy"):
        Workflow("w", failure_strategy="END")  # type: ignore[call-arg]


# -- what is refused when it is written out --------------------------------------------------------


def test_a_task_that_nothing_leads_to_is_named() -> None:
    workflow = Workflow("w")
    workflow >> workflow.task("a")
    workflow.task("b") >> workflow.task("c")
    with pytest.raises(DefinitionError, match="workflow w: nothing leads to b, c; write"):
        workflow.to_json()


def test_a_workflow_without_tasks_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"workflow w: .*at least one task"):
        Workflow("w").to_json()


def test_what_the_server_would_refuse_is_told_with_the_innermost_task() -> None:
    workflow = Workflow("w")
    route = workflow.switch("route", "${workflow.input.x}")
    route.case("it's", workflow.task("a", retry_count=-1))
    loop = workflow.do_while("again", workflow.task("b", retry_count=-1), times=2)
    workflow >> route >> [loop, workflow.task("c", retry_count=-1)]
    with pytest.raises(DefinitionError) as refused:
        workflow.to_json()
    for reference in "abc":
        assert f"task {reference}.retryCount must" in refused.value.message
    assert str(refused.value) == refused.value.message
    assert len(refused.value.violations) == 3


def test_a_switch_without_cases_is_refused() -> None:
    workflow = Workflow("w")
    workflow >> workflow.switch("route", "${workflow.input.x}")
    with pytest.raises(DefinitionError, match=r"task route.*at least one case"):
        workflow.to_json()


def test_what_json_cannot_say_is_refused() -> None:
    workflow = Workflow("w")
    workflow >> workflow.task("a", inputs={"x": cast("Any", object())})
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        workflow.to_json()


# -- it runs ---------------------------------------------------------------------------------------


def _shop() -> Workflow:
    shop = Workflow("shop", version=1)
    measured = shop.task(measure, inputs={"path": shop.input("path")})
    double = shop.inline("double", "$.n * 2", inputs={"n": measured.output("size")})
    keep = shop.set_variable("keep", {"size": double.output("result")})
    route = shop.switch("route", shop.input("kind"))
    route.case("gift", shop.task("wrap"))
    route.default(shop.task("pack"))
    loop = shop.do_while("tries", shop.task("ship"), times=2)
    shop >> measured >> double >> [keep, route] >> loop
    shop.outputs(size=shop.variable("size"), tries=loop.output("iteration"))
    return shop


@pytest.mark.parametrize(("kind", "taken"), [("gift", "wrap"), ("plain", "pack")])
def test_a_built_workflow_registers_and_runs(
    stub: StubServer, client: Client, kind: str, taken: str
) -> None:
    bridge = Bridge(stub)
    client.register_workflow(_shop())
    started = client.start_workflow("shop", input={"path": "a.png", "kind": kind})
    bridge.engine.run("measure", {"size": 5})
    assert bridge.engine.statuses(started)["join_keep"] == "IN_PROGRESS"  # the case is awaited
    bridge.engine.run(taken)
    for _ in range(2):
        bridge.engine.run("ship")
    found = client.get_workflow(started)
    assert found["status"] == "COMPLETED", found.get("reasonForIncompletion")
    assert found["output"] == {"size": 10, "tries": 2}


def test_a_built_workflow_is_registered_as_it_is_written(stub: StubServer, client: Client) -> None:
    Bridge(stub)
    client.register_workflow(_shop())
    sent = stub.seen("POST", "/api/metadata/workflow")[-1].json()
    assert sent == _shop().to_json()
    stored = client.get_workflow_definition("shop")
    references = [task["taskReferenceName"] for task in cast("list[Json]", stored["tasks"])]
    assert references == ["measure", "double", "fork_keep", "join_keep", "tries"]


def test_every_call_that_takes_a_definition_takes_a_built_one(
    stub: StubServer, client: Client
) -> None:
    Bridge(stub)
    stub.on("POST", "/api/workflow/test", Reply(200, {}))
    workflow = Workflow("w", version=1)
    workflow >> workflow.inline("a", "1")
    assert client.validate_workflow(workflow) == []
    client.update_workflows([workflow])
    started = client.start_workflow(definition=workflow)
    assert client.get_workflow(started)["status"] == "COMPLETED"
    assert client.execute_workflow("w", definition=workflow)["status"] == "COMPLETED"
    client.test_workflow(definition=workflow)
    assert stub.seen("POST", "/api/workflow/test")[0].json()["workflowDef"] == workflow.to_json()


def test_a_dynamic_fork_runs_a_task_for_each_item() -> None:
    workflow = Workflow("w", version=1)
    fan = workflow.dynamic_fork("fan", each=workflow.input("rows"), task="one")
    workflow >> fan
    engine = memory_engine()
    started = engine.start(cast("Json", workflow.to_json()), input={"rows": [{"n": 1}, {"n": 2}]})
    for polled in engine.poll("one", count=2):
        engine.complete(polled, {"twice": 2 * polled["inputData"]["n"]})
    assert engine.workflow(started)["status"] == "COMPLETED"


def test_terminate_in_a_case_ends_the_workflow() -> None:
    workflow = Workflow("w", version=1)
    route = workflow.switch("route", workflow.input("kind"))
    route.case("bad", workflow.terminate("end", "FAILED", reason="a bad kind"))
    workflow >> route >> workflow.task("a")
    engine = memory_engine()
    found = engine.workflow(engine.start(cast("Json", workflow.to_json()), input={"kind": "bad"}))
    assert found["status"] == "FAILED"
    assert "a bad kind" in found["reasonForIncompletion"]
