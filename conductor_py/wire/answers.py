"""The forms of answers: what the published schemas say, and what a contract test reads them with.

Answers are written by hand (``wire.execution``, ``wire.summaries``); nothing here is on their way.
"""

from __future__ import annotations

from conductor_py.model.status import TaskStatus, WorkflowStatus
from conductor_py.wire.checkpoint_answers import TASK_REQUEST
from conductor_py.wire.definitions import TASK_DEF, WORKFLOW_DEF, WORKFLOW_TASK
from conductor_py.wire.fields import (
    Choice,
    Flag,
    Kept,
    Many,
    One,
    Payload,
    Text,
    TextMap,
    Texts,
    Whole,
    WireSchema,
)
from conductor_py.wire.signal import STRATEGIES


class TaskForm(WireSchema):
    """One task of an execution."""

    task_id = Text(required=True)
    task_type = Text(required=True)
    task_def_name = Text(required=True)
    reference_task_name = Text(required=True)
    status = Choice(TaskStatus, required=True)
    workflow_instance_id = Text(required=True)
    workflow_type = Text()
    seq = Whole(required=True)
    retry_count = Whole()
    retried_task_id = Text()
    retried = Flag()
    executed = Flag()
    poll_count = Whole()
    iteration = Whole()
    loop_over_task = Flag()
    scheduled_time = Whole()
    start_time = Whole()
    end_time = Whole()
    update_time = Whole()
    first_start_time = Whole()
    queue_wait_time = Whole()
    input_data = Payload(required=True)
    output_data = Payload(required=True)
    external_input_payload_storage_path = Text()
    external_output_payload_storage_path = Text()
    reason_for_incompletion = Text()
    callback_after_seconds = Whole()
    callback_from_worker = Flag()
    response_timeout_seconds = Whole()
    start_delay_in_seconds = Whole()
    worker_id = Text()
    domain = Text()
    correlation_id = Text()
    workflow_priority = Whole()
    rate_limit_per_frequency = Whole()
    rate_limit_frequency_in_seconds = Whole()
    isolation_group_id = Text()
    execution_name_space = Text()
    sub_workflow_id = Text()
    subworkflow_changed = Flag()
    parent_task_id = Text()
    workflow_task = Kept(lambda: WORKFLOW_TASK)
    task_definition = Kept(lambda: TASK_DEF, allow_none=True)
    execution_metadata = Payload()
    runtime_metadata = TextMap()
    claim_token = Whole()
    lease_until = Whole()
    progress = Payload()
    stale = Flag()


class WorkflowForm(WireSchema):
    """One execution of a workflow."""

    workflow_id = Text(required=True)
    status = Choice(WorkflowStatus, required=True)
    workflow_name = Text(required=True)
    workflow_version = Whole(required=True)
    workflow_definition = Kept(lambda: WORKFLOW_DEF)
    owner_app = Text()
    create_time = Whole()
    start_time = Whole()
    update_time = Whole()
    end_time = Whole()
    last_retried_time = Whole()
    input = Payload(required=True)
    output = Payload(required=True)
    variables = Payload()
    tasks = Many(lambda: _TASK, required=True)
    task_to_domain = TextMap()
    priority = Whole()
    failed_reference_task_names = Texts()
    failed_task_names = Texts()
    failed_task_id = Text()
    reason_for_incompletion = Text()
    correlation_id = Text()
    parent_workflow_id = Text()
    parent_workflow_task_id = Text()
    event = Text()
    external_input_payload_storage_path = Text()
    external_output_payload_storage_path = Text()
    history = Many(lambda: _WORKFLOW)
    rate_limited = Flag()
    rate_limit_key = Text()
    idempotency_key = Text()
    created_by = Text()


class WorkflowStatusForm(WireSchema):
    """How an execution stands."""

    workflow_id = Text(required=True)
    correlation_id = Text()
    status = Choice(WorkflowStatus, required=True)
    output = Payload()
    variables = Payload()


class WorkflowSummaryForm(WireSchema):
    """One execution in the results of a search; instants are ISO 8601 texts."""

    workflow_type = Text(required=True)
    version = Whole(required=True)
    workflow_id = Text(required=True)
    correlation_id = Text()
    start_time = Text(required=True)
    update_time = Text()
    end_time = Text()
    status = Choice(WorkflowStatus, required=True)
    input = Text()
    output = Text()
    input_size = Whole()
    output_size = Whole()
    execution_time = Whole()
    reason_for_incompletion = Text()
    failed_reference_task_names = Text()
    failed_task_names = Texts()
    external_input_payload_storage_path = Text()
    external_output_payload_storage_path = Text()
    priority = Whole()
    task_to_domain = TextMap()
    parent_workflow_id = Text()
    classifier = Text()
    event = Text()
    created_by = Text()
    idempotency_key = Text()


