"""The actions of event handlers: what each type does, once a message however often it comes.

What an action starts has an id made of the action's; what it completes is written down before it is
done. So a repeat finds what the first time did. A sentence in ``ConductorError`` says why an action
cannot be done; ``retryable`` ones pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from conductor_py.decider.chains import chain_ends
from conductor_py.decider.event_actions import expanded, resolved
from conductor_py.decider.expressions.expressions import TooLarge
from conductor_py.decider.starting import whole_number
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.errors import InvalidInput, NotFound, PayloadTooLarge
from conductor_py.model.event_handlers import (
    EVENT_NAME_KEY,
    MESSAGE_ID_KEY,
    ActionType,
    EventAction,
    EventMessage,
)
from conductor_py.model.ids import ExecutionId, split_task_id, task_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.requests import StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.events import EventStore

REMEMBERED_MS: Final = 2 * 24 * 3_600_000
"""How long it is known which task an action was about; longer than a message is tried."""

_MAX_REASON: Final = 500
_TARGETS: Final = ("workflowId", "taskRefName", "taskId", "reasonForIncompletion")


class EventActions:
    """Does what handlers say."""

    def __init__(
        self,
        store: EventStore,
        executions: Executions,
        tasks: Tasks,
        operations: Operations,
        *,
        most_in_chain: int,
        most_bytes: int,
    ) -> None:
        """Work over these collaborators; ``most_in_chain`` executions may start each other, and
        what an action makes of a message may take ``most_bytes``.
        """
        self._most_in_chain = most_in_chain
        self._most_bytes = most_bytes
        self._store = store
        self._operations = operations
        self._executions = executions
        self._tasks = tasks
        self._verbs: Mapping[ActionType, Callable[[_Wanted], JsonObject]] = {
            ActionType.START_WORKFLOW: self._start,
            ActionType.COMPLETE_TASK: self._complete,
            ActionType.FAIL_TASK: self._fail,
            ActionType.TERMINATE_WORKFLOW: self._terminate,
            ActionType.UPDATE_WORKFLOW_VARIABLES: self._update,
        }

    def perform(self, identity: str, action: EventAction, message: EventMessage) -> JsonObject:
        """Do one action; returns what it came to. ``identity`` names action and message."""
        return self._verbs[action.action](_Wanted(identity, action, message, self._most_bytes))

    def _start(self, wanted: _Wanted) -> JsonObject:
        version = wanted.details.get("version")
        request = StartRequest(
            name=wanted.text("name"),
            version=whole_number(version) if version else None,
            correlation_id=wanted.optional_text("correlationId"),
            input={**wanted.object("input"), **wanted.marks},
            task_to_domain=wanted.domains(),
            event=wanted.message.event,
            chain=wanted.message.chain,
            own=True,
        )
        if request.chain.number > self._most_in_chain:
            raise InvalidInput(chain_ends(self._most_in_chain))
        return {"workflowId": self._executions.start(request, cause=wanted.identity)}

    def _complete(self, wanted: _Wanted) -> JsonObject:
        return self._report(wanted, TaskStatus.COMPLETED)

    def _fail(self, wanted: _Wanted) -> JsonObject:
        return self._report(wanted, TaskStatus.FAILED)

    def _report(self, wanted: _Wanted, status: TaskStatus) -> JsonObject:
        target = self._store.settle(wanted.identity, self._target(wanted), REMEMBERED_MS)
        workflow_id, _ = split_task_id(target)
        named = {name: wanted.details.get(name) for name in _TARGETS}
        given = {name: value for name, value in named.items() if value is not None}
        reason = wanted.optional_text("reasonForIncompletion")
        self._tasks.update(
            TaskResult(
                workflow_id=workflow_id,
                task_id=target,
                status=status,
                output={**wanted.object("output"), **given, **wanted.marks},
                reason=reason[:_MAX_REASON] if reason else None,
            )
        )
        return {"workflowId": workflow_id, "taskId": target}

    def _target(self, wanted: _Wanted) -> str:
        """The task that is meant now; a repeat goes by what was written down the first time."""
        settled = self._store.settled((wanted.identity,)).get(wanted.identity)
        if settled is not None:
            return settled
        named = wanted.optional_text("taskId")
        if named:
            return named
        workflow_id, ref = wanted.text("workflowId"), wanted.text("taskRefName")
        found = self._tasks.open_task(workflow_id, ref)
        if found is None:
            raise NotFound(f"Workflow {workflow_id} has no open task {ref}")
        return task_id(ExecutionId(found.execution), found.attempt.seq)

    def _terminate(self, wanted: _Wanted) -> JsonObject:
        workflow_id = wanted.text("workflowId")
        reason = wanted.optional_text("terminationReason")
        if reason is None:
            reason = f"terminated by the event {wanted.message.event}"
        self._executions.terminate(workflow_id, reason=reason)
        return {"workflowId": workflow_id}

    def _update(self, wanted: _Wanted) -> JsonObject:
        workflow_id = wanted.text("workflowId")
        arguments: JsonObject = {
            "variables": wanted.object("variables"),
            "append": wanted.details.get("appendArray") is True,
        }
        found = self._operations.carry_out(
            workflow_id, "variables", arguments, id_=f"event-{wanted.identity}"
        )
        if not found:
            raise NotFound(f"No running workflow found by id: {workflow_id}")
        return {"workflowId": workflow_id}


class _Wanted:
    """One action with its texts resolved against the message."""

    def __init__(
        self, identity: str, action: EventAction, message: EventMessage, most_bytes: int
    ) -> None:
        self.identity = identity
        self.message = message
        self._payload = expanded(message.payload) if action.expand_inline_json else message.payload
        try:
            found = resolved(action.details, self._payload, most_bytes)
        except TooLarge as refused:
            raise PayloadTooLarge(f"What the action makes of the message {refused}") from None
        self.details: JsonObject = found if isinstance(found, Mapping) else {}

    @property
    def marks(self) -> JsonObject:
        """What input and output say of the message."""
        return {MESSAGE_ID_KEY: self.message.id, EVENT_NAME_KEY: self.message.event}

    def text(self, name: str) -> str:
        """A text that must be there."""
        value = self.optional_text(name)
        if not value:
            raise InvalidInput(f"'{name}' is nothing, with this message")
        return value

    def optional_text(self, name: str) -> str | None:
        value = self.details.get(name)
        return None if value is None else str(value)

    def object(self, name: str) -> JsonObject:
        value: JsonValue = self.details.get(name)
        return value if isinstance(value, Mapping) else {}

    def domains(self) -> Mapping[str, str]:
        """The task-to-domain map of the action, else of the message."""
        own = self.object("taskToDomain")
        if not own and isinstance(self._payload, Mapping):
            of_message = self._payload.get("taskToDomain")
            own = of_message if isinstance(of_message, Mapping) else {}
        return {task: str(domain) for task, domain in own.items() if domain}
