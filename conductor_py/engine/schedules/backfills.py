"""Backfills started; what one is stands in ``model.backfills``."""

from __future__ import annotations

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.starting import with_input_template
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.schemas import check_input
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.model.backfills import Backfill, definition_of, lanes_in, start_of
from conductor_py.model.definitions import WorkflowDef

Lanes = tuple[tuple[int, ...], ...]


class Backfills:
    """Starts backfills; everything after that is the execution's. All runs have the same version of
    the workflow: the one that is named, or that of the start of the backfill.
    """

    def __init__(
        self,
        executions: Executions,
        snapshots: Snapshots,
        payloads: PayloadReader,
        clock: StoreClock,
    ) -> None:
        """Work over these collaborators."""
        self._executions = executions
        self._snapshots = snapshots
        self._payloads = payloads
        self._clock = clock

    def now_ms(self) -> int:
        """The time that what is past is told by."""
        return self._clock.now_ms()

    def plan(self, backfill: Backfill) -> Lanes:
        """Tell what would be run, by lanes. Raises what the start of one run would: ``NotFound``,
        ``InvalidInput``.
        """
        return lanes_in(self._definition(backfill))

    def start(self, backfill: Backfill) -> tuple[str, Lanes]:
        """Start it; the execution's id and what it runs, which is that of the first start under an
        idempotency key. Raises what ``plan`` does, and ``Conflict``.
        """
        definition = self._definition(backfill)
        started = self._executions.start(start_of(backfill, definition))
        if backfill.idempotency_key:
            document = self._executions.document(started, include_tasks=False)
            definition = workflow_from_json(document["workflowDefinition"])  # type: ignore[arg-type]
        return started, lanes_in(definition)

    def _definition(self, backfill: Backfill) -> WorkflowDef:
        """The DAG that runs it, once one run would be accepted."""
        run = backfill.request
        if run.definition is not None:
            plan, _ = self._snapshots.inline(run.definition, 0)
        else:
            plan, _ = self._snapshots.registered(run.name, run.version, 0)
        given = with_input_template(plan.definition, run.input)
        check_input(plan.definition, given, self._payloads)
        return definition_of(backfill, plan.definition.masked_fields)
