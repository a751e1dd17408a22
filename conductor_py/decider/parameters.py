"""Parameters: where ``${param.NAME}`` is looked for, and what it becomes.

Strongest first: what the workflow was started with (its input); the task's own ``parameters``; what
a task before it hands on (``outParameters``); the workflow's ``parameters``; and ``system``, which
the engine gives. A null counts as not given.

Of the tasks before it only those count that lead to it, so that no value depends on which of two
tasks beside each other was quicker: the nearest whose value is not empty, of equally near ones the
one that ended first. A task that failed, or that was passed over, hands on nothing.

In the texts of ``parameters``, and nowhere else, ``$[…]`` is a date by the business time
(``model.business_time``). They are worked out wherever they are used: from what was given at the
start and has ended, so always to the same. What they bring in is never read again.

One that is nowhere is no value: the task that names it cannot begin (``control.create``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from conductor_py.decider.expressions import MAX_DEPTH
from conductor_py.decider.need import Read
from conductor_py.decider.outcomes import OK, outcomes
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.business_time import business_time, expanded
from conductor_py.model.execution import Attempt
from conductor_py.model.ids import task_id
from conductor_py.model.json import JsonValue
from conductor_py.model.parameters import PARAM, SYSTEM

_OWN: Final = "task"
_WORKFLOW: Final = "workflow"


class Unknown(Exception):
    """A parameter cannot be had; the sentence says which, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who reads a parameter: the task at ``spot``, which is attempt ``seq``; without one the
    workflow itself. ``inside`` are the parameters that are being worked out for it.
    """

    spot: Spot | None = None
    seq: int | None = None
    inside: frozenset[tuple[str, str]] = frozenset()

    def within(self, kind: str, name: str) -> Reader:
        """The same reader, inside a parameter; in one of the workflow's it stands at no task."""
        spot = self.spot if kind == _OWN else None
        return replace(self, spot=spot, inside=self.inside | {(kind, name)})


_Resolve = Callable[[JsonValue, Reader], JsonValue]


def is_parameter(ws: Workspace, root: str) -> bool:
    """Whether a root stands for the parameters; a task of that name comes first."""
    return root == PARAM and PARAM not in ws.plan.nodes


def value_of(ws: Workspace, name: str, reader: Reader, resolve: _Resolve) -> JsonValue:
    """Look a parameter up; ``resolve`` resolves the expressions in one. Raises ``Unknown``."""
    given = ws.document("input").get(name)
    if given is not None:
        return given
    spot = reader.spot
    own = spot.node.task.parameters if spot is not None else {}
    if name in own and (_OWN, name) not in reader.inside:
        return _worked_out(ws, name, own[name], reader.within(_OWN, name), resolve)
    if spot is not None:
        found = _handed_on(ws, spot, name)
        if found is not None:
            return found
    shared = ws.plan.definition.parameters
    if name in shared and (_WORKFLOW, name) not in reader.inside:
        return _worked_out(ws, name, shared[name], reader.within(_WORKFLOW, name), resolve)
    if name == SYSTEM:
        return _built_in(ws, reader)
    message = (
        f"There is no parameter '{name}': the start gave none, and neither the task, nor one before"
        " it, nor the workflow has it"
    )
    raise Unknown(message)


def _worked_out(
    ws: Workspace, name: str, template: JsonValue, reader: Reader, resolve: _Resolve
) -> JsonValue:
    business = business_time(ws.header.business_at or ws.header.created_at, ws.header.zone)

    def dated(value: JsonValue, depth: int) -> JsonValue:
        if isinstance(value, str):
            return expanded(value, business)
        if depth >= MAX_DEPTH or value is None or isinstance(value, int | float):
            return value
        if isinstance(value, Mapping):
            return {key: dated(item, depth + 1) for key, item in value.items()}
        return [dated(item, depth + 1) for item in value]

    try:
        known = dated(template, 0)
    except ValueError as wrong:
        message = f"Parameter '{name}' cannot be worked out: {wrong}"
        raise Unknown(message) from None
    return resolve(known, reader)


# -- what tasks before it hand on ------------------------------------------------------------------


def _handed_on(ws: Workspace, spot: Spot, name: str) -> JsonValue:
    for plan, level in _levels(ws, spot, name):
        refs = [ref for ref in level if ref in plan.hands_on.get(name, ())]
        done = _done(ws, plan, refs) if refs else []
        documents = [f"o:{attempt.seq}" for attempt in done]
        ws.together((key, Read(key)) for key in documents if key not in ws.documents)
        if len(done) > 1:
            order = {ref: place for place, ref in enumerate(plan.nodes)}
            done.sort(key=lambda each: (each.ended_at, order[each.ref]))
        for attempt in done:
            value = ws.document(f"o:{attempt.seq}").get(name)
            if value is not None and value != "":
                return value
    return None


def _levels(ws: Workspace, spot: Spot, name: str) -> Iterator[tuple[Plan, list[str]]]:
    """The tasks that lead to it, step by step backwards, and from what a task brought to that
    task.
    """
    plan, level = spot.plan, [spot.node.ref]
    while True:
        if name in plan.hands_on:
            seen = set(level)
            while level:
                around = dict.fromkeys(ref for each in level for ref in plan.before.get(each, ()))
                level = [ref for ref in around if ref not in seen]
                seen.update(level)
                yield plan, level
        parent = ws.plan_of(plan.parent) if plan.anchor else None
        if parent is None:
            return
        plan, level = parent, [plan.anchor]
        if level[0] != spot.node.ref:  # what a DYNAMIC resolved to stands in its place
            yield plan, level


def _done(ws: Workspace, plan: Plan, refs: list[str]) -> list[Attempt]:
    """The newest attempts of those that have ended well."""
    gated = [ref for ref in refs if plan.nodes[ref].gate is not None]
    became = outcomes(ws, gated) if gated else {}
    pointers = (f"r:{ref}" for ref in refs)
    ws.together((each, Read(f">ao {each}")) for each in pointers if each not in ws.pointers)
    found = [ws.attempt(seq) for ref in refs if (seq := ws.newest(ref))]
    return [
        attempt
        for attempt in found
        if attempt is not None and attempt.status.successful and became.get(attempt.ref, OK) == OK
    ]


# -- what is always there --------------------------------------------------------------------------


def _built_in(ws: Workspace, reader: Reader) -> JsonValue:
    business = business_time(ws.header.business_at or ws.header.created_at, ws.header.zone)
    try:
        yesterday = expanded("$[yyyyMMdd-1]", business)
    except ValueError as wrong:
        raise Unknown(str(wrong)) from None
    found: dict[str, JsonValue] = {
        "biz": {"date": yesterday, "curdate": expanded("$[yyyyMMdd]", business)},
        "datetime": expanded("$[yyyyMMddHHmmss]", business),
        "workflow": {
            "instance": {"id": ws.id},
            "definition": {"name": ws.header.name, "version": ws.header.version},
        },
    }
    if reader.spot is not None:
        task: dict[str, JsonValue] = {"definition": {"name": reader.spot.node.task.name}}
        if reader.seq is not None:
            task["instance"] = {"id": task_id(ws.id, reader.seq)}
        found["task"] = task
    return found
