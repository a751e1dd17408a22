"""The failure workflow: started by the commit that ends an execution unsuccessfully.

It has no parent, and an id derived from the execution and its generation: decided again, it is the
same one. That it cannot be started never disturbs the end; the sentence stands where the id would.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider.chains import home_of, lacks_room, next_in_chain
from conductor_py.decider.need import ChildWanted, Refusal
from conductor_py.decider.plan import Plan
from conductor_py.decider.references import resolve_value
from conductor_py.decider.starting import (
    business_of,
    new_header,
    with_input_template,
)
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import NewChild
from conductor_py.model.execution import Meta
from conductor_py.model.ids import derived_execution_id, partition_of
from conductor_py.model.json import JsonObject
from conductor_py.model.status import WorkflowStatus

OUTPUT = "conductor.failure_workflow"
"""The key of the failed execution's output that names the failure workflow."""


def start(
    ws: Workspace, status: WorkflowStatus, reason: str | None, failed_task: str | None
) -> str | None:
    """Start it, when the definition names one: its id, or a sentence why there is none; ``None``
    when none is named.
    """
    if not ws.plan.definition.failure_workflow:
        return None
    found = _plan(ws)
    child = derived_execution_id(f"failure:{ws.id}:{ws.header.generation}", partition_of(ws.id))
    oversize = ws.known.get(f"oversize:child:{child}")
    if isinstance(oversize, str):
        found = Refusal(oversize)
    elif (full := lacks_room(ws, next_in_chain(ws))) is not None:
        found = Refusal(full)
    if isinstance(found, Refusal):
        return f"The failure workflow cannot be started: {found.reason}"
    given: JsonObject = {
        **ws.document("input"),
        "workflowId": ws.id,
        "reason": reason,
        "failureStatus": status.value,
        **({"failureTaskId": failed_task} if failed_task else {}),
    }
    _add(ws, found, child, given)
    return child


def _add(ws: Workspace, plan: Plan, child: str, given: JsonObject) -> None:
    definition = plan.definition
    domains = ws.document("domains") if ws.header.has_domains else {}
    header = new_header(
        plan.hash,
        definition,
        home=home_of(ws.header.home, next_in_chain(ws)),
        now_ms=ws.now_ms,
        correlation_id=ws.header.correlation_id,
        has_domains=bool(domains),
        depth=ws.header.depth + 1,
        chain=next_in_chain(ws),
        business=business_of(ws.header),
    )
    ws.plans[plan.hash] = None
    ws.children.append(
        NewChild(
            id=child,
            header=header,
            input=with_input_template(definition, given),
            variables=definition.variables,
            domains={key: str(value) for key, value in domains.items()},
            meta=Meta(),
            reports=True,
        )
    )


def _plan(ws: Workspace) -> Plan | Refusal:
    if ws.header.depth + 1 > ws.limits.depth:
        return Refusal(f"failure workflows follow each other more than {ws.limits.depth} times")
    name = _name(ws)
    if not name:
        return Refusal(f"'{ws.plan.definition.failure_workflow}' does not yield a name")
    version = ws.plan.definition.failure_workflow_version
    wanted = ChildWanted(name, version or None)
    plan = ws.answer(f"child:{name}:{version}:failure", wanted)
    if isinstance(plan, Plan):
        return plan
    return plan if isinstance(plan, Refusal) else Refusal(f"no definition of '{name}' is known")


def _name(ws: Workspace) -> str | None:
    """The name as it stands, or out of the input: ``$workflow.input.x`` as in Conductor, or as
    everywhere else with braces.
    """
    name = ws.plan.definition.failure_workflow or ""
    if name.startswith("$") and not name.startswith("${"):
        name = f"${{{name[1:]}}}"
    found = resolve_value(ws, name)
    return found if isinstance(found, str) and found.strip() else None


def noted(output: Mapping[str, object], note: str) -> JsonObject:
    """The output with the id, or the sentence, in its place."""
    return {**output, OUTPUT: note}  # type: ignore[dict-item]
