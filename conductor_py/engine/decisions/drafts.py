"""Drafts: what a new execution is made of, whatever the store says to its start."""

from __future__ import annotations

from conductor_py.codec.execution import dump_document, dump_json, dump_state
from conductor_py.decider.plan import Plan
from conductor_py.decider.starting import with_input_template
from conductor_py.engine.decisions.encoding import Encoder
from conductor_py.engine.definitions.schemas import check_input
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.errors import InvalidInput, PayloadTooLarge, Violation
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.execution import Document, External, Meta, Watch, Watches
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest
from conductor_py.model.text_bounds import refuse_long_start
from conductor_py.records import dataclass
from conductor_py.wire.parameter_rules import parameter_findings

_NO_META = Meta()


@dataclass(frozen=True, slots=True)
class Draft:
    """What a start keeps over its tries: fetched facts, and the fields of the newborn."""

    plan: Plan
    known: dict[str, object]
    birth: dict[str, bytes]


class Drafts:
    """Makes drafts within the limits of this deployment."""

    def __init__(self, encoder: Encoder, payloads: PayloadReader, max_input_bytes: int) -> None:
        """Work over these collaborators."""
        self._encoder = encoder
        self._payloads = payloads
        self._max_input_bytes = max_input_bytes

    def draft(self, request: StartRequest, plan: Plan, watch: Watch | None) -> Draft:
        """Check and encode what the request brings (``InvalidInput``, ``PayloadTooLarge``)."""
        refuse_long_start(request)
        given = self._input(request, plan)
        check_input(plan.definition, given, self._payloads)
        if request.start_nodes and not isinstance(given, External):
            _check_parameters(plan.definition, given)
        meta = Meta(
            created_by=request.created_by,
            event=request.event,
            idempotency_key=request.idempotency_key,
            parent_task_ref=request.parent.ref if request.parent is not None else None,
        )
        known: dict[str, object] = {
            "input": given,
            "vars": plan.definition.variables,
            "domains": request.task_to_domain,
        }
        birth = self._birth(request, plan, given, meta)
        if watch is not None:
            watches = Watches(watches=(watch,))
            known["watch"], birth["watch"] = watches, dump_state(watches)
        return Draft(plan, known, birth)

    def _input(self, request: StartRequest, plan: Plan) -> Document:
        if request.external_input and not request.input:
            return External(
                self._payloads.accept(
                    request.external_input, self._max_input_bytes, "Workflow input"
                )
            )
        return with_input_template(plan.definition, request.input)

    def _birth(
        self, request: StartRequest, plan: Plan, given: Document, meta: Meta
    ) -> dict[str, bytes]:
        stored = self._encoder.document("input", given)
        if isinstance(stored, str):
            raise PayloadTooLarge(stored)
        birth = {"input": stored}
        if plan.definition.variables:
            birth["vars"] = dump_document(plan.definition.variables)
        if meta != _NO_META:
            birth["meta"] = dump_state(meta)
        if request.task_to_domain:
            birth["domains"] = dump_json(request.task_to_domain)
        return birth


def _check_parameters(part: WorkflowDef, given: JsonObject) -> None:
    """Refuse a part whose tasks read a parameter of a task that is left out, unless it is given."""
    present = {name for name, value in given.items() if value is not None}
    found = tuple(
        Violation(path="$.startNodes", message=f"{message} of this part", invalid_value=text)
        for _, message, text in parameter_findings(part, present)
    )
    if found:
        raise InvalidInput(violations=found)
