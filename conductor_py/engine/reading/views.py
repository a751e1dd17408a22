"""Views: an execution as readers get it, built from the stored fields of one version."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

import orjson

from conductor_py.codec.execution import (
    UnknownFormat,
    load_attempt,
    load_claim,
    load_document,
    load_ending,
    load_header,
    load_meta,
    may_have_failed,
)
from conductor_py.decider import scopes
from conductor_py.decider.plan import Plan
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.errors import NotFound
from conductor_py.model.afresh import Afresh, mapped
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.execution import Attempt, ClaimSide, Header
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.model.masking import Masker, values_in
from conductor_py.model.view import ExecutionView, TaskView
from conductor_py.ports.queues import Claimed
from conductor_py.records import made

_LOG = logging.getLogger(__name__)
_NO_CLAIM = ClaimSide()
HIDING: Final = ("input", "output", "vars")
"""The fields of an execution that ``hidden_values`` reads."""
MANY: Final = 2_000
"""Of more tasks, one is there at a time: each takes some kilobytes as a view and as JSON."""
_MUCH: Final = 1 << 20
"""Of tasks of an execution of more bytes, too: its documents take many times theirs."""


class Views:
    """Builds views; plans come from the process's cache."""

    def __init__(self, snapshots: Snapshots) -> None:
        """Find definitions through ``snapshots``."""
        self._snapshots = snapshots

    def execution(
        self,
        execution: ExecutionId,
        version: int,
        fields: Mapping[str, bytes],
        *,
        include_tasks: bool,
        only_failed: bool = False,
    ) -> ExecutionView:
        """View everything of an execution; of its tasks perhaps ``only_failed`` ones, and some
        others.
        """
        header = load_header(fields["h"])
        plan, fields = self._planned(execution, header, fields)
        seqs = sorted(
            int(name[2:])
            for name, stored in fields.items()
            if name.startswith("a:") and (not only_failed or may_have_failed(stored))
        )
        hidden = hidden_values(plan.hides if include_tasks else (), fields)
        tasks = self._tasks(execution, header, fields, hidden, seqs) if include_tasks else ()
        if plan.is_dag and header.revised and not only_failed:
            tasks = _aged(plan, tasks)
        return _view(execution, version, plan, fields, header=header, tasks=tasks)

    def in_pieces(
        self,
        execution: ExecutionId,
        version: int,
        fields: Mapping[str, bytes],
        pieces: Collection[tuple[int, Mapping[str, bytes]]],
        *,
        stale: Collection[int] = (),
    ) -> ExecutionView:
        """View an execution out of those of its ``fields`` that are about no single task, and of
        ``pieces``: number and fields of some tasks. ``stale`` is of all.
        """
        header = load_header(fields["h"])
        plan, fields = self._planned(execution, header, fields)
        hidden = hidden_values(plan.hides, fields)

        def viewed(piece: tuple[int, Mapping[str, bytes]]) -> TaskView:
            view = self.task(execution, header, *piece, hidden)
            return replace(view, stale=True) if view.attempt.seq in stale else view

        tasks = mapped(viewed, pieces)
        return _view(execution, version, plan, fields, header=header, tasks=tasks)

    def stale(
        self,
        execution: ExecutionId,
        header: Header,
        pieces: Iterable[tuple[int, Mapping[str, bytes]]],
    ) -> Collection[int]:
        """The numbers of its tasks that are older than something before them; ``pieces`` are number
        and fields of all, gone through if there may be such tasks.
        """
        plan = self._snapshots.plan(partition_of(execution), header.plan)
        if plan is None or not (plan.is_dag and header.revised):
            return frozenset()
        attempts = (load_attempt(seq, fields[f"a:{seq}"]) for seq, fields in pieces)
        return scopes.stale(plan, (_present(header, attempt) for attempt in attempts))

    def _planned(
        self, execution: ExecutionId, header: Header, fields: Mapping[str, bytes]
    ) -> tuple[Plan, Mapping[str, bytes]]:
        plan = self._snapshots.plan(partition_of(execution), header.plan)
        if plan is None:
            # Which of its values are not for everybody is lost as well.
            return self._snapshots.stand_in(header), _withheld(fields)
        return plan, fields

    def _tasks(
        self,
        execution: ExecutionId,
        header: Header,
        fields: Mapping[str, bytes],
        hidden: Masker | None,
        seqs: Sequence[int],
    ) -> Collection[TaskView]:
        present: Collection[int] = [seq for seq in seqs if seq >= header.first_seq]
        if len(present) > MANY or sum(map(len, fields.values())) > _MUCH:
            present = Afresh(make=present.__iter__, count=len(present))
        return mapped(lambda seq: self.task(execution, header, seq, fields, hidden), present)

    def task(
        self,
        execution: ExecutionId,
        header: Header,
        seq: int,
        fields: Mapping[str, bytes],
        hidden: Masker | None = None,
    ) -> TaskView:
        """View one attempt out of the fields of its execution; ``hidden`` are ``hidden_values``."""
        attempt = _present(header, load_attempt(seq, fields[f"a:{seq}"]))
        partition = partition_of(execution)
        whole = self._snapshots.plan(partition, header.plan)
        if whole is None:
            whole, fields = self._snapshots.stand_in(header), _withheld(fields)
        plan = whole
        if attempt.plan != header.plan:
            plan = self._snapshots.plan(partition, attempt.plan) or whole
        claim = fields.get(f"c:{seq}")
        progress = fields.get(f"p:{seq}")
        return made(
            TaskView,
            execution=execution,
            header=header,
            attempt=attempt,
            claim=load_claim(claim) if claim else _NO_CLAIM,
            task=_task(plan, attempt),
            input=load_document(fields.get(f"i:{seq}")),
            output=load_document(fields.get(f"o:{seq}")),
            progress=orjson.loads(progress) if progress else None,
            authored=not plan.anchor,
            masked=whole.hides,
            hidden=hidden,
        )

    def claimed(self, claimed: Iterable[Claimed]) -> Iterator[TaskView]:
        """View attempts that were just handed out; one that cannot be read does not take the others
        with it.
        """
        for each in claimed:
            try:
                yield self._claimed(each)
            except (NotFound, UnknownFormat):
                _LOG.exception(
                    "A claimed task cannot be read; its claim ends by its time",
                    extra={"action": "claim_unreadable", "workflow_id": each.execution},
                )

    def _claimed(self, claimed: Claimed) -> TaskView:
        header = load_header(claimed.header)
        attempt = _present(header, load_attempt(claimed.seq, claimed.attempt))
        plan = self._plan(claimed.execution, attempt.plan)
        return made(
            TaskView,
            execution=claimed.execution,
            header=header,
            attempt=attempt,
            claim=load_claim(claimed.claim_side),
            task=_task(plan, attempt),
            authored=not plan.anchor,
            input=load_document(claimed.input),
            output=load_document(claimed.output),
        )

    def _plan(self, execution: ExecutionId, plan_hash: str) -> Plan:
        plan = self._snapshots.plan(partition_of(execution), plan_hash)
        if plan is None:
            raise NotFound(f"The definition of workflow {execution} is lost")
        return plan


