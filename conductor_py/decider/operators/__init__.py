"""The operators: one file a task type, its whole logic. The table is the only place that lists
them.

``open_`` opens a task at a spot; ``resume`` acts on an attempt whose delay is over, or on a WAIT
whose instant has come. A type that stands in no table is a worker task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

from conductor_py.decider.control import Refused
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.status import TaskStatus

Open = Callable[[Workspace, Spot], None]
Resume = Callable[[Workspace, Spot, Attempt], None]

_opens: dict[str, Open] = {}
_resumes: dict[str, Resume] = {}
_runs: dict[str, Resume] = {}

OPERATORS: Mapping[str, Open] = MappingProxyType(_opens)
RESUMES: Mapping[str, Resume] = MappingProxyType(_resumes)


def open_(ws: Workspace, spot: Spot) -> None:
    """Open the task that stands at ``spot``; one whose input is too large fails instead."""
    with suppress(Refused):
        _opens.get(spot.node.task.type, simple.open_)(ws, spot)


def run(ws: Workspace, spot: Spot | None, attempt: Attempt | None) -> None:
    """Go on with a task that is seen to run: its script takes long. A retry that still waits for
    its delay has a step of its own when that is over.
    """
    if spot is None or attempt is None or attempt.start_at:
        return
    ask = _runs.get(spot.node.task.type)
    if ask is not None and attempt.status is TaskStatus.IN_PROGRESS:
        ask(ws, spot, attempt)


from conductor_py.decider.operators import (  # noqa: E402 - the operators use `open_` above
    conditions,
    decision,
    do_while,
    dynamic,
    event,
    exclusive_join,
    fork_join,
    fork_join_dynamic,
    human,
    inline,
    join,
    json_jq_transform,
    lambda_script,
    noop,
    pull_workflow_messages,
    set_variable,
    simple,
    start_workflow,
    sub_workflow,
    switch,
    system,
    terminate,
    wait,
)

_opens.update(
    {
        "CONDITIONS": conditions.open_,
        "DECISION": decision.open_,
        "DO_WHILE": do_while.open_,
        "DYNAMIC": dynamic.open_,
        "EVENT": event.open_,
        "EXCLUSIVE_JOIN": exclusive_join.open_,
        "FORK_JOIN": fork_join.open_,
        "FORK_JOIN_DYNAMIC": fork_join_dynamic.open_,
        **dict.fromkeys(system.TYPES, system.open_),
        "HUMAN": human.open_,
        "INLINE": inline.open_,
        "JOIN": join.open_,
        "JSON_JQ_TRANSFORM": json_jq_transform.open_,
        "LAMBDA": lambda_script.open_,
        "NOOP": noop.open_,
        "PULL_WORKFLOW_MESSAGES": pull_workflow_messages.open_,
        "SET_VARIABLE": set_variable.open_,
        "START_WORKFLOW": start_workflow.open_,
        "SUB_WORKFLOW": sub_workflow.open_,
        "SWITCH": switch.open_,
        "TERMINATE": terminate.open_,
        "WAIT": wait.open_,
    }
)
_resumes.update(
    {
        "EVENT": event.resume,
        **dict.fromkeys(system.TYPES, system.resume),
        "HUMAN": human.resume,
        "INLINE": inline.resume,
        "JSON_JQ_TRANSFORM": json_jq_transform.resume,
        "LAMBDA": lambda_script.resume,
        "PULL_WORKFLOW_MESSAGES": pull_workflow_messages.resume,
        "START_WORKFLOW": start_workflow.resume,
        "SUB_WORKFLOW": sub_workflow.resume,
        "WAIT": wait.resume,
    }
)
_runs.update(
    {
        "INLINE": inline.run,
        "JSON_JQ_TRANSFORM": json_jq_transform.run,
        "LAMBDA": lambda_script.run,
    }
)
