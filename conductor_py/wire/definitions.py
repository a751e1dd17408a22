"""Definitions as users send them: the forms, loaded straight into the model.

A form checks types, names of enums and what must be given; whether the definition makes sense is
the matter of ``wire.validation``. Two rules are more lenient than Conductor's: a task definition
that leaves its response timeout out gets the timeout when that is shorter than the default, and an
inline task definition may leave out its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from marshmallow import ValidationError, pre_load

from conductor_py.model.definitions import (
    LABELS,
    Relation,
    SubWorkflowParams,
    TaskDef,
    WorkflowDef,
    WorkflowTask,
)
from conductor_py.model.priorities import NAMES
from conductor_py.wire.business_times import BusinessTime
from conductor_py.wire.fields import (
    TEN_YEARS_S,
    Cases,
    Choice,
    Flag,
    Kept,
    Lists,
    Many,
    NumberOrText,
    One,
    Payload,
    Text,
    TextMap,
    Texts,
    Whole,
    WireSchema,
)
from conductor_py.wire.priorities import PriorityOrText

_DEFAULT_RESPONSE_TIMEOUT_S = 3600


class SchemaDefForm(WireSchema):
    """A JSON Schema that input or output must satisfy."""

    name = Text()
    version = Whole()
    type = Choice(("JSON", "AVRO", "PROTOBUF"))
    data = Payload()
    external_ref = Text()


class RateLimitConfigForm(WireSchema):
    """How many executions with the same key may run at once."""

    rate_limit_key = Text()
    concurrent_exec_limit = Whole(least=0)
    policy = Choice(("QUEUE", "REJECT"))


class CacheConfigForm(WireSchema):
    """How long, and under which key, an output is used again."""

    key = Text()
    ttl_in_second = Whole(least=0)


class StateChangeEventForm(WireSchema):
    """An event that a change of a task's status publishes."""

    type = Text(required=True)
    payload = Payload()


_SCHEMA_DEF = SchemaDefForm()
_RATE_LIMIT_CONFIG = RateLimitConfigForm()
_CACHE_CONFIG = CacheConfigForm()
_STATE_CHANGE_EVENT = StateChangeEventForm()


class _StateChanges(Cases):
    def load(self, value: Any) -> Any:  # noqa: ANN401
        super().load(value)
        return value


def _task_def(**members: Any) -> TaskDef:  # noqa: ANN401
    timeout = members.get("timeout_seconds", 0)
    if 0 < timeout < _DEFAULT_RESPONSE_TIMEOUT_S:
        members.setdefault("response_timeout_seconds", timeout)
    return TaskDef(**members)


class TaskDefForm(WireSchema):
    """How attempts of a task are retried, timed and limited."""

    model = staticmethod(_task_def)

    name = Text(required=True)
    description = Text()
    retry_count = Whole(least=0)
    retry_logic = Choice(("FIXED", "EXPONENTIAL_BACKOFF", "LINEAR_BACKOFF"))
    retry_delay_seconds = Whole(least=0, most=TEN_YEARS_S)
    backoff_scale_factor = Whole(least=0)
    max_retry_delay_seconds = Whole(least=0, most=TEN_YEARS_S)
    backoff_jitter_ms = Whole(least=0, most=TEN_YEARS_S * 1000)
    timeout_seconds = Whole(most=TEN_YEARS_S)
    timeout_policy = Choice(("RETRY", "TIME_OUT_WF", "ALERT_ONLY"))
    response_timeout_seconds = Whole(least=0, most=TEN_YEARS_S)
    poll_timeout_seconds = Whole(least=0, most=TEN_YEARS_S)
    total_timeout_seconds = Whole(least=0, most=TEN_YEARS_S)
    concurrent_exec_limit = Whole(least=0)
    rate_limit_per_frequency = Whole(least=0)
    rate_limit_frequency_in_seconds = Whole(least=0, most=TEN_YEARS_S)
    input_keys = Texts()
    output_keys = Texts()
    input_template = Payload()
    runtime_metadata = Texts()
    isolation_group_id = Text()
    execution_name_space = Text()
    owner_email = Text()
    base_type = Text()
    task_status_listener_enabled = Flag()
    input_schema = Kept(lambda: _SCHEMA_DEF)
    output_schema = Kept(lambda: _SCHEMA_DEF)
    enforce_schema = Flag()
    owner_app = Text()
    create_time = Whole()
    update_time = Whole()
    created_by = Text()
    updated_by = Text()


class InlineTaskDefForm(TaskDefForm):
    """A task definition within a workflow definition; without a name it has that of its task."""

    name = Text()


class _InlineDefinition(One):
    def load(self, value: Any) -> WorkflowDef | str:  # noqa: ANN401
        if isinstance(value, str):
            if value.startswith("${") and value.endswith("}"):
                return value
            message = "must be a definition or an expression ${…} that yields one"
            raise ValueError(message)
        loaded: WorkflowDef = super().load(value)
        return loaded

    def json_schema(self) -> dict[str, Any]:
        return {"oneOf": [{"$ref": "#/components/schemas/WorkflowDef"}, {"type": "string"}]}