def _view(
    execution: ExecutionId,
    version: int,
    plan: Plan,
    fields: Mapping[str, bytes],
    *,
    header: Header,
    tasks: Collection[TaskView],
) -> ExecutionView:
    variables = load_document(fields.get("vars"))
    domains = fields.get("domains")
    return ExecutionView(
        execution=execution,
        version=version,
        header=header,
        definition=plan.definition,
        meta=load_meta(fields.get("meta")),
        ending=load_ending(fields.get("end")),
        input=load_document(fields.get("input")),
        output=load_document(fields.get("output")),
        variables=variables if isinstance(variables, Mapping) else {},
        task_to_domain=cast("dict[str, str]", orjson.loads(domains)) if domains else {},
        tasks=tasks,
    )


def hidden_values(names: Collection[str], fields: Mapping[str, bytes]) -> Masker | None:
    """What takes out of texts what the execution itself has under members of these names."""
    if not names:
        return None
    documents = (load_document(fields.get(name)) for name in HIDING)
    inline = (each for each in documents if isinstance(each, Mapping))
    return Masker(value for each in inline for value in values_in(each, names))


def _aged(plan: Plan, tasks: Collection[TaskView]) -> Collection[TaskView]:
    """Mark what is older than something before it."""
    stale = scopes.stale(plan, (task.attempt for task in tasks))
    return mapped(
        lambda task: replace(task, stale=True) if task.attempt.seq in stale else task, tasks
    )


def _withheld(fields: Mapping[str, bytes]) -> Mapping[str, bytes]:
    return {
        name: value
        for name, value in fields.items()
        if name[:2] not in {"i:", "o:", "p:"} and name not in {"input", "output", "vars"}
    }


def _task(plan: Plan, attempt: Attempt) -> WorkflowTask:
    node = plan.nodes.get(attempt.ref)
    if node is None:
        return WorkflowTask(name=attempt.definition, task_reference_name=attempt.ref)
    return node.task


def _present(header: Header, attempt: Attempt) -> Attempt:
    """An attempt of before an upgrade stands in the plan that has replaced its own."""
    return replace(attempt, plan=header.plan) if attempt.plan in header.former else attempt
