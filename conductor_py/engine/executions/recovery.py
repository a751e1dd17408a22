"""Recovery: the verbs that take an execution up again, or elsewhere, after it went wrong.

Retry, restart and rerun begin a new generation of what has ended; what has left the store comes
back from the archive first, with everything above it, because a revived child revives its
ancestors. Jump and upgrade act on what is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from conductor_py.codec.execution import load_field, load_header
from conductor_py.decider.generations.preview import parted, preview
from conductor_py.decider.need import Missing, Need
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Execution as Stored
from conductor_py.engine.decisions.needs import Fetcher
from conductor_py.engine.decisions.operations import Operations, refused
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.executions.restoring import Restoring
from conductor_py.errors import Conflict, InvalidInput, NotFound, Violation
from conductor_py.model.decision import Answer
from conductor_py.model.execution import Attempt, Header
from conductor_py.model.ids import ExecutionId, partition_of, split_task_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.requests import (
    TASK_POST,
    ForceRequest,
    RerunPreview,
    RerunRequest,
    UpgradeRequest,
)
from conductor_py.ports.store import ExecutionStore

_DEEPEST: Final = 10_000


class Recovery:
    """Retry, restart, rerun, force success; jump, upgrade."""

    def __init__(
        self,
        *,
        executions: Executions,
        operations: Operations,
        snapshots: Snapshots,
        store: ExecutionStore,
        restoring: Restoring,
        fetcher: Fetcher,
    ) -> None:
        """Work over these collaborators."""
        self._executions = executions
        self._operations = operations
        self._snapshots = snapshots
        self._store = store
        self._restoring = restoring
        self._fetcher = fetcher

    def retry(self, execution: str, *, resume_subworkflows: bool = False) -> None:
        """Try again what failed: ``NotFound`` when it has not ended, ``Conflict`` when nothing
        failed. With ``resume_subworkflows`` failed children are retried, not started anew.
        """
        self._revive(execution, "retry", {"resume": resume_subworkflows})

    def restart(self, execution: str, *, use_latest: bool = False) -> None:
        """Begin from the first task: ``Conflict`` when it has not ended, ``NotFound`` when a
        COMPLETED one is not restartable, or the latest definition does not exist.
        """
        target = self._present(execution)
        arguments: dict[str, JsonValue] = {}
        if use_latest:
            partition = partition_of(target)
            name = self._name(target)
            plan = self._snapshots.current(name, None, partition)
            self._snapshots.store(partition, [plan.hash])
            arguments["plan"] = plan.hash
        self._revive(execution, "restart", arguments)

    def rerun(self, execution: str, request: RerunRequest) -> str:
        """Go on from a task, of the execution or of a sub-workflow of it, or from the beginning;
        the id of the execution. ``Conflict`` when it has not ended, ``InvalidInput`` for a task
        that is none of its.
        """
        arguments: dict[str, JsonValue] = {
            "workflowInput": request.workflow_input,
            "taskInput": request.task_input,
            "correlationId": request.correlation_id,
        }
        at, named = self._named(execution, request, self._present, self._parent)
        if at != execution:
            named |= {"through": execution}
            header = self._header(ExecutionId(at))
            if header is None:
                raise NotFound(f"No such workflow found by id: {at}")
            self._check_above(ExecutionId(at), header, execution)
        self._revive(at, "rerun", arguments | named)
        return execution

    def preview_rerun(self, execution: str, request: RerunRequest) -> RerunPreview:
        """Tell what a rerun of a DAG would do; nothing is changed, nor brought back from the
        archive. Errors as ``rerun``, and ``InvalidInput`` for what is no DAG.
        """
        at, named = self._named(execution, request, self._looked, self._looked_parent)
        target = self._operations.target(at)
        plan, stored = self._read(target)
        if not plan.is_dag:
            message = f"must be absent: workflow {at} is no DAG"
            raise InvalidInput(violations=(Violation(path="?dryRun", message=message),))
        found = preview(plan, stored, named, now_ms=0)
        if isinstance(found, Answer):
            raise refused(found.error, found.message)
        self._check_above(target, stored.header, execution)
        return found

    def _read(self, target: ExecutionId) -> tuple[Plan, Stored]:
        """All of an execution, wherever it is (``NotFound``)."""
        fields = self._restoring.look(target)
        header = load_header(fields["h"])
        plan = self._snapshots.plan(partition_of(target), header.plan)
        if header.forget or plan is None:
            raise NotFound(f"No such workflow found by id: {target}")
        known = {name: load_field(name, stored) for name, stored in fields.items()}
        for brought in {each.plan for each in known.values() if isinstance(each, Attempt)}:
            known[f"plan:{brought}"] = self._snapshots.plan(partition_of(target), brought)
        return plan, Stored(id=target, header=header, known=known, complete=True)

    def _named(
        self,
        execution: str,
        request: RerunRequest,
        present: Callable[[str], ExecutionId],
        parent: Callable[[ExecutionId], ExecutionId | None],
    ) -> tuple[str, dict[str, JsonValue]]:
        """The execution that a rerun acts on, and what it names of it."""
        named: dict[str, JsonValue] = {} if request.mode == TASK_POST else {"mode": request.mode}
        if request.from_ref:
            return execution, named | {"ref": request.from_ref}
        if not request.from_task:
            return execution, named
        root = present(execution)
        at, seq = _owner(execution, request.from_task, root, present, parent)
        return at, named | {"seq": seq}

    def force_success(self, execution: str, ref: str, request: ForceRequest) -> None:
        """Count a failed task of a DAG as done: ``Conflict`` when it has not failed for good or the
        execution does not allow it, ``InvalidInput`` for what is no DAG or none of its tasks,
        ``PayloadTooLarge``.
        """
        arguments: JsonObject = {
            "ref": ref,
            "output": request.output,
            "by": request.by,
            "reason": request.reason,
        }
        self._revive(execution, "force_success", arguments)

    def jump(self, execution: str, ref: str, task_input: JsonObject) -> None:
        """Go on at a task that has not been reached; ``Conflict``, ``InvalidInput``."""
        arguments: JsonObject = {"ref": ref, "taskInput": task_input}
        if not self._operations.carry_out(execution, "jump", arguments):
            self._ended(execution)

    def check_upgrade(self, execution: str, request: UpgradeRequest) -> tuple[Violation, ...]:
        """What keeps an execution from going on under another version; errors as ``upgrade``."""
        try:
            self._upgrade(execution, request, dry_run=True)
        except InvalidInput as refused:
            if not refused.violations:
                raise
            return refused.violations
        return ()

    def upgrade(self, execution: str, request: UpgradeRequest) -> None:
        """Go on under another version of the definition; ``InvalidInput`` lists what does not map,
        ``Conflict`` when it has ended, ``NotFound`` for an unknown version.
        """
        self._upgrade(execution, request, dry_run=False)

    def _upgrade(self, execution: str, request: UpgradeRequest, *, dry_run: bool) -> None:
        target = self._operations.target(execution)
        view = self._executions.view(execution, include_tasks=False)
        if view is None:
            self._ended(execution)
            return
        if request.name and request.name != view.header.name:
            raise InvalidInput(
                f"Workflow {execution} is one of {view.header.name}, an upgrade leads to another"
                " version of the same definition"
            )
        partition = partition_of(target)
        plan = self._snapshots.current(view.header.name, request.version, partition)
        self._snapshots.store(partition, [plan.hash])
        arguments: dict[str, JsonValue] = {
            "plan": plan.hash,
            "taskOutput": request.task_output,
            "workflowInput": request.workflow_input,
            "dryRun": dry_run,
        }
        if not self._operations.carry_out(execution, "upgrade", arguments):
            self._ended(execution)

    # -- what has left -----------------------------------------------------------------------------

    def _revive(self, execution: str, verb: str, arguments: Mapping[str, JsonValue]) -> None:
        target = self._present(execution)
        self._bring_back_ancestors(target)
        if not self._operations.carry_out(execution, verb, arguments):
            raise Conflict(f"Workflow {execution} left the store meanwhile; try again.")

    def _present(self, execution: str) -> ExecutionId:
        """The execution, brought back if it has left the store (``NotFound``)."""
        target = self._operations.target(execution)
        if self._store.load(target, ["h"]) is None and not self._restoring.restore(target):
            raise NotFound(f"No such workflow found by id: {execution}")
        return target

    def _check_above(self, child: ExecutionId, header: Header, highest: str) -> None:
        """See to it that every task up to the ``highest`` would wait for its sub-workflow again, if
        the ``child`` with this header began anew: ``Conflict`` says which would not. Nothing is
        changed, nor brought back from the archive.
        """
        while child != highest and header.parent is not None:
            seq, above = header.parent_seq, ExecutionId(header.parent)
            header, refusal = self._parted(above, seq, child)
            child = above
            if refusal:
                raise Conflict(refusal)

    def _parted(self, execution: ExecutionId, seq: int, child: ExecutionId) -> tuple[Header, str]:
        header = self._header(execution)
        if header is None:  # in the archive: there it is read whole
            plan, stored = self._read(execution)
            return stored.header, parted(plan, stored, seq, child)
        known: dict[str, object] = {}
        of = self._snapshots.plan(partition_of(execution), header.plan)
        if header.forget or of is None:
            raise NotFound(f"No such workflow found by id: {execution}")
        stored = Stored(id=execution, header=header, known=known)
        while True:
            try:
                return header, parted(of, stored, seq, child)
            except Missing as lacking:
                if not self._fetcher.fulfil(execution, Need(lacking.requests), known, None):
                    raise NotFound(f"No such workflow found by id: {execution}") from None

    def _bring_back_ancestors(self, execution: ExecutionId) -> None:
        for _ in range(_DEEPEST):
            parent = self._parent(execution)
            if parent is None:
                return
            if self._store.load(parent, ["h"]) is None and not self._restoring.restore(parent):
                return
            execution = parent

    def _parent(self, execution: ExecutionId) -> ExecutionId | None:
        header = self._header(execution)
        return ExecutionId(header.parent) if header is not None and header.parent else None

    def _name(self, execution: ExecutionId) -> str:
        header = self._header(execution)
        if header is None:
            raise NotFound(f"No such workflow found by id: {execution}")
        return header.name

    def _header(self, execution: ExecutionId) -> Header | None:
        found = self._store.load(execution, ["h"])
        stored = found[1]["h"] if found is not None else None
        return load_header(stored) if stored is not None else None

    def _looked(self, execution: str) -> ExecutionId:
        """The execution, wherever it is (``NotFound``)."""
        target = self._operations.target(execution)
        self._restoring.look(target)
        return target

    def _looked_parent(self, execution: ExecutionId) -> ExecutionId | None:
        parent = load_header(self._restoring.look(execution)["h"]).parent
        return ExecutionId(parent) if parent else None

    def _ended(self, execution: str) -> None:
        status = self._executions.document(execution, include_tasks=False)["status"]
        raise Conflict(f"Workflow {execution} is {status} and archived, it has ended.")


def _owner(
    execution: str,
    task: str,
    root: ExecutionId,
    present: Callable[[str], ExecutionId],
    parent: Callable[[ExecutionId], ExecutionId | None],
) -> tuple[str, int]:
    """The execution a task belongs to, which is ``execution`` or a sub-workflow of it."""
    try:
        owner, seq = split_task_id(task)
        at: ExecutionId | None = present(owner)
    except NotFound:
        raise _no_task(execution, task) from None
    for _ in range(_DEEPEST):
        if at is None or at == root:
            break
        at = parent(at)
    if at != root:
        raise _no_task(execution, task)
    return owner, seq


def _no_task(execution: str, task: str) -> InvalidInput:
    return InvalidInput(f"Task {task} is none of workflow {execution} or its sub-workflows")
