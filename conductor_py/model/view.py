"""What readers get of an execution: everything of it, consistent as of one version.

Built by the engine from the stored fields or from the archive, turned into Conductor's JSON by
``wire.execution``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from conductor_py.model.definitions import WorkflowDef, WorkflowTask
from conductor_py.model.execution import Attempt, ClaimSide, Document, Ending, Header, Meta
from conductor_py.model.json import JsonObject
from conductor_py.model.masking import Masker
from conductor_py.records import dataclass


def worker_of(attempt: Attempt, claim: ClaimSide) -> str:
    """Who works on an attempt, or did so last; a result says itself whose it is."""
    return claim.worker if claim.held else attempt.worker or claim.worker


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """One attempt with everything a reader may want.

    ``task`` is its part of the definition. The wire status is IN_PROGRESS when the attempt is open
    and a claim is held, CANCELED when it is open in an ended execution or an older generation.
    """

    execution: str
    header: Header
    attempt: Attempt
    claim: ClaimSide
    task: WorkflowTask
    input: Document
    output: Document
    progress: JsonObject | None = None
    authored: bool = True
    """Whether the definition's author wrote the task, rather than data brought it."""
    masked: frozenset[str] = frozenset()
    """Members of input, output and progress that readers do not see; none for the one who works
    on it.
    """
    hidden: Masker | None = None
    """What takes the values of such members of the execution itself out of texts."""
    stale: bool = False
    """Whether something before it, in a DAG, has begun to run again since; told with all tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionView:
    """One execution. ``tasks`` is empty when they were not asked for; many are made anew each time
    (``Afresh``).
    """

    execution: str
    version: int
    header: Header
    definition: WorkflowDef
    meta: Meta
    ending: Ending
    input: Document
    output: Document
    variables: JsonObject
    task_to_domain: Mapping[str, str]
    tasks: Collection[TaskView] = ()
