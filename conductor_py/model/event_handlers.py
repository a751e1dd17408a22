"""Events that cross executions: messages published under a name, and the handlers that act on them.

An event's name is ``<provider>:<queue>``; what tasks of a workflow publish to Conductor itself is
``conductor:<workflow>:<queue>``. Instants are epoch milliseconds of the store's clock.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from conductor_py.model.chains import NO_CHAIN, Chain
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass, field

CONDUCTOR = "conductor"
"""The provider whose messages go to event handlers."""

ALERT = "conductor:alert"
"""The event of what somebody should look at: a timeout whose policy is ALERT_ONLY, a schedule that
could not be fired. No sink of an execution has this name.
"""

MESSAGE_ID_KEY = "conductor.event.messageId"
EVENT_NAME_KEY = "conductor.event.name"
"""What handlers add to the input or output that they make of a message."""


class ActionType(StrEnum):
    """What a handler can do."""

    START_WORKFLOW = "start_workflow"
    COMPLETE_TASK = "complete_task"
    FAIL_TASK = "fail_task"
    TERMINATE_WORKFLOW = "terminate_workflow"
    UPDATE_WORKFLOW_VARIABLES = "update_workflow_variables"


class ActionStatus(StrEnum):
    """What became of an action (Conductor: the status of an EventExecution)."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventAction:
    """One thing to do; ``details`` are the members of the object that is named after the type."""

    action: ActionType
    details: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    expand_inline_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHandler:
    """What to do when a message of an event comes in (Conductor: EventHandler).

    Without ``condition`` it always acts. ``evaluator_type`` empty means JavaScript.
    """

    name: str
    event: str
    condition: str | None = None
    evaluator_type: str | None = None
    actions: tuple[EventAction, ...] = ()
    active: bool = False
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMessage:
    """A message: what was published, under which name, when. The same ``id`` is the same
    message. ``chain`` is that of what it starts.
    """

    id: str
    event: str
    published_at: int
    payload: JsonValue
    chain: Chain = NO_CHAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRecord:
    """What a handler made of a message (Conductor: EventExecution).

    ``id`` is made of message, handler and position, so that a repeat is known as one. ``action`` is
    empty where no action was reached: the condition was false, or could not be evaluated.
    """

    id: str
    message_id: str
    name: str
    event: str
    created: int
    status: ActionStatus
    action: str = ""
    output: JsonObject = field(default_factory=lambda: MappingProxyType({}))


def provider_of(event: str) -> str:
    """Name the provider of an event: what stands before the first colon."""
    return event.partition(":")[0]
