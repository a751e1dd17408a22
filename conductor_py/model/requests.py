"""What callers ask of the engine: requests as values, already checked for form by the boundary."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from conductor_py.model.chains import NO_CHAIN, Chain
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus
from conductor_py.records import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentTask:
    """The task that waits for an execution: of which execution and number, how deep that is nested,
    its reference on the wire, and the rate limits it is admitted under.
    """

    execution: str
    seq: int
    depth: int
    ref: str
    admitted_under: str = ""


TASK_POST, TASK_ONLY, TASK_PRE = "TASK_POST", "TASK_ONLY", "TASK_PRE"
"""What is run with a task of a DAG: all behind it, nothing else, all before it."""
FORCED = "FORCED"
"""The scope of a generation that begins because a failed task counts as done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """Start a workflow: a registered one by name (latest version unless given) or the inline
    ``definition``. Of a DAG only ``start_nodes``, when given, with what ``depend_mode`` says.
    ``business_at`` is the instant that the execution is about (epoch ms, 0: that of its start),
    ``zone`` the zone by whose calendar (empty: the deployment's). ``chain`` is its place among
    executions that start each other quickly; ``own`` when no one outside has asked for it.
    """

    name: str
    version: int | None = None
    definition: WorkflowDef | None = None
    input: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    external_input: str | None = None
    correlation_id: str | None = None
    priority: int = 0
    task_to_domain: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    idempotency_key: str | None = None
    idempotency_strategy: str = "FAIL"
    created_by: str | None = None
    event: str | None = None
    parent: ParentTask | None = None
    start_nodes: tuple[str, ...] = ()
    depend_mode: str = TASK_POST
    business_at: int = 0
    zone: str = ""
    chain: Chain = NO_CHAIN
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLog:
    """One line of a task's log; ``created_at`` epoch ms."""

    line: str
    created_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What a worker reports. ``claim`` 0: the worker named no claim token (the official SDKs)."""

    workflow_id: str
    task_id: str
    status: TaskStatus
    output: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    external_output: str | None = None
    claim: int = 0
    worker: str = ""
    reason: str | None = None
    callback_after_s: int = 0
    logs: tuple[TaskLog, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StateUpdate:
    """Merge ``variables``, and report ``result`` on the open task of reference ``ref`` (empty: on
    none).
    """

    ref: str = ""
    result: TaskResult | None = None
    variables: JsonObject = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunRequest:
    """Rerun from the task of id ``from_task`` or of reference ``from_ref``, both empty for from the
    beginning; what is empty is left as it is. ``mode`` is one of the three above.
    """

    from_task: str = ""
    from_ref: str = ""
    mode: str = TASK_POST
    task_input: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    workflow_input: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    correlation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceRequest:
    """Count a failed task as done, with ``output`` (``None``: that of the failed attempt); who
    wants that, and why.
    """

    output: JsonObject | None = None
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunPreview:
    """What a rerun of a DAG would do, by reference: which tasks run again if it comes to them,
    which results are kept, and which are kept although something before them runs again.
    """

    runs_again: tuple[str, ...]
    kept: tuple[str, ...]
    stale: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRequest:
    """Go on under ``version`` of the definition, ``None`` for the latest.

    ``task_output`` holds, by reference, the outputs of new tasks that are passed over;
    ``workflow_input`` is merged into the input.
    """

    name: str = ""
    version: int | None = None
    task_output: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    workflow_input: JsonObject = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRequest:
    """Wait until an execution blocks or ends, or one of ``refs`` has ended, at most ``timeout_ms``.

    ``strategy`` says what of it is wanted, ``topic`` is this wait's own name, ``request_id`` is the
    caller's, to be echoed.
    """

    topic: str
    timeout_ms: int
    refs: tuple[str, ...] = ()
    strategy: str = "TARGET_WORKFLOW"
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollRequest:
    """A worker wants up to ``count`` tasks of a type, and waits ``timeout_ms`` for the first.

    ``lease_s`` 0: no lease; the claim ends with the response timeout.
    """

    task_type: str
    worker: str = ""
    domain: str = ""
    count: int = 1
    timeout_ms: int = 100
    lease_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendRequest:
    """A worker keeps its claim, and says how far it is."""

    task_id: str
    claim: int
    worker: str = ""
    lease_s: int = 0
    progress: JsonObject | None = None
