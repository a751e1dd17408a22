"""The stored form of definitions."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.codec.definitions import (
    dump_task_def,
    dump_workflow,
    load_task_def,
    load_workflow,
    task_def_to_json,
    task_to_json,
    workflow_to_json,
)
from conductor_py.model.definition_form import camel_case
from conductor_py.model.definitions import (
    Relation,
    SubWorkflowParams,
    TaskDef,
    WorkflowDef,
    WorkflowTask,
)

_TEXT = st.text(max_size=5)
_COUNT = st.integers(0, 2**40)
_JSON = st.recursive(
    st.none() | st.booleans() | _COUNT | _TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
    max_leaves=4,
)
_OBJECT = st.dictionaries(_TEXT, _JSON, max_size=2)
_TEXTS = st.lists(_TEXT, max_size=2).map(tuple)


def _values(kind: type, special: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Any value of a definition's dataclass, each attribute given or left to its default."""
    by_annotation = {
        "str": _TEXT,
        "str | None": st.none() | _TEXT,
        "int": _COUNT,
        "int | None": st.none() | _COUNT,
        "int | str | None": st.none() | _COUNT | _TEXT,
        "bool": st.booleans(),
        "bool | None": st.none() | st.booleans(),
        "JsonObject": _OBJECT,
        "JsonObject | None": st.none() | _OBJECT,
        "tuple[str, ...]": _TEXTS,
        "Mapping[str, str] | None": st.none() | st.dictionaries(_TEXT, _TEXT, max_size=2),
        **special,
    }
    required = {"name": _TEXT, "task_reference_name": _TEXT}
    names = {field.name: by_annotation[str(field.type)] for field in fields(kind)}
    always = {name: required[name] for name in names if name in required and kind in _NAMED}
    sometimes = {name: values for name, values in names.items() if name not in always}
    return st.fixed_dictionaries(always, optional=sometimes).map(lambda given: kind(**given))


_NAMED = (TaskDef, WorkflowDef, WorkflowTask)
_TASK_DEFS = _values(TaskDef, {})