class SubWorkflowParamsForm(WireSchema):
    """What a SUB_WORKFLOW task starts."""

    model = SubWorkflowParams

    name = Text()
    version = NumberOrText()
    task_to_domain = TextMap()
    workflow_definition = _InlineDefinition(lambda: WORKFLOW_DEF)
    idempotency_key = Text()
    idempotency_strategy = Choice(("FAIL", "RETURN_EXISTING", "FAIL_ON_RUNNING"))
    priority = PriorityOrText()
    business_time = BusinessTime()
    zone_id = Text()


class WorkflowTaskForm(WireSchema):
    """One task of a workflow definition."""

    model: Callable[..., Any] | None = WorkflowTask

    name = Text(required=True)
    task_reference_name = Text(required=True)
    description = Text()
    type = Text()
    input_parameters = Payload()
    dynamic_task_name_param = Text()
    case_value_param = Text()
    case_expression = Text()
    script_expression = Text()
    decision_cases = Cases(lambda: WORKFLOW_TASK)
    default_case = Many(lambda: WORKFLOW_TASK)
    dynamic_fork_join_tasks_param = Text()
    dynamic_fork_tasks_param = Text()
    dynamic_fork_tasks_input_param_name = Text()
    fork_tasks = Lists(lambda: WORKFLOW_TASK)
    start_delay = Whole(least=0, most=TEN_YEARS_S)
    sub_workflow_param = One(lambda: SUB_WORKFLOW_PARAMS)
    join_on = Texts()
    default_exclusive_join_task = Texts()
    join_status = Text()
    join_mode = Choice(("SYNC", "ASYNC"))
    sink = Text()
    optional = Flag()
    permissive = Flag()
    task_definition = One(lambda: INLINE_TASK_DEF)
    rate_limited = Flag()
    async_complete = Flag()
    loop_condition = Text()
    loop_over = Many(lambda: WORKFLOW_TASK)
    items = Text()
    retry_count = Whole(least=0)
    evaluator_type = Text()
    expression = Text()
    on_state_change = _StateChanges(lambda: _STATE_CHANGE_EVENT)
    cache_config = Kept(lambda: _CACHE_CONFIG)
    metadata = Payload()
    trigger_rule = Choice(("ALL", "ANY_LIVE", "ALL_DONE"))
    prohibited = Flag()
    task_priority = Choice(NAMES)
    parameters = Payload()
    out_parameters = Texts()

    @pre_load
    def _without_nulls(self, data: Any, **_: Any) -> Any:  # noqa: ANN401
        if not isinstance(data, dict):
            return data
        given = {name: value for name, value in data.items() if value is not None}
        if "workflowTaskType" in given:
            given.setdefault("type", given["workflowTaskType"])
        if "type" in data and "type" not in given:
            raise ValidationError({"type": ["must not be null"]})
        inline = given.get("taskDefinition")
        if isinstance(inline, dict) and inline.get("name") is None:
            given["taskDefinition"] = inline | {"name": given.get("name", "")}
        return given


class RelationForm(WireSchema):
    """An edge of a DAG, from the reference ``preTask`` to the reference ``postTask``."""

    model = Relation

    pre_task = Text()
    post_task = Text(required=True)
    label = Choice(LABELS)
    case = Text()


class WorkflowDefForm(WireSchema):
    """A workflow definition."""

    model: Callable[..., Any] | None = WorkflowDef

    name = Text(required=True)
    description = Text()
    version = Whole()
    tasks = Many(lambda: WORKFLOW_TASK)
    input_parameters = Texts()
    output_parameters = Payload()
    failure_workflow = Text()
    failure_workflow_version = Whole()
    schema_version = Whole()
    restartable = Flag()
    workflow_status_listener_enabled = Flag()
    workflow_status_listener_sink = Text()
    owner_email = Text()
    timeout_policy = Choice(("TIME_OUT_WF", "ALERT_ONLY"))
    timeout_seconds = Whole(least=0, most=TEN_YEARS_S)
    variables = Payload()
    input_template = Payload()
    rate_limit_config = Kept(lambda: _RATE_LIMIT_CONFIG)
    input_schema = Kept(lambda: _SCHEMA_DEF)
    output_schema = Kept(lambda: _SCHEMA_DEF)
    enforce_schema = Flag()
    metadata = Payload()
    cache_config = Kept(lambda: _CACHE_CONFIG)
    masked_fields = Texts()
    relations = Many(lambda: RELATION)
    failure_strategy = Choice(("CONTINUE", "END"))
    parameters = Payload()
    owner_app = Text()
    create_time = Whole()
    update_time = Whole()
    created_by = Text()
    updated_by = Text()


TASK_DEF: WireSchema = TaskDefForm()
INLINE_TASK_DEF: WireSchema = InlineTaskDefForm()
SUB_WORKFLOW_PARAMS: WireSchema = SubWorkflowParamsForm()
WORKFLOW_TASK: WireSchema = WorkflowTaskForm()
RELATION: WireSchema = RelationForm()
WORKFLOW_DEF: WireSchema = WorkflowDefForm()
