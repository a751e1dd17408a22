"""DAGs written in Python: the definition that comes of them, and what is refused where it is
written.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.model.definition_form import camel_case
from conductor_py.model.definitions import WorkflowDef, WorkflowTask
from conductor_py.sdk import (
    Client,
    ConditionsTask,
    Conflict,
    Dag,
    DagTask,
    DefinitionError,
    InvalidInput,
    NotFound,
    SwitchTask,
    all_of,
    any_of,
)
from conductor_py.sdk.definition_members import DagMembers, TaskMembers, members
from conductor_py.testing import memory_engine
from conductor_py.wire.definition_reader import DefinitionReader
from tests.builders import Json, run_failing
from tests.decider.dag_model import Graph, definition, drawn
from tests.sdk.bridge import Bridge
from tests.sdk.stub import StubServer


def _built(dag: Dag) -> Json:
    return cast("Json", dag.build())


def _edges(dag: Dag) -> list[str]:
    """Relations as ``a -label> b``."""
    return [_edge(each) for each in _built(dag)["relations"]]


def _edge(relation: Json) -> str:
    label = relation.get("label", "ok") + (f":{relation['case']}" if "case" in relation else "")
    return f"{relation.get('preTask', '')} -{label}> {relation['postTask']}"


def _task(dag: Dag, reference: str) -> Json:
    (found,) = (each for each in _built(dag)["tasks"] if each["taskReferenceName"] == reference)
    return cast("Json", found)


# -- what comes of it ------------------------------------------------------------------------------


def test_a_dag_is_built_into_what_the_api_takes() -> None:
    dag = Dag("daily_etl", failure_strategy="END", description="flights of a day")
    extract = dag.task("extract", inputs={"day": "${workflow.input.day}"}, retry_count=2)
    load = dag.task("copy", reference="load", type="HTTP", inputs={"uri": extract.output("uri")})
    extract >> load
    dag.outputs(rows=load.output("response.body.rows"), all=extract.output())
    assert _built(dag) == {
        "name": "daily_etl",
        "failureStrategy": "END",
        "description": "flights of a day",
        "outputParameters": {
            "rows": "${load.output.response.body.rows}",
            "all": "${extract.output}",
        },
        "tasks": [
            {
                "name": "extract",
                "type": "SIMPLE",
                "taskReferenceName": "extract",
                "inputParameters": {"day": "${workflow.input.day}"},
                "retryCount": 2,
            },
            {
                "name": "copy",
                "type": "HTTP",
                "taskReferenceName": "load",
                "inputParameters": {"uri": "${extract.output.uri}"},
            },
        ],
        "relations": [{"preTask": "extract", "postTask": "load", "label": "ok"}],
    }


def test_a_line_goes_on_through_tasks_and_lists_of_tasks() -> None:
    dag = Dag("w")
    a, b, c, d, e = (dag.task(name) for name in "abcde")
    a >> b >> [c, d] >> e
    assert _edges(dag) == ["a -ok> b", "b -ok> c", "b -ok> d", "c -ok> e", "d -ok> e"]


def test_tasks_without_relations_are_roots_and_no_list() -> None:
    dag = Dag("w")
    dag.task("a")
    dag.task("b")
    assert _built(dag)["relations"] == [{"postTask": "a"}, {"postTask": "b"}]


def test_conditions_come_after_what_their_condition_is_about() -> None:
    dag = Dag("w")
    a, b, c, publish, alert = (dag.task(name) for name in ("a", "b", "c", "publish", "alert"))
    check = dag.conditions(
        "check", all_of(a.succeeded(), any_of(b.failed(), c.succeeded(), a.succeeded()))
    )
    a >> check
    check.on_success(publish)
    check.on_failure([alert])
    assert _edges(dag) == [
        "a -test> check",
        "b -test> check",
        "c -test> check",
        "check -success> publish",
        "check -failure> alert",
    ]
    assert _task(dag, "check") == {
        "name": "check",
        "type": "CONDITIONS",
        "taskReferenceName": "check",
        "inputParameters": {
            "condition": {
                "relation": "AND",
                "items": [
                    {"task": "a", "status": "SUCCESS"},
                    {
                        "relation": "OR",
                        "items": [
                            {"task": "b", "status": "FAILURE"},
                            {"task": "c", "status": "SUCCESS"},
                            {"task": "a", "status": "SUCCESS"},
                        ],
                    },
                ],
            }
        },
    }


def test_conditions_may_have_inputs_of_their_own() -> None:
    dag = Dag("w")
    a, b = dag.task("a"), dag.task("b")
    check = dag.conditions("check", a.succeeded(), inputs={"why": "complete"})
    check.on_success(b)
    check.on_failure(b)
    assert _task(dag, "check")["inputParameters"] == {
        "condition": {"task": "a", "status": "SUCCESS"},
        "why": "complete",
    }


def test_names_that_only_the_server_knows_are_left_to_it() -> None:
    dag = Dag("w")
    dag.task("a", inputs={"region": "${REGION}"})
    assert _task(dag, "a")["inputParameters"] == {"region": "${REGION}"}


def test_conditions_without_a_condition_look_at_all_that_leads_to_them() -> None:
    dag = Dag("w")
    a, b = dag.task("a"), dag.task("b")
    check = dag.conditions("check")
    a >> check
    check.on_success(b)
    check.on_failure(b)
    assert "inputParameters" not in _task(dag, "check")
    assert _edges(dag) == ["a -test> check", "check -success> b", "check -failure> b"]


def test_a_switch_chooses_by_a_value_or_by_a_script() -> None:
    dag = Dag("w")
    a, b = dag.task("a"), dag.task("b")
    plain = dag.switch("plain", "${workflow.input.size}", inputs={"more": 1})
    plain.case("big", [a, b])
    plain.default(b)
    script = dag.switch("script", "$.n > 1 ? 'many' : 'one'", evaluator_type="javascript")
    script.case("many", plain)
    assert _edges(dag) == [
        "plain -case:big> a",
        "plain -case:big> b",
        "plain -default> b",
        "script -case:many> plain",
    ]
    assert _task(dag, "plain") == {
        "name": "plain",
        "type": "SWITCH",
        "taskReferenceName": "plain",
        "evaluatorType": "value-param",
        "expression": "case",
        "inputParameters": {"more": 1, "case": "${workflow.input.size}"},
    }
    assert _task(dag, "script")["expression"] == "$.n > 1 ? 'many' : 'one'"
    assert _task(dag, "script")["evaluatorType"] == "javascript"


def test_a_cleanup_comes_after_all_that_nothing_follows() -> None:
    dag = Dag("w")
    clean = dag.cleanup("clean")
    told = dag.cleanup("told", trigger_rule="ALL")
    a, b, c, last = (dag.task(name) for name in ("a", "b", "c", "last"))
    a >> b
    clean >> last
    c >> told
    assert _edges(dag) == [
        "a -ok> b",
        "clean -ok> last",
        "c -ok> told",
        "b -always> clean",
        "b -always> told",
    ]
    assert _task(dag, "clean")["triggerRule"] == "ALL_DONE"
    assert _task(dag, "told")["triggerRule"] == "ALL"


def test_a_cleanup_may_come_after_some_tasks_only() -> None:
    dag = Dag("w")
    a, b = dag.task("a"), dag.task("b")
    dag.cleanup("close", reference="k", after=[a])
    a.always(b)
    assert _edges(dag) == ["a -always> k", "a -always> b"]


def test_what_only_waits_for_a_task_does_not_follow_from_it() -> None:
    dag = Dag("w")
    a, b, good = dag.task("a"), dag.task("b"), dag.conditions("good")
    dag.cleanup("k")
    a >> good
    good.on_success(b) >> dag.task("c")
    good.on_failure(dag.task("d")).precedes([dag.task("e"), b])
    good.precedes(dag.task("f"))
    assert [edge for edge in _edges(dag) if "order" in edge] == [
        "d -order> e",
        "d -order> b",
        "good -order> f",
    ]
    assert "d -always> k" in _edges(dag), "nothing follows from it"


def test_a_sub_workflow_is_named_pinned_or_another_dag() -> None:
    inner = Dag("inner")
    inner.task("a")
    dag = Dag("w")
    dag.sub_workflow("newest", "other")
    urgent: Json = {"priority": "HIGH"}
    dag.sub_workflow("pinned", "other", version=3, inputs={"n": 1}, sub_workflow_param=urgent)
    dag.sub_workflow("inline", inner)
    assert _task(dag, "newest")["subWorkflowParam"] == {"name": "other"}
    assert _task(dag, "pinned") == {
        "name": "pinned",
        "type": "SUB_WORKFLOW",
        "taskReferenceName": "pinned",
        "subWorkflowParam": {"name": "other", "version": 3, "priority": "HIGH"},
        "inputParameters": {"n": 1},
    }
    assert _task(dag, "inline")["subWorkflowParam"] == {
        "name": "inner",
        "workflowDefinition": inner.build(),
    }


def test_a_task_of_the_catalog_is_used_in_a_version() -> None:
    dag = Dag("w")
    shared = dag.shared("flights", code="219043332096000", version=3, inputs={"table": "flights"})
    shared >> dag.task("after")
    assert _task(dag, "flights") == {
        "uses": {"code": "219043332096000", "version": 3},
        "taskReferenceName": "flights",
        "inputParameters": {"table": "flights"},
    }


def test_every_member_has_its_name_of_the_definition_and_what_is_empty_is_left_out() -> None:
    dag = Dag("w", inputs=["day"], parameters={}, timeout_seconds=0)
    dag.task(
        "a",
        trigger_rule="ANY_LIVE",
        priority="HIGH",
        prohibited=True,
        optional=True,
        definition={"retryDelaySeconds": 5},
        start_delay=60,
        code="7",
        description="",
        out=[],
        parameters={},
    )
    built = _built(dag)
    assert {name: built[name] for name in built.keys() - {"tasks", "relations", "name"}} == {
        "inputParameters": ["day"],
        "timeoutSeconds": 0,
    }
    assert built["tasks"][0] == {
        "name": "a",
        "type": "SIMPLE",
        "taskReferenceName": "a",
        "triggerRule": "ANY_LIVE",
        "taskPriority": "HIGH",
        "prohibited": True,
        "optional": True,
        "taskDefinition": {"retryDelaySeconds": 5},
        "startDelay": 60,
        "code": "7",
    }


def test_parameters_and_outputs_of_tasks_are_passed_on_as_they_are() -> None:
    dag = Dag("w", parameters={"dt": "$[yyyyMMdd-1]"})
    dag.task("a", out=["rows"], parameters={"n": 1})
    built = _built(dag)
    assert built["parameters"] == {"dt": "$[yyyyMMdd-1]"}
    assert built["tasks"][0]["outParameters"] == ["rows"]
    assert built["tasks"][0]["parameters"] == {"n": 1}


def test_parameters_are_handed_on_and_one_that_nothing_gives_is_refused() -> None:
    dag = Dag("w", parameters={"dt": "$[yyyyMMdd-1]"})
    load = dag.task("load", inputs={"day": "${param.dt}"}, out=["rows"])
    load >> dag.task("report", inputs={"rows": "${param.rows}", "of": "${param.dt}"})
    engine = memory_engine()
    engine.start(dag.build(), business_at=1_000_000_000_000)
    assert engine.run("load", {"rows": 7})["inputData"] == {"day": "20010908"}
    assert engine.run("report")["inputData"] == {"rows": 7, "of": "20010908"}
    dag.task("beside", inputs={"rows": "${param.rows}"})
    with pytest.raises(DefinitionError, match=r"task beside.*reads the parameter 'rows'"):
        dag.build()


def test_what_was_built_is_nobody_elses() -> None:
    dag = Dag("w", metadata={"owner": "ann"})
    given = {"day": "today"}
    dag.task("a", inputs=given)
    first = _built(dag)
    given["day"] = "tomorrow"
    dag.task("b")
    first["tasks"][0]["name"] = "x"
    assert [task["name"] for task in _built(dag)["tasks"]] == ["a", "b"]
    assert first["tasks"][0]["inputParameters"] == {"day": "today"}


#: Members that say how tasks hang together where there are no relations, and the builder's own.
_NOT_TOLD = {
    *("name", "taskReferenceName", "type", "tasks", "relations", "version", "schemaVersion"),
    *("decisionCases", "defaultCase", "caseValueParam", "caseExpression", "forkTasks", "joinOn"),
    *("joinStatus", "joinMode", "defaultExclusiveJoinTask", "dynamicForkJoinTasksParam"),
    *("dynamicForkTasksParam", "dynamicForkTasksInputParamName", "permissive"),
    *("createTime", "updateTime", "createdBy", "updatedBy"),
}


@pytest.mark.parametrize(
    ("kind", "model"), [(TaskMembers, WorkflowTask), (DagMembers, WorkflowDef)]
)
def test_whatever_a_definition_may_hold_can_be_told(kind: type, model: type[Any]) -> None:
    told = set(members(kind, dict.fromkeys(kind.__annotations__, 1), ""))
    known = {camel_case(field.name) for field in fields(model)}
    assert known - told - _NOT_TOLD == set()
    assert told - known <= {"code"}


# -- what is refused where it is written -----------------------------------------------------------


def _twice(dag: Dag) -> object:
    return dag.task("a"), dag.task("b", reference="a")


def _nameless(dag: Dag) -> object:
    return dag.task("")


def _round(dag: Dag) -> object:
    a, b, c, d = (dag.task(name) for name in "abcd")
    return a >> b >> [c, d], c >> a


def _to_itself(dag: Dag) -> object:
    a = dag.task("a")
    return a >> a


def _again(dag: Dag) -> object:
    a, b = dag.task("a"), dag.task("b")
    a.always(b)
    a >> b
    return a >> b


def _case_again(dag: Dag) -> object:
    route, a = dag.switch("route", "${workflow.input.x}"), dag.task("a")
    return route.case("big", a), route.case("small", a), route.case("big", a)


def _abroad(dag: Dag) -> object:
    return dag.task("a") >> Dag("other").task("b")


def _looks_abroad(dag: Dag) -> object:
    return dag.conditions("check", Dag("other").task("a").succeeded())


def _past_conditions(dag: Dag) -> object:
    return dag.conditions("check") >> dag.task("a")


def _past_a_switch(dag: Dag) -> object:
    return dag.switch("route", "x").always(dag.task("a"))


def _looks_at_a_choice(dag: Dag) -> object:
    return dag.conditions("check", dag.switch("route", "x").failed())


def _always_into_conditions(dag: Dag) -> object:
    return dag.task("a").always(dag.conditions("check"))


def _of_another_method(dag: Dag) -> object:
    return dag.task("check", type="CONDITIONS")


def _misspelt(dag: Dag) -> object:
    return dag.task("a", retries=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (_twice, "DAG w: there is a task a already"),
        (_nameless, "DAG w: a task needs a reference"),
        (_round, "DAG w: must not form a cycle: c → a → b → c"),
        (_to_itself, "DAG w: a must not come after itself"),
        (_again, "DAG w: a leads to b already, labelled ok"),
        (_case_again, "DAG w: route leads to a already, labelled case big"),
        (_abroad, "DAG w: a cannot lead to b, a task of another DAG, other"),
        (_looks_abroad, "DAG other: a cannot lead to check, a task of another DAG, w"),
        (_past_conditions, "DAG w: check chooses: a comes after it by on_success or on_failure"),
        (_past_a_switch, "DAG w: route chooses: a comes after it by case or default"),
        (_looks_at_a_choice, "DAG w: route chooses: check comes after it by case or default"),
        (
            _always_into_conditions,
            "DAG w: check looks at a whatever becomes of it; write a >> check",
        ),
        (_of_another_method, "DAG w: check: write dag.conditions(…) for a CONDITIONS"),
        (_misspelt, "task a of the DAG w has no member retries"),
    ],
)
def test_what_cannot_be_is_refused_in_its_own_line(
    write: Callable[[Dag], object], message: str
) -> None:
    with pytest.raises(DefinitionError) as refused:
        write(Dag("w"))
    assert refused.value.message == message


def test_a_dag_refuses_members_that_no_workflow_has() -> None:
    with pytest.raises(DefinitionError, match="DAG w has no member timeout"):
        Dag("w", timeout=3)  # type: ignore[call-arg]


def test_a_long_round_is_named_by_its_beginning() -> None:
    dag = Dag("w")
    tasks = [dag.task(f"t{number}") for number in range(30)]
    for before, after in itertools.pairwise(tasks):
        before >> after
    with pytest.raises(DefinitionError, match=r"t29 → t0 → t1 → .* → t9 → … → t29"):
        tasks[-1] >> tasks[0]


@pytest.mark.parametrize("join", [all_of, any_of])
def test_a_condition_of_nothing_is_refused(join: Callable[[], object]) -> None:
    with pytest.raises(DefinitionError, match="at least one condition"):
        join()


# -- what is refused when it is built --------------------------------------------------------------


def test_conditions_without_both_sides_are_refused_by_their_reference() -> None:
    dag = Dag("w")
    a, b = dag.task("a"), dag.task("b")
    dag.conditions("check", a.succeeded()).on_success(b)
    with pytest.raises(DefinitionError) as refused:
        dag.build()
    assert refused.value.message == (
        "DAG w: task check must have a relation labelled failure: else a failure would be forgotten"
    )
    assert [found.path for found in refused.value.violations] == ["$.tasks[2]"]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    dag = Dag("w")
    for number in range(7):
        dag.task(f"t{number}", retry_count=-1)
    with pytest.raises(DefinitionError) as refused:
        dag.build()
    assert "task t0.retryCount must" in refused.value.message
    assert refused.value.message.endswith("; and 2 more")
    assert len(refused.value.violations) == 7


def test_a_dag_without_tasks_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"DAG w: .*at least one task"):
        Dag("w").build()


def test_what_json_cannot_say_is_refused() -> None:
    dag = Dag("w")
    dag.task("a", inputs={"day": cast("Any", object())})
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        dag.build()


def test_who_only_works_loads_no_rules() -> None:
    """A worker needs the standard library and orjson."""
    program = "import sys, conductor_py.sdk; print('marshmallow' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout == "False\n"


# -- every graph -----------------------------------------------------------------------------------


def _written(graph: Graph, strategy: Any) -> Dag:
    """Write a graph that was drawn, as somebody would."""
    dag = Dag("w", failure_strategy=strategy)
    tasks: dict[str, DagTask] = {}
    for ref, kind in graph.kinds.items():
        rule = cast("Any", graph.rules[ref])
        if kind == "conditions":
            tasks[ref] = dag.conditions(ref, trigger_rule=rule)
        elif kind == "switch":
            tasks[ref] = dag.switch(ref, graph.choices[ref], trigger_rule=rule)
        else:
            policy: Json = {"name": ref, "retryDelaySeconds": 0, "retryCount": 1}
            tasks[ref] = dag.task(ref, trigger_rule=rule, definition=policy)
    for edge in graph.edges:
        before, after = tasks[edge.before], tasks[edge.after]
        if edge.label == "order":
            before.precedes(after)
        elif isinstance(before, ConditionsTask):
            (before.on_success if edge.label == "success" else before.on_failure)(after)
        elif isinstance(before, SwitchTask):
            before.case(edge.case, after) if edge.case else before.default(after)
        elif edge.label == "always":
            before.always(after)
        else:
            before >> after
    return dag


@given(st.integers(0, 2**32), st.sampled_from(["CONTINUE", "END"]))
def test_any_graph_is_written_as_it_would_be_by_hand(seed: int, strategy: str) -> None:
    chance = random.Random(seed)
    graph = drawn(chance)
    by_hand = definition(graph, chance, 1, strategy)
    built = _built(_written(graph, strategy))
    read = DefinitionReader().workflow
    mine, theirs = read(built), read(by_hand)
    edges = {each for each in theirs.relations if each.pre_task}
    assert {each for each in mine.relations if each.pre_task} == edges
    assert {task.task_reference_name: task for task in mine.tasks} == {
        task.task_reference_name: task for task in theirs.tasks
    }
    assert json.loads(json.dumps(built)) == built


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=40))
def test_a_relation_is_refused_exactly_when_it_would_close_a_cycle(
    pairs: list[tuple[int, int]],
) -> None:
    dag = Dag("w")
    tasks = [dag.task(str(number)) for number in range(8)]
    taken: set[tuple[int, int]] = set()
    for before, after in dict.fromkeys(pairs):
        if before in _behind(taken, after) | {after}:
            with pytest.raises(DefinitionError, match=r"cycle|itself"):
                tasks[before] >> tasks[after]
        else:
            tasks[before] >> tasks[after]
            taken.add((before, after))
    found = {
        (int(each["preTask"]), int(each["postTask"]))
        for each in _built(dag)["relations"]
        if "preTask" in each
    }
    assert found == taken


def _behind(edges: set[tuple[int, int]], start: int) -> set[int]:
    direct = {after for before, after in edges if before == start}
    return direct.union(*(_behind(edges, each) for each in direct))


# -- how it runs -----------------------------------------------------------------------------------


def _etl(limit: float = 0.1) -> Dag:
    dag = Dag("daily_etl")
    extract = dag.task("extract", inputs={"day": "${workflow.input.day}"}, retry_count=0)
    clean = dag.task("clean", inputs={"limit": limit}, retry_count=0)
    report, archive = dag.task("report", retry_count=0), dag.task("archive", retry_count=0)
    publish, alert = dag.task("publish", retry_count=0), dag.task("alert")
    extract >> clean >> [report, archive]
    check = dag.conditions("check", all_of(report.succeeded(), archive.succeeded()))
    check.on_success(publish)
    check.on_failure(alert)
    dag.cleanup("drop")
    return dag


def test_a_failure_that_conditions_look_at_takes_the_other_side_and_is_cleaned_up() -> None:
    engine = memory_engine()
    started = engine.start(_etl().build())
    engine.run("extract")
    engine.run("clean")
    run_failing(engine, "report")
    assert not engine.poll("drop")
    engine.run("archive")
    engine.run("alert")
    engine.run("drop")
    assert engine.statuses(started) == {
        "extract": "COMPLETED",
        "clean": "COMPLETED",
        "report": "FAILED",
        "archive": "COMPLETED",
        "check": "COMPLETED",
        "alert": "COMPLETED",
        "drop": "COMPLETED",
    }
    assert engine.workflow(started)["status"] == "COMPLETED"


def test_a_failure_that_stops_others_is_cleaned_up_and_stays_a_failure() -> None:
    engine = memory_engine()
    started = engine.start(_etl().build())
    engine.run("extract")
    run_failing(engine, "clean", "sour")
    engine.run("alert")
    engine.run("drop")
    found = engine.workflow(started)
    assert (found["status"], found["reasonForIncompletion"]) == (
        "FAILED",
        "Task clean (clean) failed: sour",
    )
    assert engine.statuses(started).keys() == {"extract", "clean", "check", "alert", "drop"}


def test_a_dag_goes_through_the_catalog_and_runs_in_the_version_it_was_started_in(
    stub: StubServer, client: Client
) -> None:
    bridge = Bridge(stub)
    with pytest.raises(NotFound, match="no workflow daily_etl in the catalog; save it first"):
        _etl().publish(client)
    assert _etl().save(client)["version"] == 1
    seen = _etl().publish(client)["etag"]
    first = _etl().start(client, input={"day": "2013-01-01"})

    changed = _etl(limit=0.5)
    with pytest.raises(Conflict):
        changed.save(client)
    head = changed.save(client, draft=True)
    assert (head["version"], head["publishedVersion"]) == (2, 1)
    # It was saved over what had been read: who was faster would have been told.
    assert stub.seen("PUT")[-1].headers["if-match"] == f'"{seen}"'
    with pytest.raises(Conflict):
        changed.publish(client, etag=1)
    assert changed.publish(client, version=2)["publishedVersion"] == 2
    second = changed.start(client, priority="HIGH")

    bridge.engine.poll("extract", count=2)
    assert [client.get_workflow(run)["workflowVersion"] for run in (first, second)] == [1, 2]


def test_a_start_may_name_tasks_to_begin_with(stub: StubServer, client: Client) -> None:
    Bridge(stub)
    dag = Dag("w")
    a, b, c = (dag.task(name) for name in "abc")
    a >> b >> c
    dag.save(client)
    dag.publish(client)
    started = dag.start(client, start_nodes=[b], depend_mode="TASK_ONLY", version=1)
    definition = cast("Json", client.get_workflow(started)["workflowDefinition"])
    assert [task["taskReferenceName"] for task in definition["tasks"]] == ["b"]


def test_a_task_of_the_catalog_runs_in_the_version_that_was_pinned(
    stub: StubServer, client: Client
) -> None:
    bridge = Bridge(stub)
    shared: Json = {"name": "read_table", "type": "SIMPLE", "inputParameters": {"table": "flights"}}
    head = client.save_version("tasks", shared)
    dag = Dag("w")
    code, version = str(head["code"]), 1
    flights = dag.shared("flights", code=code, version=version)
    flights >> dag.shared("planes", code=code, version=version, inputs={"table": "planes"})
    dag.save(client)
    dag.publish(client)
    client.save_version("tasks", {**shared, "name": "read_view"}, code=code, draft=True)
    dag.start(client)
    assert bridge.engine.run("read_table")["inputData"] == {"table": "flights"}
    assert bridge.engine.run("read_table")["inputData"] == {"table": "planes"}
