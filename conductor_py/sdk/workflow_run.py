"""How a workflow has ended, as whoever waits for it sees it, and the errors of waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conductor_py.model.status import WorkflowStatus
from conductor_py.records import dataclass, field

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject

ENDED: Final = frozenset(each.value for each in WorkflowStatus if each.terminal)
"""The statuses that a workflow ends in."""

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun:
    """A workflow that has ended.

    ``status`` is COMPLETED, FAILED, TIMED_OUT or TERMINATED; ``reason`` says why when it is not
    COMPLETED. ``failed_tasks`` are the references of the tasks that failed for good. ``json`` is
    the execution as the server shows it, without its tasks.
    """

    workflow_id: str
    name: str
    status: str
    output: JsonObject
    reason: str | None
    failed_tasks: tuple[str, ...]
    json: JsonObject = field(repr=False)

    @property
    def completed(self) -> bool:
        """Whether it ended well."""
        return self.status == "COMPLETED"

    def check(self) -> WorkflowRun:
        """Return it when it is COMPLETED; raises ``WorkflowFailed``."""
        if not self.completed:
            raise WorkflowFailed(self)
        return self


class WorkflowFailed(Exception):
    """A workflow has ended as FAILED, TIMED_OUT or TERMINATED; ``run`` has its output and reason.

    It is what the workflow did, no failure of a call: so it is no ``ConductorError``.
    """

    def __init__(self, run: WorkflowRun) -> None:
        """Say which workflow, how and why."""
        self.run = run
        reason = f": {run.reason}" if run.reason else ""
        super().__init__(f"workflow {run.name} ({run.workflow_id}) is {run.status}{reason}")


class WaitTimeout(TimeoutError):
    """The time to wait is over, and the workflow goes on. ``workflow_id`` names it, ``status`` is
    the one last seen, None when the server did not answer.
    """

    def __init__(
        self, workflow_id: str, status: str | None, timeout_s: float, open_tasks: tuple[str, ...]
    ) -> None:
        """Say where it stands, and what can be done."""
        self.workflow_id = workflow_id
        self.status = status
        stands = "the server does not say how it stands" if status is None else f"it is {status}"
        if open_tasks:
            more = len(open_tasks) - _SHOWN
            listed = ", ".join(open_tasks[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
            stands = f"{stands} at {listed}"
        super().__init__(
            f"workflow {workflow_id} has not ended within {timeout_s:g} s and goes on: {stands}."
            " client.wait waits longer, client.terminate_workflow ends it"
        )


def run_from(execution: JsonObject, output: JsonObject) -> WorkflowRun:
    """Read an execution that has ended; its output may have been downloaded."""
    failed = execution.get("failedReferenceTaskNames")
    reason = execution.get("reasonForIncompletion")
    return WorkflowRun(
        workflow_id=str(execution.get("workflowId")),
        name=str(execution.get("workflowName") or execution.get("workflowType") or ""),
        status=str(execution.get("status")),
        output=output,
        reason=str(reason) if reason else None,
        failed_tasks=tuple(map(str, failed)) if isinstance(failed, list) else (),
        json=execution,
    )
