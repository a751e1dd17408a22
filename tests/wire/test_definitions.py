"""Definitions as users send them."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.errors import InvalidInput
from conductor_py.model.definition_form import task_def_to_json, workflow_to_json
from conductor_py.model.definitions import SubWorkflowParams, TaskDef, WorkflowDef, WorkflowTask
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.definitions import (
    SUB_WORKFLOW_PARAMS,
    TASK_DEF,
    WORKFLOW_DEF,
    WORKFLOW_TASK,
)
from conductor_py.wire.fields import WireSchema, load


@pytest.mark.parametrize(
    ("form", "model"),
    [
        (WORKFLOW_DEF, WorkflowDef),
        (WORKFLOW_TASK, WorkflowTask),
        (TASK_DEF, TaskDef),
        (SUB_WORKFLOW_PARAMS, SubWorkflowParams),
    ],
)
def test_form_has_every_attribute_of_the_model(form: WireSchema, model: type) -> None:
    assert set(form.fields) == {field.name for field in fields(model)}


_TASK: dict[str, Any] = {"name": "resize", "taskReferenceName": "a"}
_EVERYTHING: dict[str, Any] = {
    "name": "thumbs",
    "description": "d",
    "version": 3,
    "tasks": [
        {
            **_TASK,
            "type": "SWITCH",
            "evaluatorType": "value-param",
            "expression": "x",
            "decisionCases": {"one": [_TASK], "two": []},
            "defaultCase": [_TASK],
            "forkTasks": [[_TASK], []],
            "loopOver": [_TASK],
            "joinOn": ["a"],
            "subWorkflowParam": {
                "name": "child",
                "version": 2,
                "taskToDomain": {"*": "eu"},
                "workflowDefinition": {"name": "child", "tasks": [_TASK]},
                "priority": "${workflow.input.p}",
            },
            "taskDefinition": {"name": "resize", "retryCount": 0, "inputKeys": ["k"]},
            "onStateChange": {"onScheduled": [{"type": "t", "payload": {"a": [1, None]}}]},
            "cacheConfig": {"key": "k", "ttlInSecond": 5},
            "inputParameters": {"a": {"b": [None, "${x}"]}},
            "optional": True,
            "startDelay": 5,
        }
    ],
    "inputParameters": ["url"],
    "outputParameters": {"o": None},
    "rateLimitConfig": {"rateLimitKey": "k", "concurrentExecLimit": 3, "policy": "QUEUE"},
    "inputSchema": {"name": "s", "version": 1, "type": "JSON", "data": {"type": "object"}},
    "maskedFields": ["password"],
    "metadata": {"a": 1},
    "timeoutPolicy": "TIME_OUT_WF",
    "timeoutSeconds": 60,
}


def test_definition_is_loaded_into_the_model_and_loses_nothing() -> None:
    assert workflow_to_json(load(WORKFLOW_DEF, _EVERYTHING), sparse=True) == _EVERYTHING


def test_what_is_written_is_read_the_same() -> None:
    once = load(WORKFLOW_DEF, _EVERYTHING)
    assert load(WORKFLOW_DEF, workflow_to_json(once)) == once


@pytest.mark.parametrize(
    ("member", "sent", "loaded"),
    [
        ("retryCount", "7", 7),
        ("retryCount", 2.9, 2),
        ("retryCount", "", 0),
        ("retryCount", None, 3),
        ("description", 5, "5"),
        ("description", True, "true"),
        ("enforceSchema", "TRUE", True),
        ("enforceSchema", 0, False),
        ("inputKeys", [1, "b"], ["1", "b"]),
        ("unknown", {"x": 1}, None),
    ],
)
def test_harmless_mistakes_are_forgiven(member: str, sent: Any, loaded: Any) -> None:
    definition = load(TASK_DEF, {"name": "resize", member: sent})
    assert task_def_to_json(definition).get(member) == loaded


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ({"name": []}, "$.name"),
        ({"name": "a", "tasks": "x"}, "$.tasks"),
        ({"name": "a", "tasks": [5]}, "$.tasks[0]"),
        ({"name": "a", "tasks": [{"name": "b"}]}, "$.tasks[0].taskReferenceName"),
        ({"name": "a", "tasks": [{**_TASK, "type": None}]}, "$.tasks[0].type"),
        ({"name": "a", "tasks": [{**_TASK, "startDelay": -1}]}, "$.tasks[0].startDelay"),
        ({"name": "a", "tasks": [{**_TASK, "joinOn": "a"}]}, "$.tasks[0].joinOn"),
        (
            {"name": "a", "tasks": [{**_TASK, "decisionCases": {"x y": [_TASK, {}]}}]},
            "$.tasks[0].decisionCases['x y'][1].name",
        ),
        (
            {"name": "a", "tasks": [{**_TASK, "forkTasks": [[_TASK], [3]]}]},
            "$.tasks[0].forkTasks[1][0]",
        ),
        (
            {"name": "a", "tasks": [{**_TASK, "subWorkflowParam": {"workflowDefinition": "x"}}]},
            "$.tasks[0].subWorkflowParam.workflowDefinition",
        ),
        (
            {"name": "a", "tasks": [{**_TASK, "onStateChange": {"onScheduled": [{}]}}]},
            "$.tasks[0].onStateChange['onScheduled'][0].type",
        ),
        ({"name": "a", "timeoutPolicy": "time_out_wf"}, "$.timeoutPolicy"),
        ({"name": "a", "version": 1e300}, "$.version"),
        ({"name": "a", "version": "one"}, "$.version"),
        ({"name": "a", "variables": []}, "$.variables"),
    ],
)
def test_wrong_types_are_named_with_their_path(sent: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(WORKFLOW_DEF, sent)
    assert path in [found.path for found in refused.value.violations]


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
_MEMBERS = st.sampled_from([str(field.data_key) for field in WORKFLOW_TASK.fields.values()])


@given(task=st.dictionaries(_MEMBERS, _JSON, max_size=6), head=st.dictionaries(_MEMBERS, _JSON))
def test_any_json_is_loaded_or_refused(task: dict[str, Any], head: dict[str, Any]) -> None:
    reader = DefinitionReader()
    for body in ({**head, "name": "a", "tasks": [task]}, task):
        try:
            read = reader.workflow(body)
        except InvalidInput as refused:
            assert refused.violations  # noqa: PT017 - either outcome is right
        else:
            assert isinstance(read, WorkflowDef)


def test_inline_task_definition_takes_the_name_of_its_task() -> None:
    task = load(WORKFLOW_TASK, {**_TASK, "taskDefinition": {"retryCount": 1}})
    assert task.task_definition == TaskDef(name="resize", retry_count=1)


def test_old_name_of_the_type_is_understood() -> None:
    assert load(WORKFLOW_TASK, {**_TASK, "workflowTaskType": "HTTP"}).type == "HTTP"


@pytest.mark.parametrize(("timeout", "response"), [(0, 3600), (60, 60), (7200, 3600)])
def test_response_timeout_that_is_left_out_fits_the_timeout(timeout: int, response: int) -> None:
    definition = DefinitionReader().task_def({"name": "a", "timeoutSeconds": timeout})
    assert definition.response_timeout_seconds == response


def test_deeply_nested_definition_is_refused_not_a_crash() -> None:
    body: dict[str, Any] = {**_TASK, "type": "DO_WHILE"}
    for _ in range(95):
        body = {**_TASK, "type": "DO_WHILE", "loopOver": [body]}
    with pytest.raises(InvalidInput):
        DefinitionReader().workflow({"name": "a", "tasks": [body]})
