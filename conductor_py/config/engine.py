"""Settings of what the engine does when it decides: checks, locking, sizes, limits, scripts."""

from __future__ import annotations

from typing import Literal

from conductor_py.config.declaration import choice, count, duration, flag, layout, size
from conductor_py.model.codes import CodeLayout
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The engine: validation, locking, workers."""

    owner_email_mandatory: bool = flag(
        "conductor.app.ownerEmailMandatory",
        "false",
        "Refuse definitions without an ownerEmail.",
    )
    validate_names: bool = flag(
        "conductor.app.workflow.name-validation.enabled",
        "false",
        "Refuse workflow names with characters outside letters, digits, _ < > { } # - and blanks.",
    )
    fencing: bool = flag(
        "conductor.app.fencing.enabled",
        "true",
        "Refuse a decision that is made on a state which another server has changed meanwhile. "
        "Off is for experiments only: two servers may then overwrite each other.",
    )
    locking: bool = flag(
        "conductor.app.workflowExecutionLockEnabled",
        "true",
        "Lock an execution while it is decided. Fencing, not the lock, keeps it correct; the lock "
        "saves work. False is the same as the lock type none.",
    )
    lock_lease_ms: int = duration(
        "conductor.app.lockLeaseTime",
        "3s",
        "How long a server may decide on an execution before it has to renew its lock.",
        minimum=500,
    )
    lock_wait_ms: int = duration(
        "conductor.app.lockTimeToTry",
        "500ms",
        "How long whoever reports or operates waits for a lock; then its holder or a sweeper goes "
        "on. For locks other than redis, where nobody waits.",
    )
    active_worker_ms: int = duration(
        "conductor.app.activeWorkerLastPollTimeout",
        "10s",
        "A domain counts as served when one of its workers polled within this time.",
        unit="s",
    )
    worker_presence_ms: int = duration(
        "conductor.app.workerPresenceLease",
        "30s",
        "How long a worker is listed after its last sign of life.",
        unit="s",
        minimum=3_000,
    )
    worker_lost_limit: int = count(
        "conductor.app.workerLostLimit",
        "10",
        "How often an attempt may be offered again because its worker vanished; then it fails.",
    )
    task_log_limit: int = count(
        "conductor.app.taskExecLogSizeLimit",
        "10",
        "Log lines kept of one report on a task.",
    )
    queue_order: Literal["TASK_FIRST", "INSTANCE_FIRST"] = choice(
        "conductor.app.queueOrder",
        "TASK_FIRST",
        ("TASK_FIRST", "INSTANCE_FIRST"),
        "What goes first among tasks in one queue whose workflows have the same priority: the more "
        "urgent task, then who came first; or the task of the older execution.",
    )
    priority_ageing_ms: int = duration(
        "conductor.app.priorityAgeing",
        "0s",
        "The wait in a queue that counts as much as one of the 100 points of a workflow's "
        "priority, so that nothing waits for ever; 0 makes priorities absolute.",
        unit="s",
    )
    code_layout: CodeLayout = layout(
        "conductor.app.codeLayout",
        "41/6/6",
        "How many bits of a code tell its time in ms since 2021, the number of the worker that "
        "minted it, and its sequence number: at most 63 together, and at most 53 for readers that "
        "take numbers of JSON for doubles. Fixed by the first code of a namespace: another layout "
        "is refused then.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Payloads:
    """Payload sizes: above the soft limit a payload goes to payload storage, above the hard one
    it is refused.
    """

    workflow_input_soft_bytes: int = size(
        "conductor.app.workflowInputPayloadSizeThreshold",
        "5120KB",
        "Soft limit of a workflow's input.",
        unit="KB",
    )
    workflow_input_hard_bytes: int = size(
        "conductor.app.maxWorkflowInputPayloadSizeThreshold",
        "10240KB",
        "Hard limit of a workflow's input: the start is refused.",
        unit="KB",
    )
    workflow_output_soft_bytes: int = size(
        "conductor.app.workflowOutputPayloadSizeThreshold",
        "5120KB",
        "Soft limit of a workflow's output.",
        unit="KB",
    )
    workflow_output_hard_bytes: int = size(
        "conductor.app.maxWorkflowOutputPayloadSizeThreshold",
        "10240KB",
        "Hard limit of a workflow's output: the execution fails.",
        unit="KB",
    )
    task_input_soft_bytes: int = size(
        "conductor.app.taskInputPayloadSizeThreshold",
        "3072KB",
        "Soft limit of a task's input.",
        unit="KB",
    )
    task_input_hard_bytes: int = size(
        "conductor.app.maxTaskInputPayloadSizeThreshold",
        "10240KB",
        "Hard limit of a task's input: the task fails.",
        unit="KB",
    )
    task_output_soft_bytes: int = size(
        "conductor.app.taskOutputPayloadSizeThreshold",
        "3072KB",
        "Soft limit of a task's output.",
        unit="KB",
    )
    task_output_hard_bytes: int = size(
        "conductor.app.maxTaskOutputPayloadSizeThreshold",
        "10240KB",
        "Hard limit of a task's output: the task fails.",
        unit="KB",
    )
    workflow_variables_hard_bytes: int = size(
        "conductor.app.maxWorkflowVariablesPayloadSizeThreshold",
        "256KB",
        "Hard limit of a workflow's variables: the task that sets them fails.",
        unit="KB",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds that keep one user from costing all others."""

    tasks_per_definition: int = count(
        "conductor.limits.tasksPerDefinition",
        "10000",
        "Tasks that a workflow definition may have, those inside of others counted.",
        minimum=1,
    )
    json_depth: int = count(
        "conductor.limits.jsonDepth",
        "200",
        "How deep objects and lists of a request may be nested.",
        minimum=10,
        maximum=200,
    )
    json_values: int = count(
        "conductor.limits.jsonValues",
        "2000000",
        "Values that a request may have, and so any JSON from outside (answers to HTTP tasks, "
        "payloads, results of scripts) and any input or output, counted by its commas and brackets "
        "outside of strings; in memory each takes about 120 bytes.",
        minimum=10_000,
    )
    sub_workflow_depth: int = count(
        "conductor.limits.subWorkflowDepth",
        "100",
        "How deep workflows may start one another as sub-workflows.",
        minimum=1,
    )
    chain_length: int = count(
        "conductor.limits.chainLength",
        "100",
        "How many executions may start each other, by START_WORKFLOW or events, each within ten "
        "seconds of its own start.",
        minimum=1,
    )
    chain_executions: int = count(
        "conductor.limits.chainExecutions",
        "10000",
        "How many executions one may set going, by START_WORKFLOW, events or failure workflows, "
        "and by what it set going, each within ten seconds of the start of its starter (what the "
        "server was late not counted), in an hour. Each partition counts its own.",
        minimum=1,
    )
    nested_executions: int = count(
        "conductor.limits.nestedExecutions",
        "100000",
        "How many sub-workflows of its sub-workflows one execution may have, at any depth, each "
        "started within ten seconds of the start of its parent, in an hour.",
        minimum=1,
    )
    tasks_per_execution: int = count(
        "conductor.limits.tasksPerExecution",
        "200000",
        "Tasks that an execution may have, each try and each iteration counted, those not that a "
        "loop has forgotten (keepLastN); one with more fails.",
        minimum=10,
    )
    loop_iterations: int = count(
        "conductor.limits.loopIterations",
        "100000",
        "How often a DO_WHILE may turn; beyond it the loop fails.",
        minimum=1,
    )
    fork_branches: int = count(
        "conductor.limits.forkBranches",
        "100000",
        "Branches of one FORK_JOIN_DYNAMIC; with more the task fails.",
        minimum=1,
    )
    inbox_events: int = count(
        "conductor.limits.inboxEvents",
        "10000",
        "Results, signals and operations that may wait to be decided for one execution before it "
        "takes no more operations; those are answered 429.",
        minimum=10,
    )
    decision_attempts: int = count(
        "conductor.limits.decisionAttempts",
        "1000",
        "Attempts that one decision may start or change; more are done in further decisions.",
        minimum=10,
        maximum=5000,
    )
    poll_tasks: int = count(
        "conductor.limits.pollTasks",
        "1000",
        "Tasks that one poll may take.",
        minimum=1,
    )
    poll_bytes: int = size(
        "conductor.limits.pollSize",
        "4MB",
        "Size of the tasks that one poll may take; a larger task comes alone.",
        minimum=1 << 16,
    )
    search_results: int = count(
        "conductor.limits.searchResults",
        "5000",
        "Results that one page of a search may have; a request for more is refused.",
        minimum=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripts:
    """Scripts of users: INLINE, SWITCH and DO_WHILE in JavaScript, conditions of event handlers."""

    workers: int = count(
        "conductor.scripts.workers",
        "2",
        "Processes that run scripts for one server process; they start when first needed.",
        minimum=1,
    )
    long_workers: int = count(
        "conductor.scripts.longWorkers",
        "1",
        "Processes for scripts that take longer than 50 ms, of one sweeper process, beside one for "
        "those that have failed so before. They run behind everything "
        "else, that one only while nothing else does.",
        minimum=1,
    )
    time_limit_ms: int = duration(
        "conductor.scripts.timeLimit",
        "4s",
        "How much processor time one script may use; it may take eight times as long, and one that "
        "has failed before 128 times. CONDUCTOR_SCRIPT_MAX_EXECUTION_SECONDS sets it, too.",
        unit="s",
        minimum=10,
    )
    memory_bytes: int = size(
        "conductor.scripts.memoryLimit",
        "64MB",
        "How much memory one script may use.",
        minimum=1 << 20,
    )
    result_bytes: int = size(
        "conductor.scripts.resultLimit",
        "16MB",
        "How large the result of one script may be.",
        minimum=1 << 10,
    )
    queue_limit: int = count(
        "conductor.scripts.queueLimit",
        "128",
        "Callers that may wait for a script process.",
        minimum=1,
    )
    queue_wait_ms: int = duration(
        "conductor.scripts.queueWait",
        "10s",
        "How long a caller waits for a script process before the step is put off.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """Messages sent to executions, for PULL_WORKFLOW_MESSAGES."""

    enabled: bool = flag(
        "conductor.workflow-message-queue.enabled",
        "true",
        "Take messages for executions. False: PULL_WORKFLOW_MESSAGES is a worker task.",
    )
    queue_length: int = count(
        "conductor.workflow-message-queue.maxQueueSize",
        "1000",
        "Messages that may wait for one execution; further ones are refused.",
        minimum=1,
        maximum=10_000,
    )
    batch: int = count(
        "conductor.workflow-message-queue.maxBatchSize",
        "100",
        "Messages that one task may pull.",
        minimum=1,
        maximum=1_000,
    )
    ttl_ms: int = duration(
        "conductor.workflow-message-queue.ttlSeconds",
        "86400s",
        "How long messages wait that nobody pulls, from the last one on.",
        unit="s",
        minimum=1_000,
    )
    message_bytes: int = size(
        "conductor.workflow-message-queue.maxMessageSize",
        "256KB",
        "How large one message may be.",
        unit="KB",
        minimum=1,
    )