def _tasks(bodies: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    inline = st.builds(WorkflowDef, name=_TEXT, tasks=bodies)
    params = _values(SubWorkflowParams, {"WorkflowDef | str | None": st.none() | _TEXT | inline})
    return _values(
        WorkflowTask,
        {
            "tuple[WorkflowTask, ...]": bodies,
            "tuple[tuple[WorkflowTask, ...], ...]": st.lists(bodies, max_size=2).map(tuple),
            "Mapping[str, tuple[WorkflowTask, ...]]": st.dictionaries(_TEXT, bodies, max_size=2),
            "TaskDef | None": st.none() | _TASK_DEFS,
            "SubWorkflowParams | None": st.none() | params,
        },
    )


_LEAVES = _tasks(st.just(()))
_TASKS = _tasks(st.lists(_LEAVES, max_size=1).map(tuple))
_RELATIONS = st.builds(
    Relation, post_task=_TEXT, pre_task=st.none() | _TEXT, label=_TEXT, case=st.none() | _TEXT
)
_WORKFLOWS = _values(
    WorkflowDef,
    {
        "tuple[WorkflowTask, ...]": st.lists(_TASKS, max_size=2).map(tuple),
        "tuple[Relation, ...]": st.lists(_RELATIONS, max_size=2).map(tuple),
    },
)


@given(definition=_WORKFLOWS)
def test_workflow_definition_survives_the_stored_form(definition: WorkflowDef) -> None:
    assert load_workflow(dump_workflow(definition)) == definition
    assert load_workflow(_sparse(definition)) == definition


@given(definition=_TASK_DEFS)
def test_task_definition_survives_the_stored_form(definition: TaskDef) -> None:
    assert load_task_def(dump_task_def(definition)) == definition
    sparse = orjson.dumps(task_def_to_json(definition, sparse=True))
    assert load_task_def(sparse) == definition


def _sparse(definition: WorkflowDef) -> bytes:
    """As plans are stored."""
    return orjson.dumps(workflow_to_json(definition, sparse=True))


def test_sparse_form_holds_only_what_differs_from_the_defaults() -> None:
    task = WorkflowTask(name="resize", task_reference_name="a", optional=True)
    definition = WorkflowDef(name="thumbs", tasks=(task,))
    assert workflow_to_json(definition, sparse=True) == {
        "name": "thumbs",
        "tasks": [{"name": "resize", "taskReferenceName": "a", "optional": True}],
    }


@pytest.mark.parametrize("sparse", [False, True])
def test_members_that_conductor_lacks_are_written_where_they_say_something(sparse: bool) -> None:
    plain = WorkflowDef(name="w", tasks=(WorkflowTask(name="a", task_reference_name="a"),))
    own = {"relations", "failureStrategy", "triggerRule", "prohibited", "taskPriority"}
    written = workflow_to_json(plain, sparse=sparse)
    assert not own & (set(written) | set(written["tasks"][0]))
    task = WorkflowTask(
        name="a",
        task_reference_name="a",
        trigger_rule="ALL_DONE",
        prohibited=True,
        task_priority="HIGH",
    )
    dag = WorkflowDef(
        name="w",
        tasks=(task,),
        relations=(Relation(post_task="a"),),
        failure_strategy="END",
    )
    written = workflow_to_json(dag, sparse=sparse)
    assert own <= set(written) | set(written["tasks"][0])


def test_same_definition_gives_same_bytes_whatever_the_order_of_members() -> None:
    one = WorkflowDef(name="a", variables={"x": 1, "y": {"p": 1, "q": 2}})
    other = WorkflowDef(name="a", variables={"y": {"q": 2, "p": 1}, "x": 1})
    assert dump_workflow(one) == dump_workflow(other)


def test_full_form_of_a_task_is_what_conductor_emits() -> None:
    assert task_to_json(WorkflowTask(name="resize", task_reference_name="resize_1")) == {
        "name": "resize",
        "taskReferenceName": "resize_1",
        "type": "SIMPLE",
        "inputParameters": {},
        "decisionCases": {},
        "defaultCase": [],
        "forkTasks": [],
        "startDelay": 0,
        "joinOn": [],
        "optional": False,
        "defaultExclusiveJoinTask": [],
        "asyncComplete": False,
        "loopOver": [],
        "onStateChange": {},
        "permissive": False,
        "metadata": {},
    }


def test_reader_ignores_members_it_does_not_know() -> None:
    assert load_workflow(b'{"name":"a","fromTheFuture":{"x":1},"description":null}') == (
        WorkflowDef(name="a")
    )


@pytest.mark.parametrize(
    ("attribute", "name"),
    [
        ("execution_name_space", "executionNameSpace"),
        ("rate_limit_frequency_in_seconds", "rateLimitFrequencyInSeconds"),
        ("dynamic_fork_tasks_input_param_name", "dynamicForkTasksInputParamName"),
        ("sink", "sink"),
    ],
)
def test_json_names_are_those_of_conductor(attribute: str, name: str) -> None:
    assert camel_case(attribute) == name


@pytest.mark.parametrize("write", [workflow_to_json])
def test_nothing_is_written_for_what_is_not_set(write: Callable[[WorkflowDef], Any]) -> None:
    assert None not in write(WorkflowDef(name="a")).values()


def test_siblings_share_a_task_definition_that_is_stored_alike() -> None:
    alike = tuple(
        WorkflowTask(name="a", task_reference_name=ref, task_definition=TaskDef(name="a"))
        for ref in ("r1", "r2")
    )
    tasks = load_workflow(_sparse(WorkflowDef(name="w", tasks=alike))).tasks
    assert tasks == alike
    assert tasks[0].task_definition is tasks[1].task_definition


@pytest.mark.parametrize("nested", [False, True])
def test_siblings_whose_task_definitions_only_compare_equal_keep_their_own(nested: bool) -> None:
    def stored(value: object) -> dict[str, Any]:
        definition = {"name": "a", "inputTemplate": {"n": value}} if nested else {"name": value}
        return {"name": "a", "taskReferenceName": "r", "taskDefinition": definition}

    form: dict[str, Any] = {"name": "w", "tasks": [stored(value) for value in (1, True, 1.0)]}
    written = workflow_to_json(load_workflow(orjson.dumps(form)), sparse=True)
    assert orjson.loads(orjson.dumps(written))["tasks"] == form["tasks"]
    assert [repr(task["taskDefinition"]) for task in written["tasks"]] == [
        repr(task["taskDefinition"]) for task in form["tasks"]
    ]