class TaskSummaryForm(WireSchema):
    """One task in the results of a search; instants are ISO 8601 texts."""

    workflow_id = Text(required=True)
    workflow_type = Text(required=True)
    correlation_id = Text()
    scheduled_time = Text(required=True)
    start_time = Text(required=True)
    update_time = Text(required=True)
    end_time = Text(required=True)
    status = Choice(TaskStatus, required=True)
    reason_for_incompletion = Text()
    execution_time = Whole()
    queue_wait_time = Whole()
    task_def_name = Text()
    task_type = Text(required=True)
    reference_task_name = Text()
    input = Text()
    output = Text()
    task_id = Text(required=True)
    external_input_payload_storage_path = Text()
    external_output_payload_storage_path = Text()
    workflow_priority = Whole()
    domain = Text()


class PollDataForm(WireSchema):
    """Who polled a queue last, and when."""

    queue_name = Text(required=True)
    domain = Text()
    worker_id = Text()
    last_poll_time = Whole(required=True)


class WorkflowDefSummaryForm(WireSchema):
    """One version of a workflow definition."""

    name = Text(required=True)
    version = Whole(required=True)
    create_time = Whole()
    update_time = Whole()


class BulkResponseForm(WireSchema):
    """What became of each part of a request."""

    bulk_error_results = TextMap(required=True)
    bulk_successful_results = Texts(required=True)


class ExternalStorageLocationForm(WireSchema):
    """Where a payload is: a signed URL, unless there is no payload storage, and its path."""

    uri = Text()
    path = Text(required=True)


class LeaseForm(WireSchema):
    """Until when a claim is held, in milliseconds since the epoch, and what somebody asks of the
    task.
    """

    task_id = Text(required=True)
    lease_until = Whole(required=True)
    request = One(lambda: TASK_REQUEST)


class SignalResponseForm(WireSchema):
    """How an execution stood when it blocked or ended, or the task that blocks it: ``responseType``
    says which.
    """

    response_type = Choice(STRATEGIES, required=True)
    target_workflow_id = Text(required=True)
    target_workflow_status = Choice(WorkflowStatus, required=True)
    request_id = Text(required=True)
    signal_timeout = Flag()
    workflow_id = Text(required=True)
    correlation_id = Text()
    input = Payload(required=True)
    output = Payload(required=True)
    status = Text(required=True)
    priority = Whole()
    variables = Payload()
    tasks = Many(lambda: _TASK)
    created_by = Text()
    create_time = Whole()
    update_time = Whole()
    task_type = Text()
    task_id = Text()
    reference_task_name = Text()
    retry_count = Whole()
    task_def_name = Text()
    retried_task_id = Text()
    workflow_type = Text()
    reason_for_incompletion = Text()


class BulkWorkflowsForm(WireSchema):
    """Executions that were found by id, and why others were not."""

    bulk_error_results = TextMap(required=True)
    bulk_successful_results = Many(lambda: _WORKFLOW, required=True)


class ValidationErrorForm(WireSchema):
    """One thing that is wrong with a request."""

    path = Text(required=True)
    message = Text(required=True)
    invalid_value = Text()


class WarningForm(WireSchema):
    """One thing that is taken although it is hardly meant."""

    path = Text(required=True)
    message = Text(required=True)
    invalid_value = Text()


class AdviceForm(WireSchema):
    """What is said of a definition that is right."""

    warnings = Many(lambda: _WARNING, required=True)


class ErrorResponseForm(WireSchema):
    """What every error answers."""

    status = Whole(required=True)
    message = Text(required=True)
    retryable = Flag(required=True)
    instance = Text()
    code = Text()
    validation_errors = Many(lambda: _VALIDATION_ERROR)


_TASK: WireSchema = TaskForm()
_WORKFLOW: WireSchema = WorkflowForm()
_VALIDATION_ERROR: WireSchema = ValidationErrorForm()
_WARNING: WireSchema = WarningForm()

FORMS: tuple[WireSchema, ...] = (
    _WORKFLOW,
    _TASK,
    WorkflowStatusForm(),
    WorkflowSummaryForm(),
    TaskSummaryForm(),
    PollDataForm(),
    WorkflowDefSummaryForm(),
    BulkResponseForm(),
    ExternalStorageLocationForm(),
    LeaseForm(),
    SignalResponseForm(),
    BulkWorkflowsForm(),
    _VALIDATION_ERROR,
    _WARNING,
    AdviceForm(),
    ErrorResponseForm(),
)
"""The forms of this module, for the published schemas."""
