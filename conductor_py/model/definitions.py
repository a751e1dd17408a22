"""Definitions as users write them: workflows, the tasks in them, task definitions.

Attribute names are Conductor's JSON names in snake case, one to one (``codec.definitions`` derives
the JSON names), and defaults are Conductor's. Seconds stay seconds here because they are the user's
own words. Unset optional attributes are ``None`` and are left out of the stored form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass, field

_EMPTY: Mapping[str, JsonValue] = MappingProxyType({})
_NO_CASES: Mapping[str, tuple[WorkflowTask, ...]] = MappingProxyType({})


def _empty() -> JsonObject:
    return _EMPTY


def _no_cases() -> Mapping[str, tuple[WorkflowTask, ...]]:
    return _NO_CASES


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDef:
    """How attempts of a task are retried, timed and limited (Conductor: TaskDef)."""

    name: str
    description: str | None = None
    retry_count: int = 3
    retry_logic: str = "FIXED"
    retry_delay_seconds: int = 60
    backoff_scale_factor: int = 1
    max_retry_delay_seconds: int = 0
    backoff_jitter_ms: int = 0
    timeout_seconds: int = 0
    timeout_policy: str = "TIME_OUT_WF"
    response_timeout_seconds: int = 3600
    poll_timeout_seconds: int | None = None
    total_timeout_seconds: int = 0
    concurrent_exec_limit: int | None = None
    rate_limit_per_frequency: int = 0
    rate_limit_frequency_in_seconds: int = 1
    input_keys: tuple[str, ...] = ()
    output_keys: tuple[str, ...] = ()
    input_template: JsonObject = field(default_factory=_empty)
    runtime_metadata: tuple[str, ...] = ()
    isolation_group_id: str | None = None
    execution_name_space: str | None = None
    owner_email: str | None = None
    base_type: str | None = None
    task_status_listener_enabled: bool = True
    input_schema: JsonObject | None = None
    output_schema: JsonObject | None = None
    enforce_schema: bool = False
    owner_app: str | None = None
    create_time: int = 0
    update_time: int = 0
    created_by: str | None = None
    updated_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubWorkflowParams:
    """What a SUB_WORKFLOW task starts. ``workflow_definition`` is an inline definition or a
    ``${…}`` that yields one; without ``business_time`` the child is about the instant that its
    parent is about.
    """

    name: str | None = None
    version: int | str | None = None
    task_to_domain: Mapping[str, str] | None = None
    workflow_definition: WorkflowDef | str | None = None
    idempotency_key: str | None = None
    idempotency_strategy: str | None = None
    priority: int | str | None = None
    business_time: int | str | None = None
    zone_id: str | None = None

    @property
    def resolved(self) -> JsonObject:
        """What may hold expressions, by JSON name; an inline definition has its own."""
        inline = self.workflow_definition
        return {
            "name": self.name,
            "version": self.version,
            "taskToDomain": self.task_to_domain,
            "workflowDefinition": inline if isinstance(inline, str) else None,
            "idempotencyKey": self.idempotency_key,
            "priority": self.priority,
            "businessTime": self.business_time,
            "zoneId": self.zone_id,
        }


CONTROL_TYPES: Final = frozenset(
    {
        *("CONDITIONS", "DECISION", "SWITCH", "FORK", "FORK_JOIN", "FORK_JOIN_DYNAMIC"),
        *("JOIN", "EXCLUSIVE_JOIN", "DO_WHILE", "TERMINATE"),
    }
)
"""Types of the tasks that lead an execution on its way (a fork is shown as ``FORK``). A task that a
worker takes has its own name for its type, so that none of these can be one.
"""

ORDER: Final = "order"
"""The label of a relation that says when, and nothing else: ``post_task`` waits for the end of
``pre_task`` and does not depend on it. It leads to nothing, in recovery as in inputs.
"""

LABELS: Final = ("ok", "test", "always", "success", "failure", "case", "default", ORDER)
"""What the labels of relations may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge of a DAG: ``post_task`` comes after ``pre_task``, both references of tasks.

    ``label`` says what passes along it (``decider.gates``); ``case`` is the value of a SWITCH that
    an edge labelled ``case`` is for. Without ``pre_task`` it only says that the task is a root.
    """

    post_task: str
    pre_task: str | None = None
    label: str = "ok"
    case: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowTask:
    """One task of a workflow definition (Conductor: WorkflowTask).

    ``parameters`` are its own, ``out_parameters`` name those of its output that tasks behind it
    find (``decider.parameters``).
    """

    name: str
    task_reference_name: str
    description: str | None = None
    type: str = "SIMPLE"
    input_parameters: JsonObject = field(default_factory=_empty)
    dynamic_task_name_param: str | None = None
    case_value_param: str | None = None
    case_expression: str | None = None
    script_expression: str | None = None
    decision_cases: Mapping[str, tuple[WorkflowTask, ...]] = field(default_factory=_no_cases)
    default_case: tuple[WorkflowTask, ...] = ()
    dynamic_fork_join_tasks_param: str | None = None
    dynamic_fork_tasks_param: str | None = None
    dynamic_fork_tasks_input_param_name: str | None = None
    fork_tasks: tuple[tuple[WorkflowTask, ...], ...] = ()
    start_delay: int = 0
    sub_workflow_param: SubWorkflowParams | None = None
    join_on: tuple[str, ...] = ()
    default_exclusive_join_task: tuple[str, ...] = ()
    join_status: str | None = None
    join_mode: str | None = None
    sink: str | None = None
    optional: bool = False
    permissive: bool = False
    task_definition: TaskDef | None = None
    rate_limited: bool | None = None
    async_complete: bool = False
    loop_condition: str | None = None
    loop_over: tuple[WorkflowTask, ...] = ()
    items: str | None = None
    retry_count: int | None = None
    evaluator_type: str | None = None
    expression: str | None = None
    on_state_change: JsonObject = field(default_factory=_empty)
    cache_config: JsonObject | None = None
    metadata: JsonObject = field(default_factory=_empty)
    trigger_rule: str = "ALL"
    prohibited: bool = False
    task_priority: str | None = None
    parameters: JsonObject = field(default_factory=_empty)
    out_parameters: tuple[str, ...] = ()

    @property
    def read_beside_input(self) -> JsonObject:
        """What may hold expressions besides the input, by JSON name."""
        child = self.sub_workflow_param
        return {
            "sink": self.sink,
            "items": self.items,
            "onStateChange": self.on_state_change,
            "cacheConfig": self.cache_config,
            "subWorkflowParam": None if child is None else child.resolved,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDef:
    """A workflow definition (Conductor: WorkflowDef).

    With ``relations`` its tasks are the nodes of a DAG, in any order; ``failure_strategy`` says
    whether a failure that nobody handles ends it at once (``END``) or when everything else is done.
    ``parameters`` are values that all its tasks find (``decider.parameters``).
    """

    name: str
    description: str | None = None
    version: int = 1
    tasks: tuple[WorkflowTask, ...] = ()
    input_parameters: tuple[str, ...] = ()
    output_parameters: JsonObject = field(default_factory=_empty)
    failure_workflow: str | None = None
    failure_workflow_version: int | None = None
    schema_version: int = 2
    restartable: bool = True
    workflow_status_listener_enabled: bool = False
    workflow_status_listener_sink: str | None = None
    owner_email: str | None = None
    timeout_policy: str = "ALERT_ONLY"
    timeout_seconds: int = 0
    variables: JsonObject = field(default_factory=_empty)
    input_template: JsonObject = field(default_factory=_empty)
    rate_limit_config: JsonObject | None = None
    input_schema: JsonObject | None = None
    output_schema: JsonObject | None = None
    enforce_schema: bool = True
    metadata: JsonObject = field(default_factory=_empty)
    cache_config: JsonObject | None = None
    masked_fields: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    failure_strategy: str = "CONTINUE"
    parameters: JsonObject = field(default_factory=_empty)
    owner_app: str | None = None
    create_time: int = 0
    update_time: int = 0
    created_by: str | None = None
    updated_by: str | None = None


def children_of(task: WorkflowTask) -> tuple[tuple[str, tuple[WorkflowTask, ...]], ...]:
    """List the task lists nested in a task, with the JSON path of each relative to the task.

    Sub-workflow bodies are not part of the tree: they are executions of their own.
    """
    match task.type:
        case "SWITCH" | "DECISION":
            cases = [
                (f".decisionCases['{name}']", body) for name, body in task.decision_cases.items()
            ]
            return (*cases, (".defaultCase", task.default_case))
        case "FORK_JOIN":
            return tuple((f".forkTasks[{i}]", branch) for i, branch in enumerate(task.fork_tasks))
        case "DO_WHILE":
            return ((".loopOver", task.loop_over),)
        case _:
            return ()


def tasks_of(definition: WorkflowDef, path: str = "$") -> Iterator[tuple[str, WorkflowTask]]:
    """List the tasks of a definition with their JSON paths, each before those inside it."""
    yield from _below(definition.tasks, f"{path}.tasks")


def _below(tasks: tuple[WorkflowTask, ...], path: str) -> Iterator[tuple[str, WorkflowTask]]:
    for at, task in enumerate(tasks):
        here = f"{path}[{at}]"
        yield here, task
        for place, body in children_of(task):
            yield from _below(body, here + place)


def inline_definitions(
    definition: WorkflowDef, path: str = "$"
) -> Iterator[tuple[str, WorkflowDef]]:
    """List a definition and those that its SUB_WORKFLOWs bring with them, with JSON paths."""
    yield path, definition
    for place, task in tasks_of(definition, path):
        params = task.sub_workflow_param
        if params is not None and isinstance(params.workflow_definition, WorkflowDef):
            inner = f"{place}.subWorkflowParam.workflowDefinition"
            yield from inline_definitions(params.workflow_definition, inner)
