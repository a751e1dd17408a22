"""What relations are refused for, and where."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.errors import DefinitionError
from conductor_py.model.definition_form import workflow_from_json, workflow_to_json
from conductor_py.testing.definitions import (
    Json,
    conditions,
    dag,
    fork,
    join,
    simple,
    typed,
    workflow,
)
from conductor_py.wire.definition_reader import DefinitionReader


def _refused(definition: Json) -> dict[str, str]:
    try:
        DefinitionReader().workflow(definition)
    except DefinitionError as refused:
        return {found.path: found.message for found in refused.violations}
    return {}


def _tasks(names: str) -> list[Json]:
    return [simple(name) for name in names]


def _choice(ref: str = "s", **more: Any) -> Json:
    return typed("SWITCH", ref, evaluatorType="value-param", expression="case", **more)


@pytest.mark.parametrize(
    "definition",
    [
        dag("w", _tasks("ab"), "a > b"),
        dag("w", _tasks("ba"), "a > b"),
        dag("w", _tasks("ab")),
        dag("w", _tasks("abcd"), "a > c", "a > d", "b > d"),
        dag("w", [_choice(), *_tasks("ab")], "s -case:x> a", "s -case:y> a", "s -default> b"),
        dag("w", [conditions("c"), *_tasks("abd")], "a -test> c", "c -success> b", "c -failure> d"),
        dag("w", [conditions("c"), *_tasks("ab")], "a -test> c", "c -success> b", "c -failure> b"),
        dag("w", [simple("a", prohibited=True), simple("b", triggerRule="ALL_DONE")], "a > b"),
        dag("w", _tasks("ab"), "a > b", "a -always> b", failureStrategy="END"),
        dag("w", _tasks("abc"), "a -order> b", "a -order> c", "b > c"),
        dag(
            "w",
            [_choice(), conditions("c"), *_tasks("abd")],
            *("s -case:x> a", "a -test> c", "c -success> b", "c -failure> d"),
            *("s -order> d", "s -order> c", "c -order> b"),
        ),
    ],
)
def test_good_graphs_are_taken(definition: Json) -> None:
    assert _refused(definition) == {}


@pytest.mark.parametrize(
    ("definition", "path", "message"),
    [
        (dag("w", _tasks("a"), "a > x"), "$.relations[0].postTask", "must name a task"),
        (dag("w", _tasks("a"), "x > a"), "$.relations[0].preTask", "must name a task"),
        (dag("w", _tasks("a"), "a > a"), "$.relations[0].postTask", "must not be the task itself"),
        (
            dag("w", _tasks("abc"), "a > b", "b > c", "c > a"),
            "$.relations",
            "must not form a cycle: a → b → c → a",
        ),
        (
            dag("w", _tasks("ab"), "a > b", "a > b"),
            "$.relations[1]",
            "must be there once; it is relations[0] already",
        ),
        (dag("w", _tasks("ab"), "a -success> b"), "$.relations[0].label", "CONDITIONS only"),
        (dag("w", _tasks("ab"), "a -case:x> b"), "$.relations[0].label", "SWITCH only"),
        (dag("w", _tasks("ab"), "a -test> b"), "$.relations[0].label", "to a CONDITIONS task only"),
        (dag("w", _tasks("ab"), "a -order:x> b"), "$.relations[0].case", "the label case only"),
        (dag("w", _tasks("ab"), "a -order> b", "b > a"), "$.relations", "a → b → a"),
        (dag("w", [_choice(), *_tasks("b")], "s > b"), "$.relations[0].label", "case or default"),
        (dag("w", [_choice(), *_tasks("b")], "s -case> b"), "$.relations[0].case", "must be given"),
        (
            dag("w", [conditions("c"), *_tasks("ab")], "a -test> c", "c -success> b"),
            "$.tasks[0]",
            "must have a relation labelled failure: else a failure would be forgotten",
        ),
        (
            dag("w", [conditions("c"), *_tasks("ab")], "c -failure> a", "c -success> b"),
            "$.tasks[0]",
            "must have a relation labelled test",
        ),
        (
            dag("w", [conditions("c"), *_tasks("abd")], "a > c", "c -success> b", "c -failure> d"),
            "$.relations[0].label",
            "must be test: c is a CONDITIONS",
        ),
        (
            dag("w", [_choice(decisionCases={"x": _tasks("y")}), *_tasks("b")], "s -case:x> b"),
            "$.tasks[0].decisionCases",
            "relations labelled case",
        ),
        (
            dag("w", [_choice(retryCount=2), *_tasks("b")], "s -case:x> b"),
            "$.tasks[0].retryCount",
            "must be 0: a SWITCH is decided at once",
        ),
        (
            dag(
                "w",
                [conditions("c", taskDefinition={"name": "c", "retryCount": 3}), *_tasks("abd")],
                *("a -test> c", "c -success> b", "c -failure> d"),
            ),
            "$.tasks[0].taskDefinition.retryCount",
            "must be 0: a CONDITIONS is decided at once",
        ),
        (
            dag("w", [_choice(prohibited=True), *_tasks("b")], "s -case:x> b"),
            "$.tasks[0].prohibited",
            "nothing would be chosen",
        ),
        (
            dag("w", [fork("f", _tasks("x")), join("j", "x"), *_tasks("a")], "f > a"),
            "$.tasks[0].type",
            "a DAG forks and joins by its relations",
        ),
        (workflow("w", conditions("c")), "$.tasks[0].type", "without relations"),
        (workflow("w", simple("a", prohibited=True)), "$.tasks[0].prohibited", "without relations"),
        (
            workflow("w", simple("a", triggerRule="ALL_DONE")),
            "$.tasks[0].triggerRule",
            "without relations",
        ),
    ],
)
def test_relations_that_make_no_dag_are_refused(definition: Json, path: str, message: str) -> None:
    found = _refused(definition)
    assert path in found, found
    assert message in found[path]


def test_a_root_that_something_leads_to_is_refused() -> None:
    definition = dag("w", _tasks("ab"), "a > b")
    definition["relations"].append({"postTask": "b"})
    assert _refused(definition) == {"$.relations[1].postTask": "must not be a root: a leads to it"}


@pytest.mark.parametrize(
    ("condition", "path"),
    [
        ({"task": "x"}, ".task"),
        ({"task": "a", "status": "DONE"}, ".status"),
        ({"relation": "XOR", "items": [{"task": "a"}]}, ".relation"),
        ({"relation": "OR", "items": []}, ".items"),
        ({"items": [{"task": "a"}, {"items": ["no"]}]}, ".items[1].items[0]"),
    ],
)
def test_conditions_over_what_does_not_lead_to_them_are_refused(condition: Json, path: str) -> None:
    tasks = [conditions("c", condition), *_tasks("abd")]
    definition = dag("w", tasks, "a -test> c", "c -success> b", "c -failure> d")
    assert list(_refused(definition)) == [f"$.tasks[0].inputParameters.condition{path}"]


def test_clients_see_what_conductor_does_not_have_only_where_it_says_something() -> None:
    read = DefinitionReader().workflow
    plain = workflow_to_json(read(workflow("w", simple("a"))))
    assert not {"relations", "failureStrategy"} & plain.keys()
    assert not {"triggerRule", "prohibited", "taskPriority"} & plain["tasks"][0].keys()
    graph = dag("w", [simple("a", triggerRule="ALL_DONE")], failureStrategy="END")
    written = workflow_to_json(read(graph))
    assert (written["relations"], written["failureStrategy"]) == (
        [{"postTask": "a", "label": "ok"}],
        "END",
    )
    assert workflow_from_json(written) == read(graph)
