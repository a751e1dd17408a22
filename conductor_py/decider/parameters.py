"""Parameters: where ``${param.NAME}`` is looked for, and what it becomes.

Strongest first: what the workflow was started with (its input); the task's own ``parameters``; what
a task before it hands on (``outParameters``, see ``decider.upstream``); the workflow's
``parameters``. ``system`` is the engine's and nobody else's. A null counts as not given. Under its
own name a parameter finds the next one of that name.

In the texts of ``parameters``, and nowhere else, ``$[…]`` is a date by the business time
(``model.business_time``). They are worked out wherever they are used, and what they bring in is
never read again. One that is nowhere is no value, also inside another one: ``Unknown`` passes
through all that was being worked out, to whoever asked first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from conductor_py.decider.expressions.expressions import MAX_DEPTH
from conductor_py.decider.expressions.nodes import written
from conductor_py.decider.upstream import handed_on
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.business_time import business_time, expanded
from conductor_py.model.ids import task_id
from conductor_py.model.json import JsonValue
from conductor_py.model.parameters import MOST_NESTED, PARAM, SYSTEM
from conductor_py.records import dataclass, field

_OWN: Final = "task"
_WORKFLOW: Final = "workflow"
_LARGEST: Final = 1_000_000
"""Characters and members that a value may have, as it is written: they are copied into every input
that reads it.
"""

_Name = tuple[str, str]


class Unknown(Exception):
    """A parameter cannot be had; the sentence says which, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who reads a parameter: the task at ``spot``, which is attempt ``seq``; without one the
    workflow itself. ``inside`` are the parameters that are being worked out for it, innermost last,
    ``known`` those that have been. ``ending`` is what a workflow that ends tells of itself by then.
    """

    spot: Spot | None = None
    seq: int | None = None
    inside: tuple[_Name, ...] = ()
    known: dict[_Name, JsonValue] = field(default_factory=dict)
    ending: Mapping[str, JsonValue] = field(default_factory=dict)

    def within(self, kind: str, name: str) -> Reader:
        """The same reader, inside a parameter; in one of the workflow's it stands at no task."""
        spot = self.spot if kind == _OWN else None
        return replace(self, spot=spot, inside=(*self.inside, (kind, name)))


_Resolve = Callable[[JsonValue, Reader], JsonValue]


def is_parameter(ws: Workspace, root: str, spot: Spot | None) -> bool:
    """Whether a root stands for the parameters; a task of that name comes first, also one that a
    dynamic fork has brought.
    """
    if root != PARAM or PARAM in ws.plan.nodes:
        return False
    if spot is not None and PARAM in spot.plan.nodes:
        return False
    return not (ws.header.fragments and ws.newest(PARAM))


def value_of(ws: Workspace, name: str, reader: Reader, resolve: _Resolve) -> JsonValue:
    """Look a parameter up; ``resolve`` resolves the expressions in one. Raises ``Unknown``."""
    if name == SYSTEM:
        return _built_in(ws, reader)
    found = ws.document("input").get(name)
    spot = reader.spot
    if found is None and spot is not None:
        found = _worked_out(ws, (_OWN, name), spot.node.task.parameters, reader, resolve)
        if found is None:
            found = handed_on(ws, spot, name)
    if found is None:
        shared = ws.plan.definition.parameters
        found = _worked_out(ws, (_WORKFLOW, name), shared, reader, resolve)
    if found is None:
        message = (
            f"There is no parameter '{name}': it was not given at the start, and is not defined in"
            " the task, in a task before it or in the workflow"
        )
        raise Unknown(message)
    return found


def _worked_out(
    ws: Workspace,
    key: _Name,
    parameters: Mapping[str, JsonValue],
    reader: Reader,
    resolve: _Resolve,
) -> JsonValue:
    kind, name = key
    if name not in parameters or reader.inside[-1:] == (key,):
        return None
    if key in reader.inside or len(reader.inside) >= MOST_NESTED:
        message = (
            f"Parameter '{name}' has no value: it reads itself through others, or more than"
            f" {MOST_NESTED} parameters one within another"
        )
        raise Unknown(message)
    if key not in reader.known:
        try:
            dated = _dated(ws, parameters[name], 0)
        except ValueError as wrong:
            message = f"Parameter '{name}' has no value: {wrong}"
            raise Unknown(message) from None
        value = resolve(dated, reader.within(kind, name))
        if written(value, _LARGEST) > _LARGEST:
            message = f"Parameter '{name}' is larger than {_LARGEST:,} characters and members"
            raise Unknown(message)
        reader.known[key] = value
    return reader.known[key]


def _dated(ws: Workspace, value: JsonValue, depth: int) -> JsonValue:
    if isinstance(value, str):
        at = ws.header.business_at or ws.header.created_at
        return expanded(value, business_time(at, ws.header.zone)) if "$[" in value else value
    if depth >= MAX_DEPTH or value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        return {key: _dated(ws, item, depth + 1) for key, item in value.items()}
    return [_dated(ws, item, depth + 1) for item in value]


def _built_in(ws: Workspace, reader: Reader) -> JsonValue:
    """``system``: what ``model.parameters.BUILT_IN`` lists."""
    try:
        texts = {
            name: _dated(ws, text, 0)
            for name, text in (
                ("date", "$[yyyyMMdd-1]"),
                ("curdate", "$[yyyyMMdd]"),
                ("datetime", "$[yyyyMMddHHmmss]"),
            )
        }
    except ValueError as wrong:
        raise Unknown(str(wrong)) from None
    header = ws.header
    found: dict[str, JsonValue] = {
        "biz": {"date": texts["date"], "curdate": texts["curdate"]},
        "datetime": texts["datetime"],
        "workflow": {
            "instance": {"id": ws.id},
            "definition": {"name": header.name, "version": header.version},
        },
    }
    if reader.spot is not None:
        task: dict[str, JsonValue] = {"definition": {"name": reader.spot.node.task.name}}
        if reader.seq is not None:
            task["instance"] = {"id": task_id(ws.id, reader.seq)}
        found["task"] = task
    return found
