"""What workflows, DAGs and their tasks are told beside their order, by Python names and with types.

A name is that of the member in snake case, but for a few that say it shorter (``_SHORT``). What is
empty is left out, and a name that is not known is refused: a member that was misspelt would say
nothing to anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any, Final, Literal, TypedDict

from conductor_py.errors import DefinitionError
from conductor_py.model.definition_form import camel_case
from conductor_py.model.json import JsonObject

FailureStrategy = Literal["CONTINUE", "END"]
TriggerRule = Literal["ALL", "ANY_LIVE", "ALL_DONE"]
TaskPriority = Literal["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"]

_SHORT: Final = {
    "inputs": "inputParameters",
    "outputs": "outputParameters",
    "out": "outParameters",
    "priority": "taskPriority",
    "definition": "taskDefinition",
}


class WorkflowMembers(TypedDict, total=False):
    """What a workflow may be told. ``inputs`` are the names of its inputs, ``outputs`` what it
    gives when it has ended.
    """

    description: str
    parameters: JsonObject
    inputs: Sequence[str]
    input_template: JsonObject
    outputs: JsonObject
    variables: JsonObject
    failure_workflow: str
    failure_workflow_version: int
    timeout_seconds: int
    timeout_policy: Literal["TIME_OUT_WF", "ALERT_ONLY"]
    restartable: bool
    workflow_status_listener_enabled: bool
    workflow_status_listener_sink: str
    rate_limit_config: JsonObject
    input_schema: JsonObject
    output_schema: JsonObject
    enforce_schema: bool
    cache_config: JsonObject
    masked_fields: Sequence[str]
    metadata: JsonObject
    owner_email: str
    owner_app: str


class DagMembers(WorkflowMembers, total=False):
    """What a DAG may be told beside."""

    failure_strategy: FailureStrategy


class SharedTaskMembers(TypedDict, total=False):
    """What a task may be told. ``definition`` says how it is retried, timed and limited."""

    description: str
    inputs: JsonObject
    parameters: JsonObject
    out: Sequence[str]
    trigger_rule: TriggerRule
    priority: TaskPriority
    optional: bool
    prohibited: bool
    retry_count: int
    start_delay: int
    definition: JsonObject
    async_complete: bool
    rate_limited: bool
    dynamic_task_name_param: str
    script_expression: str
    sub_workflow_param: JsonObject
    sink: str
    loop_condition: str
    loop_over: Sequence[JsonObject]
    items: str
    evaluator_type: str
    expression: str
    on_state_change: JsonObject
    cache_config: JsonObject
    metadata: JsonObject


class TaskMembers(SharedTaskMembers, total=False):
    """What a workflow's own task may be told. ``code`` is the one that the catalog knows it by:
    with it a task may get another reference and still be the same.
    """

    code: str


def members(kind: type, given: Mapping[str, object], owner: str) -> dict[str, Any]:
    """Write what was given under its JSON names; raises ``DefinitionError`` for what ``kind`` does
    not have.
    """
    for name in given:
        if name not in kind.__annotations__:
            raise DefinitionError(f"{owner} has no member {name}")
    return {
        _SHORT.get(name) or camel_case(name): value
        for name, value in given.items()
        if value is not None and not (isinstance(value, Sized) and not len(value))
    }


def task_document(
    reference: str, document: Mapping[str, Any], given: Mapping[str, object], owner: str
) -> dict[str, Any]:
    """Write a task: what its kind says of it, its reference, and what was given; inputs come
    together. Raises ``DefinitionError``.
    """
    told = members(TaskMembers, given, f"task {reference} of the {owner}")
    inputs = {**document.get("inputParameters", {}), **told.pop("inputParameters", {})}
    whole = {**document, "taskReferenceName": reference, **told, "inputParameters": inputs}
    return whole if inputs else {name: whole[name] for name in whole if name != "inputParameters"}
